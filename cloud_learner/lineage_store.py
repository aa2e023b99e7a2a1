"""Which logged steps each adapter learnt from, and what follows: rows written once, asked for ever.

    step ─► policy_version ─► release ─► adapter ─► its batch ─► the steps of those episodes
                                            └─► parent ─► its batch ─► …

An episode counts for the first adapter that learnt from it; every adapter after it goes on from
there, so what a release was trained on is what its adapter and all before it learnt from. Rows are
kept as ranges without gaps: the rows of a range were all learnt from, and no row is in two ranges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, exists, func, or_, select

from cloud_learner.errors import UnknownRowError
from cloud_learner.store import Database, insert_all_new
from cloud_learner.tables import (
    ADAPTERS,
    DEVICES,
    EPISODE_BODIES,
    EPISODES,
    PHONES,
    RELEASES,
    TRAINED_ON,
)
from sync.codec import decode_episode

_LOOKED_UP_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class TrainingBatch:
    """What one adapter was the first to learn from.

    Attributes:
        releases: ids of the releases that carry the adapter, oldest first.
        round: of the learner when the adapter was delivered.
        episodes, steps: how many; 0 for an adapter that only learnt more from earlier ones.
        first_row, last_row: where they lie in the episode table; 0 where there are none.
    """

    adapter: str
    kind: str
    digest: str
    releases: tuple[str, ...]
    round: int
    episodes: int
    steps: int
    first_row: int
    last_row: int


@dataclass(frozen=True, slots=True)
class TrainedEpisode:
    """An episode that was learnt from.

    Attributes:
        adapter: the first that learnt from it.
        release_id: whose policy acted.
        steps: the episode's steps are 0 … steps - 1.
    """

    row: int
    episode_id: str
    device_id: str
    release_id: str
    purpose: str
    success: bool | None
    steps: int
    adapter: str


@dataclass(frozen=True, slots=True)
class StepOrigin:
    """Where the policy of a logged step came from, and what learnt from the step.

    Attributes:
        policy_release: the release that acted in the step.
        batches: what that release was trained on, its own adapter's batch first; empty for the
            factory's policy and for scripted actors.
        learnt_by: the first adapter that learnt from the step's episode; "" while none did.
        learnt_releases: the releases that carry that adapter.
    """

    episode_id: str
    step: int | None
    device_id: str
    policy_release: str
    batches: tuple[TrainingBatch, ...]
    learnt_by: str
    learnt_releases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """What became of one device's data.

    Attributes:
        episodes: how many of its episodes were learnt from.
        adapters: those that were the first to learn from some.
        releases: all that carry such an adapter or one that followed it, by version.
    """

    device_id: str
    episodes: int
    adapters: tuple[str, ...]
    releases: tuple[str, ...]


def record_trained(connection: Connection, adapter: str, rows: Iterable[int]) -> None:
    """Keep which episode rows `adapter` learnt from; those of earlier adapters stay with them."""
    wanted = sorted(set(rows))
    known = _already_known(connection, wanted)
    fresh = [row for row in wanted if row not in known]
    steps = _steps_of(connection, fresh)
    ranges = [
        {
            "first_row": first,
            "last_row": last,
            "adapter": adapter,
            "steps": sum(steps.get(row, 0) for row in range(first, last + 1)),
        }
        for first, last in row_ranges(fresh)
    ]
    insert_all_new(connection, TRAINED_ON, ranges)


def row_ranges(rows: Sequence[int]) -> list[tuple[int, int]]:
    """Rising rows as (first, last) of each run without a gap."""
    ranges: list[tuple[int, int]] = []
    for row in rows:
        if ranges and row == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], row)
        else:
            ranges.append((row, row))
    return ranges


class LineageStore:
    """Answers where policies came from; reads only."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of_release(self, release_id: str) -> tuple[TrainingBatch, ...]:
        """What a release was trained on, adapter by adapter, its own first.

        Raises: UnknownRowError: the learner made no such release.
        """
        with self._database.read() as connection:
            return tuple(_batches(connection, _adapter_of(connection, release_id)))

    def episodes_of(self, release_id: str, *, after: int = 0) -> Iterator[TrainedEpisode]:
        """Every episode that a release was trained on, in the order of their rows.

        Args:
            after: only those with a higher row.

        Raises: UnknownRowError: the learner made no such release.
        """
        with self._database.read() as connection:
            chain = _chain(connection, _adapter_of(connection, release_id))
            statement = (
                _trained_episodes()
                .where(TRAINED_ON.c.adapter.in_(chain), TRAINED_ON.c.last_row > after)
                .where(EPISODES.c.row > after)
                .order_by(TRAINED_ON.c.first_row, EPISODES.c.row)
                .execution_options(yield_per=1000)
            )
            for row in connection.execute(statement).mappings():
                yield TrainedEpisode(**row)

    def of_step(self, episode_id: str, step: int | None = None) -> StepOrigin:
        """Where the policy of a step came from; of the whole episode where no step is named.

        Raises: UnknownRowError: no such episode, or no such step in it.
        """
        with self._database.read() as connection:
            found = connection.execute(
                select(EPISODES.c.row, EPISODES.c.device_id, EPISODES.c.release_id).where(
                    EPISODES.c.id == episode_id
                )
            ).first()
            if found is None:
                raise UnknownRowError("episode", episode_id)
            release = found.release_id
            if step is not None:
                release = _policy_of(connection, found.row, episode_id, step)
            learnt_by = _learnt_by(connection, found.row)
            return StepOrigin(
                episode_id=episode_id,
                step=step,
                device_id=found.device_id,
                policy_release=release,
                batches=self._batches_if_learnt(connection, release),
                learnt_by=learnt_by,
                learnt_releases=tuple(_releases_by_adapter(connection).get(learnt_by, ())),
            )

    def of_device(self, device_id: str) -> DeviceUse:
        """Which adapters and releases ever learnt from a device's episodes.

        Raises: UnknownRowError: nobody ever heard of the device.
        """
        earlier = TRAINED_ON.alias()
        last_before = (
            select(func.max(earlier.c.first_row))
            .where(earlier.c.first_row <= EPISODES.c.row)
            .scalar_subquery()
        )
        statement = (
            select(TRAINED_ON.c.adapter, func.count().label("episodes"))
            .select_from(EPISODES)
            .join(TRAINED_ON, TRAINED_ON.c.first_row == last_before)
            .where(EPISODES.c.device_id == device_id, EPISODES.c.row <= TRAINED_ON.c.last_row)
            .group_by(TRAINED_ON.c.adapter)
        )
        with self._database.read() as connection:
            counted = {row.adapter: int(row.episodes) for row in connection.execute(statement)}
            if not (counted or _is_known(connection, device_id)):
                raise UnknownRowError("device", device_id)
            parents = _parents(connection)
            carrying = [
                release
                for release, adapter in _release_adapters(connection)
                if any(one in counted for one in _ancestry(parents, adapter))
            ]
        return DeviceUse(
            device_id=device_id,
            episodes=sum(counted.values()),
            adapters=tuple(name for name in parents if name in counted),
            releases=tuple(carrying),
        )

    def _batches_if_learnt(
        self, connection: Connection, release_id: str
    ) -> tuple[TrainingBatch, ...]:
        try:
            return tuple(_batches(connection, _adapter_of(connection, release_id)))
        except UnknownRowError:
            return ()


