"""The settings app: switches, choices, brightness, networks, installed apps, the phone's name.

This module holds its data and what happens; `settings_view` shows it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from apps_mock.app import AppState, Copy
from apps_mock.entities import APP_NAMES, DEVICE_NAMES, Draw
from apps_mock.records import changed, find, without
from apps_mock.widgets import Event

SWITCHES: dict[str, tuple[str, ...]] = {
    "Network": ("Wi-Fi", "Mobile data", "Airplane mode", "Data roaming", "Hotspot"),
    "Bluetooth": ("Bluetooth", "Nearby sharing", "Fast pairing"),
    "Display": (
        "Dark theme",
        "Auto-rotate",
        "Adaptive brightness",
        "Night light",
        "Always-on clock",
    ),
    "Sound": ("Vibration", "Touch sounds", "Dial tones", "Charging sound", "Live captions"),
    "Battery": ("Battery saver", "Battery percentage", "Adaptive charging"),
    "Privacy": ("Screen lock", "Location access", "Usage reports", "Show passwords"),
    "System": ("Automatic updates", "Developer mode", "Backup", "Gestures"),
}
"""Switches by page; what is written here stands on the screen in every look."""

CHOICES: dict[str, dict[str, tuple[str, ...]]] = {
    "Network": {
        "Preferred network": ("5G", "4G", "3G"),
        "Hotspot band": ("2 GHz", "5 GHz", "6 GHz"),
    },
    "Bluetooth": {"Audio codec": ("Standard", "Clear", "Studio", "Lossless")},
    "Display": {
        "Screen timeout": ("30 seconds", "1 minute", "2 minutes", "5 minutes", "10 minutes"),
        "Font size": ("Small", "Medium", "Large", "Huge"),
        "Wallpaper": ("Forest", "Desert", "Ocean", "Mountain", "Meadow", "Glacier"),
        "Refresh rate": ("60 Hz", "90 Hz", "120 Hz"),
    },
    "Sound": {
        "Ringtone": ("Aurora", "Bamboo", "Cascade", "Dewdrop", "Ember", "Fanfare"),
        "Alarm sound": ("Bells", "Birdsong", "Drums", "Harp", "Waves"),
        "Message sound": ("Chime", "Marble", "Pebble", "Spark", "Whistle"),
    },
    "Battery": {"Charging limit": ("80 percent", "90 percent", "100 percent")},
    "Privacy": {"Lock after": ("10 seconds", "40 seconds", "3 minutes", "15 minutes")},
    "System": {
        "Language": ("English", "Deutsch", "Polski", "Suomi", "Svenska", "Italiano"),
        "Temperature unit": ("Celsius", "Fahrenheit", "Kelvin"),
        "Key layout": ("Qwerty", "Qwertz", "Azerty", "Dvorak"),
    },
}
"""Choices by page, each with its options."""

PERMISSIONS = ("Notifications", "Camera", "Location", "Microphone")
APPS_PAGE = "Apps"
PAGES = (*SWITCHES, APPS_PAGE)
WIFI, BLUETOOTH = "Wi-Fi", "Bluetooth"
BRIGHTNESS = "Brightness"
DEVICE_NAME = "Device name"
"""The one choice that is typed."""
PASSWORD_LENGTH = 8


@dataclass(frozen=True, slots=True)
class Switch:
    """Something that is on or off."""

    id: str
    on: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """Something of which one option holds."""

    id: str
    value: str


@dataclass(frozen=True, slots=True)
class Level:
    """Something between 0 and 100."""

    id: str
    value: int


@dataclass(frozen=True, slots=True)
class Network:
    """A wireless network in reach; `id` is its name, `saved` whether its password is known."""

    id: str
    saved: bool = False
    connected: bool = False
    password: str = ""


@dataclass(frozen=True, slots=True)
class Permissions:
    """An installed app and what it may do; `id` is the app's name."""

    id: str
    notifications: bool
    camera: bool
    location: bool
    microphone: bool
    size_mb: int = 40


