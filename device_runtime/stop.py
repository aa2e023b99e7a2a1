"""Whether a phone may act: its owner's stop, and a permit that runs out, also without a network.

    a stop file · Ctrl-C · a message · a permit that ran out ─► StopSwitch.reason() ─► the episode

The switch is asked at every step, by the thread that plays; it may be thrown from any thread, and
from other processes by a file. What it says is on disk, so a stopped phone stays stopped after a
crash and a restart, until its owner starts it again.
"""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from sync.clock import Clock
from sync.durable_file import write_durably

STOP_FILE: Final = "stop"
"""In a phone's folder, or in the folder of all phones: whatever it holds, it means stop."""
PERMIT_FILE: Final = "permit.json"
_RENEW_SHARE: Final = 0.1
"""How much of a permit must have passed before a new one is written to disk."""


class StopSwitch:
    """The owner's switch of one phone. Thread-safe.

    Args:
        folder: the phone's folder; None for a phone that keeps nothing on disk.
        interrupt: set by Ctrl-C.
        permit_s: how long the phone may act after it last heard of its owner or its cloud; 0 is for
            ever.
    """

    def __init__(
        self,
        folder: Path | None,
        *,
        clock: Clock,
        interrupt: threading.Event | None = None,
        permit_s: float = 0.0,
    ) -> None:
        self._folder = folder
        self._clock = clock
        self._interrupt = interrupt or threading.Event()
        self._permit_s = permit_s
        self._lock = threading.Lock()
        self._until_ms = 0
        self._is_fixed = False
        self._deadline_s = float("inf")
        self._handled = ""
        self._begun = ""  # the start that only waits to be noted: it undoes no later stop
        self._unwritten: str | None = None  # why it is stopped, where the disk did not take that
        self._read_at_ns = 0
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            self._look_at_permit(folder)
        if permit_s and not self._until_ms:
            self._permit(clock.wall_ms() + round(permit_s * 1000), fixed=False)

    def reason(self) -> str | None:
        """Why the phone may not act; None where it may. Cheap enough for every step."""
        if self._interrupt.is_set():
            return "interrupted at the terminal"
        if self._folder is not None:
            for folder in (self._folder, self._folder.parent):
                if _is_there(folder / STOP_FILE):
                    return _said_by(folder / STOP_FILE)
            self._look_at_permit(self._folder)
        if (unwritten := self._unwritten) is not None:
            return unwritten
        with self._lock:
            is_over = self._until_ms and (
                self._clock.wall_ms() >= self._until_ms
                or self._clock.monotonic_s() >= self._deadline_s
            )
        return "its permit to act ran out; start it again" if is_over else None

    @property
    def heard_control(self) -> str:
        """The id of the last message that stopped or started the phone; empty for none."""
        return self._handled

    def stop(self, reason: str, *, message_id: str = "") -> None:
        """Stop the phone until it is started; a message that was heard before changes nothing.

        Raises: OSError: the disk does not take it. The phone is stopped all the same, but only
            until this process ends: say it again.
        """
        if self._is_news(message_id):
            if self._folder is None:
                self._interrupt.set()
            else:
                self._unwritten = _words(reason)
                write_stop(self._folder, reason, at_ms=self._clock.wall_ms())
                self._unwritten = None
            self._note(message_id)

    def start(self, *, until_ms: int = 0, message_id: str = "") -> None:
        """Let the phone act again, for good, for a new permit's time, or until `until_ms`.

        Raises: OSError: the disk does not take it: say it again.
        """
        if not self._is_news(message_id):
            return
        if not message_id or message_id != self._begun:
            now_ms = self._clock.wall_ms()
            fresh_ms = now_ms + round(self._permit_s * 1000) if self._permit_s else 0
            self._keep(until_ms or fresh_ms, fixed=bool(until_ms))
            if self._folder is not None:
                remove_stop(self._folder)
                self._unwritten = None
            self._begun = message_id
        self._note(message_id)

    def heard(self) -> None:
        """The cloud was heard: a permit that no owner fixed begins anew, if only in memory."""
        if not self._permit_s or self._is_fixed:
            return
        fresh_ms = self._clock.wall_ms() + round(self._permit_s * 1000)
        if fresh_ms - self._until_ms >= _RENEW_SHARE * self._permit_s * 1000:
            with suppress(OSError):  # written down with the next one
                self._permit(fresh_ms, fixed=False)

    def _is_news(self, message_id: str) -> bool:
        return not message_id or message_id != self._handled

    def _note(self, message_id: str) -> None:
        if message_id:
            self._keep(self._until_ms, fixed=self._is_fixed, handled=message_id)

    def _permit(self, until_ms: int, *, fixed: bool) -> None:
        """Let a permit hold, and write it down."""
        self._hold(until_ms, fixed=fixed)
        self._keep(until_ms, fixed=fixed)

    def _hold(self, until_ms: int, *, fixed: bool) -> None:
        with self._lock:
            self._until_ms, self._is_fixed = until_ms, fixed
            self._deadline_s = self._deadline(until_ms)

    def _keep(self, until_ms: int, *, fixed: bool, handled: str = "") -> None:
        """Write a permit and the message that was heard down, and then go by them.

        Raises: OSError: the disk does not take it; all stays as it was.
        """
        handled = handled or self._handled
        if self._folder is None:
            self._hold(until_ms, fixed=fixed)
            self._handled = handled
            return
        permit = {"until_ms": until_ms, "fixed": fixed, "heard": handled}
        write_durably(self._folder / PERMIT_FILE, json.dumps(permit).encode())
        self._look_at_permit(self._folder)

    def _deadline(self, until_ms: int) -> float:
        """The same moment on the clock that nobody can set."""
        if not until_ms:
            return float("inf")
        return self._clock.monotonic_s() + (until_ms - self._clock.wall_ms()) / 1000

    def _look_at_permit(self, folder: Path) -> None:
        """Take over what another process wrote; a permit that cannot be read has run out."""
        file = folder / PERMIT_FILE
        try:
            written_at_ns = file.stat().st_mtime_ns
        except FileNotFoundError:
            return
        except OSError:
            written_at_ns = -1
        if written_at_ns == self._read_at_ns:
            return
        with self._lock:
            self._read_at_ns = written_at_ns
            try:
                said: Any = json.loads(file.read_bytes())  # Any: JSON
                self._until_ms = int(said["until_ms"])
                self._is_fixed = bool(said["fixed"])
                self._handled = str(said["heard"])
            except (OSError, ValueError, KeyError, TypeError):
                self._until_ms = 1
            self._deadline_s = self._deadline(self._until_ms)


def write_stop(folder: Path, reason: str, *, at_ms: int) -> None:
    """Stop the phone in `folder`, or every phone in a folder of phones."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"reason": reason, "at_ms": at_ms}, ensure_ascii=False)
    write_durably(folder / STOP_FILE, text.encode())


def remove_stop(folder: Path) -> bool:
    """Take a stop back; whether there was one."""
    with suppress(FileNotFoundError):
        (folder / STOP_FILE).unlink()
        return True
    return False


def _is_there(file: Path) -> bool:
    """Whether there is such a file; what cannot be decided counts as yes."""
    try:
        file.stat()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True


def _said_by(file: Path) -> str:
    """The reason in a stop file; an empty or damaged one means stop just as well."""
    with suppress(OSError, ValueError, AttributeError):
        if reason := json.loads(file.read_bytes()).get("reason"):
            return _words(reason)
    return _words("")


def _words(reason: str) -> str:
    return f"stopped by its owner: {reason}" if reason else "stopped by its owner"
