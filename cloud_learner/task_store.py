"""Tasks: what an operator gives devices to do, as assignments that only the named device may play.

An assignment reaches its device through the inbox table, is played once however often it comes, and
ends in the transaction that stores its episode; so a task has exactly one effect, and its episode
is its result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, Select, func, select, update

from cloud_learner import device_rows
from cloud_learner.errors import UnknownRowError
from cloud_learner.order_limits import MOST_DAYS, check_text, check_whole
from cloud_learner.store import Database, insert_all_new
from cloud_learner.tables import ASSIGNMENTS, EPISODES, FLEET_TASKS, PHONES
from sync.clock import Clock
from sync.vocabulary import OWN_TEMPERATURE, Assignment, AssignmentId, Purpose, TemplateInfo

Fields = dict[str, Any]  # a row with JSON values

PREFIX: Final = "task."
"""What the ids of tasks, and so the batches of their assignments, begin with."""
URGENT: Final = 0
_STATES: Final[Mapping[str, str]] = {"open": "waiting", "sent": "sent", "played": "done"}
ENDED: Final = frozenset({"done", "refused", "cancelled"})
_AT_ONCE: Final = 500
_MOST_STEPS: Final = 10_000
_TOLD_FOR_MS: Final = 2 * 86_400_000
"""How long after a task's deadline its device is told again that it was cancelled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOrder:
    """What is to be done: a goal in words, or a template's task.

    Attributes:
        seed: which task of the template; the same for every device.
        step_budget: most actions; 0 takes the template's own, or 30.
        deadline_s: how long it may wait for its device.
    """

    goal: str = ""
    template: str = ""
    seed: int = 0
    actor: str = "release"
    step_budget: int = 0
    deadline_s: float = 86_400.0

    def __post_init__(self) -> None:
        if bool(self.goal.strip()) == bool(self.template):
            raise ValueError("a task is a goal or a template: say one of them")
        for name in ("goal", "template", "actor"):
            check_text(getattr(self, name), name)
        check_whole(self.seed, "seed")
        check_whole(self.step_budget, "step_budget", most=_MOST_STEPS)
        if not 0 < self.deadline_s <= MOST_DAYS * 86_400:
            raise ValueError(f"deadline_s: more than 0, and at most {MOST_DAYS:.0f} days")


class TaskStore:
    """Tasks in the cloud database; safe to use from any thread."""

    def __init__(self, database: Database, *, clock: Clock, new_id: Callable[[], str]) -> None:
        self._database = database
        self._clock = clock
        self._new_id = new_id

    def give(self, device_ids: Sequence[str], order: TaskOrder) -> str:
        """Give devices something to do, each once; the task's id."""
        task_id = f"{PREFIX}{self._new_id()}"
        now_ms = self._clock.wall_ms()
        with self._database.write() as connection:
            assignments, tasks = [], []
            for ordinal, device_id in enumerate(device_ids):
                known = _announced(connection, device_id, order.template)
                row = _assignment_row(task_id, ordinal, device_id, order, known)
                assignments.append(row)
                refused = row["state"] == "refused"
                tasks.append(
                    {
                        "assignment_id": row["id"],
                        "task_id": task_id,
                        "device_id": device_id,
                        "created_at_ms": now_ms,
                        "accepted_at_ms": 0,
                        "deadline_ms": now_ms + round(order.deadline_s * 1000),
                        "detail": "unknown_task: it does not play that" if refused else "",
                    }
                )
            insert_all_new(connection, ASSIGNMENTS, assignments)
            insert_all_new(connection, FLEET_TASKS, tasks)
        return task_id

    def rows(self, task_id: str) -> list[Fields]:
        """How far a task is on each of its devices.

        Raises: UnknownRowError: there is no such task.
        """
        statement = _joined().where(FLEET_TASKS.c.task_id == task_id)
        with self._database.read() as connection:
            found = connection.execute(statement.order_by(FLEET_TASKS.c.device_id)).mappings()
            rows = [_fields(row) for row in found]
        if not rows:
            raise UnknownRowError("task", task_id)
        return rows

    def latest(self, *, device_id: str = "", limit: int = 100) -> list[Fields]:
        """The newest tasks of the fleet, or of one device."""
        statement = _joined().order_by(FLEET_TASKS.c.created_at_ms.desc()).limit(limit)
        if device_id:
            statement = statement.where(FLEET_TASKS.c.device_id == device_id)
        with self._database.read() as connection:
            return [_fields(row) for row in connection.execute(statement).mappings()]

    def cancel(self, task_id: str) -> int:
        """Let a task go where it was not begun; how many devices that is.

        Raises: UnknownRowError: there is no such task.
        """
        self.rows(task_id)
        return self._end(FLEET_TASKS.c.task_id == task_id, "cancelled by the operator")

    def expire(self) -> int:
        """Let go of what waited too long; how many."""
        return self._end(
            FLEET_TASKS.c.deadline_ms < self._clock.wall_ms(), "nobody played it in time"
        )

    def cancelled(self, device_id: str) -> tuple[str, ...]:
        """Assignments of a device's tasks that it must not begin any more, of the last days."""
        statement = (
            select(FLEET_TASKS.c.assignment_id)
            .join(ASSIGNMENTS, ASSIGNMENTS.c.id == FLEET_TASKS.c.assignment_id)
            .where(
                FLEET_TASKS.c.device_id == device_id,
                FLEET_TASKS.c.deadline_ms >= self._clock.wall_ms() - _TOLD_FOR_MS,
                ASSIGNMENTS.c.state == "cancelled",
            )
        )
        with self._database.read() as connection:
            return tuple(connection.execute(statement).scalars())

    def counts(self) -> dict[str, int]:
        """How many tasks are how far, for the metrics."""
        statement = (
            select(ASSIGNMENTS.c.state, func.count())
            .where(ASSIGNMENTS.c.batch.startswith(PREFIX))
            .group_by(ASSIGNMENTS.c.state)
        )
        with self._database.read() as connection:
            found = connection.execute(statement).all()
        return {f"tasks_{_STATES.get(state, state)}": int(number) for state, number in found}

    def _end(self, condition: Any, why: str) -> int:  # Any: an SQL expression
        """Cancel what is not played; devices that have it are told by the carrier."""
        chosen = (
            select(FLEET_TASKS.c.assignment_id, ASSIGNMENTS.c.state, FLEET_TASKS.c.device_id)
            .join(ASSIGNMENTS, ASSIGNMENTS.c.id == FLEET_TASKS.c.assignment_id)
            .where(condition, ASSIGNMENTS.c.state.in_(["open", "sent"]))
            .limit(_AT_ONCE)
        )
        with self._database.read() as connection:
            if connection.execute(chosen.limit(1)).first() is None:
                return 0
        with self._database.write() as connection:
            rows = connection.execute(chosen).all()
            ids = [row.assignment_id for row in rows]
            connection.execute(
                update(ASSIGNMENTS).where(ASSIGNMENTS.c.id.in_(ids)).values(state="cancelled")
            )
            connection.execute(
                update(FLEET_TASKS).where(FLEET_TASKS.c.assignment_id.in_(ids)).values(detail=why)
            )
            device_rows.change(connection, {row.device_id for row in rows}, pending=True)
        return len(ids)


