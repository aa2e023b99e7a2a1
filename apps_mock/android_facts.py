"""A clone's data as Android's own interfaces show it: settings, content rows, files, notifications.

Pure functions of the phone's state. The mock's shell answers `settings get`, `content query`,
`dumpsys` and `ls` from here, so that one probe reads a clone and a physical phone alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from apps_mock.apps.calendar_events import CalendarData
from apps_mock.apps.clock import ClockData
from apps_mock.apps.contacts import ContactsData
from apps_mock.apps.files import FilesData
from apps_mock.apps.messages import MessagesData
from apps_mock.apps.settings import BRIGHTNESS, DEVICE_NAME, SettingsData
from apps_mock.phone_state import PhoneState, is_installed
from apps_mock.records import find
from apps_mock.registry import APPS, SYSTEM

SettingKey = tuple[str, str]
"""Namespace ("global", "secure", "system") and name of a setting."""

Row = dict[str, str]
"""One row of a content provider: column to value."""

STORAGE: Final = "/storage/emulated/0"

SWITCH_SETTINGS: Final[dict[str, tuple[SettingKey, str, str]]] = {
    "Wi-Fi": (("global", "wifi_on"), "0", "1"),
    "Mobile data": (("global", "mobile_data"), "0", "1"),
    "Airplane mode": (("global", "airplane_mode_on"), "0", "1"),
    "Data roaming": (("global", "data_roaming"), "0", "1"),
    "Bluetooth": (("global", "bluetooth_on"), "0", "1"),
    "Dark theme": (("secure", "ui_night_mode"), "1", "2"),
    "Auto-rotate": (("system", "accelerometer_rotation"), "0", "1"),
    "Adaptive brightness": (("system", "screen_brightness_mode"), "0", "1"),
    "Night light": (("secure", "night_display_activated"), "0", "1"),
    "Always-on clock": (("secure", "doze_always_on"), "0", "1"),
    "Vibration": (("system", "vibrate_when_ringing"), "0", "1"),
    "Touch sounds": (("system", "sound_effects_enabled"), "0", "1"),
    "Dial tones": (("system", "dtmf_tone"), "0", "1"),
    "Charging sound": (("secure", "charging_sounds_enabled"), "0", "1"),
    "Battery saver": (("global", "low_power"), "0", "1"),
    "Battery percentage": (("system", "status_bar_show_battery_percent"), "0", "1"),
    "Location access": (("secure", "location_mode"), "0", "3"),
    "Show passwords": (("system", "show_password"), "0", "1"),
    "Developer mode": (("global", "development_settings_enabled"), "0", "1"),
}
"""Switches of the settings app: the setting that each is, what it holds when off and when on."""

_CHOICES: Final[dict[str, tuple[SettingKey, dict[str, str]]]] = {
    "Screen timeout": (
        ("system", "screen_off_timeout"),
        {
            "30 seconds": "30000",
            "1 minute": "60000",
            "2 minutes": "120000",
            "5 minutes": "300000",
            "10 minutes": "600000",
        },
    ),
    "Font size": (
        ("system", "font_scale"),
        {"Small": "0.85", "Medium": "1.0", "Large": "1.15", "Huge": "1.3"},
    ),
}
"""Choices of the settings app: the setting that each is, and what it holds for each option."""


def settings_of(state: PhoneState) -> dict[SettingKey, str]:
    """What the settings provider holds of the clone's settings; empty without a settings app."""
    data = _data(state, "settings")
    if not isinstance(data, SettingsData):
        return {}
    found: dict[SettingKey, str] = {}
    for switch in data.switches:
        if switch.id in SWITCH_SETTINGS:
            key, off, on = SWITCH_SETTINGS[switch.id]
            found[key] = on if switch.on else off
    for choice in data.choices:
        found |= setting_values(choice.id, choice.value)
    for level in data.levels:
        if level.id == BRIGHTNESS:
            found["system", "screen_brightness"] = str(round(level.value * 255 / 100))
    return found


def setting_values(choice: str, option: str) -> dict[SettingKey, str]:
    """What the settings provider holds where an option of the settings app is chosen."""
    if choice == DEVICE_NAME:
        return {("global", "device_name"): option}
    if choice not in _CHOICES:
        return {}
    key, values = _CHOICES[choice]
    return {key: values[option]} if option in values else {}


def connected_network(state: PhoneState) -> str | None:
    """Name of the wireless network that the clone is in; None where Wi-Fi is off or in none."""
    data = _data(state, "settings")
    if not isinstance(data, SettingsData) or settings_of(state).get(("global", "wifi_on")) != "1":
        return None
    return next((network.id for network in data.networks if network.connected), None)


def saved_networks(state: PhoneState) -> list[str]:
    """Names of the wireless networks whose passwords the clone knows."""
    data = _data(state, "settings")
    if not isinstance(data, SettingsData):
        return []
    return [network.id for network in data.networks if network.saved]


