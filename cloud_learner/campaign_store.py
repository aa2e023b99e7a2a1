"""The campaign as rows: the facts it decides by, its moves, and what is sent to whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
from sqlalchemy import Connection, Integer, and_, cast, func, insert, or_, select, update

from cloud_learner.batches import TRAIN, Planned
from cloud_learner.campaign import (
    CampaignState,
    Facts,
    Move,
    NewRelease,
    Tally,
    WaitingAdapter,
)
from cloud_learner.dispatch import OpenAssignment, Player
from cloud_learner.ingest_store import announced_templates
from cloud_learner.record_store import template_records
from cloud_learner.settings import CampaignSettings, DispatchSettings
from cloud_learner.store import (
    Database,
    insert_all_new,
    insert_new,
    one,
    row_count,
    training_env_steps,
)
from cloud_learner.tables import (
    ADAPTERS,
    ASSIGNMENTS,
    CAMPAIGN,
    EPISODES,
    LEARNER_STATE,
    PHONES,
    RELEASES,
)
from cloud_learner.task_store import PREFIX as TASK_PREFIX
from sync.clock import Clock
from sync.messages import Role
from sync.vocabulary import Assignment, EndReason, Purpose

MOST_EXPIRIES = 3
"""An assignment that was sent so often without an episode counts as an env_error."""

_OPEN_WINDOW = 512


class CampaignStore:
    """The director's view of the cloud database; used by one thread."""

    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def begin(self, settings: CampaignSettings) -> tuple[CampaignSettings, CampaignState, float]:
        """The campaign of this database, begun with `settings` where there is none.

        Returns: its settings (those it was begun with), its state, and its active seconds so far.
        """
        now_ms = self._clock.wall_ms()
        with self._database.write() as connection:
            row = {
                "id": 1,
                "settings": msgspec.to_builtins(settings),
                "state": msgspec.to_builtins(CampaignState()),
                "phase": CampaignState().phase.value,
                "active_s": 0.0,
                "started_at_ms": now_ms,
                "updated_at_ms": now_ms,
            }
            insert_new(connection, CAMPAIGN, row)
            stored = connection.execute(select(CAMPAIGN)).mappings().one()
        return (
            msgspec.convert(stored["settings"], CampaignSettings),
            msgspec.convert(stored["state"], CampaignState),
            float(stored["active_s"]),
        )

    def facts(
        self, active_s: float, *, published_version: int = 0, with_records: bool = False
    ) -> Facts:
        """What the campaign decides by, read in one view.

        Args:
            published_version: highest version that the signer knows of.
            with_records: read what came of each template, too.
        """
        with self._database.read() as connection:
            phones = connection.execute(select(PHONES).where(PHONES.c.online.is_(True))).mappings()
            present = phones.all()
            learner = _learner_state(connection)
            latest = int(one(connection, select(func.max(RELEASES.c.version))) or 0)
            return Facts(
                templates=announced_templates(present),
                phones=tuple(
                    sorted(row["device_id"] for row in present if row["role"] == Role.PHONE)
                ),
                tallies=tallies(connection),
                waiting=_waiting(connection),
                unconsumed=_unconsumed(connection, int(learner.get("consumed_row", 0))),
                outstanding=row_count(
                    connection,
                    ASSIGNMENTS,
                    ASSIGNMENTS.c.batch == TRAIN,
                    ASSIGNMENTS.c.state == "sent",
                ),
                env_steps=training_env_steps(connection),
                settled=bool(learner.get("settled", False)),
                active_s=active_s,
                next_version=max(latest, published_version) + 1,
                records=template_records(connection) if with_records else {},
                asked=learner.get("template_weights", {}),
            )

    def apply(self, move: Move, *, active_s: float, env_steps: int) -> None:
        """Carry a move out: all of it or nothing. Idempotent."""
        now_ms = self._clock.wall_ms()
        with self._database.write() as connection:
            issued = [_assignment_row(planned) for planned in move.issue]
            insert_all_new(connection, ASSIGNMENTS, issued)
            if move.supersede:
                _set_adapters(connection, move.supersede, "superseded")
            if move.publish is not None:
                _draft(connection, move.publish, now_ms=now_ms, env_steps=env_steps)
            if move.gate is not None:
                connection.execute(
                    update(RELEASES)
                    .where(RELEASES.c.id == move.gate.release_id)
                    .values(
                        state="promoted" if move.gate.promoted else "reverted",
                        decided_at_ms=now_ms,
                        validation_n=move.gate.figures.n,
                        validation_successes=move.gate.figures.successes,
                        validation_env_errors=move.gate.figures.env_errors,
                        notes=move.gate.reason,
                    )
                )
            if move.cancel:
                connection.execute(
                    update(ASSIGNMENTS)
                    .where(ASSIGNMENTS.c.batch.in_(move.cancel), ASSIGNMENTS.c.state == "open")
                    .values(state="cancelled")
                )
            connection.execute(
                update(CAMPAIGN).values(
                    state=msgspec.to_builtins(move.state),
                    phase=move.state.phase.value,
                    active_s=active_s,
                    updated_at_ms=now_ms,
                )
            )

    def keep_time(self, active_s: float) -> None:
        """Remember how long the campaign has run."""
        with self._database.write() as connection:
            connection.execute(
                update(CAMPAIGN).values(active_s=active_s, updated_at_ms=self._clock.wall_ms())
            )

    def expire(self, settings: DispatchSettings) -> int:
        """Reopen what was sent too long ago, or to a device that fell silent; how many."""
        now_ms = self._clock.wall_ms()
        silent = select(PHONES.c.device_id).where(
            PHONES.c.last_seen_ms < now_ms - round(settings.silence_s * 1000)
        )
        overdue = ASSIGNMENTS.c.sent_at_ms < now_ms - round(settings.deadline_s * 1000)
        with self._database.write() as connection:
            lost = and_(
                ASSIGNMENTS.c.expiries >= MOST_EXPIRIES,
                ASSIGNMENTS.c.batch.not_like(f"{TASK_PREFIX}%"),  # a task ends at its deadline
            )
            connection.execute(
                update(ASSIGNMENTS)
                .where(ASSIGNMENTS.c.state == "sent", overdue, lost)
                .values(state="refused")
            )
            expired = connection.execute(
                update(ASSIGNMENTS)
                .where(
                    ASSIGNMENTS.c.state == "sent",
                    or_(overdue, ASSIGNMENTS.c.device_id.in_(silent)),
                )
                .values(
                    state="open",
                    device_id="",
                    expiries=ASSIGNMENTS.c.expiries + cast(overdue, Integer),
                )
            )
            return expired.rowcount

    def open_assignments(self) -> list[OpenAssignment]:
        """The most urgent assignments that nobody plays yet, and that somebody here could."""
        present = select(PHONES.c.device_id).where(PHONES.c.online.is_(True))
        statement = (
            select(ASSIGNMENTS)
            .where(
                ASSIGNMENTS.c.state == "open",
                or_(ASSIGNMENTS.c.reserved_for == "", ASSIGNMENTS.c.reserved_for.in_(present)),
            )
            .order_by(ASSIGNMENTS.c.priority, ASSIGNMENTS.c.ordinal, ASSIGNMENTS.c.id)
            .limit(_OPEN_WINDOW)
        )
        with self._database.read() as connection:
            rows = connection.execute(statement).mappings().all()
        return [
            OpenAssignment(
                id=row["id"],
                template=row["template"],
                purpose=Purpose(row["purpose"]),
                reserved_for=row["reserved_for"],
            )
            for row in rows
        ]

    def players(self, settings: DispatchSettings) -> list[Player]:
        """The devices that are online and not silent."""
        since_ms = self._clock.wall_ms() - round(settings.silence_s * 1000)
        with self._database.read() as connection:
            rows = connection.execute(
                select(PHONES)
                .where(PHONES.c.online.is_(True), PHONES.c.last_seen_ms >= since_ms)
                .order_by(PHONES.c.device_id)
            ).mappings()
            present = rows.all()
            outstanding = _outstanding(connection)
        return [_player(row, outstanding.get(row["device_id"], 0)) for row in present]

    def mark_sent(self, device_id: str, assignment_ids: Sequence[str]) -> list[Assignment]:
        """Give open assignments to a device; those that were still open, in the order given."""
        with self._database.write() as connection:
            taken = connection.execute(
                update(ASSIGNMENTS)
                .where(ASSIGNMENTS.c.id.in_(assignment_ids), ASSIGNMENTS.c.state == "open")
                .values(state="sent", device_id=device_id, sent_at_ms=self._clock.wall_ms())
                .returning(ASSIGNMENTS.c.id, ASSIGNMENTS.c.body)
            ).all()
        bodies = {row_id: body for row_id, body in taken}  # noqa: C416 - rows are no pairs to mypy
        return [
            msgspec.convert(bodies[name], Assignment) for name in assignment_ids if name in bodies
        ]

    def take_back(self, assignment_ids: Sequence[str]) -> None:
        """Reopen assignments that could not be sent."""
        with self._database.write() as connection:
            connection.execute(
                update(ASSIGNMENTS)
                .where(ASSIGNMENTS.c.id.in_(assignment_ids), ASSIGNMENTS.c.state == "sent")
                .values(state="open", device_id="")
            )