def _announced(connection: Connection, device_id: str, template: str) -> TemplateInfo | None:
    """What a device says of a template; None where it does not play it."""
    if not template:
        return None
    found = connection.execute(
        select(PHONES.c.templates).where(PHONES.c.device_id == device_id)
    ).scalar()
    for entry in found or ():
        if entry["name"] == template:
            return msgspec.convert(entry, TemplateInfo)
    return None


def _assignment_row(
    task_id: str, ordinal: int, device_id: str, order: TaskOrder, known: TemplateInfo | None
) -> Fields:
    assignment = Assignment(
        id=AssignmentId(f"{task_id}.{device_id}"),
        template=order.template,
        goal=order.goal,
        suite="" if known is None else known.suite,
        seed=order.seed,
        actor=order.actor,
        purpose=Purpose.EVALUATE,
        temperature=OWN_TEMPERATURE,
        step_budget=order.step_budget or (30 if known is None else known.step_budget),
    )
    is_playable = known is not None or not order.template
    return {
        "id": assignment.id,
        "batch": task_id,
        "ordinal": ordinal,
        "priority": URGENT,
        "state": "open" if is_playable else "refused",
        "reserved_for": device_id,
        "device_id": "",
        "sent_at_ms": 0,
        "expiries": 0,
        "template": assignment.template,
        "app": "" if known is None else known.app,
        "purpose": assignment.purpose.value,
        "release_id": "",
        "episode_id": "",
        "body": msgspec.to_builtins(assignment),
    }


def _joined() -> Select[Any]:  # Any: columns of any type
    return select(
        FLEET_TASKS,
        ASSIGNMENTS.c.state,
        ASSIGNMENTS.c.body,
        ASSIGNMENTS.c.episode_id,
        EPISODES.c.success,
        EPISODES.c.end_reason,
        EPISODES.c.n_steps,
    ).select_from(
        FLEET_TASKS.join(ASSIGNMENTS, ASSIGNMENTS.c.id == FLEET_TASKS.c.assignment_id).outerjoin(
            EPISODES, EPISODES.c.id == ASSIGNMENTS.c.episode_id
        )
    )


def _fields(row: Mapping[Any, Any]) -> Fields:  # a row has no static type
    state = _STATES.get(row["state"], row["state"])
    if state == "sent" and row["accepted_at_ms"]:
        state = "accepted"
    return {
        "task_id": row["task_id"],
        "device_id": row["device_id"],
        "state": state,
        "goal": row["body"]["goal"],
        "template": row["body"]["template"],
        "episode_id": row["episode_id"],
        "success": row["success"],
        "end_reason": row["end_reason"],
        "steps": row["n_steps"],
        "detail": row["detail"],
        "created_at_ms": row["created_at_ms"],
        "accepted_at_ms": row["accepted_at_ms"],
        "deadline_ms": row["deadline_ms"],
    }
