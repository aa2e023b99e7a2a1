"""Probes for a clone's task, as somebody would write them who cannot look into the phone's state.

Made of what the task wants, with the kinds of `device_runtime.probe_catalogue` only. They show how
far probes agree with the verifiers that see everything: what a probe cannot ask of a phone (the
label of a number, a draft, that nothing else changed) it does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from apps_mock.android_facts import SWITCH_SETTINGS, setting_values, stored_path
from apps_mock.apps.settings import BRIGHTNESS
from apps_mock.records import find
from apps_mock.registry import APPS
from apps_mock.tasks import Task
from apps_mock.wanted import Change, PageGoal
from device_runtime.probe_catalogue import KINDS
from device_runtime.probe_readings import ABSENT
from device_runtime.probes import Expectation, Probe, ProbeSet

Entry = tuple[str, dict[str, str], Expectation | None]
"""Kind, parameters, and what is expected; None for the kind's usual."""

_GONE: Final = Expectation(equals=ABSENT)


def probes_for(task: Task) -> ProbeSet | None:
    """Probes of what `task` wants; None where a part of it cannot be asked of a phone."""
    wanted = task.wanted
    if wanted.infeasible or wanted.answer is not None:
        return None
    entries: list[Entry] = []
    for change in wanted.changes:
        asked = _asked(task, change)
        if asked is None:
            return None
        entries += asked
    if wanted.page is not None:
        if wanted.page != _home_of(wanted.page.app or wanted.app):
            return None
        package = APPS[wanted.page.app or wanted.app].package
        entries.append(("app_in_front", {"package": package}, None))
    probes = tuple(_probe(number, entry) for number, entry in enumerate(entries, 1))
    return ProbeSet(f"probes of {task.template.name}", probes) if probes else None


def _home_of(app: str) -> PageGoal:
    return PageGoal(APPS[app].home.name, app=app)


def _probe(number: int, entry: Entry) -> Probe:
    kind, parameters, expected = entry
    question = KINDS[kind].ask(parameters)
    expectation = expected or Expectation(equals=question.holds)
    return Probe(f"{number} {kind}", question, expectation)


def _asked(task: Task, change: Change) -> list[Entry] | None:
    """The probes of one change; None where no probe shows it."""
    app = change.app or task.wanted.app
    ask = _ASKED.get((app, change.table))
    if ask is None:
        return None
    data = task.state.app_state(app).data
    old = find(getattr(data, change.table), change.record) if change.record is not None else None
    entries = list(ask(change, old, data))
    return entries or None


def _switch(change: Change, _old: Any, _data: Any) -> Iterator[Entry]:  # Any: records of any app
    known = SWITCH_SETTINGS.get(change.record or "")
    if known is not None:
        (namespace, key), off, on = known
        value = on if dict(change.values)["on"] else off
        yield "setting", {"namespace": namespace, "key": key}, Expectation(equals=value)


def _choice(change: Change, _old: Any, _data: Any) -> Iterator[Entry]:  # Any: as above
    values = setting_values(change.record or "", str(dict(change.values)["value"]))
    for (namespace, key), value in values.items():
        yield "setting", {"namespace": namespace, "key": key}, Expectation(equals=value)


def _level(change: Change, _old: Any, _data: Any) -> Iterator[Entry]:  # Any: as above
    if change.record == BRIGHTNESS:
        yield "brightness", {}, Expectation(equals=str(dict(change.values)["value"]))


def _network(change: Change, _old: Any, _data: Any) -> Iterator[Entry]:  # Any: as above
    values, name = dict(change.values), change.record or ""
    if "saved" in values:
        yield "wifi_saved", {"network": name}, None if values["saved"] else _GONE
    if "connected" in values:
        is_in = values["connected"]
        yield "wifi_network", {}, Expectation(equals=name) if is_in else Expectation(differs=name)


_IN_BOOK: Final = frozenset({"name", "phone", "favourite"})


def _contact(change: Change, old: Any, _data: Any) -> Iterator[Entry]:  # Any: as above
    known = {} if old is None else {"name": old.name, "phone": old.phone}
    after = known | {field: value for field, value in change.values if field in _IN_BOOK}
    if change.removed:
        yield "contact", {"person": old.name, "number": old.phone}, _GONE
        return
    if old is not None and not _IN_BOOK.intersection(field for field, _ in change.values):
        return
    yield "contact", _person(str(after["name"]), str(after["phone"])), None
    if old is not None and (after["name"], after["phone"]) != (old.name, old.phone):
        yield "contact", _person(old.name, old.phone), _GONE
    if "favourite" in dict(change.values):
        name = str(after["name"]).replace("'", "''")
        where = f"display_name='{name}' AND starred={int(bool(after['favourite']))}"
        uri = "content://com.android.contacts/contacts"
        yield "content", {"uri": uri, "where": where}, None


def _person(name: str, number: str) -> dict[str, str]:
    return {"person": name, "number": number} if number else {"person": name}


def _message(change: Change, old: Any, data: Any) -> Iterator[Entry]:  # Any: as above
    values = dict(change.values)
    if change.record is None and values.get("sent"):
        if any(
            (each.number, each.text) == (values["number"], values["text"]) for each in data.messages
        ):
            return  # a second one like it cannot be told from the first
        told = {"number": str(values["number"]), "text": str(values["text"])}
        yield "sms_sent", told, None
    elif change.removed:
        body, number = old.text.replace("'", "''"), old.number
        where = f"body='{body}' AND address='{number}'"
        yield "content", {"uri": "content://sms", "where": where}, _GONE


def _file(change: Change, old: Any, data: Any) -> Iterator[Entry]:  # Any: as above
    values = dict(change.values)
    if old is not None and (change.removed or {"folder", "name"} & set(values)):
        yield "file", {"path": stored_path(data, old.folder, old.name, old.kind)}, _GONE
    if not change.removed:
        place = [values.get(field, getattr(old, field, None)) for field in _PLACE]
        if all(isinstance(part, str) for part in place):
            folder, name, kind = map(str, place)
            yield "file", {"path": stored_path(data, folder, name, kind)}, None


_PLACE: Final = ("folder", "name", "kind")


def _event(change: Change, old: Any, _data: Any) -> Iterator[Entry]:  # Any: as above
    values = dict(change.values)
    if old is not None and not change.removed and not set(_WHEN) & set(values):
        return
    title, day, start = (values.get(field, getattr(old, field, None)) for field in _WHEN)
    if all(isinstance(part, str) for part in (title, day, start)):
        if old is not None:
            yield "calendar_event", {"title": old.title, "at": f"{old.day} {old.start}"}, _GONE
        if not change.removed:
            yield "calendar_event", {"title": str(title), "at": f"{day} {start}"}, None


_WHEN: Final = ("title", "day", "start")


_ASKED: Final[dict[tuple[str, str], Callable[[Change, Any, Any], Iterator[Entry]]]] = {
    ("settings", "switches"): _switch,
    ("settings", "choices"): _choice,
    ("settings", "levels"): _level,
    ("settings", "networks"): _network,
    ("contacts", "contacts"): _contact,
    ("messages", "messages"): _message,
    ("files", "files"): _file,
    ("calendar", "events"): _event,
}
