"""Verifiers: what a task wants of the phone's state, and whether a state has it and nothing else.

A task names the records that shall change, in whichever apps, the page that shall show, and the
answer that shall be given. Each wanted value is one named check; whatever else differs from the
state at reset, in any app, is a side effect unless it is free to.

How an episode has to end: with finish(complete); with the right answer where one is asked for; with
finish(infeasible) and nothing changed where nothing can be done. Any other end is no success.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from apps_mock.answers import is_right
from apps_mock.phone_state import PhoneState
from apps_mock.records import tables_of
from apps_mock.wanted import Change, PageGoal, Wanted
from sync.vocabulary import (
    Action,
    ActionKind,
    Check,
    Episode,
    EpisodeId,
    FinishStatus,
    Verdict,
    VerdictSource,
)

VERIFIER_VERSION = "2"
"""Rises whenever a verifier would judge the same end state differently."""


@dataclass(frozen=True, slots=True)
class SideEffect:
    """A difference that nobody asked for; `field` is empty where a whole record came or went."""

    app: str
    table: str
    record: str
    field: str
    what: str

    def __str__(self) -> str:
        return f"{self.app}.{self.table}[{self.record}] {self.what}"


@dataclass(frozen=True, slots=True)
class Findings:
    """What a verifier found in one state."""

    checks: tuple[Check, ...]
    side_effects: tuple[SideEffect, ...]

    @property
    def reached(self) -> bool:
        """Whether the state is as it is wanted and nothing else was touched."""
        return not self.side_effects and all(check.passed for check in self.checks)


def verify(before: PhoneState, after: PhoneState, wanted: Wanted) -> Findings:
    """What `after` has of what is wanted, compared with the state at reset."""
    checks: list[Check] = []
    effects: list[SideEffect] = []
    for (name, old), (_, new) in zip(before.apps, after.apps, strict=True):
        changes = [change for change in wanted.changes if (change.app or wanted.app) == name]
        if old.data is new.data and not changes:
            continue
        free = {table for app, table in wanted.free if app == name}
        _compare(name, old.data, new.data, changes, free, checks, effects)
    if wanted.page is not None:
        checks.append(_page_check(after, wanted.page.app or wanted.app, wanted.page))
    return Findings(tuple(checks), tuple(effects))


def holds(before: PhoneState, after: PhoneState, app: str, changes: tuple[Change, ...]) -> bool:
    """Whether these changes were made, whatever else was."""
    return all(check.passed for check in verify(before, after, Wanted(app, changes)).checks)


def claim_of(episode: Episode) -> Action | None:
    """What the policy claimed when it ended the episode; None where something else ended it."""
    if not episode.end_reason.terminated or not episode.steps:
        return None
    return episode.steps[-1].action


def verdict_of(
    findings: Findings,
    wanted: Wanted,
    claim: Action | None,
    *,
    episode_id: EpisodeId,
    verifier: str,
    version: str,
) -> Verdict:
    """The verdict that follows from the findings and from what the policy claimed at the end."""
    effects = tuple(str(effect) for effect in findings.side_effects)
    claimed = _claim_check(wanted, claim)
    counted = findings.checks
    if wanted.answer is not None or wanted.infeasible:
        counted = (*counted, claimed)
    reached = not effects and all(check.passed for check in counted)
    return Verdict(
        episode_id=episode_id,
        verifier=verifier,
        verifier_version=version,
        source=VerdictSource.CODE,
        score=1.0 if claimed.passed and reached else 0.0,
        progress=sum(check.passed for check in counted) / max(1, len(counted)),
        goal_reached=reached,
        checks=(
            *findings.checks,
            Check("nothing else changed", not effects, "; ".join(effects)),
            claimed,
        ),
        side_effects=effects,
    )


def _claim_check(wanted: Wanted, claim: Action | None) -> Check:
    """Whether the policy ended the episode in the way that this task has to end."""
    status = claim.status if claim is not None and claim.kind is ActionKind.FINISH else None
    if wanted.infeasible:
        passed = status is FinishStatus.INFEASIBLE
        return Check("claimed infeasible", passed, "" if passed else "nobody said so")
    if wanted.answer is not None:
        given = claim.text if claim is not None and claim.kind is ActionKind.ANSWER else None
        passed = isinstance(given, str) and is_right(given, wanted.answer)
        reason = f"expected {wanted.answer.value!r}, got {given!r}"
        return Check("answered", passed, "" if passed else reason)
    passed = status is FinishStatus.COMPLETE
    return Check("finished", passed, "" if passed else "the policy did not claim completion")


def _page_check(after: PhoneState, app: str, goal: PageGoal) -> Check:
    shown = after.front
    page = shown.page if shown is not None and after.foreground == app else None
    where = f"{after.foreground or 'launcher'}:{page.name if page else ''}"
    passed = (
        page is not None
        and not page.overlay
        and after.overlay is None
        and (page.name, page.argument) == (goal.name, goal.argument)
        and all(page.draft(field) == text for field, text in goal.drafts)
    )
    return Check(f"page {goal.name}", passed, "" if passed else f"{where} shows instead")


def _compare(  # noqa: PLR0917 - one private call
    app: str,
    old: Any,  # Any: every app has its own type of data
    new: Any,  # Any: as above
    changes: list[Change],
    free: set[str],
    checks: list[Check],
    effects: list[SideEffect],
) -> None:
    if old is None or new is None:
        return
    after_tables = dict(tables_of(new))
    effects.extend(_changed_facts(app, old, new, after_tables))
    for table, records in tables_of(old):
        own = [change for change in changes if change.table == table]
        now = after_tables.get(table, ())
        if not own and now is records:
            continue
        found = [] if table in free else effects
        _compare_table(f"{app}.{table}", records, now, own, checks, found)


def _changed_facts(
    app: str,
    old: Any,  # Any: every app has its own type of data
    new: Any,  # Any: as above
    tables: dict[str, tuple[Any, ...]],  # Any: as above
) -> Iterator[SideEffect]:
    """What differs beside the tables: no action changes it."""
    for entry in fields(old):
        value = getattr(new, entry.name)
        if entry.name not in tables and getattr(old, entry.name) != value:
            yield SideEffect(app, entry.name, "", "", f"became {value!r}")


def _compare_table(  # noqa: PLR0917 - one private call
    name: str,
    old: tuple[Any, ...],  # Any: records of any app
    new: tuple[Any, ...],  # Any: as above
    changes: list[Change],
    checks: list[Check],
    effects: list[SideEffect],
) -> None:
    app, _, table = name.partition(".")
    known = {record.id for record in old}
    added = [record for record in new if record.id not in known]
    for change in [each for each in changes if each.record is None]:
        best = max(added, key=lambda record: _matches(record, change), default=None)
        if best is not None:
            added.remove(best)
        checks.extend(_value_checks(table, "new", best, change.values))
    effects.extend(SideEffect(app, table, record.id, "", "was added") for record in added)
    wanted = {change.record: change for change in changes if change.record is not None}
    present = {record.id: record for record in new}
    for record in old:
        now = present.get(record.id)
        own = wanted.get(record.id)
        if now is record and own is None:
            continue
        if own is not None and own.removed:
            gone = now is None
            checks.append(Check(f"{table} {record.id} gone", gone, "" if gone else "still there"))
            continue
        values = own.values if own else ()
        checks.extend(_value_checks(table, record.id, now, values))
        effects.extend(_other_fields(app, table, record, now, {field for field, _ in values}))


def _matches(record: Any, change: Change) -> int:  # Any: records of any app
    return sum(getattr(record, field) == value for field, value in change.values)


def _value_checks(
    table: str,
    record_id: str,
    record: Any,  # Any: records of any app
    values: tuple[tuple[str, object], ...],
) -> Iterator[Check]:
    for field, value in values:
        found = None if record is None else getattr(record, field)
        passed = record is not None and found == value
        reason = "" if passed else f"expected {value!r}, found {found!r}"
        yield Check(f"{table} {record_id} {field}", passed, reason)


def _other_fields(
    app: str,
    table: str,
    old: Any,  # Any: records of any app
    new: Any,  # Any: as above
    wanted: set[str],
) -> Iterator[SideEffect]:
    if new is old:
        return
    if new is None:
        yield SideEffect(app, table, old.id, "", "was removed")
        return
    for entry in fields(old):
        before, after = getattr(old, entry.name), getattr(new, entry.name)
        if entry.name not in wanted and before != after:
            yield SideEffect(app, table, old.id, entry.name, f"{entry.name} became {after!r}")
