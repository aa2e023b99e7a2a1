"""The gates that every task template passes before anybody learns or is judged on it.

The oracle solves every instance; doing nothing, random actions and mere typing solve at most one in
a hundred; end states that nearly are the wanted one are rejected. Episodes are played by the
agent's own loop, so what passes here is what agents meet.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from apps_mock.app import AnyAppState
from apps_mock.baselines import NoopPolicy, RandomPolicy, TypingOnlyPolicy
from apps_mock.oracle import OraclePolicy
from apps_mock.phone import MockPhone
from apps_mock.phone_state import PhoneState
from apps_mock.records import changed, fresh_id, tables_of, without
from apps_mock.templates import Template
from apps_mock.verifiers import verify
from apps_mock.wanted import Change, Wanted
from device_runtime.agent import EpisodeOrigin, run_episode
from device_runtime.ports import Policy
from sync.clock import ManualClock
from sync.vocabulary import Assignment, AssignmentId, DeviceId, Episode, Split, Verdict

WEAK_POLICY_LIMIT = 0.01
"""Highest share of instances that doing nothing, random actions or mere typing may solve."""


@dataclass(frozen=True, slots=True)
class GateRow:
    """What the gates found for one template; success figures are shares of `instances`.

    Attributes:
        oracle_steps: most steps that the oracle took.
        near_misses, killed: end states that nearly are the wanted one, and how many were rejected.
    """

    template: str
    instances: int
    oracle: float
    oracle_steps: int
    noop: float
    random: float
    typing_only: float
    near_misses: int
    killed: int

    @property
    def kill_rate(self) -> float:
        """Share of the near misses that the verifier rejected."""
        return self.killed / self.near_misses if self.near_misses else 1.0

    @property
    def passed(self) -> bool:
        """Whether the template may be used for learning and for headline figures."""
        weak = max(self.noop, self.random, self.typing_only)
        return self.oracle == 1.0 and weak <= WEAK_POLICY_LIMIT and self.killed == self.near_misses


def run_gates(
    templates: Iterable[Template],
    *,
    seeds: Sequence[int] = range(20),
    looks: Sequence[int] = range(4),
    split: Split = Split.VALIDATION,
) -> Iterator[GateRow]:
    """One row per template, each over all seeds and looks."""
    for template in templates:
        yield _gate(template, [*itertools.product(seeds, looks)], split)


def _gate(template: Template, instances: list[tuple[int, int]], split: Split) -> GateRow:
    phone = MockPhone()
    weak: dict[str, Policy] = {
        "noop": NoopPolicy(),
        "random": RandomPolicy(),
        "typing_only": TypingOnlyPolicy(),
    }
    solved = dict.fromkeys(("oracle", *weak), 0)
    longest = misses = killed = 0
    for seed, look in instances:
        assignment = _assignment(template, seed, look, split)
        episode, verdict = play(phone, OraclePolicy(phone), assignment)
        solved["oracle"] += verdict.success
        longest = max(longest, len(episode.steps))
        if verdict.success:
            found = [*near_misses(phone.task.state, phone.state, phone.task.wanted)]
            misses += len(found)
            killed += sum(
                not verify(phone.task.state, miss, phone.task.wanted).reached for miss in found
            )
        for name, policy in weak.items():
            solved[name] += play(phone, policy, assignment)[1].success
    shares = {name: count / len(instances) for name, count in solved.items()}
    return GateRow(
        template=template.name,
        instances=len(instances),
        oracle_steps=longest,
        near_misses=misses,
        killed=killed,
        oracle=shares["oracle"],
        noop=shares["noop"],
        random=shares["random"],
        typing_only=shares["typing_only"],
    )


def _assignment(template: Template, seed: int, look: int, split: Split) -> Assignment:
    return Assignment(
        id=AssignmentId(f"gate-{template.name}-{seed}-{look}"),
        template=template.name,
        suite=template.app,
        seed=seed,
        split=split,
        look=look,
        step_budget=template.step_budget,
    )


def play(phone: MockPhone, policy: Policy, assignment: Assignment) -> tuple[Episode, Verdict]:
    """One episode on a clone, and the verdict on it."""
    episode = run_episode(
        phone,
        policy,
        assignment,
        origin=EpisodeOrigin(DeviceId("gates")),
        clock=ManualClock(),
        new_id=lambda: assignment.id,
    )
    verdict = phone.judge(episode)
    assert verdict is not None, "a phone judges what was just played on it"
    return episode, verdict


def near_misses(before: PhoneState, end: PhoneState, wanted: Wanted) -> Iterator[PhoneState]:
    """End states that nearly are the wanted one: each must be rejected.

    One wanted value undone or altered, the change made to another record, a bystander touched, a
    record too many, and for pages another page in front.
    """
    state = end.app_state(wanted.app)
    for change in wanted.changes:
        for data in _spoilt(before.app_state(wanted.app).data, state.data, change):
            yield end.with_app(wanted.app, state.with_data(data))
    for name, app in end.apps:
        for data in _bystanders_touched(app, wanted if name == wanted.app else None):
            yield end.with_app(name, app.with_data(data))
    if wanted.page is not None:
        yield from _other_pages(end, state, wanted)


def _spoilt(before: Any, after: Any, change: Change) -> Iterator[Any]:  # Any: data of any app
    old, new = getattr(before, change.table), getattr(after, change.table)
    if change.removed:
        yield replace(after, **{change.table: old})
        others = [record for record in new if record.id != change.record]
        for other in others[:1]:
            yield replace(after, **{change.table: without(old, other.id)})
        return
    known = {record.id for record in old}
    record_id = change.record or next(each.id for each in new if each.id not in known)
    for field, value in change.values:
        spoilt = changed(new, record_id, **{field: _altered(value)})
        yield replace(after, **{change.table: spoilt})
    if change.record is None:
        yield replace(after, **{change.table: old})
        return
    for other in [each for each in old if each.id != change.record][:1]:
        moved = changed(old, other.id, **dict(change.values))
        if moved != new:
            yield replace(after, **{change.table: moved})


def _altered(value: object) -> object:
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case _:
            return f"{value}x"


def _bystanders_touched(app: AnyAppState, wanted: Wanted | None) -> Iterator[Any]:  # Any: as above
    """The app's data with one record changed, removed or doubled that no task asks for."""
    if app.data is None:
        return
    touched = {change.record for change in wanted.changes} if wanted else set()
    for table, records in tables_of(app.data):
        free = [record for record in records if record.id not in touched]
        for record in free[:1]:
            field = next(entry.name for entry in fields(record) if entry.name != "id")
            value = _altered(getattr(record, field))
            yield replace(app.data, **{table: changed(records, record.id, **{field: value})})
            yield replace(app.data, **{table: without(records, record.id)})
            double = replace(record, id=fresh_id(records, "n"))
            yield replace(app.data, **{table: (*records, double)})


def _other_pages(end: PhoneState, state: AnyAppState, wanted: Wanted) -> Iterator[PhoneState]:
    page = state.page
    yield replace(end, foreground="")
    if len(state.stack) > 1:
        yield end.with_app(wanted.app, state.popped())
    if page.argument:
        other = replace(page, argument=f"{page.argument}x")
        yield end.with_app(wanted.app, state.with_page(other))
    goal = wanted.page
    for field, _ in goal.drafts if goal else ():
        yield end.with_app(wanted.app, state.with_page(page.with_draft(field, "x")))
