"""`outrider phone run --all`: every phone that the adb server lists, each in a process of its own.

This process only looks at the list, starts a child for each phone that is ready, and starts it
again with growing pauses where it ends. What breaks one phone's child touches no other. A phone
that vanishes is stopped after a while, since a supervisor without its phone would turn assignments
into env_errors, and is taken up again once it is back.
"""

from __future__ import annotations

import hashlib
import queue
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from threading import Event
from typing import Final, Protocol

from device_runtime.adb import AdbClient
from device_runtime.errors import PhoneFaultError, PhoneLostError
from outrider.children import Child, ChildEvent
from outrider.output import Output
from sync.clock import Clock

LOOK_EVERY_S: Final = 0.5
GONE_AFTER_S: Final = 30.0
"""How long a phone may be off the list before its child is stopped: a plug that is turned over."""
FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 60.0
SETTLED_S: Final = 120.0
"""A child that ran for so long starts again with the first pause."""

_ODD = re.compile(r"[^a-z0-9_-]+")
_LONGEST_ID: Final = 40

Report = Callable[..., None]
"""`report(event, **fields)`: something that whoever started the fleet may want to see."""


class PhoneProcess(Protocol):
    """The child of one phone."""

    @property
    def running(self) -> bool:
        """Whether it lives."""
        ...

    @property
    def exit_code(self) -> int | None:
        """What it ended with; None while it runs."""
        ...

    def start(self) -> None:
        """Start it, also anew after it ended."""
        ...

    def ask_to_stop(self) -> None:
        """Let it end after its step."""
        ...

    def wait_stopped(self) -> None:
        """Wait until it has ended; one that does not is killed."""
        ...


