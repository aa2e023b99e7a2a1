"""How fast episodes go through broker, ingest and database, and whether memory stays flat.

Simulated phones are real ones but for what they play: a session, an outbox in SQLite and a
connection each. The cloud runs in a process of its own; the rate is that of its commits.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from outrider.errors import CommandError
from outrider.sync_bench_cloud import FLEET, CloudProcess, CloudSample

if TYPE_CHECKING:
    import sqlite3
    from multiprocessing.connection import Connection

    from sync.broker import BrokerProcess
    from sync.messages import EpisodeUpload
    from sync.mqtt import MqttAddress
    from sync.session import DeviceSession

Figures = dict[str, float]
_WAIT_S: Final = 600.0
_MEMORY_PHONES: Final = 8
PHONES_EACH: Final = 64
_WAITING_MOST: Final = 256
"""Episodes that wait in all outboxes of the memory run: what is played there comes and goes."""
MARKS: Final = (0.1, 0.5, 1.0)
_TOLD_TIMES: Final = 20
MOST_GROWTH: Final = 0.05
"""Memory is flat where it grows by no more from the first mark to the last."""
KEPT_RATE: Final = 0.8
"""What the largest fleet's rate is to be at least, beside that of the smallest."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What simulated phones did so far.

    Attributes:
        resent: rows that were sent more than once.
        cpu_s: of their processes.
    """

    resent: int
    cpu_s: float

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.resent + other.resent, self.cpu_s + other.cpu_s)


class SimulatedPhones:
    """Some phones, in this process; close them to end them.

    Args:
        addresses: one for each phone; the client's id is its name.
        templates: uploads that theirs are copies of, under new ids.
    """

    def __init__(
        self, addresses: Sequence[MqttAddress], folder: Path, templates: Sequence[EpisodeUpload]
    ) -> None:
        from sync.database import create_schema, open_database

        folder.mkdir(parents=True, exist_ok=True)
        self._addresses = tuple(addresses)
        self._folder = folder
        self._names = tuple(address.client_id for address in addresses)
        self._templates = templates
        self._sessions: list[DeviceSession] = []
        self._stack = ExitStack()
        self._databases: list[sqlite3.Connection] = []
        for name in self._names:
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

        for name, address in zip(self._names, self._addresses, strict=True):
            session = DeviceSession(
                transport=PahoTransport(address),
                database=self._folder / f"{name}.db",
                fleet=FLEET,
                birth=Birth(device_id=DeviceId(name)),
            )
            self._stack.callback(session.close)
            session.start()
            self._sessions.append(session)

    def spent(self) -> Spent:
        """What they did and took so far."""
        resent = sum(session.stats().counters.resent for session in self._sessions)
        return Spent(resent, time.process_time())

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


class PhoneProcesses(ExitStack):
    """Simulated phones in processes of `PHONES_EACH` at most; leave the context to end them.

    One process would do, but the client library waits with select(2), which knows no file above
    the thousandth, and every phone has several open.
    """

    def __init__(
        self, addresses: Sequence[MqttAddress], folder: Path, templates: Sequence[EpisodeUpload]
    ) -> None:
        super().__init__()
        context = multiprocessing.get_context("spawn")
        self._pipes: list[tuple[Connection, int]] = []
        for first in range(0, len(addresses), PHONES_EACH):
            group = tuple(addresses[first : first + PHONES_EACH])
            near, far = context.Pipe()
            arguments = (group, folder, templates, far)
            process = context.Process(target=_serve_phones, args=arguments, daemon=True)
            process.start()
            far.close()
            self.callback(process.join)
            self.callback(near.close)
            self._pipes.append((near, len(group)))

    def play(self, count: int) -> None:
        """Queue `count` episodes, by turns among the phones, and wait until they are."""
        total = sum(size for _, size in self._pipes)
        left, phones = count, total
        for pipe, size in self._pipes:
            share = left * size // phones
            left, phones = left - share, phones - size
            pipe.send(share)
        self._answers()

    def start(self) -> None:
        """Connect all of them."""
        for pipe, _size in self._pipes:
            pipe.send("start")
        self._answers()

    def spent(self) -> Spent:
        """What they did and took so far."""
        for pipe, _size in self._pipes:
            pipe.send("spent")
        return sum(self._answers(), Spent(0, 0.0))

    def _answers(self) -> list[Spent]:
        try:
            return [pipe.recv() for pipe, _size in self._pipes]
        except EOFError as error:
            raise CommandError("simulated phones ended; see above") from error


def _serve_phones(
    addresses: Sequence[MqttAddress],
    folder: Path,
    templates: Sequence[EpisodeUpload],
    pipe: Connection,
) -> None:
    """Do what the pipe says until it is closed."""
    with closing(SimulatedPhones(addresses, folder, templates)) as phones, suppress(EOFError):
        while True:
            said = pipe.recv()
            if said == "start":
                phones.start()
            elif said != "spent":
                phones.play(said)
            pipe.send(phones.spent())


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
    phones_cpu_s: float
    resent: int

    def row(self) -> Figures:
        """As it is shown."""
        return {
            "phones": self.phones,
            "episodes": self.episodes,
            "episodes_per_s": round((self.episodes - 1) / max(self.seconds, 1e-9), 1),
            "cloud_cpu_ms_per_episode": per_episode(self.cloud_cpu_s, self.episodes),
            "phones_cpu_ms_per_episode": per_episode(self.phones_cpu_s, self.episodes),
            "resent": self.resent,
        }


def measure_rate(
    phones: int,
    episodes: int,
    broker: BrokerProcess,
    folder: Path,
    uploads: Sequence[EpisodeUpload],
) -> Rate:
    """Let `phones` phones, all of them connected, play `episodes` episodes at once.

    The clock runs from the first commit to the last.
    """
    addresses = _addresses(broker, [f"phone-{phones}-{number}" for number in range(phones)])
    with (
        CloudProcess(folder / "cloud", broker.address()) as cloud,
        PhoneProcesses(addresses, folder / "phones", uploads) as fleet,
    ):
        fleet.start()
        cloud.wait_devices(phones, _WAIT_S)
        before, spent = cloud.sample(), fleet.spent()
        fleet.play(episodes)
        after, all_spent = cloud.wait_stored(episodes, _WAIT_S), fleet.spent()
        return Rate(
            phones=phones,
            episodes=episodes,
            seconds=after.last_s - after.first_s,
            cloud_cpu_s=after.cpu_s - before.cpu_s,
            phones_cpu_s=all_spent.cpu_s - spent.cpu_s,
            resent=all_spent.resent,
        )


def per_episode(cpu_s: float, episodes: int) -> float:
    """Milliseconds of a processor that one episode took."""
    return round(1000 * cpu_s / episodes, 2)


def ended_processes_cpu_s() -> float:
    """What all processes took that this one started, and that have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def kept_rate(rates: Sequence[Figures]) -> Figures:
    """The rate of the largest fleet beside that of the smallest."""
    ordered = sorted(rates, key=lambda rate: rate["phones"])
    few, many = ordered[0], ordered[-1]
    ratio = many["episodes_per_s"] / few["episodes_per_s"]
    return {
        "phones": many["phones"],
        "beside": few["phones"],
        "ratio": round(ratio, 3),
        "aim_ratio": KEPT_RATE,
        "met": ratio >= KEPT_RATE,
    }


