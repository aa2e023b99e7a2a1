"""Staged releases as rows: what was planned, where each stands, and who did what to it.

Every transition is one transaction: the state as it is then, the move that follows, its entry in
the audit log. Service and commands may ask at the same time; the database puts them in order.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, func, insert, select, update

from cloud_learner.errors import StagedReleaseError, UnknownRowError
from cloud_learner.staged_plan import StagedPlan
from cloud_learner.staged_release import (
    ENDED,
    Entry,
    StagedEvent,
    StagedMove,
    StagedPhase,
    StagedState,
    advance_staged,
    begin_staged,
)
from cloud_learner.store import Database, insert_new, one
from cloud_learner.tables import DEVICE_EVENTS, RELEASES, STAGED_LOG, STAGED_PHONES, STAGED_RELEASES
from sync.clock import Clock


@dataclass(frozen=True, slots=True)
class StagedRelease:
    """One staged release.

    Attributes:
        replaces: the release that its channel pointed at when it was drafted.
        stages_began_ms: when each stage was first signed, as far as it came.
        events_row: the last device event that was looked at for it.
    """

    release_id: str
    replaces: str
    channel: str
    plan: StagedPlan
    state: StagedState
    stages_began_ms: tuple[int, ...]
    events_row: int
    created_at_ms: int
    updated_at_ms: int

    @property
    def roll_back_id(self) -> str:
        """Id of the release that takes it back."""
        return f"{self.release_id[:59]}-back"


@dataclass(frozen=True, slots=True)
class LoggedEntry:
    """One line of the audit log as it is kept.

    Attributes:
        digest: SHA-256 (hex) over the line and the digest of the line before it.
    """

    row: int
    entry: Entry
    digest: str


class StagedStore:
    """Reads and changes staged releases; safe to use from any thread and process."""

    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def draft(self, release_id: str, *, replaces: str, plan: StagedPlan, who: str) -> StagedRelease:
        """Begin with a plan.

        Raises: StagedReleaseError: that release was staged before.
        """
        now_ms = self._clock.wall_ms()
        move = begin_staged(plan, now_ms, who=who)
        row = {
            "release_id": release_id,
            "replaces": replaces,
            "channel": plan.channel,
            "phase": move.state.phase.value,
            "plan": msgspec.to_builtins(plan),
            "state": msgspec.to_builtins(move.state),
            "stages_began_ms": [],
            "created_at_ms": now_ms,
            "updated_at_ms": now_ms,
        }
        with self._database.write() as connection:
            # what devices said before cannot be about it
            row["events_row"] = int(one(connection, select(func.max(DEVICE_EVENTS.c.row))) or 0)
            if not insert_new(connection, STAGED_RELEASES, row):
                raise StagedReleaseError(
                    f"release {release_id} was staged before: see `outrider release status`; "
                    "stage a new release of the same adapter to try again"
                )
            _keep_entries(connection, release_id, move)
        return self.get(release_id)

    def get(self, release_id: str) -> StagedRelease:
        """One staged release.

        Raises: UnknownRowError: there is none of that id.
        """
        with self._database.read() as connection:
            return _get(connection, release_id)

    def all(self) -> list[StagedRelease]:
        """Every staged release, the oldest first."""
        return self._select()

    def open(self) -> list[StagedRelease]:
        """Those that have not ended, the oldest first."""
        return self._select(STAGED_RELEASES.c.phase.not_in([phase.value for phase in ENDED]))

    def tell(self, release_id: str, event: StagedEvent) -> StagedMove:
        """Let an event happen, and keep what follows from it.

        Raises:
            UnknownRowError: there is none of that id.
            StagedReleaseError: what a person asks for cannot be done in its state.
        """
        now_ms = self._clock.wall_ms()
        with self._database.write() as connection:
            staged = _get(connection, release_id, for_update=True)
            move = advance_staged(staged.plan, staged.state, event, now_ms)
            if move.state != staged.state:
                _keep_state(connection, staged, move.state, now_ms=now_ms)
            _keep_entries(connection, release_id, move)
        return move

    def log(self, release_id: str) -> list[LoggedEntry]:
        """The audit log of one staged release, in order.

        Raises: UnknownRowError: there is none of that id.
        """
        statement = (
            select(STAGED_LOG)
            .where(STAGED_LOG.c.release_id == release_id)
            .order_by(STAGED_LOG.c.row)
        )
        with self._database.read() as connection:
            _get(connection, release_id)
            return [_logged(row) for row in connection.execute(statement).mappings()]

    def phone_counts(self, release_id: str) -> dict[str, int]:
        """How many phones it was offered to, by what came of it ("" where nothing did yet)."""
        statement = (
            select(STAGED_PHONES.c.outcome, func.count())
            .where(STAGED_PHONES.c.release_id == release_id)
            .group_by(STAGED_PHONES.c.outcome)
        )
        with self._database.read() as connection:
            return {outcome: number for outcome, number in connection.execute(statement)}  # noqa: C416 - rows are no pairs to mypy

    def highest_version(self) -> int:
        """The highest version of a release that the database knows of, signed or not."""
        with self._database.read() as connection:
            return int(one(connection, select(func.max(RELEASES.c.version))) or 0)

    def keep_roll_back(self, staged: StagedRelease, *, source: str, version: int) -> None:
        """Know the release that takes one back as one that phones may install. Idempotent.

        Args:
            source: the release whose adapter it points at.
        """
        with self._database.write() as connection:
            found = connection.execute(select(RELEASES).where(RELEASES.c.id == source))
            old = found.mappings().first()
            if old is None:  # it was signed by hand, and so is what takes the new one back
                return
            row = dict(old) | {
                "id": staged.roll_back_id,
                "version": version,
                "state": "promoted",
                "kind": "roll_back",
                "parent": source,
                "created_at_ms": self._clock.wall_ms(),
                "decided_at_ms": 0,
                "notes": f"takes {staged.release_id} back",
            }
            insert_new(connection, RELEASES, row)

    def _select(self, *conditions: ColumnElement[bool]) -> list[StagedRelease]:
        statement = (
            select(STAGED_RELEASES)
            .where(*conditions)
            .order_by(STAGED_RELEASES.c.created_at_ms, STAGED_RELEASES.c.release_id)
        )
        with self._database.read() as connection:
            return [_staged(row) for row in connection.execute(statement).mappings()]


def is_whole(entries: Sequence[LoggedEntry]) -> bool:
    """Whether no line of an audit log was changed or taken out since it was written."""
    before = ""
    for logged in entries:
        if logged.digest != _digest(before, logged.entry):
            return False
        before = logged.digest
    return True


def _get(connection: Connection, release_id: str, *, for_update: bool = False) -> StagedRelease:
    statement = select(STAGED_RELEASES).where(STAGED_RELEASES.c.release_id == release_id)
    if for_update:
        statement = statement.with_for_update()  # SQLite's writers wait for each other anyway
    row = connection.execute(statement).mappings().first()
    if row is None:
        raise UnknownRowError("staged release", release_id)
    return _staged(row)


def _staged(row: Mapping[Any, Any]) -> StagedRelease:  # a row has no static type
    return StagedRelease(
        release_id=row["release_id"],
        replaces=row["replaces"],
        channel=row["channel"],
        plan=msgspec.convert(row["plan"], StagedPlan),
        state=msgspec.convert(row["state"], StagedState),
        stages_began_ms=tuple(row["stages_began_ms"]),
        events_row=row["events_row"],
        created_at_ms=row["created_at_ms"],
        updated_at_ms=row["updated_at_ms"],
    )


def _keep_state(
    connection: Connection, staged: StagedRelease, after: StagedState, *, now_ms: int
) -> None:
    began = staged.stages_began_ms
    if after.phase is StagedPhase.SOAKING and after.stage == len(began):
        began = (*began, now_ms)
    connection.execute(
        update(STAGED_RELEASES)
        .where(STAGED_RELEASES.c.release_id == staged.release_id)
        .values(
            phase=after.phase.value,
            state=msgspec.to_builtins(after),
            stages_began_ms=list(began),
            updated_at_ms=now_ms,
        )
    )


def _keep_entries(connection: Connection, release_id: str, move: StagedMove) -> None:
    for entry in move.entries:
        latest = select(STAGED_LOG.c.digest).where(STAGED_LOG.c.release_id == release_id)
        before = one(connection, latest.order_by(STAGED_LOG.c.row.desc()).limit(1)) or ""
        fields = msgspec.to_builtins(entry)
        connection.execute(
            insert(STAGED_LOG).values(
                release_id=release_id, digest=_digest(before, entry), **fields
            )
        )


def _logged(row: Mapping[Any, Any]) -> LoggedEntry:  # a row has no static type
    fields = {field.name: row[field.name] for field in dataclasses.fields(Entry)}
    return LoggedEntry(row["row"], msgspec.convert(fields, Entry), row["digest"])


def _digest(before: str, entry: Entry) -> str:
    line = json.dumps(msgspec.to_builtins(entry), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(f"{before}|{line}".encode()).hexdigest()
