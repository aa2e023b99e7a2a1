"""How fast episodes go through broker, ingest and database, and whether memory stays flat.

Simulated phones are real ones but for what they play: a session, an outbox in SQLite and a
connection each. The cloud runs in a process of its own; the rate is that of its commits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from outrider.sync_bench_cloud import FLEET, CloudProcess, CloudSample

if TYPE_CHECKING:
    import sqlite3

    from sync.broker import BrokerProcess
    from sync.messages import EpisodeUpload
    from sync.session import DeviceSession

Figures = dict[str, float]
_WAIT_S: Final = 600.0
_MEMORY_PHONES: Final = 8
_WAITING_MOST: Final = 256
"""Episodes that wait in all outboxes of the memory run: what is played there comes and goes."""
MARKS: Final = (0.1, 0.5, 1.0)


class SimulatedPhones:
    """Some phones, in this process; leave the context to end them.

    Args:
        templates: uploads that theirs are copies of, under new ids.
    """

    def __init__(
        self,
        broker: BrokerProcess,
        folder: Path,
        names: Sequence[str],
        templates: Sequence[EpisodeUpload],
    ) -> None:
        from sync.database import create_schema, open_database

        folder.mkdir(parents=True, exist_ok=True)
        broker.add_devices(names)
        self._broker = broker
        self._folder = folder
        self._names = tuple(names)
        self._templates = templates
        self._sessions: list[DeviceSession] = []
        self._stack = ExitStack()
        self._databases: list[sqlite3.Connection] = []
        for name in names:
            database = self._stack.enter_context(closing(open_database(folder / f"{name}.db")))
            create_schema(database, install_id=f"install-{name}")
            self._databases.append(database)
        self._made = 0

    def play(self, count: int) -> None:
        """Queue `count` episodes, by turns among the phones."""
        from sync.database import transaction
        from sync.outbox import enqueue

        for which, share in _shares(count, len(self._names)):
            with transaction(self._databases[which]):
                for _ in range(share):
                    upload = self._next(self._names[which])
                    enqueue(self._databases[which], upload, created_at_ms=1)
        for session in self._sessions:
            session.wake()

    def start(self) -> None:
        """Connect all of them."""
        from sync.messages import Birth
        from sync.mqtt import PahoTransport
        from sync.session import DeviceSession
        from sync.vocabulary import DeviceId

        for name in self._names:
            session = DeviceSession(
                transport=PahoTransport(self._broker.address(name)),
                database=self._folder / f"{name}.db",
                fleet=FLEET,
                birth=Birth(device_id=DeviceId(name)),
            )
            self._stack.callback(session.close)
            session.start()
            self._sessions.append(session)

    @property
    def resent(self) -> int:
        """Rows that were sent more than once."""
        return sum(session.stats().counters.resent for session in self._sessions)

    def close(self) -> None:
        """End them all."""
        self._stack.close()

    def _next(self, name: str) -> EpisodeUpload:
        from sync.vocabulary import AssignmentId, DeviceId, EpisodeId

        self._made += 1
        template = self._templates[self._made % len(self._templates)]
        identity = EpisodeId(f"{name}-{self._made}")
        episode = replace(
            template.episode,
            id=identity,
            device_id=DeviceId(name),
            assignment=replace(template.episode.assignment, id=AssignmentId(identity)),
        )
        verdicts = tuple(replace(one, episode_id=identity) for one in template.verdicts)
        return replace(template, episode=episode, verdicts=verdicts)


def _shares(count: int, phones: int) -> Iterator[tuple[int, int]]:
    for which in range(phones):
        share = count // phones + (which < count % phones)
        if share:
            yield which, share


@dataclass(frozen=True, slots=True)
class Rate:
    """How fast a fleet's episodes were committed."""

    phones: int
    episodes: int
    seconds: float
    cloud_cpu_s: float
    resent: int

    def row(self) -> Figures:
        """As it is shown."""
        return {
            "phones": self.phones,
            "episodes": self.episodes,
            "episodes_per_s": round((self.episodes - 1) / max(self.seconds, 1e-9), 1),
            "cloud_cpu_ms_per_episode": round(1000 * self.cloud_cpu_s / self.episodes, 2),
            "resent": self.resent,
        }


def measure_rate(
    phones: int,
    episodes: int,
    broker: BrokerProcess,
    folder: Path,
    uploads: Sequence[EpisodeUpload],
) -> Rate:
    """Let `phones` phones upload `episodes` episodes that wait in their outboxes already.

    The clock runs from the first commit to the last.
    """
    names = [f"phone-{phones}-{number}" for number in range(phones)]
    fleet = SimulatedPhones(broker, folder / "phones", names, uploads)
    with closing(fleet), CloudProcess(folder / "cloud", broker.address()) as cloud:
        fleet.play(episodes)
        before = cloud.sample()
        fleet.start()
        after = cloud.wait_stored(episodes, _WAIT_S)
        return Rate(
            phones=phones,
            episodes=episodes,
            seconds=after.last_s - after.first_s,
            cloud_cpu_s=after.cpu_s - before.cpu_s,
            resent=fleet.resent,
        )


def measure_memory(
    episodes: int, broker: BrokerProcess, folder: Path, uploads: Sequence[EpisodeUpload]
) -> Figures:
    """The cloud's memory after a tenth, half and all of `episodes` episodes, in MiB."""
    names = [f"phone-m-{number}" for number in range(_MEMORY_PHONES)]
    fleet = SimulatedPhones(broker, folder / "phones", names, uploads)
    with closing(fleet), CloudProcess(folder / "cloud", broker.address()) as cloud:
        fleet.start()
        queued, marks = 0, []
        for mark in MARKS:
            goal = max(1, round(mark * episodes))
            while queued < goal:
                more = min(_WAITING_MOST // 2, goal - queued)
                fleet.play(more)
                queued += more
                cloud.wait_stored(queued - _WAITING_MOST // 2, _WAIT_S)
            marks.append(cloud.wait_stored(goal, _WAIT_S))
        return _memory_figures(episodes, marks, fleet.resent)


def _memory_figures(episodes: int, marks: Sequence[CloudSample], resent: int) -> Figures:
    tenth, half, whole = (mark.rss_bytes / 2**20 for mark in marks)
    return {
        "episodes": episodes,
        "rss_mib_at_10_percent": round(tenth, 1),
        "rss_mib_at_50_percent": round(half, 1),
        "rss_mib_at_100_percent": round(whole, 1),
        "growth": round(whole / tenth - 1, 4),
        "resent": resent,
    }
