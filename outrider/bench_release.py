"""`outrider bench release`: how long a release takes to act on a fleet, and how many bytes.

A real broker, a service that signs, announces and serves, and phones in processes of their own,
each with its whole runtime (`outrider.bench_release_phones`). Time counts from before the release
is signed until a phone says that it acts: signing, announcement, every check of The Update
Framework, download, slot, load. Bytes are counted in TCP between phones and broker.
"""

from __future__ import annotations

import json as json_text
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from outrider.bench_release_phones import (
    FACTORY,
    Active,
    Failed,
    PhonesOrder,
    Told,
    run_phones,
)
from outrider.errors import CommandError
from outrider.options import Json
from outrider.output import Output

if TYPE_CHECKING:
    from sync.broker import BrokerProcess
    from sync.session import CloudSession, Received
    from sync.vocabulary import Release

FLEET: Final = "bench"
PAPER_UPDATE_BYTES: Final = 100_000_000
"""What DistRL sends each device for an update: "~100 MB of LoRA weights" (section 5.1)."""
AIM_P95_S: Final = 2.0
_REST_S: Final = 1.0
"""Before each release, so that what is measured is not the end of the one before."""
_START_S: Final = 180.0
_UPDATE_S: Final = 120.0
_STOP_S: Final = 30.0
_RANK: Final = 16


def bench_release(
    *,
    phones: Annotated[int, typer.Option("--phones", help="Mock phones.", min=1)] = 32,
    releases: Annotated[int, typer.Option("--releases", help="Updates to measure.", min=1)] = 8,
    processes: Annotated[
        int, typer.Option("--processes", help="Processes that the phones are in.", min=1)
    ] = 2,
    base: Annotated[
        Path | None, typer.Option("--base", help="Folder of a base; the shipped one if not given.")
    ] = None,
    json: Json = False,
) -> None:
    """Measure publish → active on a fleet of mock phones, and an update's bytes on the wire."""
    out = Output(json_lines=json)
    with _Fleet(phones, processes, base) as fleet:
        out.event("started", phones=phones, processes=min(processes, phones))
        updates = []
        for number in range(1, releases + 1):
            update = fleet.update(number)
            updates.append(update)
            out.event("update", **update.row())
        facts = fleet.facts()
    out.summary(**_summary(phones, updates, facts))


@dataclass(frozen=True, slots=True)
class _Update:
    """One release's way to all phones.

    Attributes:
        seconds: from before signing until each phone acts with it.
        sign_s: of these, signing and announcing.
        down_bytes, up_bytes: TCP payload from and to the broker, all phones together.
        cpu_s: processor time of the phones' processes since the update before.
    """

    version: int
    seconds: tuple[float, ...]
    sign_s: float
    down_bytes: int
    up_bytes: int
    cpu_s: float

    def row(self) -> dict[str, object]:
        """As it is shown."""
        phones = len(self.seconds)
        return {
            "version": self.version,
            "p50_s": round(statistics.median(self.seconds), 3),
            "max_s": round(max(self.seconds), 3),
            "sign_s": round(self.sign_s, 3),
            "down_bytes_per_phone": round(self.down_bytes / phones),
            "up_bytes_per_phone": round(self.up_bytes / phones),
            "cpu_ms_per_phone": round(1000 * self.cpu_s / phones, 1),
        }


def _summary(
    phones: int, updates: Sequence[_Update], facts: Mapping[str, int]
) -> dict[str, object]:
    seconds = [one for update in updates for one in update.seconds]
    wire = [(one.down_bytes + one.up_bytes) / phones for one in updates]
    update_bytes = statistics.median(wire)
    p95_s = _p95(seconds)
    return {
        "phones": phones,
        "releases": len(updates),
        "n": len(seconds),
        "p50_s": round(statistics.median(seconds), 3),
        "p95_s": round(p95_s, 3),
        "max_s": round(max(seconds), 3),
        "aim_p95_s": AIM_P95_S,
        "met": p95_s < AIM_P95_S,
        "cpu_ms_per_phone": round(
            statistics.median(1000 * one.cpu_s / phones for one in updates), 1
        ),
        "update_bytes": round(update_bytes),
        **facts,
        "update_over_fp32": round(update_bytes / facts["fp32_adapter_bytes"], 4),
        "paper_bytes": PAPER_UPDATE_BYTES,
        "update_over_paper": round(update_bytes / PAPER_UPDATE_BYTES, 6),
    }


def _p95(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=20)[-1] if len(values) > 1 else values[0]