def _is_known(connection: Connection, device_id: str) -> bool:
    """Whether a device was let in, or ever said anything that is stored."""
    named = (table.c.device_id == device_id for table in (DEVICES, PHONES, EPISODES))
    return bool(connection.scalar(select(or_(*(exists().where(one) for one in named)))))


def _parts(rows: Sequence[int]) -> Iterator[Sequence[int]]:
    """`rows` in parts that one statement can ask for."""
    for start in range(0, len(rows), _LOOKED_UP_AT_ONCE):
        yield rows[start : start + _LOOKED_UP_AT_ONCE]


def _steps_of(connection: Connection, rows: Sequence[int]) -> dict[int, int]:
    """How many steps the episode of each row has."""
    steps: dict[int, int] = {}
    for part in _parts(rows):
        found = select(EPISODES.c.row, EPISODES.c.n_steps).where(EPISODES.c.row.in_(part))
        steps |= {one.row: one.n_steps for one in connection.execute(found)}
    return steps


def _already_known(connection: Connection, rows: Sequence[int]) -> set[int]:
    """Those of rising `rows` that some adapter learnt from before."""
    known: set[int] = set()
    for part in _parts(rows):
        overlapping = select(TRAINED_ON.c.first_row, TRAINED_ON.c.last_row).where(
            TRAINED_ON.c.first_row <= part[-1], TRAINED_ON.c.last_row >= part[0]
        )
        wanted = set(part)
        for first, last in connection.execute(overlapping):
            known |= wanted.intersection(range(first, last + 1))
    return known


