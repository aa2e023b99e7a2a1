"""How each fault of a schedule is done to a fleet, and undone."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Final

from outrider.fault_disk import empty_disk, fill_disk
from outrider.fault_fleet import INTRUDER, FaultFleet, Part
from outrider.fault_intruder import Intruder
from outrider.fault_schedule import YEAR_MS, Deed, Fault

_TURN_S: Final = 0.05
_AGAIN_S: Final = 0.2
PAGE_BYTES: Final = 4096

Undo = Callable[[], None]


class Harm:
    """Does a schedule's deeds to its fleet at their times."""

    def __init__(self, fleet: FaultFleet) -> None:
        self.done: Counter[str] = Counter()
        self.skipped: dict[str, str] = {}
        self.overheard: list[str] = []
        self._fleet = fleet
        self._undo: list[tuple[float, Undo]] = []
        self._deeds: dict[Fault, Callable[[Deed], Undo | None]] = {
            Fault.BROKER_KILLED: self._kill_broker,
            Fault.BROKER_EMPTIED: self._kill_broker,
            Fault.CLOUD_KILLED: lambda _deed: self._kill(fleet.cloud),
            Fault.PHONE_KILLED: lambda deed: self._kill(fleet.phones[deed.phone].part),
            Fault.LEARNER_KILLED: lambda _deed: self._kill_learner(),
            Fault.NETWORK_CUT: lambda _deed: fleet.proxy.cut(),
            Fault.CLOUD_STOPPED: lambda _deed: _stop(fleet.cloud),
            Fault.PHONE_DISK_FULL: lambda deed: _fill(fleet.phones[deed.phone].part),
            Fault.CLOUD_DISK_FULL: lambda _deed: _fill(fleet.cloud),
            Fault.PHONE_DISK_READ_ONLY: self._mount_read_only,
            Fault.PHONE_DATABASE_CORRUPT: self._corrupt,
            Fault.CLOCK_OFF: self._set_clock,
            Fault.DOUBLE: self._double,
            Fault.COPIED: self._copy,
            Fault.POISON: self._poison,
            Fault.OVERSIZE: self._oversize,
            Fault.INTRUDER: self._intrude,
        }

    def run(self) -> None:
        """Do everything in its time; what was taken away is back when this returns."""
        begun_s = time.monotonic()
        self._fleet.harm.chances = self._fleet.schedule.chances
        waiting = list(self._fleet.schedule.deeds)
        while (passed_s := time.monotonic() - begun_s) < self._fleet.schedule.harm_s:
            while waiting and waiting[0].at_s <= passed_s:
                deed = waiting.pop(0)
                try:
                    self._do(deed, passed_s)
                except ProcessLookupError:  # whom it would hit is just being started again
                    waiting.insert(0, replace(deed, at_s=passed_s + _AGAIN_S))
            self._undo_until(passed_s)
            self._fleet.tend()
            time.sleep(_TURN_S)
        self._undo_until(float("inf"))

    def _do(self, deed: Deed, passed_s: float) -> None:
        try:
            undo = self._deeds[deed.fault](deed)
        except ProcessLookupError:
            raise
        except OSError as error:  # a machine that does not let us
            self.skipped[deed.fault.value] = str(error)
            return
        self.done[deed.fault.value] += 1
        if undo is not None:
            self._undo.append((passed_s + deed.lasts_s, undo))

    def _undo_until(self, passed_s: float) -> None:
        due = [one for one in self._undo if one[0] <= passed_s]
        self._undo = [one for one in self._undo if one[0] > passed_s]
        for _at_s, undo in due:
            undo()

    def _kill_broker(self, deed: Deed) -> Undo:
        if not self._fleet.broker_up:
            raise ProcessLookupError
        self._fleet.kill_broker(forget=deed.fault is Fault.BROKER_EMPTIED)
        return self._fleet.start_broker

    def _kill(self, part: Part) -> Undo:
        _pid(part)
        part.held = True
        part.signal(signal.SIGKILL)
        return lambda: _release(part)

    def _kill_learner(self) -> Undo:
        """Kill it, and look at what it left as the next one will."""
        assert self._fleet.learner is not None
        undo = self._kill(self._fleet.learner.part)
        self._fleet.learner.look()
        return undo

    def _restarted(self, deed: Deed) -> Part:
        """The phone's process, killed; it comes back with the next order."""
        part = self._fleet.phones[deed.phone].part
        part.signal(signal.SIGKILL)
        return part

    def _mount_read_only(self, deed: Deed) -> Undo:
        phone = self._fleet.phones[deed.phone]
        phone.order = replace(phone.order, read_only=True)
        self._restarted(deed)

        def undo() -> None:
            phone.order = replace(phone.order, read_only=False)
            phone.part.signal(signal.SIGKILL)

        return undo

    def _set_clock(self, deed: Deed) -> None:
        phone = self._fleet.phones[deed.phone]
        offset_ms = YEAR_MS if deed.number % 2 else -YEAR_MS
        phone.order = replace(phone.order, clock_offset_ms=offset_ms)
        self._restarted(deed)

    def _double(self, deed: Deed) -> None:
        name = self._fleet.phones[deed.phone].order.device_id
        folder = self._fleet.folder / "doubles" / f"{name}-{deed.number}"
        self._fleet.add_phone(name, folder)

    def _copy(self, deed: Deed) -> None:
        """Switch a phone off and copy its folder's database; both are switched on with it."""
        phone = self._fleet.phones[deed.phone]
        phone.part.signal(signal.SIGKILL)
        name, file = phone.order.device_id, phone.order.database
        copy = self._fleet.add_phone(name, self._fleet.folder / "copies" / f"{name}-{deed.number}")
        for ending in ("", "-wal"):
            with suppress(FileNotFoundError):
                shutil.copyfile(
                    file.with_name(file.name + ending),
                    copy.order.database.with_name(file.name + ending),
                )

    def _oversize(self, deed: Deed) -> None:
        phone = self._fleet.phones[deed.phone]
        phone.order = replace(phone.order, too_large=True)
        self._restarted(deed)
        with self._intruder() as intruder:
            intruder.send_too_much()

    def _corrupt(self, deed: Deed) -> None:
        """Overwrite some pages while the phone is off; what stood there may be lost."""
        phone = self._fleet.phones[deed.phone]
        phone.part.held = True
        phone.part.signal(signal.SIGKILL)
        database = phone.order.database
        if database.exists():
            self._fleet.lost |= _episodes_in(database)
            overwrite_pages(database, Random(deed.number))
        phone.part.held = False

    def _poison(self, deed: Deed) -> None:
        with self._intruder() as intruder:
            intruder.send_poison(self._name(deed), Random(deed.number))

    def _intrude(self, deed: Deed) -> Undo:
        """Publish as another phone, acknowledge its rows, and listen to it for a while."""
        intruder = self._intruder()
        with ExitStack() as opened:
            opened.enter_context(intruder).meddle(self._name(deed))
            close = opened.pop_all().close

        def undo() -> None:
            close()
            self.overheard += intruder.overheard

        return undo

    def _intruder(self) -> Intruder:
        return Intruder(self._fleet.broker.address(INTRUDER))

    def _name(self, deed: Deed) -> str:
        return self._fleet.phones[deed.phone].order.device_id