class _Fleet(ExitStack):
    """Broker, service and phones of one run, in a folder that goes with it."""

    def __init__(self, phones: int, processes: int, base: Path | None) -> None:
        super().__init__()
        try:
            self._open(phones, processes, base)
        except BaseException:
            self.close()
            raise

    def _open(self, phones: int, processes: int, base: Path | None) -> None:
        from outrider.graphs import graphs_of
        from outrider.wire_proxy import HOST, CountingProxy
        from sync.broker import BrokerProcess
        from sync.clock import SystemClock
        from sync.repository import Repository

        self._folder = Path(self.enter_context(tempfile.TemporaryDirectory(prefix="outrider-")))
        self._graphs = graphs_of(base, self._folder / "base")
        names = tuple(f"phone-{index:02d}" for index in range(phones))
        broker = BrokerProcess(self._folder / "broker", fleet=FLEET)
        broker.add_devices(names)
        broker.start()
        self.callback(broker.stop)
        self._proxy = self.enter_context(CountingProxy(HOST, broker.port))
        self._repository = Repository.create(
            self._folder / "tuf", self._folder / "keys", clock=SystemClock()
        )
        self._enrol(broker, names)
        self._reports = _Reports()
        self._session = self._start_service(broker)
        self._adapters = _Adapters(self._graphs)
        self._listeners: list[Connection] = []
        self._cpu_s: dict[Connection, float] = {}
        for start in range(min(processes, phones)):
            self._start_phones(names[start :: min(processes, phones)])
        self._names = names
        self._wait_active(dict.fromkeys(names, FACTORY), _START_S)

    def update(self, version: int) -> _Update:
        """Publish one release and wait until every phone acts with it.

        Raises: CommandError: a phone did not.
        """
        from sync.messages import ReleaseAnnouncement

        release, adapter = self._adapters.make(version)
        time.sleep(_REST_S)
        down, up = self._proxy.received_bytes, self._proxy.sent_bytes
        cpu_s = sum(self._cpu_s.values())
        begun_s = time.monotonic()
        self._repository.publish(release, adapter, "stable")
        self._session.announce(
            ReleaseAnnouncement(channel="stable", release_id=release.id, version=version)
        )
        signed_s = time.monotonic()
        active = self._wait_active(dict.fromkeys(self._names, str(release.id)), _UPDATE_S)
        self._reports.wait_for(str(release.id), len(self._names))
        return _Update(
            version=version,
            seconds=tuple(one.at_s - begun_s for one in active.values()),
            sign_s=signed_s - begun_s,
            down_bytes=self._proxy.received_bytes - down,
            up_bytes=self._proxy.sent_bytes - up,
            cpu_s=sum(self._cpu_s.values()) - cpu_s,
        )

    def facts(self) -> dict[str, int]:
        """The sizes of one adapter, as phones get it and without loss."""
        return {
            "adapter_bytes": self._adapters.packed_bytes,
            "fp32_adapter_bytes": self._adapters.fp32_bytes,
        }

    def _enrol(self, broker: BrokerProcess, names: Sequence[str]) -> None:
        """Every phone trusts the fleet's root, has a base, and knows its password."""
        from device_runtime.installer import enrol
        from device_runtime.slots import PhoneBase
        from sync.policy_io import POLICY_IO_VERSION

        digest = json_text.loads((self._graphs / "base.json").read_text())["digest"]
        credentials = self._folder / "credentials"
        credentials.mkdir(mode=0o700)
        for name in names:
            root = self._repository.root_bytes
            enrol(self._folder / "phones" / name, root, PhoneBase(digest, POLICY_IO_VERSION))
            path = credentials / name
            path.touch(mode=0o600)
            path.write_text(f"{broker.address(name).password}\n")

    def _start_service(self, broker: BrokerProcess) -> CloudSession:
        """What stores reports, announces and serves files: the service without its campaign."""
        from cloud_learner.ingest import Ingest
        from cloud_learner.store import Database, sqlite_url
        from sync.clock import SystemClock
        from sync.mqtt import PahoTransport
        from sync.session import CloudSession
        from sync.update_pack import RepositoryFiles

        database = self.enter_context(closing(Database(sqlite_url(self._folder / "cloud.db"))))
        ingest = Ingest(database, clock=SystemClock())

        def commit(batch: Sequence[Received]) -> Mapping[int, str]:
            refused = ingest.commit(batch)
            self._reports.take(batch)
            return refused

        session = CloudSession(
            transport=PahoTransport(broker.address()),
            fleet=FLEET,
            ingest=commit,
            files=RepositoryFiles(self._folder / "tuf"),
            dead_letter=ingest.bury,
        )
        session.start()
        self.callback(session.close)
        if not session.wait_connected(_START_S):
            raise CommandError("the service did not reach its broker: try again")
        return session

    def _start_phones(self, names: tuple[str, ...]) -> None:
        context = get_context("spawn")
        listener, told = context.Pipe()
        order = PhonesOrder(
            data_dir=self._folder,
            graphs=self._graphs,
            credentials=self._folder / "credentials",
            broker_url=f"mqtt://127.0.0.1:{self._proxy.port}",
            fleet=FLEET,
            device_ids=names,
        )
        process = context.Process(target=run_phones, args=(order, told), daemon=True)
        process.start()
        told.close()
        self._listeners.append(listener)
        self.callback(process.join, _STOP_S)
        self.callback(listener.send, "stop")

    def _wait_active(self, wanted: Mapping[str, str], timeout_s: float) -> dict[str, Active]:
        """What each phone said once the release which is wanted of it acts."""
        active: dict[str, Active] = {}
        deadline_s = time.monotonic() + timeout_s
        while len(active) < len(wanted):
            for told in self._told(deadline_s):
                if isinstance(told, Failed):
                    raise CommandError(f"{told.device_id} failed: {told.detail}")
                if wanted[told.device_id] == told.release_id:
                    active[told.device_id] = told
        return active

    def _told(self, deadline_s: float) -> Iterator[Told]:
        """What phones have said meanwhile; what their processes took is kept."""
        left_s = deadline_s - time.monotonic()
        ready = wait(self._listeners, max(left_s, 0.0))
        if not ready:
            raise CommandError("not every phone followed in time: measure on a quieter machine")
        for listener in self._listeners:
            if listener in ready:
                try:
                    told: Told = listener.recv()
                except EOFError as error:
                    raise CommandError("a process of phones ended: see what it wrote") from error
                if isinstance(told, Active):
                    self._cpu_s[listener] = max(told.cpu_s, self._cpu_s.get(listener, 0.0))
                yield told


