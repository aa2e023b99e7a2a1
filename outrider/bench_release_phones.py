"""The phones of `outrider bench release`: a process that holds some of them, each whole.

A phone here is what `outrider phone run` is made of: log, outbox, session, trust, installer,
supervisor and a policy of its own. Only nothing is played, so each settles what it was brought as
an idle phone does.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sync.errors import ProjectError
from sync.vocabulary import FACTORY_RELEASE, DeviceId

if TYPE_CHECKING:
    from device_runtime.errors import UnknownTaskError
    from device_runtime.seats import Played
    from device_runtime.supervisor import Supervisor
    from sync.vocabulary import Assignment, ReleaseId

CHANNEL: Final = "stable"


@dataclass(frozen=True, slots=True)
class PhonesOrder:
    """What a process of phones is told.

    Attributes:
        data_dir: the fleet's folder; each phone is enrolled in it.
        graphs: folder of the exported base.
        credentials: folder with a password file for each phone.
    """

    data_dir: Path
    graphs: Path
    credentials: Path
    broker_url: str
    fleet: str
    device_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Active:
    """A release acts on a phone ("factory" once it has started).

    Attributes:
        cpu_s: processor time that the phone's process has taken.
    """

    device_id: str
    release_id: str
    at_s: float
    cpu_s: float


@dataclass(frozen=True, slots=True)
class Failed:
    """A phone cannot go on; `detail` is one line."""

    device_id: str
    detail: str


Told = Active | Failed


def run_phones(order: PhonesOrder, parent: Connection) -> None:
    """The process's work, until the parent says anything or is gone."""
    from outrider.log_lines import log_to_stderr

    log_to_stderr()
    stop = threading.Event()
    lock = threading.Lock()

    def tell(told: Told) -> None:
        with lock:
            parent.send(told)

    threads = [
        threading.Thread(target=_live, args=(order, name, stop, tell), name=name)
        for name in order.device_ids
    ]
    for thread in threads:
        thread.start()
    try:
        parent.recv()
    except EOFError:
        pass
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _live(
    order: PhonesOrder, device_id: str, stop: threading.Event, tell: Callable[[Told], None]
) -> None:
    """One phone's life."""

    def report(event: str, **fields: object) -> None:
        if event == "installed":
            release_id = str(fields["release_id"])
            tell(Active(device_id, release_id, time.monotonic(), time.process_time()))

    try:
        _supervisor(order, device_id, report).run(stop)
    except (ProjectError, OSError, RuntimeError) as error:
        tell(Failed(device_id, " ".join(str(error).split())))


def _supervisor(order: PhonesOrder, device_id: str, report: Callable[..., None]) -> Supervisor:
    from device_runtime.settings import Settings
    from device_runtime.supervisor import Supervisor
    from outrider.device_wiring import assemble, open_policy
    from sync.clock import SystemClock
    from sync.messages import Role

    settings = Settings(
        device_id=DeviceId(device_id),
        data_dir=order.data_dir,
        broker_url=order.broker_url,
        credentials_file=order.credentials / device_id,
        fleet=order.fleet,
        channel=CHANNEL,
        base_dir=order.graphs,
        shadow_screens=0,
    )
    policy = open_policy(settings)
    parts = assemble(
        settings, role=Role.PHONE, table=_NoTable(), seats=1, policy=policy, host=policy
    )
    return Supervisor(parts, settings, clock=SystemClock(), report=report)


class _NoTable:
    """A table at which nothing is played."""

    free = 0
    busy = 0
    env_steps = 0
    releases_in_use: frozenset[ReleaseId] = frozenset()

    def start(self, assignment: Assignment, *, release_id: ReleaseId) -> None:
        """See Table."""
        raise RuntimeError(f"{assignment.id} cannot be played with {release_id}: no seat is free")

    def turn(self) -> list[Played]:
        """See Table."""
        return []

    def refused(self) -> list[tuple[Assignment, UnknownTaskError]]:
        """See Table."""
        return []

    def close(self) -> None:
        """See Table."""


FACTORY: Final = str(FACTORY_RELEASE)