@dataclass(frozen=True, slots=True)
class SettingsData:
    """Everything that can be set."""

    switches: tuple[Switch, ...]
    choices: tuple[Choice, ...]
    permissions: tuple[Permissions, ...]
    levels: tuple[Level, ...] = (Level(BRIGHTNESS, 50),)
    networks: tuple[Network, ...] = ()


def fixture(draw: Draw) -> SettingsData:
    """Settings as somebody left them."""
    random = draw.random
    bits = random.getrandbits(128)
    names = (name for page in SWITCHES.values() for name in page)
    switches = tuple(Switch(name, bool(bits >> index & 1)) for index, name in enumerate(names))
    choices = [
        Choice(name, random.choice(options))
        for page in CHOICES.values()
        for name, options in page.items()
    ]
    choices.append(Choice(DEVICE_NAME, draw.of(DEVICE_NAMES, pseudo=True)))
    sizes = random.sample(range(12, 400), 4)
    permissions = tuple(_installed(draw, size) for size in sizes)
    levels = (Level(BRIGHTNESS, random.choice((25, 50, 75))),)
    return SettingsData(switches, tuple(choices), permissions, levels, _networks(draw))


def _installed(draw: Draw, size_mb: int) -> Permissions:
    """An app that may do some things."""
    name = draw.of(APP_NAMES, pseudo=True)
    notifications, camera, location, microphone = (draw.random.random() < 0.5 for _ in PERMISSIONS)
    return Permissions(name, notifications, camera, location, microphone, size_mb)


def _networks(draw: Draw) -> tuple[Network, ...]:
    """A network that the phone is in, one that it knows, and some of other people."""
    names = [draw.city() for _ in range(5)]
    home, known, *strange = (name.upper() for name in names)
    return (
        Network(home, saved=True, connected=True, password=home.lower()),
        Network(known, saved=True, password=known.lower()),
        *(Network(name) for name in strange),
    )


def page_of(name: str) -> str:
    """The page on which a switch or choice stands."""
    for page, names in (*SWITCHES.items(), *CHOICES.items()):
        if name in names:
            return page
    return "System"


def options_of(name: str) -> tuple[str, ...]:
    """The options of a choice."""
    return next((options[name] for options in CHOICES.values() if name in options), ())


def update(state: AppState[SettingsData], event: Event) -> AppState[SettingsData]:
    """The state after an event."""
    data = state.data
    match event.name:
        case "choose":
            return _chosen(state, event.value, event.extra)
        case "save_name":
            name = state.page.draft("name").strip()
            return _chosen(state, DEVICE_NAME, name) if name else state
        case "slide":
            levels = changed(data.levels, event.value, value=int(event.extra))
            return state.with_data(replace(data, levels=levels))
        case "copy_draft":
            text = state.page.draft("text").strip()
            return state.emitting(Copy(text)) if text else state
        case "uninstall":
            left = without(data.permissions, event.value)
            return state.with_data(replace(data, permissions=left)).popped(2)
        case _:
            return _network_updated(state, event)


def _chosen(state: AppState[SettingsData], name: str, value: str) -> AppState[SettingsData]:
    data = replace(state.data, choices=changed(state.data.choices, name, value=value))
    return state.with_data(data).popped()


def _network_updated(state: AppState[SettingsData], event: Event) -> AppState[SettingsData]:
    """Connecting, joining with a password that was typed, forgetting."""
    known = find(state.data.networks, event.value)
    if known is None:
        return state
    match event.name:
        case "connect":
            return _connected(state, known)
        case "join":
            password = state.page.draft("password").strip()
            if len(password) < PASSWORD_LENGTH:
                return state
            return _connected(state, replace(known, saved=True, password=password)).popped()
        case "forget":
            fresh = Network(known.id)
            networks = tuple(fresh if each.id == known.id else each for each in state.data.networks)
            return state.with_data(replace(state.data, networks=networks)).popped()
        case _:
            return state


def _connected(state: AppState[SettingsData], network: Network) -> AppState[SettingsData]:
    """The phone in one network, and in no other."""
    networks = tuple(
        replace(network, connected=True)
        if each.id == network.id
        else replace(each, connected=False)
        for each in state.data.networks
    )
    return state.with_data(replace(state.data, networks=networks))
