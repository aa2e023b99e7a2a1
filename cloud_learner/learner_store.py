"""What the learner process reads from and writes to the cloud database.

The learner meets the service only here and in files under DIR/cloud: it reads episodes in the order
of their rows, reports how far it has come, and delivers adapters; the service publishes them, gates
them and says in which phase the campaign is. docs/cloud.md describes the exchange.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
from sqlalchemy import Row, Select, func, insert, select

from cloud_learner.errors import AdapterRejectedError
from cloud_learner.ingest_store import announced_templates
from cloud_learner.lineage_store import record_trained
from cloud_learner.settings import CampaignSettings
from cloud_learner.store import Database, insert_new, one, row_count, training_env_steps, upsert
from cloud_learner.store_patience import Wait, give_up, patiently
from cloud_learner.tables import (
    ADAPTERS,
    CAMPAIGN,
    DEVICES,
    EPISODE_BODIES,
    EPISODES,
    LATE_VERDICTS,
    LEARNER_METRICS,
    LEARNER_STATE,
    PHONES,
    RELEASES,
)
from sync.adapter_file import unpack
from sync.clock import Clock
from sync.codec import decode_episode
from sync.durable_file import write_durably
from sync.vocabulary import EndReason, Episode, Purpose

_NAME_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.")


class AdapterKind(StrEnum):
    """What an adapter came out of."""

    WARM_UP = "warm_up"
    UPDATE = "update"


class AdapterState(StrEnum):
    """What became of a delivered adapter."""

    DELIVERED = "delivered"
    PUBLISHED = "published"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class LearnerEpisode:
    """One stored episode as the learner reads it.

    Attributes:
        row: its place in the store; go on reading after it.
        success: None where no verifier could decide; never a success.
    """

    row: int
    episode: Episode
    app: str
    success: bool | None
    progress: float

    @property
    def is_env_error(self) -> bool:
        """True where the environment broke: never a reward."""
        return self.episode.end_reason is EndReason.ENV_ERROR

    @property
    def was_played(self) -> bool:
        """Whether there is anything to learn from: steps, in an environment that held."""
        return bool(self.episode.steps) and not self.is_env_error

    @property
    def is_unjudged(self) -> bool:
        """True where nobody said what it was worth: cut off, or not decided (yet)."""
        return self.success is None


@dataclass(frozen=True, slots=True)
class LateEpisode:
    """An episode whose worth was said, or said anew, after it was stored.

    Attributes:
        late_row: the place of that verdict; go on reading after it.
    """

    late_row: int
    read: LearnerEpisode


@dataclass(frozen=True, slots=True)
class CampaignView:
    """What the learner may know of the campaign.

    Attributes:
        phase: a `cloud_learner.campaign.Phase` value; "" before the service has started one.
        env_steps_target, env_steps: training steps wanted, and stored so far.
        learn_left_s: active seconds in which training episodes are still issued.
        promoted_release, warm_up_release: release ids; "" where there is none yet.
        group_size: training episodes in a row that play one task.
    """

    phase: str
    new_apps: tuple[str, ...]
    old_apps: tuple[str, ...]
    seed: int
    env_steps_target: int
    env_steps: int
    learn_left_s: float
    promoted_release: str
    warm_up_release: str
    group_size: int = 1

    @property
    def anchored_app(self) -> str:
        """The app whose own successes are held on to; "" (any app) where several are new."""
        return self.new_apps[0] if len(self.new_apps) == 1 else ""


@dataclass(frozen=True, slots=True)
class AdapterRow:
    """A delivered adapter and the release that it became ("" where it did not)."""

    name: str
    kind: AdapterKind
    state: AdapterState
    digest: str
    round: int
    parent: str
    watermark: int
    release_id: str
    release_state: str


class LearnerStore:
    """The learner's view of the cloud database and of DIR/cloud/adapters.

    Args:
        database: opened with `migrate=False`; the service brings the tables up to date.
        adapters_dir: where adapter files lie, `NAME.bin`.
        wait: how calls wait where the database is away; they raise at once by default.
    """

    def __init__(
        self, database: Database, *, adapters_dir: Path, clock: Clock, wait: Wait = give_up
    ) -> None:
        self._database = database
        self._wait = wait
        self._adapters_dir = adapters_dir
        self._clock = clock

    @patiently
    def campaign(self) -> CampaignView:
        """Where the campaign stands now."""
        with self._database.read() as connection:
            row = connection.execute(
                select(CAMPAIGN.c.settings, CAMPAIGN.c.state, CAMPAIGN.c.active_s)
            ).first()
            env_steps = training_env_steps(connection)
        if row is None:
            return CampaignView("", (), (), 0, 0, env_steps, 0.0, "", "")
        settings, state = msgspec.convert(row.settings, CampaignSettings), row.state
        return CampaignView(
            phase=state["phase"],
            new_apps=settings.new_apps,
            old_apps=settings.old_apps,
            seed=settings.seed,
            env_steps_target=settings.env_steps,
            env_steps=env_steps,
            learn_left_s=max(0.0, settings.learn_until_s - row.active_s),
            promoted_release=state["promoted"],
            warm_up_release=state["warm_up_release"],
            group_size=settings.group_size,
        )

    @patiently
    def episodes_after(
        self,
        row: int,
        *,
        purposes: Sequence[Purpose] = (Purpose.TRAIN, Purpose.DEMONSTRATE),
        limit: int = 64,
    ) -> list[LearnerEpisode]:
        """At most `limit` episodes with a higher row, in row order, without duplicates."""
        statement = (
            _readable(purposes).where(EPISODES.c.row > row).order_by(EPISODES.c.row).limit(limit)
        )
        with self._database.read() as connection:
            rows = connection.execute(statement).all()
        return [_learner_episode(one) for one in rows]

    @patiently
    def judged_after(
        self,
        late_row: int,
        *,
        purposes: Sequence[Purpose] = (Purpose.TRAIN, Purpose.DEMONSTRATE),
        limit: int = 64,
    ) -> list[LateEpisode]:
        """Episodes that a verdict decided anew after they were stored, in that order.

        A judge, or an owner, may decide an episode long after `episodes_after` gave it. Each comes
        once, as the last verdict left it, also where it was not read before.

        Args:
            late_row: go on after this `LateEpisode.late_row`.
        """
        last = (
            select(LATE_VERDICTS.c.episode_row, func.max(LATE_VERDICTS.c.row).label("late_row"))
            .where(LATE_VERDICTS.c.row > late_row)
            .group_by(LATE_VERDICTS.c.episode_row)
            .subquery()
        )
        statement = (
            _readable(purposes)
            .add_columns(last.c.late_row)
            .join(last, last.c.episode_row == EPISODES.c.row)
            .order_by(last.c.late_row)
            .limit(limit)
        )
        with self._database.read() as connection:
            rows = connection.execute(statement).all()
        return [LateEpisode(int(one.late_row), _learner_episode(one)) for one in rows]

    @patiently
    def newest_judged(self) -> int:
        """`LateEpisode.late_row` of the newest verdict so far; 0 where there is none."""
        with self._database.read() as connection:
            return int(one(connection, select(func.max(LATE_VERDICTS.c.row))) or 0)

    @patiently
    def left_out_devices(self) -> frozenset[str]:
        """Devices whose episodes are not to be trained on: they were revoked with their data."""
        with self._database.read() as connection:
            return frozenset(map(str, connection.execute(_left_out()).scalars()))

    @patiently
    def rows_of(self, device_ids: Collection[str]) -> frozenset[int]:
        """Rows of all episodes of some devices."""
        statement = select(EPISODES.c.row).where(EPISODES.c.device_id.in_(sorted(device_ids)))
        with self._database.read() as connection:
            return frozenset(map(int, connection.execute(statement).scalars()))

    @patiently
    def template_apps(self) -> dict[str, str]:
        """App of every template that some device announced."""
        with self._database.read() as connection:
            rows = connection.execute(select(PHONES.c.role, PHONES.c.templates)).mappings().all()
        return {info.name: info.app for info in announced_templates(rows)}

    @patiently
    def report(
        self,
        *,
        round_index: int,
        consumed_row: int,
        cpu_s: float,
        metrics: Mapping[str, float],
        template_weights: Mapping[str, float] = MappingProxyType({}),
        settled: bool = False,
    ) -> None:
        """Say how far the learner has come; one transaction. Call it after every round.

        Where the answer of a commit is lost, the metrics of a round are told twice.

        Args:
            consumed_row: highest episode row that was read into the replay; the service issues
                training episodes only as fast as this rises.
            cpu_s: CPU seconds of the learner since the campaign began (kept over restarts).
            template_weights: how often what learns asks for a template, where 1 is normal.
            settled: True once, in phase "settle", when nothing more will be delivered.
        """
        now_ms = self._clock.wall_ms()
        values = {
            "round": round_index,
            "consumed_row": consumed_row,
            "cpu_s": cpu_s,
            "template_weights": dict(template_weights),
            "settled": settled,
        }
        with self._database.write() as connection:
            for key, value in values.items():
                upsert(
                    connection, LEARNER_STATE, {"key": key, "value": value, "updated_at_ms": now_ms}
                )
            if metrics:
                connection.execute(
                    insert(LEARNER_METRICS).values(
                        round=round_index, at_ms=now_ms, metrics=dict(metrics)
                    )
                )

    @patiently
    def deliver_adapter(
        self,
        data: bytes,
        *,
        name: str,
        kind: AdapterKind,
        round_index: int,
        watermark: int,
        parent: str = "",
        learnt_rows: Sequence[int] = (),
    ) -> None:
        """Hand one adapter over for publishing. Idempotent: a name that exists is left alone.

        The file is written, fsynced and renamed before its row is committed, so a row always has
        its file.

        Args:
            data: the adapter file as `sync.adapter_file.pack` made it.
            name: unique, lower-case letters, digits, "-", "_", "."; becomes `NAME.bin`.
            watermark: highest episode row that was trained on.
            parent: name of the adapter that training started from; "" for the bare base.
            learnt_rows: episode rows that were learnt from since `parent`; those that an earlier
                adapter learnt from stay with that one.

        Raises:
            AdapterRejectedError: the name cannot be a file's name.
            RejectedError: the bytes are no adapter file that a phone would take.
        """
        if not name or name.startswith(".") or not set(name) <= _NAME_LETTERS:
            raise AdapterRejectedError(
                f"adapter name {name!r}: use lower-case letters, digits, '-', '_' and '.'",
                reason="malformed",
            )
        digest = unpack(data).digest
        with self._database.read() as connection:
            exists = bool(row_count(connection, ADAPTERS, ADAPTERS.c.name == name))
        if not exists:
            write_durably(self.adapter_path(name), data)
        with self._database.write() as connection:
            ordinal = int(one(connection, select(func.max(ADAPTERS.c.ordinal))) or 0) + 1
            insert_new(
                connection,
                ADAPTERS,
                {
                    "name": name,
                    "ordinal": ordinal,
                    "kind": kind.value,
                    "state": AdapterState.DELIVERED.value,
                    "digest": digest,
                    "size_bytes": len(data),
                    "round": round_index,
                    "parent": parent,
                    "watermark": watermark,
                    "delivered_at_ms": self._clock.wall_ms(),
                },
            )
            # also where it exists: a learner that died then learns from the same rows, or more
            record_trained(connection, name, learnt_rows)

    @patiently
    def adapters(self) -> list[AdapterRow]:
        """Every delivered adapter in order of delivery, with the newest release made of it."""
        joined = ADAPTERS.outerjoin(RELEASES, RELEASES.c.adapter == ADAPTERS.c.name)
        statement = (
            select(ADAPTERS, RELEASES.c.id, RELEASES.c.state.label("release_state"))
            .select_from(joined)
            .order_by(ADAPTERS.c.ordinal, RELEASES.c.version)
        )
        with self._database.read() as connection:
            rows = connection.execute(statement).mappings().all()
        newest = {row["name"]: row for row in rows}
        return [
            AdapterRow(
                name=row["name"],
                kind=AdapterKind(row["kind"]),
                state=AdapterState(row["state"]),
                digest=row["digest"],
                round=row["round"],
                parent=row["parent"],
                watermark=row["watermark"],
                release_id=row["id"] or "",
                release_state=row["release_state"] or "",
            )
            for row in newest.values()
        ]

    @patiently
    def release_adapters(self) -> dict[str, str]:
        """Name of the adapter behind every release id: whose W acted in a step."""
        with self._database.read() as connection:
            rows = connection.execute(select(RELEASES.c.id, RELEASES.c.adapter)).all()
        return {str(release_id): str(adapter) for release_id, adapter in rows}

    def adapter_path(self, name: str) -> Path:
        """Where the adapter file of that name lies."""
        return self._adapters_dir / f"{name}.bin"


def _readable(purposes: Sequence[Purpose]) -> Select[Any]:  # Any: columns of any type
    """The episodes that a learner may read, as `_learner_episode` takes them."""
    return (
        select(
            EPISODES.c.row,
            EPISODE_BODIES.c.body,
            EPISODES.c.app,
            EPISODES.c.success,
            EPISODES.c.progress,
        )
        .join(EPISODE_BODIES, EPISODE_BODIES.c.row == EPISODES.c.row)
        .where(
            EPISODES.c.purpose.in_([purpose.value for purpose in purposes]),
            EPISODES.c.duplicate.is_(False),
            EPISODES.c.device_id.not_in(_left_out()),
        )
    )


def _left_out() -> Select[Any]:  # Any: as above
    return select(DEVICES.c.device_id).where(DEVICES.c.exclude_from_training.is_(True))


def _learner_episode(row: Row[Any]) -> LearnerEpisode:  # Any: as above
    return LearnerEpisode(row.row, decode_episode(row.body), row.app, row.success, row.progress)