def _addresses(broker: BrokerProcess, names: Sequence[str]) -> list[MqttAddress]:
    broker.add_devices(names)
    return [broker.address(name) for name in names]


def measure_memory(
    episodes: int,
    broker: BrokerProcess,
    folder: Path,
    uploads: Sequence[EpisodeUpload],
    *,
    progress: Callable[[CloudSample], None],
) -> Figures:
    """The cloud's memory after a tenth, half and all of `episodes` episodes, in MiB.

    Args:
        progress: told how the cloud does, some twenty times.
    """
    addresses = _addresses(broker, [f"phone-m-{number}" for number in range(_MEMORY_PHONES)])
    fleet = SimulatedPhones(addresses, folder / "phones", uploads)
    with closing(fleet), CloudProcess(folder / "cloud", broker.address()) as cloud:
        fleet.start()
        queued, told, marks = 0, 0, []
        for mark in MARKS:
            goal = max(1, round(mark * episodes))
            while queued < goal:
                more = min(_WAITING_MOST // 2, goal - queued)
                fleet.play(more)
                queued += more
                sample = cloud.wait_stored(queued - _WAITING_MOST // 2, _WAIT_S)
                if queued - told >= episodes / _TOLD_TIMES:
                    told = queued
                    progress(sample)
            marks.append(cloud.wait_stored(goal, _WAIT_S))
        return _memory_figures(episodes, marks, fleet.spent().resent)


def _memory_figures(episodes: int, marks: Sequence[CloudSample], resent: int) -> Figures:
    tenth, half, whole = (mark.rss_bytes / 2**20 for mark in marks)
    growth = round(whole / tenth - 1, 4)
    return {
        "episodes": episodes,
        "rss_mib_at_10_percent": round(tenth, 1),
        "rss_mib_at_50_percent": round(half, 1),
        "rss_mib_at_100_percent": round(whole, 1),
        "growth": growth,
        "aim_growth": MOST_GROWTH,
        "met": growth <= MOST_GROWTH,
        "resent": resent,
    }