def content_rows(state: PhoneState, uri: str) -> list[Row] | None:
    """The rows behind a content URI, in the order of their ids; None where nobody provides it."""
    reader = _READERS.get(uri.removeprefix("content://").rstrip("/"))
    if reader is None:
        return None
    return [{"_id": str(number), **row} for number, row in enumerate(reader(state), 1)]


def missing_packages(state: PhoneState) -> frozenset[str]:
    """Packages of apps that the clone does not have, such as those that its store could install."""
    return frozenset(
        app.package
        for name, app in APPS.items()
        if name != SYSTEM and not is_installed(state, name)
    ) | {APPS[SYSTEM].package}


def notifications(state: PhoneState) -> list[tuple[str, str, str]]:
    """Package, title and text of each notification in the shade."""
    system = state.system
    if system is None:
        return []
    return [(APPS[each.app].package, each.title, each.text) for each in system.notifications]


def stored_files(state: PhoneState) -> dict[str, int]:
    """Path and size in bytes of the files in the clone's shared storage."""
    data = _data(state, "files")
    if not isinstance(data, FilesData):
        return {}
    return {
        stored_path(data, file.folder, file.name, file.kind): file.size_kb * 1024
        for file in data.files
    }


def stored_path(data: FilesData, folder: str, name: str, kind: str) -> str:
    """Path of a file in a folder of the files app, by the folder's id."""
    shown = find(data.folders, folder)
    return f"{STORAGE}/{shown.name if shown else folder}/{name}.{kind.lower()}"


def next_alarm(state: PhoneState) -> str | None:
    """When the next alarm rings, as `2025-03-14 07:45:00`; None where none is on."""
    data = _data(state, "clock")
    if not isinstance(data, ClockData):
        return None
    now = f"{state.today}T{state.time}"
    rings = [
        _next_ring(alarm.time, now)
        for alarm in data.alarms
        if alarm.on and re.fullmatch(r"\d\d:\d\d", alarm.time)
    ]
    return f"{min(rings).replace('T', ' ')}:00" if rings else None


def _next_ring(time: str, now: str) -> str:
    """The next moment at which a clock shows `time`."""
    today = datetime.fromisoformat(f"{now[:10]}T{time}")
    late = today <= datetime.fromisoformat(now)
    return (today + timedelta(days=int(late))).isoformat(timespec="minutes")


def _data(state: PhoneState, app: str) -> Any:  # Any: every app has its own type of data
    return state.app_state(app).data if state.has(app) else None


def _people(state: PhoneState) -> Iterator[Row]:
    data = _data(state, "contacts")
    if isinstance(data, ContactsData):
        for contact in data.contacts:
            yield {
                "display_name": contact.name,
                "starred": str(int(contact.favourite)),
                "mimetype": "vnd.android.cursor.item/phone_v2",
                "data1": contact.phone,
                "number": contact.phone,
            }


def _messages(state: PhoneState) -> Iterator[Row]:
    data = _data(state, "messages")
    if isinstance(data, MessagesData):
        for message in data.messages:
            yield {
                "address": message.number,
                "date": epoch_ms(message.at),
                "read": str(int(message.read)),
                "type": "2" if message.sent else "1",
                "body": message.text,
            }


def _messages_of_type(kind: str, state: PhoneState) -> Iterator[Row]:
    return (row for row in _messages(state) if row["type"] == kind)


def _sent(state: PhoneState) -> Iterator[Row]:
    return _messages_of_type("2", state)


def _received(state: PhoneState) -> Iterator[Row]:
    return _messages_of_type("1", state)


def _events(state: PhoneState) -> Iterator[Row]:
    data = _data(state, "calendar")
    if isinstance(data, CalendarData):
        for event in data.events:
            start_ms = int(epoch_ms(f"{event.day}T{event.start}"))
            yield {
                "title": event.title,
                "dtstart": str(start_ms),
                "dtend": str(start_ms + event.minutes * 60_000),
                "eventLocation": event.location,
                "description": event.description,
                "deleted": "0",
            }


def _calendars(_state: PhoneState) -> Iterator[Row]:
    yield {"name": "Clone", "calendar_displayName": "Clone", "account_type": "LOCAL"}


def _calls(_state: PhoneState) -> Iterator[Row]:
    """None: clones make no telephone calls."""
    return iter(())


def epoch_ms(moment: str) -> str:
    """Milliseconds since 1970 of a moment on the clone's clock, which runs in UTC; 0 of none."""
    try:
        when = datetime.fromisoformat(moment).replace(tzinfo=UTC)
    except ValueError:
        return "0"
    return str(round(when.timestamp() * 1000))


_READERS: Final[Mapping[str, Callable[[PhoneState], Iterator[Row]]]] = {
    "com.android.contacts/contacts": _people,
    "com.android.contacts/data": _people,
    "com.android.contacts/data/phones": _people,
    "contacts/phones": _people,
    "call_log/calls": _calls,
    "sms": _messages,
    "sms/sent": _sent,
    "sms/inbox": _received,
    "com.android.calendar/events": _events,
    "com.android.calendar/calendars": _calendars,
}