def _adapter_of(connection: Connection, release_id: str) -> str:
    statement = select(RELEASES.c.adapter).where(RELEASES.c.id == release_id)
    adapter = connection.execute(statement).scalar()
    if adapter is None:
        raise UnknownRowError("release", release_id)
    return str(adapter)


def _parents(connection: Connection) -> dict[str, str]:
    """The adapter that each adapter goes on from, in order of delivery."""
    statement = select(ADAPTERS.c.name, ADAPTERS.c.parent).order_by(ADAPTERS.c.ordinal)
    return {row.name: row.parent for row in connection.execute(statement)}


def _ancestry(parents: dict[str, str], adapter: str) -> Iterator[str]:
    """An adapter and all before it."""
    seen: set[str] = set()
    while adapter in parents and adapter not in seen:
        seen.add(adapter)
        yield adapter
        adapter = parents[adapter]


def _chain(connection: Connection, adapter: str) -> list[str]:
    return list(_ancestry(_parents(connection), adapter))


def _release_adapters(connection: Connection) -> list[tuple[str, str]]:
    """Every release and its adapter, by version."""
    statement = select(RELEASES.c.id, RELEASES.c.adapter).order_by(RELEASES.c.version)
    return [(str(release), str(adapter)) for release, adapter in connection.execute(statement)]


def _releases_by_adapter(connection: Connection) -> dict[str, list[str]]:
    releases: dict[str, list[str]] = {}
    for release, adapter in _release_adapters(connection):
        releases.setdefault(adapter, []).append(release)
    return releases


def _batches(connection: Connection, adapter: str) -> Iterator[TrainingBatch]:
    """The batches of an adapter and of all before it."""
    chain = _chain(connection, adapter)
    releases = _releases_by_adapter(connection)
    counted = {
        row.adapter: row
        for row in connection.execute(
            select(
                TRAINED_ON.c.adapter,
                func.sum(TRAINED_ON.c.last_row - TRAINED_ON.c.first_row + 1).label("episodes"),
                func.sum(TRAINED_ON.c.steps).label("steps"),
                func.min(TRAINED_ON.c.first_row).label("first_row"),
                func.max(TRAINED_ON.c.last_row).label("last_row"),
            ).group_by(TRAINED_ON.c.adapter)
        )
    }
    about = {
        row.name: row
        for row in connection.execute(
            select(ADAPTERS.c.name, ADAPTERS.c.kind, ADAPTERS.c.digest, ADAPTERS.c.round)
        )
    }
    for name in chain:
        found = counted.get(name)
        yield TrainingBatch(
            adapter=name,
            kind=about[name].kind,
            digest=about[name].digest,
            releases=tuple(releases.get(name, ())),
            round=about[name].round,
            episodes=0 if found is None else int(found.episodes),
            steps=0 if found is None else int(found.steps),
            first_row=0 if found is None else int(found.first_row),
            last_row=0 if found is None else int(found.last_row),
        )


def _trained_episodes() -> Select[Any]:  # Any: columns of many types
    """What `TrainedEpisode` holds, by its names."""
    return select(
        EPISODES.c.row,
        EPISODES.c.id.label("episode_id"),
        EPISODES.c.device_id,
        EPISODES.c.release_id,
        EPISODES.c.purpose,
        EPISODES.c.success,
        EPISODES.c.n_steps.label("steps"),
        TRAINED_ON.c.adapter,
    ).join(TRAINED_ON, EPISODES.c.row.between(TRAINED_ON.c.first_row, TRAINED_ON.c.last_row))


def _policy_of(connection: Connection, row: int, episode_id: str, step: int) -> str:
    """The release that acted in one step."""
    body = connection.execute(
        select(EPISODE_BODIES.c.body).where(EPISODE_BODIES.c.row == row)
    ).scalar_one()
    steps = decode_episode(body).steps
    if not 0 <= step < len(steps):
        raise UnknownRowError("step", f"{episode_id}:{step}")
    return str(steps[step].policy_version)


def _learnt_by(connection: Connection, row: int) -> str:
    statement = (
        select(TRAINED_ON.c.adapter, TRAINED_ON.c.last_row)
        .where(TRAINED_ON.c.first_row <= row)
        .order_by(TRAINED_ON.c.first_row.desc())
        .limit(1)
    )
    found = connection.execute(statement).first()
    return str(found.adapter) if found is not None and found.last_row >= row else ""