def overwrite_pages(database: Path, random: Random) -> None:
    """Fill some pages of an SQLite file with noise, the first with its header among them or not."""
    size = database.stat().st_size
    pages = max(1, size // PAGE_BYTES)
    with database.open("r+b") as file:
        for _ in range(max(1, pages // 8)):
            file.seek(random.randrange(pages) * PAGE_BYTES)
            file.write(random.randbytes(min(PAGE_BYTES, size)))


def _release(part: Part) -> None:
    part.held = False


def _pid(part: Part) -> int:
    """Of a part that runs.

    Raises: ProcessLookupError: it does not, at this moment.
    """
    if part.pid is None:
        raise ProcessLookupError
    return part.pid


def _stop(part: Part) -> Undo:
    _pid(part)
    part.signal(signal.SIGSTOP)
    return lambda: part.signal(signal.SIGCONT)


def _fill(part: Part) -> Undo:
    pid = _pid(part)
    fill_disk(pid)

    def undo() -> None:
        with suppress(ProcessLookupError):
            empty_disk(pid)

    return undo


def _episodes_in(database: Path) -> set[str]:
    with suppress(sqlite3.Error), closing(_reader(database)) as conn:
        return {name for (name,) in conn.execute("SELECT id FROM episodes")}
    return set()


def _reader(database: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{database}?mode=ro", uri=True)