class _Stage(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    STOPPING = "stopping"
    FINISHED = "finished"


@dataclass(slots=True)
class _Phone:
    """One phone that was ever listed."""

    device_id: str
    process: PhoneProcess
    stage: _Stage = _Stage.WAITING
    due_s: float = 0.0
    pause_s: float = FIRST_PAUSE_S
    started_s: float = 0.0
    seen_s: float = 0.0


class PhoneFleet:
    """Keeps one child for each listed phone; used by one thread.

    Args:
        make: the child for a serial and its device id; not started yet.
        report: gets "phone_started", "phone_finished" (its child played all that it was to play),
            "phone_ended" (with when it starts again) and "phone_gone".
    """

    def __init__(
        self, make: Callable[[str, str], PhoneProcess], *, clock: Clock, report: Report
    ) -> None:
        self._make = make
        self._clock = clock
        self._report = report
        self._phones: dict[str, _Phone] = {}

    @property
    def running(self) -> int:
        """How many children live."""
        return sum(phone.process.running for phone in self._phones.values())

    @property
    def finished(self) -> bool:
        """Whether there were phones and each has played all that it was to play."""
        stages = {phone.stage for phone in self._phones.values()}
        return stages == {_Stage.FINISHED}

    @property
    def known(self) -> Sequence[str]:
        """The serials of all phones that were ever ready."""
        return tuple(self._phones)

    def turn(self, devices: Mapping[str, str]) -> None:
        """Bring the children in line with what the adb server lists: state by serial."""
        now_s = self._clock.monotonic_s()
        for serial, state in devices.items():
            if state == "device":
                self._seen(serial, now_s)
        for serial, phone in self._phones.items():
            self._settle(serial, phone, now_s)

    def close(self) -> None:
        """End all children, side by side, and wait for them. Idempotent."""
        for phone in self._phones.values():
            phone.process.ask_to_stop()
        for phone in self._phones.values():
            phone.process.wait_stopped()

    def _seen(self, serial: str, now_s: float) -> None:
        phone = self._phones.get(serial)
        if phone is None:
            device_id = device_id_of(serial)
            phone = _Phone(device_id, self._make(serial, device_id))
            self._phones[serial] = phone
        phone.seen_s = now_s

    def _settle(self, serial: str, phone: _Phone, now_s: float) -> None:
        is_here = phone.seen_s == now_s
        match phone.stage:
            case _Stage.WAITING:
                if is_here and now_s >= phone.due_s:
                    self._start(serial, phone, now_s)
            case _Stage.RUNNING if phone.process.running:
                if now_s - phone.seen_s > GONE_AFTER_S:
                    self._report("phone_gone", serial=serial, device_id=phone.device_id)
                    phone.process.ask_to_stop()
                    phone.stage = _Stage.STOPPING
            case _Stage.RUNNING | _Stage.STOPPING:
                if not phone.process.running:
                    self._ended(serial, phone, now_s)
            case _Stage.FINISHED:
                pass

    def _start(self, serial: str, phone: _Phone, now_s: float) -> None:
        phone.process.start()
        phone.stage, phone.started_s = _Stage.RUNNING, now_s
        self._report("phone_started", serial=serial, device_id=phone.device_id)

    def _ended(self, serial: str, phone: _Phone, now_s: float) -> None:
        if phone.stage is _Stage.RUNNING and phone.process.exit_code == 0:
            phone.stage = _Stage.FINISHED
            self._report("phone_finished", serial=serial, device_id=phone.device_id)
            return
        if now_s - phone.started_s >= SETTLED_S:
            phone.pause_s = FIRST_PAUSE_S
        phone.stage, phone.due_s = _Stage.WAITING, now_s + phone.pause_s
        self._report(
            "phone_ended",
            serial=serial,
            device_id=phone.device_id,
            code=phone.process.exit_code,
            again_in_s=phone.pause_s,
        )
        phone.pause_s = min(LONGEST_PAUSE_S, phone.pause_s * 2)


def device_id_of(serial: str) -> str:
    """A phone's name in the fleet: its serial, or a like name with a digest where that is none.

    Two serials never share a name, and a serial always has the same.
    """
    plain = _ODD.sub("-", serial.lower()).strip("-_")
    if plain == serial and len(plain) <= _LONGEST_ID:
        return plain
    digest = hashlib.sha256(serial.encode()).hexdigest()[:8]
    return f"{plain[: _LONGEST_ID - 9] or 'phone'}-{digest}"


def run_fleet(
    client: AdbClient,
    options: Sequence[str],
    *,
    data: Path,
    credentials: Path | None,
    out: Output,
    stop: Event,
    clock: Clock,
) -> int:
    """Run all phones until `stop` is set or all have finished; returns how many there were.

    Args:
        options: what every child's command line holds beside its serial, id and credentials.
        credentials: a folder with one file per device id; None where the broker asks for none.
    """
    events: queue.Queue[ChildEvent] = queue.Queue()

    def make(serial: str, device_id: str) -> Child:
        arguments = ["phone", "run", "--json", "--serial", serial, "--id", device_id, *options]
        if credentials is not None:
            arguments += ["--credentials", str(credentials / device_id)]
        log = data / "phones" / device_id / "run.log"
        return Child(device_id, arguments, log=log, events=events)

    fleet = PhoneFleet(make, clock=clock, report=out.event)
    is_reachable = True
    try:
        while not (stop.is_set() or fleet.finished):
            try:
                fleet.turn(client.devices())
                is_reachable = True
            except (PhoneLostError, PhoneFaultError) as error:
                if is_reachable:
                    out.event("adb_server_lost", detail=str(error))
                is_reachable = False
                fleet.turn({})
            _tell(events, out)
            stop.wait(LOOK_EVERY_S)
    finally:
        fleet.close()
        _tell(events, out)
    return len(fleet.known)


def _tell(events: queue.Queue[ChildEvent], out: Output) -> None:
    """Hand on what the children said, each line with its device."""
    while True:
        try:
            event = events.get_nowait()
        except queue.Empty:
            return
        if event.name in {"exited", "summary"}:
            continue
        fields = {name: value for name, value in event.fields.items() if name != "event"}
        out.event(event.name, **({"device_id": event.role} | fields))
