"""A cloud in a process of its own for `outrider bench sync`: session, ingest, database, blobs."""

from __future__ import annotations

import multiprocessing
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from outrider.errors import CommandError

if TYPE_CHECKING:
    from cloud_learner.ingest import Ingest
    from cloud_learner.store import Database
    from sync.mqtt import MqttAddress
    from sync.session import Received

FLEET: Final = "bench"
_ANSWER_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class CloudSample:
    """How the cloud does at one moment.

    Attributes:
        stored: episodes that were committed.
        first_s, last_s: when the first and the last of them were, on the monotonic clock.
        cpu_s: of the whole process since it started.
        screens: pictures that it holds.
        devices: phones that it knows to be there.
    """

    stored: int
    first_s: float
    last_s: float
    cpu_s: float
    rss_bytes: int
    screens: int
    devices: int = 0


class CloudProcess:
    """The cloud's side of the wire, running; leave the context to end it.

    Args:
        folder: where its database and blobs go.
        address: of the broker, as the service.
    """

    def __init__(self, folder: Path, address: MqttAddress) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, far = context.Pipe()
        self._process = context.Process(target=_serve, args=(folder, address, far), daemon=True)
        self._process.start()
        far.close()
        self._ask("ready")

    def sample(self) -> CloudSample:
        """How it does now."""
        found = self._ask("sample")
        assert isinstance(found, CloudSample)
        return found

    def wait_stored(self, count: int, timeout_s: float) -> CloudSample:
        """Wait until `count` episodes are committed.

        Raises: CommandError: they are not after `timeout_s`.
        """
        return self._wait(count, timeout_s, lambda found: found.stored, "episodes were stored")

    def wait_devices(self, count: int, timeout_s: float) -> None:
        """Wait until `count` phones are there.

        Raises: CommandError: they are not after `timeout_s`.
        """
        self._wait(count, timeout_s, lambda found: found.devices, "phones connected")

    def _wait(
        self, count: int, timeout_s: float, counted: Callable[[CloudSample], int], what: str
    ) -> CloudSample:
        deadline_s = time.monotonic() + timeout_s
        while counted(found := self.sample()) < count:
            if time.monotonic() > deadline_s:
                raise CommandError(
                    f"{counted(found)} of {count} {what} in {timeout_s:.0f} s: "
                    "try fewer, or a quieter machine"
                )
            time.sleep(0.02)
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pipe.close()
        self._process.join(_ANSWER_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _ask(self, what: str) -> object:
        try:
            self._pipe.send(what)
            if self._pipe.poll(_ANSWER_S):
                return self._pipe.recv()
        except (EOFError, OSError) as error:
            raise CommandError(f"the measured cloud ended ({error}); see above") from error
        raise CommandError("the measured cloud does not answer; try a quieter machine")


class _Counting:
    """Ingest, and when it committed how many episodes, each counted once."""

    def __init__(self, ingest: Ingest, database: Database) -> None:
        self.stored = 0
        self._database = database
        self.first_s = 0.0
        self.last_s = 0.0
        self._ingest = ingest

    def commit(self, batch: Sequence[Received]) -> Mapping[int, str]:
        """See Ingest."""
        refused = self._ingest.commit(batch)
        stored = self._rows()
        if stored > self.stored:
            self.last_s = time.monotonic()
            self.first_s = self.first_s or self.last_s
            self.stored = stored
        return refused

    def _rows(self) -> int:
        """The number of the newest row: none is ever taken away here."""
        with self._database.read() as connection:
            newest = connection.exec_driver_sql("SELECT max(row) FROM episodes").scalar()
        return int(newest or 0)


def _serve(folder: Path, address: MqttAddress, pipe: Connection) -> None:
    """Run the cloud until the pipe is closed."""
    from cloud_learner.blob_intake import BlobIntake
    from cloud_learner.blob_store import BlobStore
    from cloud_learner.ingest import Ingest
    from cloud_learner.store import Database, sqlite_url
    from sync.clock import SystemClock
    from sync.fetch import DirectoryFiles
    from sync.mqtt import PahoTransport
    from sync.session import CloudSession
    from sync.vocabulary import new_uuid7

    clock = SystemClock()
    database = Database(sqlite_url(folder / "cloud.db"))
    counting = _Counting(Ingest(database, clock=clock), database)
    blobs = BlobStore(database, folder / "blobs", clock=clock, new_id=new_uuid7)
    intake = BlobIntake(blobs, clock=clock)
    session = CloudSession(
        transport=PahoTransport(address),
        fleet=FLEET,
        ingest=counting.commit,
        files=DirectoryFiles(folder),
        blobs=intake.take,
    )
    session.start()
    intake.start(session)
    session.wait_connected(_ANSWER_S)
    try:
        while True:
            if pipe.recv() == "ready":
                pipe.send(session.connected)
                continue
            pipe.send(
                CloudSample(
                    stored=counting.stored,
                    first_s=counting.first_s,
                    last_s=counting.last_s,
                    cpu_s=time.process_time(),
                    rss_bytes=_resident_bytes(),
                    screens=blobs.counts()["blobs_stored"],
                    devices=len(session.stats().devices),
                )
            )
    except EOFError:
        session.close()
        intake.close()
        database.close()


def _resident_bytes() -> int:
    """Resident memory now; the peak where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * resource.getpagesize()
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
