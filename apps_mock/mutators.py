"""Near misses: ends of an episode that nearly are the wanted one, each of a named kind.

A verifier has to reject every one of them; what it accepts is a survivor. Each is a whole state of
the phone with what the policy claimed at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, Final

from apps_mock.alterations import altered, off_by_one, rewritten
from apps_mock.blame import place_of
from apps_mock.errors import MutatorError
from apps_mock.false_claims import false_claims
from apps_mock.phone_state import PhoneState
from apps_mock.records import changed, find, fresh_id, tables_of, without
from apps_mock.wanted import Change, Wanted
from sync.vocabulary import Action

KINDS: Final = (
    "wrong record",
    "value altered",
    "off by one",
    "extra record",
    "missing record",
    "text rewritten",
    "wrong place",
    "done and undone",
    "bystander changed",
    "wrong page",
    "wrong answer",
    "wrong claim",
)
"""Names of the kinds of near misses."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One near miss.

    Attributes:
        name: what was changed, in a few words.
        claim: the policy's last action.
    """

    kind: str
    name: str
    state: PhoneState
    claim: Action


@dataclass(frozen=True, slots=True)
class Ending:
    """How an oracle's episode began and ended.

    Attributes:
        claim: the oracle's last action.
    """

    before: PhoneState
    end: PhoneState
    wanted: Wanted
    claim: Action


def mutants(ending: Ending) -> Iterator[Mutant]:
    """The near misses of a rightly ended episode."""
    for kind, name, state in _states(ending):
        if state != ending.end:
            yield Mutant(kind, name, state, ending.claim)
    for kind, name, claim in false_claims(ending.wanted, ending.claim):
        yield Mutant(kind, name, ending.end, claim)


_OF_VALUES: Final = frozenset({"value altered", "off by one", "text rewritten"})
"""Kinds that also count in tables whose other records are free to change."""

_Named = tuple[str, str, PhoneState]


def _states(ending: Ending) -> Iterator[_Named]:
    for change in ending.wanted.changes:
        yield from _spoilt(ending, change)
    yield from _all_undone(ending)
    yield from _bystanders_touched(ending)
    yield from _other_pages(ending)


def _app_of(change: Change, wanted: Wanted) -> str:
    return change.app or wanted.app


def _spoilt(ending: Ending, change: Change) -> Iterator[_Named]:
    app = _app_of(change, ending.wanted)
    state = ending.end.app_state(app)
    before = ending.before.app_state(app).data
    free = (app, change.table) in ending.wanted.free
    for kind, name, table in _spoilt_tables(ending, change, before, state.data):
        if free and kind not in _OF_VALUES:
            continue
        data = replace(state.data, **{change.table: table})
        named = f"{app}.{change.table}[{change.record or 'new'}] {name}"
        yield kind, named, ending.end.with_app(app, state.with_data(data))
    if not change.removed:
        yield from _in_another_app(ending, change, app)


_Tables = Iterator[tuple[str, str, tuple[Any, ...]]]  # Any: records of any app


def _spoilt_tables(
    ending: Ending,
    change: Change,
    before: Any,  # Any: data of any app
    after: Any,  # Any: as above
) -> _Tables:
    old, new = getattr(before, change.table), getattr(after, change.table)
    if change.removed:
        yield from _wrongly_removed(old, new)
        return
    record = _made(change, old, new)
    if record is None:
        return
    yield from _spoilt_values(record, change, new)
    yield "missing record", "is gone", without(new, record.id)
    if change.record is None:
        double = replace(record, id=fresh_id(new, "n"))
        yield "extra record", "is there twice", (*new, double)
    else:
        yield "done and undone", "as before", _with_record(new, find(old, record.id))
        yield from _on_others(ending, change, old, new)


def _made(change: Change, old: tuple[Any, ...], new: tuple[Any, ...]) -> Any:  # Any: a record
    """The record that the change was made to, or that it made."""
    if change.record is not None:
        return find(new, change.record)
    known = {record.id for record in old}
    added = [record for record in new if record.id not in known]
    return max(
        added,
        key=lambda each: sum(getattr(each, name) == value for name, value in change.values),
        default=None,
    )


def _wrongly_removed(old: tuple[Any, ...], new: tuple[Any, ...]) -> _Tables:
    yield "done and undone", "is back", old
    for other in new[:1]:
        yield "wrong record", f"{other.id} removed instead", without(old, other.id)
        yield "missing record", f"{other.id} removed as well", without(new, other.id)


def _spoilt_values(record: Any, change: Change, new: tuple[Any, ...]) -> _Tables:  # Any: a record
    named = dict(change.values)
    for entry in fields(record):
        if entry.name == "id":
            continue
        value = getattr(record, entry.name)
        if change.record is not None and entry.name not in named:
            spoilt = changed(new, record.id, **{entry.name: altered(value)})
            yield "bystander changed", f"{entry.name} {altered(value)!r}", spoilt
            continue
        for kind, other in _near(value):
            spoilt = changed(new, record.id, **{entry.name: other})
            yield kind, f"{entry.name} {other!r} for {value!r}", spoilt
    texts = [
        entry.name
        for entry in fields(record)
        if entry.name != "id" and isinstance(getattr(record, entry.name), str)
    ]
    for one, other in pairwise(texts):
        if {one, other} & set(named):
            swapped = {one: getattr(record, other), other: getattr(record, one)}
            yield "wrong place", f"{one} and {other} swapped", changed(new, record.id, **swapped)


def _near(value: object) -> Iterator[tuple[str, object]]:
    yield "value altered", altered(value)
    yield from (("off by one", other) for other in off_by_one(value))
    yield from (("text rewritten", other) for other in rewritten(value) if other != value)


def _with_record(table: tuple[Any, ...], record: Any) -> tuple[Any, ...]:  # Any: any record
    return tuple(record if each.id == record.id else each for each in table)


def _on_others(
    ending: Ending, change: Change, old: tuple[Any, ...], new: tuple[Any, ...]
) -> _Tables:
    """The change made to another record, instead or as well."""
    wanted = {each.record for each in ending.wanted.changes if each.table == change.table}
    others = [record for record in old if record.id not in wanted][:2]
    original = find(old, change.record or "")
    for other in others:
        values = {name: value for name, value in change.values if hasattr(other, name)}
        moved = changed(_with_record(new, original), other.id, **values)
        yield "wrong record", f"{other.id} changed instead", moved
        yield "wrong record", f"{other.id} changed as well", changed(new, other.id, **values)


def _in_another_app(ending: Ending, change: Change, app: str) -> Iterator[_Named]:
    """The wanted text written into another app, the right place as it was before."""
    texts = [value for _, value in change.values if isinstance(value, str) and value]
    if not texts:
        return
    undone = ending.end.with_app(app, ending.before.app_state(app))
    for name, state in ending.end.apps:
        place = _writable(state.data) if name != app else None
        if place is not None:
            table, record, entry = place
            records = changed(getattr(state.data, table), record, **{entry: texts[0]})
            data = replace(state.data, **{table: records})
            written = undone.with_app(name, state.with_data(data))
            yield "wrong place", f"{texts[0]!r} in {name}.{table}[{record}] instead", written
            return


def _writable(data: Any) -> tuple[str, str, str] | None:  # Any: data of any app
    """Some text of an app: table, record and field."""
    for table, records in tables_of(data) if data is not None else ():
        for record in records[:1]:
            for entry in fields(record):
                if entry.name != "id" and isinstance(getattr(record, entry.name), str):
                    return table, record.id, entry.name
    return None


def _all_undone(ending: Ending) -> Iterator[_Named]:
    """Everything as it was at reset, one app after the other, and in all."""
    if not ending.wanted.changes:
        return
    apps = {_app_of(change, ending.wanted) for change in ending.wanted.changes}
    undone = ending.end
    for app in sorted(apps):
        state = ending.end.app_state(app)
        restored = state.with_data(ending.before.app_state(app).data)
        undone = undone.with_app(app, restored)
        yield "done and undone", f"{app} as before", ending.end.with_app(app, restored)
    yield "done and undone", "everything as before", undone


def _bystanders_touched(ending: Ending) -> Iterator[_Named]:
    """One record that no task asks for changed, removed or doubled."""
    for app, state in ending.end.apps:
        if state.data is None:
            continue
        free = {table for name, table in ending.wanted.free if name == app}
        for table, records in tables_of(state.data):
            if table in free:
                continue
            for kind, name, spoilt in _touched(ending, app, table, records):
                data = replace(state.data, **{table: spoilt})
                named = f"{app}.{table}{name}"
                yield kind, named, ending.end.with_app(app, state.with_data(data))


def _touched(ending: Ending, app: str, table: str, records: tuple[Any, ...]) -> _Tables:
    before = {record.id for record in getattr(ending.before.app_state(app).data, table)}
    own = {
        change.record
        for change in ending.wanted.changes
        if (_app_of(change, ending.wanted), change.table) == (app, table)
    }
    bystanders = [record for record in records if record.id in before - own]
    involved = app in {_app_of(change, ending.wanted) for change in ending.wanted.changes}
    for record in dict.fromkeys((*bystanders[:1], *bystanders[-1:])) if bystanders else ():
        names = [entry.name for entry in fields(record) if entry.name != "id"]
        for name in names if involved else names[:1]:
            value = altered(getattr(record, name))
            spoilt = changed(records, record.id, **{name: value})
            yield "bystander changed", f"[{record.id}] {name} {value!r}", spoilt
        yield "missing record", f"[{record.id}] is gone", without(records, record.id)
        double = replace(record, id=fresh_id(records, "n"))
        yield "extra record", f"[{record.id}] is there twice", (*records, double)


def _other_pages(ending: Ending) -> Iterator[_Named]:
    goal, end = ending.wanted.page, ending.end
    if goal is None:
        return
    app = goal.app or ending.wanted.app
    state = end.app_state(app)
    page = state.page
    yield "wrong page", "the launcher", replace(end, foreground="")
    yield "wrong page", "recent apps", replace(end, foreground="recents")
    if len(state.stack) > 1:
        yield "wrong page", "one page back", end.with_app(app, state.popped())
    other = replace(page, argument=f"{page.argument}x")
    yield "wrong page", "about another record", end.with_app(app, state.with_page(other))
    renamed = replace(page, name=f"{page.name}x")
    yield "wrong page", "another page", end.with_app(app, state.with_page(renamed))
    for field, text in goal.drafts:
        for kind, value in (("value altered", f"{text} {text}"), *_near(text)):
            typed = state.with_page(page.with_draft(field, str(value)))
            yield kind, f"{field} holds {value!r}", end.with_app(app, typed)


Mutations = Callable[[PhoneState, PhoneState, Wanted], Iterable[tuple[str, PhoneState]]]
"""A user's own near misses: name and state of each, from the states at reset and at the end."""


def user_mutants(ending: Ending, mutations: Mutations) -> Iterator[Mutant]:
    """The near misses that somebody's own mutator file makes.

    Raises: MutatorError: it gave something else.
    """
    where = f"{place_of(mutations)}mutations(before, end, wanted)"
    given: object = mutations(ending.before, ending.end, ending.wanted)
    if not isinstance(given, Iterable):
        raise MutatorError(f"{where} gave {given!r:.60}; yield pairs (name, state) in it")
    for each in given:
        match each:
            case (str() as name, PhoneState() as state):
                yield Mutant(f"user: {name}", name, state, ending.claim)
            case _:
                raise MutatorError(
                    f"{where} yielded {each!r:.60}; yield pairs (name, state) whose state is a "
                    "changed PhoneState"
                )