def tallies(connection: Connection) -> dict[str, Tally]:
    """How far every batch is. A refused assignment counts as an env_error."""
    issued = connection.execute(
        select(ASSIGNMENTS.c.batch, ASSIGNMENTS.c.state, func.count()).group_by(
            ASSIGNMENTS.c.batch, ASSIGNMENTS.c.state
        )
    )
    found: dict[str, Tally] = {}
    for batch, state, number in issued:
        tally = found.get(batch, Tally())
        found[batch] = replace(
            tally,
            issued=tally.issued + number,
            played=tally.played + (number if state in {"played", "refused"} else 0),
            env_errors=tally.env_errors + (number if state == "refused" else 0),
        )
    is_error = EPISODES.c.end_reason == EndReason.ENV_ERROR.value
    played = connection.execute(
        select(
            EPISODES.c.batch,
            func.sum(cast(is_error, Integer)),
            func.sum(cast(EPISODES.c.success.is_(True) & ~is_error, Integer)),
        )
        .where(EPISODES.c.duplicate.is_(False), EPISODES.c.batch != "")
        .group_by(EPISODES.c.batch)
    )
    for batch, errors, successes in played:
        tally = found.get(batch, Tally())
        found[batch] = replace(
            tally, env_errors=tally.env_errors + int(errors or 0), successes=int(successes or 0)
        )
    return found


