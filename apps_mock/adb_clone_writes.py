"""What clients write into a clone's data over ADB: settings, contacts, messages, calendar events.

The inverse of `android_facts`; pure functions from state to state. None means that the clone has
no such thing to change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from apps_mock.android_facts import SWITCH_SETTINGS, Row, SettingKey, content_rows, setting_values
from apps_mock.apps.calendar_events import CalendarData, CalendarEvent
from apps_mock.apps.contacts import Contact, ContactsData
from apps_mock.apps.messages import Message, MessagesData
from apps_mock.apps.settings import BRIGHTNESS, DEVICE_NAME, SettingsData, options_of
from apps_mock.phone_state import PhoneState
from apps_mock.records import changed, find, fresh_id, tables_of
from apps_mock.registry import APPS

OF_HARNESSES: Final[frozenset[SettingKey]] = frozenset(
    {("system", "accelerometer_rotation"), ("system", "screen_off_timeout")}
)
"""Settings that programs put before they drive a phone: theirs to put, and no part of a task."""

_LATEST_MS: Final = 4_102_444_800_000
_MOST_ROWS: Final = 10_000


def with_setting(state: PhoneState, key: SettingKey, value: str) -> PhoneState | None:
    """The phone after its settings app had the switch, choice or level that a setting is."""
    data = _data(state, "settings", SettingsData)
    if data is None or key in OF_HARNESSES:
        return None
    for name, (its_key, off, on) in SWITCH_SETTINGS.items():
        if its_key == key and value in {off, on} and find(data.switches, name):
            switches = changed(data.switches, name, on=value == on)
            return _with_data(state, "settings", replace(data, switches=switches))
    for choice in data.choices:
        options = (value,) if choice.id == DEVICE_NAME else options_of(choice.id)
        for option in options:
            if setting_values(choice.id, option) == {key: value}:
                choices = changed(data.choices, choice.id, value=option)
                return _with_data(state, "settings", replace(data, choices=choices))
    if key == ("system", "screen_brightness") and value.isdigit() and int(value) <= 255:
        levels = changed(data.levels, BRIGHTNESS, value=round(int(value) * 100 / 255))
        return _with_data(state, "settings", replace(data, levels=levels))
    return None


def inserted(state: PhoneState, uri: str, values: Mapping[str, str]) -> PhoneState | None:
    """The phone after a content provider got a row.

    Raises: ValueError: a value that the provider does not take.
    """
    writer = _WRITERS.get(uri.removeprefix("content://").rstrip("/"))
    if writer is None:
        return None
    rows = content_rows(state, uri)
    if rows is not None and len(rows) >= _MOST_ROWS:
        raise ValueError("the table is full")
    return writer(state, values)


def deleted(state: PhoneState, uri: str, chosen: Callable[[Row], bool]) -> tuple[PhoneState, int]:
    """The phone without the chosen rows behind a content URI, and how many there were."""
    app, table = _TABLES[uri.removeprefix("content://").rstrip("/")]
    if not state.has(app):
        return state, 0
    data = state.app_state(app).data
    records = dict(tables_of(data)).get(table, ())
    rows = content_rows(state, uri) or []
    gone = {row["_id"] for row in rows if chosen(row)}
    every = content_rows(state, _WHOLE[app]) or []
    kept = tuple(
        record
        for record, row in zip(records, every, strict=True)
        if not any(_same(row, other) for other in rows if other["_id"] in gone)
    )
    return _with_data(state, app, replace(data, **{table: kept})), len(records) - len(kept)


def _same(row: Row, other: Row) -> bool:
    """Whether two rows show one record, whatever their numbers."""
    return {**row, "_id": ""} == {**other, "_id": ""}


def is_writable(uri: str) -> bool:
    """Whether rows behind a content URI can be deleted."""
    return uri.removeprefix("content://").rstrip("/") in _TABLES


def _insert_contact(state: PhoneState, values: Mapping[str, str]) -> PhoneState | None:
    data = _data(state, "contacts", ContactsData)
    if data is None:
        return None
    name = values.get("display_name") or values.get("data1") or values.get("name", "")
    if not name:
        raise ValueError("a contact needs display_name")
    phone = values.get("number") or (values.get("data1", "") if "display_name" in values else "")
    contact = Contact(fresh_id(data.contacts, "c"), name, phone, values.get("starred") == "1")
    return _with_data(state, "contacts", replace(data, contacts=(*data.contacts, contact)))


def _insert_message(state: PhoneState, values: Mapping[str, str]) -> PhoneState | None:
    data = _data(state, "messages", MessagesData)
    if data is None:
        return None
    if not values.get("address"):
        raise ValueError("a message needs address")
    message = Message(
        fresh_id(data.messages, "m"),
        values["address"],
        values.get("body", ""),
        values.get("type") == "2",
        _moment(values.get("date", ""), f"{state.today}T{state.time}"),
        values.get("read", "0") == "1" or values.get("type") == "2",
    )
    return _with_data(state, "messages", replace(data, messages=(*data.messages, message)))


def _insert_event(state: PhoneState, values: Mapping[str, str]) -> PhoneState | None:
    data = _data(state, "calendar", CalendarData)
    if data is None:
        return None
    start = _moment(values.get("dtstart", ""), "")
    if not start:
        raise ValueError("an event needs dtstart in milliseconds since 1970")
    end = _moment(values.get("dtend", ""), "")
    minutes = 60
    if end:
        minutes = round(
            (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds() / 60
        )
    event = CalendarEvent(
        fresh_id(data.events, "e"),
        values.get("title", ""),
        start[:10],
        start[11:],
        max(0, minutes),
        values.get("eventLocation", ""),
        values.get("description", ""),
    )
    return _with_data(state, "calendar", replace(data, events=(*data.events, event)))


def _moment(text: str, usual: str) -> str:
    """A moment as the clones write it, from milliseconds since 1970."""
    if not text:
        return usual
    if not text.isdigit() or int(text) > _LATEST_MS:
        raise ValueError(f"no moment: {text!r}")
    return datetime.fromtimestamp(int(text) / 1000, UTC).strftime("%Y-%m-%dT%H:%M")


def _data(state: PhoneState, app: str, kind: type[Any]) -> Any:  # Any: every app has its own data
    data = state.app_state(app).data if app in APPS and state.has(app) else None
    return data if isinstance(data, kind) else None


def _with_data(state: PhoneState, app: str, data: object) -> PhoneState:
    return state.with_app(app, state.app_state(app).with_data(data))


_WRITERS: Final[Mapping[str, Callable[[PhoneState, Mapping[str, str]], PhoneState | None]]] = {
    "com.android.contacts/contacts": _insert_contact,
    "com.android.contacts/data/phones": _insert_contact,
    "sms": _insert_message,
    "sms/inbox": _insert_message,
    "sms/sent": lambda state, values: _insert_message(state, {**values, "type": "2"}),
    "com.android.calendar/events": _insert_event,
}
_TABLES: Final = {
    "com.android.contacts/contacts": ("contacts", "contacts"),
    "com.android.contacts/data/phones": ("contacts", "contacts"),
    "sms": ("messages", "messages"),
    "sms/inbox": ("messages", "messages"),
    "sms/sent": ("messages", "messages"),
    "com.android.calendar/events": ("calendar", "events"),
}
_WHOLE: Final = {
    "contacts": "content://com.android.contacts/contacts",
    "messages": "content://sms",
    "calendar": "content://com.android.calendar/events",
}
