"""The link to one phone: what may be asked again, what is sent once, and the way back to it.

Two kinds of commands. `ask` is for what changes nothing or may be carried out twice: after a lost
link it is asked again, once the phone is back. `send` is for what must happen at most once: it is
sent again only where the phone cannot have got it. Reconnecting has one owner, this object, behind
a lock: it asks the adb server to connect and waits with growing pauses, also for a server that
somebody else restarts; it never starts, ends or restarts one itself. Whoever works with the same
phone from several threads shares its link.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

import structlog

from device_runtime.adb import AdbClient, ShellResult
from device_runtime.adb_shell import AdbShell
from device_runtime.errors import InputDeniedError, PhoneFaultError, PhoneLostError
from sync.clock import Clock, SystemClock

PROBE: Final = "echo ready"
PROBE_TIMEOUT_S: Final = 5.0

_ADDRESS = re.compile(r"(\[[0-9a-fA-F:]+\]|[\w.-]+):\d{1,5}")
_OWNERS_TURN: Final = "unauthorized"
_SHOWN: Final = {"no_server": "without an adb server"}
_ADVICE: Final = {
    "no_server": "start the adb server again",
    "unauthorized": "accept this computer's key on the phone's screen",
    "offline": "plug it in again, or switch its wireless debugging off and on",
    "not listed": "check its cable or its address",
}
_DENIED: Final = b"INJECT_EVENTS"
_Result = TypeVar("_Result")
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class LinkSettings:
    """How patient a link is.

    Attributes:
        timeout_s: deadline of one command.
        reconnect_s: how long a lost phone is waited for before the episode ends as an env_error.
        first_pause_s, longest_pause_s: pauses between two looks for a lost phone, doubling.
    """

    timeout_s: float = 20.0
    reconnect_s: float = 15.0
    first_pause_s: float = 0.05
    longest_pause_s: float = 2.0


class AdbLink:
    """Commands to the phone `serial`, over one adb server."""

    def __init__(
        self,
        client: AdbClient,
        serial: str,
        *,
        settings: LinkSettings | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.serial = serial
        self._client = client
        self._settings = settings or LinkSettings()
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._shell = AdbShell(client, serial, timeout_s=self._settings.timeout_s)
        self.reconnects = 0
        """How often the phone was lost and came back."""

    def ask(self, command: str, *, timeout_s: float | None = None) -> ShellResult:
        """The result of a command that may be carried out twice.

        Raises:
            PhoneLostError: the phone did not come back in time, or was lost twice.
            PhoneFaultError: the answer breaks the protocol.
        """
        return self._again_if_lost(
            lambda: self._shell.shell(command, timeout_s=timeout_s), only_unsent=False
        )

    def send(self, command: str, *, timeout_s: float | None = None) -> ShellResult:
        """The result of a command that is carried out at most once.

        Raises: PhoneLostError, PhoneFaultError: as `ask`; after the first, the command may or may
            not have been carried out.
        """
        return self._again_if_lost(
            lambda: self._shell.shell(command, timeout_s=timeout_s), only_unsent=True
        )

    def capture(self, command: str, *, timeout_s: float | None = None) -> bytes:
        """The raw output of a command that may be carried out twice; only its form proves its end.

        Raises: PhoneLostError, PhoneFaultError: as `ask`.
        """
        deadline_s = timeout_s or self._settings.timeout_s
        return self._again_if_lost(
            lambda: self._client.execute(self.serial, command, timeout_s=deadline_s),
            only_unsent=False,
        )

    def state(self) -> str:
        """What the server says of the phone: "device", "offline", "unauthorized", "not listed".

        Raises: PhoneLostError: no server answers.
        """
        return self._client.devices().get(self.serial, "not listed")

    def reconnect(self) -> None:
        """Wait until the phone answers again, connecting to it where it has an address.

        Raises: PhoneLostError: it did not within `reconnect_s`, or only its owner can help.
        """
        with self._lock:
            self._shell.forget()
            deadline_s = self._clock.monotonic_s() + self._settings.reconnect_s
            pause_s = self._settings.first_pause_s
            while (state := self._state_now()) != "ready":
                if state == _OWNERS_TURN or self._clock.monotonic_s() >= deadline_s:
                    raise self._gone(state)
                self._clock.sleep(pause_s)
                pause_s = min(2 * pause_s, self._settings.longest_pause_s)
                self._connect(is_stale=state != "not listed")
            self.reconnects += 1
            _log.info("phone_reconnected", serial=self.serial)

    def _again_if_lost(self, work: Callable[[], _Result], *, only_unsent: bool) -> _Result:
        try:
            return work()
        except PhoneLostError as lost:
            if lost.state == _OWNERS_TURN:
                raise self._gone(lost.state) from lost
            if only_unsent and lost.may_have_arrived:
                raise
            _log.warning("phone_lost", serial=self.serial, state=lost.state)
        self.reconnect()
        return work()

    def _state_now(self) -> str:
        """Whether it answers ("ready"), or else its state; a listed phone may be switched off."""
        try:
            state = self.state()
            if state != "device":
                return state
            deadline_s = min(PROBE_TIMEOUT_S, self._settings.timeout_s)
            self._shell.shell(PROBE, timeout_s=deadline_s)
        except PhoneLostError as lost:
            return lost.state
        return "ready"

    def _connect(self, *, is_stale: bool) -> None:
        """Ask the server to connect anew; a phone on USB comes back by itself."""
        if _ADDRESS.fullmatch(self.serial) is None:
            return
        if is_stale:
            self._client.disconnect(self.serial)
        try:
            self._client.host(f"connect:{self.serial}")
        except PhoneLostError as lost:
            _log.debug("connect_failed", serial=self.serial, state=lost.state)

    def _gone(self, state: str) -> PhoneLostError:
        advice = _ADVICE.get(state, "check that it is on and reachable")
        shown = _SHOWN.get(state, state)
        return PhoneLostError(f"{self.serial} is {shown}: {advice}", state=state)


def require_done(serial: str, result: ShellResult) -> ShellResult:
    """The result of a command that acts, which went well.

    Raises:
        InputDeniedError: the phone lets nobody inject touches and keys.
        PhoneFaultError: the command failed in another way.
    """
    if _DENIED in result.stderr or _DENIED in result.stdout:
        raise InputDeniedError(
            f"{serial} forbids injected touches; allow them in its developer options "
            '("USB debugging (Security settings)" on some makes)'
        )
    return require_ended(serial, result)


def require_ended(serial: str, result: ShellResult) -> ShellResult:
    """The result of a command that ended without an error code.

    Raises: PhoneFaultError: it did not.
    """
    if result.exit_code != 0:
        said = " ".join((result.stderr or result.stdout[:400]).decode(errors="replace").split())
        raise PhoneFaultError(
            f"{serial} ended a command with code {result.exit_code}: {said[:200] or 'no word'}"
        )
    return result