class _Reports:
    """Which releases phones have said to be on trial; waited for, to count bytes whole."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._seen: dict[str, set[str]] = {}

    def take(self, batch: Sequence[Received]) -> None:
        """Look at a committed batch."""
        from sync.messages import Event

        with self._changed:
            for one in batch:
                if isinstance(one.message, Event) and one.message.fields.get("state") == "trial":
                    release = one.message.fields["release_id"]
                    self._seen.setdefault(release, set()).add(one.device_id)
            self._changed.notify_all()

    def wait_for(self, release_id: str, phones: int) -> None:
        """Wait until so many phones have reported a release.

        Raises: CommandError: they did not.
        """
        with self._changed:
            if not self._changed.wait_for(
                lambda: len(self._seen.get(release_id, ())) >= phones, _UPDATE_S
            ):
                raise CommandError(f"not every phone reported {release_id}: try again")


class _Adapters:
    """Made-up adapters of the base's own shapes, quantised as the learner's are.

    Attributes:
        packed_bytes: size of the latest as phones get it.
        fp32_bytes: size of the same values kept exactly.
    """

    def __init__(self, graphs: Path) -> None:
        from device_runtime.policy import OnnxPolicy

        policy = OnnxPolicy(graphs)
        self._shapes = policy.adapter_shapes(_RANK)
        self._base_digest = policy.base_digest
        self.packed_bytes = self.fp32_bytes = 0

    def make(self, version: int) -> tuple[Release, bytes]:
        """The release of that version and its adapter file."""
        import numpy as np

        from sync.adapter_file import adapter_digest, pack
        from sync.policy_io import POLICY_IO_VERSION
        from sync.vocabulary import Release, ReleaseId, new_uuid7

        random = np.random.default_rng(version)
        tensors = {
            name: random.normal(0, 0.01, shape).astype(np.float32)
            for name, shape in self._shapes.items()
        }
        packed = partial(
            pack, tensors, base_digest=self._base_digest, policy_io_version=POLICY_IO_VERSION
        )
        data = packed()
        self.packed_bytes = len(data)
        self.fp32_bytes = len(packed(quantisation="fp32"))
        release = Release(
            id=ReleaseId(new_uuid7()),
            version=version,
            base_digest=self._base_digest,
            adapter_digest=adapter_digest(data),
            adapter_size_bytes=len(data),
            policy_io_version=POLICY_IO_VERSION,
        )
        return release, data
