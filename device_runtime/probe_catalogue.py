"""The probes that people can name: what each asks of the phone and how its answer reads.

A probe is a kind with parameters, such as `contact` of a person. `probe_of` turns it into a
`Question`: a shell command and a reader of its answer, or something that the last screen tells.
Commands and forms are those of Android 10 to 15 as its sources print them; the mock phone answers
the very same commands. Nothing here changes a phone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from device_runtime.adb import quote
from device_runtime.probe_readings import (
    OFF,
    ON,
    PRESENT,
    UNSET,
    Dump,
    Reader,
    any_row,
    file_listed,
    line,
    line_among,
    number,
    package_in_front,
    row_with,
    scaled,
    starts_at,
    table_column,
    text_of,
    titled,
    worded,
)
from device_runtime.probe_screens import (
    SCREEN_PARAMETERS,
    ScreenReader,
    answer_given,
    element_state,
    element_there,
)

Parameters = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: a command with its reader, or a reader of the episode's end.

    Attributes:
        command: one line for the phone's shell; empty where the episode itself tells.
        holds: the value that is expected where the probe's author names none; None where one must
            be named.
        reads_answer: whether it is about the answer that ends an episode.
    """

    command: str = ""
    read: Reader | None = None
    read_screen: ScreenReader | None = None
    holds: str | None = None
    reads_answer: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of probe.

    Attributes:
        says: what its value is, for the list of probes.
        needs, takes: names of the parameters that must and may be given.
    """

    says: str
    ask: Callable[[Parameters], Question]
    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = field(default=())


_SWITCH: Final = {"0": OFF, "1": ON}
_OFF_IF_UNSET: Final = {**_SWITCH, UNSET: OFF}


def _setting(namespace: str, name: str, read: Reader) -> Callable[[Parameters], Question]:
    question = Question(f"settings get {namespace} {name}", read)
    return lambda _: question


def _switch(namespace: str, name: str, words: Mapping[str, str], says: str) -> Kind:
    return Kind(f"{says}: on or off", _setting(namespace, name, worded(words)))


def _any_setting(given: Parameters) -> Question:
    return Question(f"settings get {quote(given['namespace'])} {quote(given['key'])}", line)


def _contact(given: Parameters) -> Question:
    uri, person = "content://com.android.contacts/data/phones", given["person"]
    where = f"display_name={_sql(person)}"
    if "number" not in given:
        uri = "content://com.android.contacts/contacts"
        return Question(_query(uri, "_id", where), any_row, holds=PRESENT)
    wanted = _digits(given["number"])
    read = row_with("data1", lambda found: _digits(found) == wanted)
    return Question(_query(uri, "data1", where), read, holds=PRESENT)


def _sms_sent(given: Parameters) -> Question:
    wanted = _digits(given["number"])
    read = row_with("address", lambda found: _digits(found) == wanted)
    command = _query("content://sms/sent", "address", f"body={_sql(given['text'])}")
    return Question(command, read, holds=PRESENT)


def _event(given: Parameters) -> Question:
    uri, where = "content://com.android.calendar/events", f"title={_sql(given['title'])}"
    where = f"{where} AND deleted=0"
    if "at" not in given:
        return Question(_query(uri, "_id", where), any_row, holds=PRESENT)
    command = f"getprop persist.sys.timezone && {_query(uri, 'dtstart', where)}"
    return Question(command, starts_at(given["at"]), holds=PRESENT)


def _saved_network(given: Parameters) -> Question:
    read = table_column(given["network"], header=("Network Id", "SSID", "Security type"))
    return Question("cmd wifi list-networks", read, holds=PRESENT)


def _content(given: Parameters) -> Question:
    return Question(_query(given["uri"], "_id", given.get("where", "")), any_row, holds=PRESENT)


def _query(uri: str, column: str, where: str) -> str:
    """A query that shows one column: whatever a row holds beside it cannot forge another row."""
    condition = f" --where {quote(where)}" if where else ""
    return f"content query --uri {quote(uri)} --projection {column}{condition}"


def _sql(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _digits(text: str) -> str:
    return re.sub(r"[^\d+*#]", "", text)


def _file(given: Parameters) -> Question:
    return Question(f"ls -d {quote(given['path'])}", file_listed, holds=PRESENT)


def _app_installed(given: Parameters) -> Question:
    package = given["package"]
    read = line_among(f"package:{package}")
    return Question(f"pm list packages {quote(package)}", read, holds=PRESENT)


def _app_in_front(given: Parameters) -> Question:
    return Question("dumpsys window", package_in_front, holds=given["package"])


def _notification(given: Parameters) -> Question:
    read = titled(
        given["title"],
        r"^\s*android\.title=(?:String|SpannableString) \((.*)\)$",
        "Notification List:",
    )
    return Question("dumpsys notification --noredact", read, holds=PRESENT)


def _dumpsys(given: Parameters) -> Question:
    return Question(f"dumpsys {quote(given['service'])}", Dump(given["line"]))


def _property(given: Parameters) -> Question:
    return Question(f"getprop {quote(given['key'])}", line)


def _command(given: Parameters) -> Question:
    return Question(given["command"], text_of)


_NETWORK: Final = Dump(r'^Wifi is connected to "(.*)"$', heading="Wifi is ", otherwise="")
_NEXT_ALARM: Final = Dump(
    r"^ *user:\d+ pendingSend:\w+ time:\d+ = \d{4}-\d\d-\d\d (\d\d:\d\d)",
    heading="Next alarm clock information:",
    otherwise="none",
)

KINDS: Final[Mapping[str, Kind]] = {
    "wifi": _switch("global", "wifi_on", {"0": OFF, "1": ON, "2": ON, "3": OFF}, "Wi-Fi"),
    "bluetooth": _switch("global", "bluetooth_on", {**_SWITCH, "2": ON}, "Bluetooth"),
    "airplane_mode": _switch("global", "airplane_mode_on", _OFF_IF_UNSET, "airplane mode"),
    "mobile_data": _switch("global", "mobile_data", _SWITCH, "mobile data"),
    "do_not_disturb": _switch(
        "global", "zen_mode", {"0": OFF, "1": ON, "2": ON, "3": ON, UNSET: OFF}, "do not disturb"
    ),
    "battery_saver": _switch("global", "low_power", _OFF_IF_UNSET, "battery saver"),
    "developer_mode": _switch(
        "global", "development_settings_enabled", _OFF_IF_UNSET, "developer options"
    ),
    "location": _switch(
        "secure", "location_mode", {"0": OFF, "1": ON, "2": ON, "3": ON}, "location access"
    ),
    "dark_theme": _switch("secure", "ui_night_mode", {"1": OFF, "2": ON}, "dark theme"),
    "night_light": _switch("secure", "night_display_activated", _OFF_IF_UNSET, "night light"),
    "auto_rotate": _switch("system", "accelerometer_rotation", _SWITCH, "rotation of the screen"),
    "auto_brightness": _switch(
        "system", "screen_brightness_mode", _SWITCH, "brightness that adapts"
    ),
    "touch_sounds": _switch("system", "sound_effects_enabled", _SWITCH, "touch sounds"),
    "dial_tones": _switch("system", "dtmf_tone", _SWITCH, "dial pad tones"),
    "brightness": Kind(
        "brightness of the screen in percent",
        _setting("system", "screen_brightness", scaled(100 / 255)),
    ),
    "screen_timeout": Kind(
        "seconds until the screen turns off",
        _setting("system", "screen_off_timeout", scaled(0.001)),
    ),
    "font_scale": Kind("size of the font; 1 is usual", _setting("system", "font_scale", number)),
    "device_name": Kind("the phone's name", _setting("global", "device_name", line)),
    "wifi_network": Kind(
        "name of the wireless network; empty where there is none",
        lambda _: Question("cmd wifi status", _NETWORK),
    ),
    "wifi_saved": Kind("whether a wireless network is saved", _saved_network, ("network",)),
    "next_alarm": Kind(
        "time of day of the next alarm, as 07:45, or none",
        lambda _: Question("dumpsys alarm", _NEXT_ALARM),
    ),
    "contact": Kind("whether the phone's book has a person", _contact, ("person",), ("number",)),
    "sms_sent": Kind("whether a text was sent to a number", _sms_sent, ("number", "text")),
    "calendar_event": Kind(
        "whether the calendar has an event; at: 2025-03-14 09:30 on the phone's clock",
        _event,
        ("title",),
        ("at",),
    ),
    "notification": Kind("whether a notification has a title", _notification, ("title",)),
    "file": Kind("whether a file or folder is there", _file, ("path",)),
    "app_installed": Kind("whether an app is installed", _app_installed, ("package",)),
    "app_in_front": Kind("which app is in front; its package", _app_in_front, ("package",)),
    "setting": Kind("a setting as it is stored", _any_setting, ("namespace", "key")),
    "property": Kind("a system property", _property, ("key",)),
    "content": Kind("whether a content query finds a row", _content, ("uri",), ("where",)),
    "dumpsys": Kind("first group of a regular expression", _dumpsys, ("service", "line")),
    "command": Kind("what a shell command prints", _command, ("command",)),
    "on_screen": Kind(
        "whether the last screen shows an element",
        lambda given: Question(read_screen=element_there(given), holds=PRESENT),
        takes=SCREEN_PARAMETERS,
    ),
    "checked": Kind(
        "whether an element of the last screen is checked: on or off",
        lambda given: Question(read_screen=element_state(given), holds=ON),
        takes=SCREEN_PARAMETERS,
    ),
    "answer": Kind(
        "the answer that the policy gave",
        lambda _: Question(read_screen=answer_given, reads_answer=True),
    ),
}
"""Every kind of probe by name."""
