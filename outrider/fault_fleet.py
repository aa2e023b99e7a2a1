"""A small real fleet that a schedule does its harm to: broker, service, phones, a proxy between.

Every part is a process of its own, in a folder of its own, and started again when it ends, as a
supervisor would. What is done to it is in `outrider.fault_deeds`.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from outrider.fault_parts import FLEET, CloudOrder, PhoneOrder, run_cloud, run_phone, write_pool
from outrider.fault_schedule import Schedule
from outrider.parent import Guard
from outrider.wire_faults import NO_HARM, WireHarm
from outrider.wire_proxy import CountingProxy
from sync.broker import BrokerProcess
from sync.broker_server import STORE, BrokerServer
from sync.errors import ProjectError
from sync.mqtt import MqttAddress
from sync.vocabulary import Episode

if TYPE_CHECKING:
    from outrider.fault_learner import LearnerFindings

INTRUDER: Final = "intruder"
START_S: Final = 120.0
_STOP_S: Final = 15.0
_RESTART_S: Final = 0.3
_POLL_S: Final = 0.05
_REST_S: Final = 1.5


@dataclass(slots=True)
class Part:
    """A process that is started again whenever it ended.

    Attributes:
        held: while True it is not started again.
        starts: how often it was started.
        failures: how often it ended by itself with an error.
    """

    run: Callable[[], ForkServerProcess]
    process: ForkServerProcess | None = None
    held: bool = False
    starts: int = 0
    failures: int = 0
    ended_s: float = 0.0

    def tend(self) -> None:
        """Start it where it ought to run and does not."""
        if self.process is not None and self.process.exitcode is not None:
            self.failures += self.process.exitcode > 0
            self.process.close()
            self.process = None
            self.ended_s = time.monotonic()
        has_rested = not self.starts or time.monotonic() - self.ended_s >= _RESTART_S
        if self.process is None and not self.held and has_rested:
            self.process = self.run()
            self.starts += 1

    @property
    def pid(self) -> int | None:
        """Of its process, where there is one."""
        return None if self.process is None else self.process.pid

    def signal(self, number: int) -> None:
        """Send it a signal where it runs; after SIGKILL it is gone when this returns."""
        if self.process is None or self.process.pid is None:
            return
        with suppress(ProcessLookupError):
            os.kill(self.process.pid, number)
        if number == signal.SIGKILL:
            self.process.join(_STOP_S)

    def stop(self) -> None:
        """Ask it to end, and kill it where it does not."""
        self.held = True
        if self.process is None:
            return
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        self.process.join(_STOP_S)
        if self.process.exitcode is None:
            self.signal(signal.SIGKILL)
        self.process.close()
        self.process = None


@dataclass(slots=True)
class Phone:
    """One phone; its next process is told `order`."""

    order: PhoneOrder
    part: Part = field(init=False)


class LearnerPart:
    """The fleet's learner, which waits until it is let go, and what it left when it was killed.

    Attributes:
        reached: the round of its checkpoint after each kill.
        broken: what was wrong with what it left then, one line each.
    """

    def __init__(self, folder: Path, database: Path, context: ForkServerContext) -> None:
        from outrider.fault_learner import LearnerOrder, run_learner

        folder.mkdir()
        self.order = LearnerOrder(folder, database)
        self.reached: list[int] = []
        self.broken: list[str] = []

        def run() -> ForkServerProcess:
            process = context.Process(target=run_learner, args=(self.order,), daemon=True)
            process.start()
            return process

        self.part = Part(run, held=True)

    @property
    def has_learnt(self) -> bool:
        """Whether it handed over what it learnt."""
        return any(self.order.adapters.glob("round-*.bin"))

    def look(self) -> None:
        """Note how far it came, as the next one will read it."""
        from outrider.fault_learner import left_at

        try:
            left = left_at(self.order)
        except ProjectError as error:
            self.broken.append(f"the learner left what cannot be read: {error}")
        else:
            self.reached.append(0 if left is None else left.round_index)

    def findings(self) -> LearnerFindings:
        """What holds of all that it left, after its end."""
        from outrider.fault_learner import check_learner

        found = check_learner(self.order, self.reached)
        failed = [f"the learner failed {self.part.failures} times"] if self.part.failures else []
        return replace(found, broken=(*self.broken, *failed, *found.broken))


class FaultFleet:
    """The fleet of one schedule; its methods are called by one thread.

    Args:
        folder: empty; everything lies in it and stays there.
        episodes: what the phones play.
        server: the broker between phones and cloud.
    """

    def __init__(
        self, folder: Path, schedule: Schedule, episodes: list[Episode], *, server: BrokerServer
    ) -> None:
        self.folder = folder
        self.schedule = schedule
        self.harm = WireHarm(seed=schedule.seed)
        self.lost: set[str] = set()
        self.broker = BrokerProcess(folder / "broker", fleet=FLEET, server=server)
        self._pid_file = folder / "broker" / server.pid_file
        self.broker_up = False
        self._guard: Guard | None = None
        self._pool = folder / "pool"
        self._quiet = folder / "quiet"
        self._context = fork_server(learns=schedule.learns)
        self.proxy = CountingProxy("127.0.0.1", self.broker.port, flow=self.harm.flow)
        self.phones: list[Phone] = []
        self._episodes = episodes
        self.learner: LearnerPart | None = None

    def __enter__(self) -> Self:
        write_pool(self._pool, self._episodes)
        self.start_broker()
        self._guard = Guard(self._pid_file)
        self.proxy.start()
        names = [f"phone-{number}" for number in range(self.schedule.phones)]
        self.broker.add_devices([*names, INTRUDER])
        cloud = CloudOrder(self.folder / "cloud", self._through_proxy("cloud"), self._quiet)
        self.cloud_url = cloud.database_url
        self.cloud = Part(lambda: self._process(run_cloud, cloud))
        if self.schedule.learns:
            self.learner = LearnerPart(self.folder / "learner", cloud.database, self._context)
        for name, offset_ms in zip(names, self.schedule.clock_offsets_ms, strict=True):
            self.add_phone(name, self.folder / "phones" / name, offset_ms)
        self.tend()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def parts(self) -> list[Part]:
        """Every process but the broker."""
        learner = [] if self.learner is None else [self.learner.part]
        return [self.cloud, *learner, *(phone.part for phone in self.phones)]

    def add_phone(self, name: str, folder: Path, clock_offset_ms: int = 0) -> Phone:
        """One more phone, started with the next `tend`; a name that is taken makes a double."""
        folder.mkdir(parents=True)
        order = PhoneOrder(
            folder=folder,
            device_id=name,
            address=self._through_proxy(name),
            pool=self._pool,
            quiet=self._quiet,
            seed=self.schedule.seed,
            clock_offset_ms=clock_offset_ms,
        )
        phone = Phone(order)
        phone.part = Part(lambda: self._process(run_phone, phone.order))
        self.phones.append(phone)
        return phone

    def start_broker(self) -> None:
        """Start the broker where it does not run."""
        self.broker.start()
        self.broker_up = True

    def kill_broker(self, *, forget: bool) -> None:
        """SIGKILL to the broker; with `forget`, all that it held is gone."""
        if not self.broker_up:
            return
        os.kill(self.broker.pid, signal.SIGKILL)
        self.broker_up = False
        if forget:
            self.broker.stop()
            shutil.rmtree(self.folder / "broker" / STORE, ignore_errors=True)

    def tend(self) -> None:
        """Start every part that ended."""
        for part in self.parts:
            part.tend()

    def wait_playing(self) -> bool:
        """Wait until the cloud has an episode of every phone; False after two minutes without.

        Where there is a learner, it has learnt something then, too.
        """
        is_playing = self._wait(
            START_S, lambda: all(acknowledged(phone.order.database) for phone in self.phones)
        )
        learner = self.learner
        if learner is None or not is_playing:
            return is_playing
        learner.part.held = False
        return self._wait(2 * START_S, lambda: learner.has_learnt)

    def settle(self, patience_s: float) -> bool:
        """End all harm, let nothing new be played, and wait until no row waits any more.

        Of phones with one name, one is switched on after the other, as whoever finds them would do.

        Returns: False where rows waited, and none of them went for `patience_s`.
        """
        self.harm.chances = NO_HARM
        self._quiet.touch()
        if not self.broker_up:
            self.start_broker()
        if self.harm.counts.get("corrupt"):  # a spoilt length would wait for a keep-alive
            self.proxy.cut()
        names = [phone.order.device_id for phone in self.phones]
        doubles = [one for at, one in enumerate(self.phones) if names[at] in names[:at]]
        firsts = [one for one in self.phones if one not in doubles]
        for phone in doubles:
            phone.part.stop()
        if doubles:
            _switch_on_again(firsts)
        if not self._drain(firsts, patience_s):
            return False
        for phone in doubles:
            for first in firsts:
                if first.order.device_id == phone.order.device_id:
                    first.part.stop()
            phone.part.held = False
            if not self._drain([phone], patience_s):
                return False
            phone.part.stop()
        return True

    def _drain(self, phones: list[Phone], patience_s: float) -> bool:
        """Wait until no row of these waits; False where none of them went for `patience_s`."""
        waiting, moved_s, busy_s = 0, time.monotonic(), time.monotonic()
        while True:
            before, now_s = waiting, time.monotonic()
            waiting = sum(rows_waiting(phone.order.database) for phone in phones)
            moved_s = now_s if waiting != before else moved_s
            busy_s = now_s if waiting else busy_s
            if now_s - busy_s >= _REST_S:  # what was being played is through, too
                return True
            if waiting and now_s - moved_s > patience_s:
                return False
            self.tend()
            time.sleep(_POLL_S)

    def databases(self) -> list[tuple[str, Path]]:
        """Each phone's name and log."""
        return [(phone.order.device_id, phone.order.database) for phone in self.phones]

    def stop(self) -> None:
        """End every process. Idempotent."""
        for part in self.parts:
            part.stop()
        self.proxy.stop()
        self.broker.stop()
        if self._guard is not None:
            self._guard.close()

    def _wait(self, timeout_s: float, is_reached: Callable[[], bool]) -> bool:
        deadline_s = time.monotonic() + timeout_s
        while not is_reached():
            if time.monotonic() > deadline_s:
                return False
            self.tend()
            time.sleep(_POLL_S)
        return True

    def _through_proxy(self, name: str) -> MqttAddress:
        return replace(self.broker.address(name), port=self.proxy.port)

    def _process(
        self, run: Callable[[PhoneOrder], None] | Callable[[CloudOrder], None], order: object
    ) -> ForkServerProcess:
        process = self._context.Process(target=run, args=(order,), daemon=True)
        process.start()
        return process


def _switch_on_again(phones: list[Phone]) -> None:
    """End their processes; they are started again by whoever tends them."""
    for phone in phones:
        phone.part.stop()
        phone.part.held = False


def fork_server(*, learns: bool = False) -> ForkServerContext:
    """Makes processes that have loaded everything before they begin; a learner, too, if asked."""
    context = multiprocessing.get_context("forkserver")
    modules = ["outrider.fault_parts", *(["outrider.fault_learner"] if learns else [])]
    context.set_forkserver_preload(modules)
    return context


def rows_waiting(database: Path) -> int:
    """Rows of a phone's outbox that the cloud has not answered for; 1 where nobody can say."""
    counted = _ask(database, "SELECT count(*) FROM outbox WHERE parked_reason IS NULL")
    return next(counted, 1)


def acknowledged(database: Path) -> int:
    """Episodes of a phone that the cloud has answered for."""
    query = "SELECT count(*) FROM episodes WHERE upload_seq NOT IN (SELECT seq FROM outbox)"
    return next(_ask(database, query), 0)


def _ask(database: Path, query: str) -> Iterator[int]:
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as conn:
            yield int(conn.execute(query).fetchone()[0])
    except sqlite3.Error:
        return
