"""What is wrong with a template before anything is played: draws, changes, plans and tags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any, Final, get_args

from apps_mock.blame import place_of
from apps_mock.plans import Move
from apps_mock.records import find, tables_of
from apps_mock.tasks import Task, draw
from apps_mock.templates import CROSS_APP, NOT_COUNTED, Template
from apps_mock.wanted import Change
from sync.vocabulary import Split

TAGS: Final = frozenset({"scrolls", "answer", CROSS_APP, *NOT_COUNTED})
"""Every tag that means something."""

_DRAWN: Final = ("goal", "state", "wanted", "plan", "stages")


def set_up_faults(template: Template, seeds: Sequence[int], split: Split) -> tuple[str, ...]:
    """Why no instance can be played, each fault once; none is good."""
    place, found = place_of(template.set_up), dict[str, None]()
    for seed in seeds:
        task = draw(template.name, seed=seed, split=split, look=0)
        again = draw(template.name, seed=seed, split=split, look=0)
        other = [name for name in _DRAWN if getattr(task, name) != getattr(again, name)]
        if other:
            found[
                f"{place}set_up gives another {other[0]} when seed {seed} is drawn again; take "
                "everything random from its draw"
            ] = None
        found.update(dict.fromkeys(f"{place}{fault}" for fault in _task_faults(task)))
    return tuple(found)


def _task_faults(task: Task) -> Iterator[str]:
    for change in task.wanted.changes:
        yield from _change_faults(task, change)
    for plan in (*(stage.plan for stage in task.stages), task.plan):
        yield from _plan_faults(plan)


def _change_faults(task: Task, change: Change) -> Iterator[str]:
    app = change.app or task.wanted.app
    data = task.state.app_state(app).data
    tables = dict(tables_of(data)) if data is not None else {}
    if change.table not in tables:
        names = ", ".join(tables) or "none"
        yield f"a Change names {app}.{change.table}, which is no table; the tables are {names}"
        return
    records = tables[change.table]
    if change.record is not None and find(records, change.record) is None:
        yield (
            f"a Change names the record {change.record!r}, which is not in {app}.{change.table}; "
            "name one of set_up's data, or None for a new one"
        )
    known = _field_names(records)
    for name, _ in change.values:
        if known and name not in known:
            yield (
                f"a Change names the field {name!r}, which {app}.{change.table} does not have; "
                f"the fields are {', '.join(known)}"
            )


def _field_names(records: tuple[Any, ...]) -> tuple[str, ...]:  # Any: records of any app
    return tuple(entry.name for entry in fields(records[0])) if records else ()


def _plan_faults(plan: dict[Any, Any]) -> Iterator[str]:  # Any: a user's code gives anything
    kinds = get_args(Move)
    for page, move in plan.items():
        if not (isinstance(page, tuple) and len(page) == 2):
            yield f"a plan has the key {page!r}; write the page as (name, argument)"
        if not isinstance(move, kinds):
            names = ", ".join(kind.__name__ for kind in kinds)
            yield f"a plan does {move!r:.60} on page {page!r}; it has to be one of {names}"


def tag_faults(template: Template, seeds: Sequence[int], split: Split) -> tuple[str, ...]:
    """What is wrong with a template's tags; none is good."""
    unknown = [tag for tag in template.tags if tag not in TAGS]
    found = [f"there is no tag {tag!r}; use {', '.join(sorted(TAGS))}" for tag in unknown]
    wanted = [draw(template.name, seed=seed, split=split, look=0).wanted for seed in seeds]
    facts = {
        "infeasible": ([each.infeasible for each in wanted], "Instance.infeasible"),
        "answer": ([each.answer is not None for each in wanted], "Instance.answer"),
    }
    for tag, (hold, what) in facts.items():
        if any(hold) and tag not in template.tags:
            found.append(f"{what} is set without the tag {tag!r}; add it to tags")
        elif not any(hold) and tag in template.tags:
            found.append(f"the tag {tag!r} stands without {what}; set it, or take the tag out")
    return tuple(found)


def steps_fault(template: Template, needed: int) -> str:
    """What is wrong with the number of steps that a template declares; empty where nothing is.

    Args:
        needed: the most steps that its oracle took; 0 where it solved nothing.
    """
    declared = template.oracle_steps
    most = needed + 2
    if "scrolls" in template.tags:
        most = max(needed + 6, needed * 3 // 2)
    if not needed or needed <= declared <= most:
        return ""
    return f"oracle_steps is {declared}, the oracle needs {needed}: write {needed}"
