"""What the service can say about itself: phones, episodes, figures. Reads only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Integer, cast, func, select

from cloud_learner.campaign import CampaignState, Tally
from cloud_learner.campaign_store import tallies
from cloud_learner.drop_store import read_drops
from cloud_learner.errors import UnknownRowError
from cloud_learner.settings import CampaignSettings
from cloud_learner.store import Database, counters, row_count, training_env_steps
from cloud_learner.tables import (
    CAMPAIGN,
    DEAD_LETTERS,
    DEVICE_EVENTS,
    EPISODE_BODIES,
    EPISODES,
    INSTALLATIONS,
    LEARNER_METRICS,
    LEARNER_STATE,
    PHONES,
    RELEASES,
    VERDICTS,
)
from sync.codec import decode_episode
from sync.vocabulary import EndReason, Episode

Fields = dict[str, Any]  # a row with JSON values, as the API gives it


@dataclass(frozen=True, slots=True)
class EpisodeFilter:
    """Which episodes are wanted; empty means all."""

    template: str = ""
    purpose: str = ""
    split: str = ""
    device_id: str = ""
    release_id: str = ""

    def conditions(self) -> list[ColumnElement[bool]]:
        """The filter as conditions on `episodes`."""
        wanted = {
            "template": self.template,
            "purpose": self.purpose,
            "split": self.split,
            "device_id": self.device_id,
            "release_id": self.release_id,
        }
        return [EPISODES.c[name] == value for name, value in wanted.items() if value]


@dataclass(frozen=True, slots=True)
class StoredEpisode:
    """An episode as the cloud has it, for comparing it with the phone's log.

    Attributes:
        row: its columns.
        digest: SHA-256 (hex) of the episode as it is stored.
    """

    row: Fields
    episode: Episode
    digest: str
    verdicts: tuple[Fields, ...]


class ReportStore:
    """Answers questions about the cloud database; safe to use from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def phones(self) -> list[Fields]:
        """Every device that was ever seen, with the releases that it installed."""
        with self._database.read() as connection:
            rows = connection.execute(select(PHONES).order_by(PHONES.c.device_id)).mappings().all()
            installed = connection.execute(
                select(INSTALLATIONS).order_by(INSTALLATIONS.c.installed_at_ms)
            )
            releases: dict[str, list[str]] = {}
            for row in installed.mappings():
                releases.setdefault(row["device_id"], []).append(row["release_id"])
        return [
            {
                **{name: row[name] for name in row if name != "templates"},
                "templates": [entry["name"] for entry in row["templates"]],
                "installed": releases.get(row["device_id"], []),
            }
            for row in rows
        ]

    def installed_digests(self) -> dict[str, str]:
        """Digest of the adapter that each device plays with; "" for the factory's policy."""
        joined = PHONES.outerjoin(RELEASES, RELEASES.c.id == PHONES.c.release_id)
        statement = select(PHONES.c.device_id, RELEASES.c.digest).select_from(joined)
        with self._database.read() as connection:
            return {name: digest or "" for name, digest in connection.execute(statement)}

    def episodes(self, wanted: EpisodeFilter, *, after: int = 0, limit: int = 100) -> list[Fields]:
        """Rows without their bodies, in row order, from after a row on."""
        statement = (
            select(EPISODES)
            .where(EPISODES.c.row > after, *wanted.conditions())
            .order_by(EPISODES.c.row)
            .limit(limit)
        )
        with self._database.read() as connection:
            return [dict(row) for row in connection.execute(statement).mappings()]

    def episode(self, episode_id: str) -> StoredEpisode:
        """One episode whole, with its verdicts.

        Raises: UnknownRowError: there is none of that id.
        """
        for stored in self._stored(EPISODES.c.id == episode_id):
            return stored
        raise UnknownRowError("episode", episode_id)

    def stored_episodes(self) -> Iterator[StoredEpisode]:
        """Every episode whole, in row order."""
        return self._stored()

    def episode_ids(self) -> set[str]:
        """Ids of all stored episodes."""
        with self._database.read() as connection:
            return set(connection.execute(select(EPISODES.c.id)).scalars())

    def campaign(self) -> tuple[CampaignSettings, CampaignState, float] | None:
        """Settings, state and active seconds of the campaign, or None before one began."""
        with self._database.read() as connection:
            row = connection.execute(select(CAMPAIGN)).mappings().first()
        if row is None:
            return None
        return (
            msgspec.convert(row["settings"], CampaignSettings),
            msgspec.convert(row["state"], CampaignState),
            float(row["active_s"]),
        )

    def tallies(self) -> dict[str, Tally]:
        """How far every batch of assignments is."""
        with self._database.read() as connection:
            return tallies(connection)

    def counts(self) -> dict[str, int]:
        """Counters, and how many rows of what there are."""
        is_error = EPISODES.c.end_reason == EndReason.ENV_ERROR.value
        with self._database.read() as connection:
            counted = counters(connection)
            drops = read_drops(connection)
            errors = connection.execute(select(func.sum(cast(is_error, Integer)))).scalar()
            return {
                "episodes": row_count(connection, EPISODES),
                "duplicates": row_count(connection, EPISODES, EPISODES.c.duplicate.is_(True)),
                "env_errors": int(errors or 0),
                "env_steps": training_env_steps(connection),
                "device_events": row_count(connection, DEVICE_EVENTS),
                "dead_letters": row_count(connection, DEAD_LETTERS),
                "phones_online": row_count(connection, PHONES, PHONES.c.online.is_(True)),
                "redelivered": counted.get("redelivered", 0),
                "farms_refused": counted.get("farms_refused", 0),
                "drops": sum(items for items, _bytes in drops.values()),
                "drop_bytes": sum(size_bytes for _items, size_bytes in drops.values()),
                **{f"drops_{rule}": items for rule, (items, _bytes) in drops.items()},
            }

    def learner(self) -> Fields:
        """The learner's own report: round, consumed row, CPU seconds, settled."""
        with self._database.read() as connection:
            rows = connection.execute(select(LEARNER_STATE.c.key, LEARNER_STATE.c.value))
            return {str(key): value for key, value in rows}

    def learner_metrics(self, *, after: int = 0, limit: int = 200) -> list[Fields]:
        """The learner's metrics by round, in order."""
        statement = (
            select(LEARNER_METRICS)
            .where(LEARNER_METRICS.c.row > after)
            .order_by(LEARNER_METRICS.c.row)
            .limit(limit)
        )
        with self._database.read() as connection:
            return [dict(row) for row in connection.execute(statement).mappings()]

    def events(self, *, after: int = 0, limit: int = 200) -> list[Fields]:
        """Device events in order of arrival."""
        statement = (
            select(DEVICE_EVENTS)
            .where(DEVICE_EVENTS.c.row > after)
            .order_by(DEVICE_EVENTS.c.row)
            .limit(limit)
        )
        with self._database.read() as connection:
            return [dict(row) for row in connection.execute(statement).mappings()]

    def _stored(self, *conditions: ColumnElement[bool]) -> Iterator[StoredEpisode]:
        statement = (
            select(EPISODES, EPISODE_BODIES.c.body)
            .join(EPISODE_BODIES, EPISODE_BODIES.c.row == EPISODES.c.row)
            .where(*conditions)
            .order_by(EPISODES.c.row)
        )
        with self._database.read() as connection:
            for row in connection.execute(statement).mappings():
                found = connection.execute(
                    select(VERDICTS).where(VERDICTS.c.episode_id == row["id"])
                )
                yield StoredEpisode(
                    row=_without_body(row),
                    episode=decode_episode(row["body"]),
                    digest=sha256(row["body"]).hexdigest(),
                    verdicts=tuple(dict(verdict) for verdict in found.mappings()),
                )


def _without_body(row: Mapping[Any, Any]) -> Fields:  # a row has no static type
    return {name: value for name, value in row.items() if name != "body"}
