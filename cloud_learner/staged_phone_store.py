"""The phones that a staged release was offered to, and what each of them answered.

A phone is told once it is heard of after its stage was signed; it answers with the events of its
installer. What it answered at last stays, and whoever was offered a release stays in its cohort.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, and_, func, or_, select, update

from cloud_learner.staged_census import Row, channel_rows
from cloud_learner.staged_offer import offer_of
from cloud_learner.staged_store import StagedRelease
from cloud_learner.store import Database, insert_all_new
from cloud_learner.tables import DEVICE_EVENTS, DEVICES, STAGED_PHONES, STAGED_RELEASES
from sync.clock import Clock
from sync.cohorts import CohortPhone

_EVENT: Final = "release_state_entered"
_EVENTS_AT_ONCE: Final = 5000
INSTALLED, REFUSED, REVERTED, CRASHED = "installed", "refused", "reverted", "crashed"
_CRASH: Final = "crash_loop"


@dataclass(frozen=True, slots=True)
class ChannelPhone:
    """One phone of the channel.

    Attributes:
        release_id: what it played with when it last announced itself.
        offered_from: the stage from which on the staged release is offered to it; None so far.
        model: what it says it is; empty where it does not.
    """

    device_id: str
    last_seen_ms: int
    release_id: str
    offered_from: int | None
    model: str = ""


class StagedPhones:
    """Keeps what phones did with staged releases; used by one thread."""

    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def note(self, staged: StagedRelease) -> None:
        """Keep the phones that were told by now, and what came of it. Idempotent."""
        if not staged.stages_began_ms:
            return
        now_ms = self._clock.wall_ms()
        with self._database.write() as connection:
            phones = channel_phones(connection, staged)
            insert_all_new(connection, STAGED_PHONES, list(_told(staged, phones, now_ms=now_ms)))
            row = _take_events(connection, staged)
            _take_births(connection, staged, phones, now_ms=now_ms)
            connection.execute(
                update(STAGED_RELEASES)
                .where(STAGED_RELEASES.c.release_id == staged.release_id)
                .values(events_row=row)
            )

    def still_exposed(self, staged: StagedRelease) -> int:
        """Phones that have the release, and did not say yet that they have another."""
        with self._database.read() as connection:
            rows = offered_rows(connection, staged)
        return sum(row["outcome"] == INSTALLED and not row["left_at_ms"] for row in rows)


def channel_phones(connection: Connection, staged: StagedRelease) -> list[ChannelPhone]:
    """Every phone of the channel by id, and where it stands in the stages so far."""
    stages = range(len(staged.stages_began_ms))
    offers = [offer_of(staged.release_id, 0, staged.plan, stage) for stage in stages]
    # a phone that was offered it stays offered, whatever it says of itself later
    known = {row["device_id"]: int(row["stage"]) for row in offered_rows(connection, staged)}

    def offered_from(phone: CohortPhone) -> int | None:
        includes = (stage for stage in stages if offers[stage].includes(phone))
        return known.get(phone.device_id, next(includes, None))

    return [
        ChannelPhone(
            device_id=row["device_id"],
            last_seen_ms=row["last_seen_ms"],
            release_id=row["release_id"],
            offered_from=offered_from(phone),
            model=phone.attributes.get("model", ""),
        )
        for row, phone in channel_rows(connection, staged.channel)
    ]


def _told(
    staged: StagedRelease, phones: Iterable[ChannelPhone], *, now_ms: int
) -> Iterable[dict[str, Any]]:
    """Rows of the phones that are offered it and were heard of since."""
    for phone in phones:
        stage = phone.offered_from
        if stage is not None and phone.last_seen_ms >= staged.stages_began_ms[stage]:
            yield {
                "release_id": staged.release_id,
                "device_id": phone.device_id,
                "stage": stage,
                "told_at_ms": now_ms,
                "installed_at_ms": 0,
                "outcome": "",
                "reason": "",
                "left_at_ms": 0,
            }


def _take_events(connection: Connection, staged: StagedRelease) -> int:
    """Keep what phones said of the release since the last time; the last row that was read."""
    last = staged.events_row
    while True:
        events = connection.execute(
            select(DEVICE_EVENTS)
            .where(DEVICE_EVENTS.c.row > last)
            .order_by(DEVICE_EVENTS.c.row)
            .limit(_EVENTS_AT_ONCE)
        ).mappings()
        read = events.all()
        for event in read:
            last = event["row"]
            if event["kind"] == _EVENT:
                _take_event(connection, staged, event)
        if len(read) < _EVENTS_AT_ONCE:
            return last


def _take_event(connection: Connection, staged: StagedRelease, event: Row) -> None:
    fields = event["fields"]
    state, reason = fields.get("state", ""), fields.get("reason", "")[:32]
    at_ms = event["received_at_ms"]
    if fields.get("release_id") == staged.release_id:
        if state in {"trial", "committed"}:
            _set(connection, staged, event["device_id"], INSTALLED, installed_at_ms=at_ms)
        elif state == "idle" and reason:
            _set(connection, staged, event["device_id"], REFUSED, reason=reason)
        elif state == "reverted":
            outcome = CRASHED if reason == _CRASH else REVERTED
            _set(connection, staged, event["device_id"], outcome, reason=reason, left_at_ms=at_ms)
    elif state in {"trial", "committed"}:
        _set(connection, staged, event["device_id"], None, left_at_ms=at_ms)


def _take_births(
    connection: Connection, staged: StagedRelease, phones: Iterable[ChannelPhone], *, now_ms: int
) -> None:
    """Take a phone's birth for its word where its event is still on the way."""
    has_it = [phone.device_id for phone in phones if phone.release_id == staged.release_id]
    for device_id in has_it:
        _set(connection, staged, device_id, INSTALLED, installed_at_ms=now_ms)


def _set(
    connection: Connection,
    staged: StagedRelease,
    device_id: str,
    outcome: str | None,
    *,
    reason: str = "",
    installed_at_ms: int = 0,
    left_at_ms: int = 0,
) -> None:
    """Keep what became of one phone. What ended stays so; an installation begins once."""
    rows = STAGED_PHONES.c
    here = and_(rows.release_id == staged.release_id, rows.device_id == device_id)
    if outcome is None:
        change: dict[str, Any] = {"left_at_ms": left_at_ms}
        here = and_(here, rows.outcome == INSTALLED, rows.left_at_ms == 0)
    elif outcome == INSTALLED:
        change = {"outcome": outcome, "installed_at_ms": installed_at_ms}
        here = and_(here, rows.outcome == "")
    else:
        change = {"outcome": outcome, "reason": reason, "left_at_ms": left_at_ms}
        here = and_(here, rows.outcome.in_(["", INSTALLED]))
    connection.execute(update(STAGED_PHONES).where(here).values(change))


def offered_rows(connection: Connection, staged: StagedRelease) -> Sequence[Row]:
    """Rows of the phones that were told of the release.

    Of a phone that was revoked only what went wrong counts: nothing else is to come from it.
    """
    is_revoked = func.coalesce(DEVICES.c.revoked_at_ms, 0) > 0
    statement = (
        select(STAGED_PHONES)
        .outerjoin(DEVICES, DEVICES.c.device_id == STAGED_PHONES.c.device_id)
        .where(STAGED_PHONES.c.release_id == staged.release_id)
        .where(or_(~is_revoked, STAGED_PHONES.c.outcome.not_in(["", INSTALLED])))
    )
    return connection.execute(statement).mappings().all()
