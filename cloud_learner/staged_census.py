"""Who there is, and how much they play: what a plan is made for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection, func, select

from cloud_learner.store import Database
from cloud_learner.tables import DEVICES, EPISODES, PHONES
from sync.clock import Clock
from sync.cohorts import ATTRIBUTES, CohortPhone

Row = Mapping[Any, Any]  # of a table: it has no static type
_WINDOW_MS: Final = 7 * 24 * 3600 * 1000


class Census:
    """Counts phones and their judged episodes; safe to use from any thread."""

    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def phones(self, channel: str) -> list[CohortPhone]:
        """The phones that follow the channel and are still heard of, by id."""
        return self.split(channel)[0]

    def split(self, channel: str) -> tuple[list[CohortPhone], list[CohortPhone]]:
        """A channel's phones by id: those heard of within the last week, and the others.

        Phones that are gone for good stay in the database, and a plan that counts on them never
        gets enough. The week ends when any phone of the channel was last heard of, so that a
        service that stood still takes none for gone.
        """
        with self._database.read() as connection:
            rows = channel_rows(connection, channel)
        since_ms = max((int(row["last_seen_ms"]) for row, _ in rows), default=0) - _WINDOW_MS
        there = [phone for row, phone in rows if row["last_seen_ms"] >= since_ms]
        gone = [phone for row, phone in rows if row["last_seen_ms"] < since_ms]
        return there, gone

    def tasks_per_phone_and_day(self, channel: str) -> float:
        """Judged episodes that a phone of the channel played by itself, over the last week."""
        phones = len(self.phones(channel))
        now_ms = self._clock.wall_ms()
        played = (
            EPISODES.c.received_at_ms >= now_ms - _WINDOW_MS,
            EPISODES.c.actor == "release",
            EPISODES.c.duplicate.is_(False),
            EPISODES.c.success.is_not(None),
            EPISODES.c.device_id.in_(select(PHONES.c.device_id).where(PHONES.c.channel == channel)),
        )
        with self._database.read() as connection:
            count, first_ms = connection.execute(
                select(func.count(), func.min(EPISODES.c.received_at_ms)).where(*played)
            ).one()
        if not count or not phones:
            return 0.0
        days = max(1.0, (now_ms - int(first_ms)) / (24 * 3600 * 1000))
        return float(count) / days / phones


def channel_rows(connection: Connection, channel: str) -> list[tuple[Row, CohortPhone]]:
    """The rows of a channel's phones by id, each with the phone as its own hash sees it.

    A phone that was revoked is none of them.
    """
    told = PHONES.outerjoin(DEVICES, DEVICES.c.device_id == PHONES.c.device_id)
    rows = connection.execute(
        select(PHONES, DEVICES.c.attributes)
        .select_from(told)
        .where(PHONES.c.channel == channel, func.coalesce(DEVICES.c.revoked_at_ms, 0) == 0)
        .order_by(PHONES.c.device_id)
    )
    return [(row, _cohort_phone(row)) for row in rows.mappings()]


def _cohort_phone(row: Row) -> CohortPhone:
    said = {name: value for name, value in (row["attributes"] or {}).items() if name != "apps"}
    return CohortPhone(row["device_id"], {**said, **{name: row[name] for name in ATTRIBUTES}})