def _learner_state(connection: Connection) -> dict[str, Any]:
    rows = connection.execute(select(LEARNER_STATE.c.key, LEARNER_STATE.c.value))
    return {key: value for key, value in rows}  # noqa: C416 - rows are no pairs to mypy


def _waiting(connection: Connection) -> tuple[WaitingAdapter, ...]:
    rows = connection.execute(
        select(ADAPTERS.c.name, ADAPTERS.c.kind)
        .where(ADAPTERS.c.state == "delivered")
        .order_by(ADAPTERS.c.ordinal)
    )
    return tuple(WaitingAdapter(name, kind == "warm_up") for name, kind in rows)


def _unconsumed(connection: Connection, consumed_row: int) -> int:
    pending = row_count(
        connection,
        ASSIGNMENTS,
        ASSIGNMENTS.c.batch == TRAIN,
        ASSIGNMENTS.c.state.in_(["open", "sent"]),
    )
    stored = row_count(
        connection,
        EPISODES,
        EPISODES.c.purpose == Purpose.TRAIN.value,
        EPISODES.c.row > consumed_row,
        EPISODES.c.duplicate.is_(False),
    )
    return pending + stored


def _outstanding(connection: Connection) -> dict[str, int]:
    """How many assignments each device has to play; devices with none are left out."""
    sent = connection.execute(
        select(ASSIGNMENTS.c.device_id, func.count())
        .where(ASSIGNMENTS.c.state == "sent")
        .group_by(ASSIGNMENTS.c.device_id)
    )
    return {device_id: number for device_id, number in sent}  # noqa: C416 - rows are no pairs


def _player(row: Mapping[Any, Any], outstanding: int) -> Player:  # a row has no static type
    return Player(
        device_id=row["device_id"],
        role=Role(row["role"]),
        seats=row["seats"],
        outstanding=outstanding,
        templates=frozenset(entry["name"] for entry in row["templates"]),
    )


def _assignment_row(planned: Planned) -> dict[str, Any]:
    assignment = planned.assignment
    return {
        "id": assignment.id,
        "batch": planned.batch,
        "ordinal": planned.ordinal,
        "priority": planned.priority,
        "state": "open",
        "reserved_for": planned.reserved_for,
        "device_id": "",
        "sent_at_ms": 0,
        "expiries": 0,
        "template": assignment.template,
        "app": planned.app,
        "purpose": assignment.purpose.value,
        "release_id": assignment.release_id,
        "episode_id": "",
        "body": msgspec.to_builtins(assignment),
    }


def _set_adapters(connection: Connection, names: Sequence[str], state: str) -> None:
    connection.execute(update(ADAPTERS).where(ADAPTERS.c.name.in_(names)).values(state=state))


def _draft(connection: Connection, new: NewRelease, *, now_ms: int, env_steps: int) -> None:
    values: dict[str, Any] = {
        "id": new.release_id,
        "version": new.version,
        "state": "draft",
        "env_steps": env_steps,
        "created_at_ms": now_ms,
        "decided_at_ms": 0,
        "validation_n": 0,
        "validation_successes": 0,
        "validation_env_errors": 0,
        "notes": "",
    }
    if new.rolls_back_to:
        old = connection.execute(select(RELEASES).where(RELEASES.c.id == new.rolls_back_to))
        source = old.mappings().one()
        copied = ("adapter", "digest", "watermark", "validation_n", "validation_successes")
        values |= {name: source[name] for name in copied}
        values |= {"kind": "roll_back", "parent": new.rolls_back_to}
        values["notes"] = f"points at the adapter of {new.rolls_back_to}"
    else:
        found = connection.execute(select(ADAPTERS).where(ADAPTERS.c.name == new.adapter))
        adapter = found.mappings().one()
        values |= {
            "adapter": adapter["name"],
            "digest": adapter["digest"],
            "watermark": adapter["watermark"],
            "kind": adapter["kind"],
            "parent": _release_of(connection, adapter["parent"]),
        }
        _set_adapters(connection, [new.adapter], "published")
    connection.execute(insert(RELEASES).values(**values))


def _release_of(connection: Connection, adapter: str) -> str:
    """The newest release made of an adapter; the factory's where there is none."""
    found = one(
        connection,
        select(RELEASES.c.id)
        .where(RELEASES.c.adapter == adapter)
        .order_by(RELEASES.c.version.desc())
        .limit(1),
    )
    return str(found or "factory")
