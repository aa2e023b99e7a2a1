"""Which icon stands for which words: content descriptions, labels and names of pictures."""

from __future__ import annotations

import re
from functools import lru_cache

from apps_mock.catalogue import LOCALES, english, say
from apps_mock.icons import NAMES

_WORDS: dict[str, str] = {
    "add": "create new plus compose",
    "alarm": "alarms wake",
    "app": "apps application applications installed launcher",
    "attach": "attachment",
    "back": "navigate previous return",
    "bell": "notification notifications reminder reminders ringtone ring",
    "bookmark": "bookmarks saved reading",
    "brush": "theme wallpaper style draw paint art",
    "bulb": "tip tips lamp light idea",
    "cake": "birthday party recipe recipes food bread cooking kitchen baking",
    "call": "phone dial telephone",
    "camera": "photo picture lens",
    "cart": "basket buy order checkout trolley",
    "chart": "statistics usage stocks health fitness",
    "check": "done confirm ok yes finish accept apply",
    "clock": "time history recent recents hours stopwatch watch",
    "close": "clear reset cancel dismiss no discard",
    "cloud": "weather backup rain",
    "compass": "explore navigation",
    "copy": "duplicate clone",
    "calendar": "date day event events week month agenda today schedule",
    "data": "mobile transfer roaming",
    "delete": "remove trash bin erase uninstall",
    "display": "screen device about tablet",
    "down": "expand",
    "download": "install downloads get update updates",
    "edit": "change rename modify write pen pencil sketch",
    "enter": "go submit",
    "error": "problem crash failed",
    "eye": "show view visibility preview",
    "file": "document documents text pdf receipt invoice report",
    "filter": "filters",
    "flag": "important priority language_flag",
    "flashlight": "torch",
    "flight": "airplane aeroplane plane flights travel",
    "folder": "folders files directory move",
    "fork": "restaurant restaurants lunch dinner table reserve",
    "forward": "next continue open",
    "game": "games chess play_game",
    "globe": "web browser internet page site network links online world",
    "grid": "all menu_grid dashboard",
    "headphones": "headphone earphones earbuds",
    "heart": "like love favourites_heart wish wishlist",
    "help": "support question faq",
    "home": "start house",
    "image": "gallery photos pictures images album scan screenshot",
    "inbox": "messages_inbox archive",
    "info": "details version about_app",
    "kettle": "teapot tea coffee",
    "key": "password passwords account login pin_code",
    "keyboard": "input typing",
    "language": "languages translate locale",
    "leaf": "garden plant plants nature",
    "less": "minus decrease lower fewer",
    "link": "url address",
    "list": "lists items tasks_list contents",
    "lock": "security secure privacy private locked",
    "mail": "email e-mail letter",
    "map": "maps route street",
    "market": "app_store bazaar",
    "menu": "drawer navigation_menu",
    "message": "messages chat sms conversation conversations reply comment comments review reviews",
    "mic": "microphone voice recorder recording",
    "minutes": "timer countdown",
    "money": "price pay payment cash cost coin",
    "moon": "night dark sleep disturb",
    "more": "options overflow",
    "music": "song songs audio playlist tune melody media",
    "news": "newspaper article articles magazine",
    "note": "notes memo",
    "paste": "clipboard",
    "pan": "pot cookware",
    "pause": "hold",
    "people": "contacts group shared passengers passenger family team",
    "person": "contact profile user name owner traveller",
    "pin": "location place places city gps",
    "play": "resume start_timer run",
    "podcast": "podcasts",
    "print": "printer",
    "puzzle": "puzzles",
    "radio": "broadcast",
    "record": "rec",
    "refresh": "reload",
    "right": "chevron",
    "save": "store keep_file",
    "search": "find look magnifier",
    "send": "sent",
    "settings": "preferences system configure tools",
    "share": "shared_link",
    "shield": "protection permission permissions safety",
    "shirt": "sweater jacket coat dress clothes clothing blouse pullover",
    "shoe": "shoes sandals boots trainers sneakers slippers footwear",
    "shop": "shopping bag orders marlo product products",
    "sort": "order_by",
    "sound": "volume loud audio_volume alarm_sound",
    "speaker": "loudspeaker speakers",
    "star": "favourite favourites favorite rate rating starred",
    "stop": "halt end",
    "storage": "memory space disk",
    "sun": "brightness bright day_mode adaptive",
    "sync": "synchronise synchronize accounts rotate rotation",
    "tabs": "tab",
    "tag": "label labels category categories offer voucher coupon sale deal",
    "task": "todo to-do tasks task checklist",
    "ticket": "tickets booking trip trips",
    "toaster": "oven appliance",
    "train": "trains railway station rail",
    "trousers": "jeans pants shorts",
    "up": "collapse",
    "vibrate": "vibration haptic haptics",
    "video": "videos film movie movies clip",
    "wallet": "budget expenses expense bank bills",
    "warning": "alert alerts danger",
    "wifi": "wi-fi wireless hotspot wlan",
    "battery": "power charging saver",
    "bluetooth": "pairing",
    "calculator": "calculate",
}

_STEMS: dict[str, str] = {
    "brick": "grid",
    "bazaar": "market",
    "budget": "wallet",
    "cloud": "cloud",
    "garden": "leaf",
    "lingo": "language",
    "photo": "camera",
    "pixel": "image",
    "puzzle": "puzzle",
    "rhythm": "music",
    "sketch": "brush",
    "sound": "sound",
    "star": "star",
    "task": "task",
    "trail": "map",
}
"""Icons of made-up names by how they begin."""

_AROUND: dict[str, str] = {"Decrease {}": "less", "Increase {}": "add"}
"""Icons of texts with a name in them."""

_ICON_OF: dict[str, str] = {word: icon for icon, words in _WORDS.items() for word in words.split()}
_WORD = re.compile(r"[a-z]+(?:-[a-z]+)?")


@lru_cache(maxsize=4096)
def icon_for(text: str) -> str:
    """The icon that stands for a text of an app, in any locale; empty where there is none."""
    found = _icon_of(text)
    if found or not text:
        return found
    for before, after, icon in _surroundings():
        if text.startswith(before) and text.endswith(after) and len(text) > len(before + after):
            return icon
    original = english(text)
    return _icon_of(original) if original != text else ""


def _icon_of(text: str) -> str:
    """The icon of an English text."""
    name = text.casefold()
    key = name.replace(" ", "_")
    if key in NAMES:
        return key
    words = _WORD.findall(name)
    for word in words:
        icon = word if word in NAMES else _ICON_OF.get(word, "")
        if icon:
            return icon
    return next((_STEMS[stem] for word in words for stem in _STEMS if word.startswith(stem)), "")


@lru_cache(maxsize=1)
def _surroundings() -> tuple[tuple[str, str, str], ...]:
    """(beginning, end, icon) of texts with a name in them, in every locale."""
    found = []
    for text, icon in _AROUND.items():
        for locale in LOCALES:
            before, _, after = say(text, locale).partition("{}")
            found.append((before, after, icon))
    return tuple(found)
