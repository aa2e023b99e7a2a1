"""Talks to an adb server's socket: host services, shell with exit code, raw output.

Each command has its own connection and a deadline for the whole of it. A result is handed out only
with proof that it is complete: for a shell command the exit packet, without which a dropped link
would look like a short success; on phones before Android 7, which send none, a line of our own
with the code. Raw output (`execute`) has no such mark, so callers check its form. Nothing is sent
twice here, and the server is never started, asked to end or restarted.
"""

from __future__ import annotations

import contextlib
import secrets
import shlex
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from device_runtime.errors import PhoneFaultError, PhoneLostError
from sync.clock import Clock, SystemClock

FRAMED_SHELL: Final = "shell_v2"
"""The feature of phones whose shell answers in packets, the exit code among them."""
MAX_OUTPUT_BYTES: Final = 64 * 1024 * 1024
CONNECT_POLL_S: Final = 0.05

_FRAME = struct.Struct("<BI")
_STDOUT, _STDERR, _EXIT = 1, 2, 3
_CHUNK_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class ShellResult:
    """A command that ran to its end."""

    stdout: bytes
    stderr: bytes
    exit_code: int


def quote(text: str) -> str:
    """One word for the phone's shell, whatever it contains."""
    return shlex.quote(text)


class AdbClient:
    """Commands over one adb server.

    Args:
        port: where the server listens on this machine.
        timeout_s: deadline of a call that names none.
    """

    def __init__(
        self,
        port: int,
        *,
        host: str = "127.0.0.1",
        timeout_s: float = 20.0,
        clock: Clock | None = None,
    ) -> None:
        self._address = (host, port)
        self._timeout_s = timeout_s
        self._clock = clock or SystemClock()

    def host(self, service: str, *, timeout_s: float | None = None) -> str:
        """The answer of a service of the server itself, such as "version" or "devices".

        Raises: PhoneLostError: no server, no answer in time, or it refused.
        """
        with self._request(f"host:{service}", timeout_s) as link:
            return link.block().decode(errors="replace")

    def devices(self) -> dict[str, str]:
        """State ("device", "offline", "unauthorized", …) by serial."""
        rows = (line.split("\t", 1) for line in self.host("devices").splitlines())
        return {row[0]: row[1] for row in rows if len(row) == 2}

    def connect(self, address: str, *, timeout_s: float = 10.0) -> None:
        """Reach a phone at `host:port` and wait until it can be used.

        A server that is still letting go of an earlier connection answers "already connected" and
        lists nothing a moment later; so whoever is not listed is asked for again.

        Raises: PhoneLostError: it did not become ready in time; the text says what the server said.
        """
        deadline = self._clock.monotonic_s() + timeout_s
        said = self.host(f"connect:{address}", timeout_s=timeout_s).strip()
        while (state := self.devices().get(address, "not listed")) != "device":
            if self._clock.monotonic_s() >= deadline:
                raise PhoneLostError(
                    f"{address} is {state} ({said}); check that it listens there",
                    state=state,
                    may_have_arrived=False,
                )
            self._clock.sleep(CONNECT_POLL_S)
            if state == "not listed":
                said = self.host(f"connect:{address}", timeout_s=timeout_s).strip()

    def disconnect(self, address: str) -> None:
        """Forget a phone that was connected by address; fine where it is unknown."""
        with contextlib.suppress(PhoneLostError):
            self.host(f"disconnect:{address}")

    def features(self, serial: str) -> frozenset[str]:
        """What a phone's adb daemon can do, such as `FRAMED_SHELL`.

        Raises: PhoneLostError: the server does not list it as ready.
        """
        answer = self.host_of(serial, "features")
        return frozenset(filter(None, answer.strip().split(",")))

    def host_of(self, serial: str, service: str) -> str:
        """The answer of a service of the server about one phone, such as "get-state"."""
        with self._request(f"host-serial:{serial}:{service}", None) as link:
            return link.block().decode(errors="replace")

    def shell(
        self, serial: str, command: str, *, timeout_s: float | None = None, framed: bool = True
    ) -> ShellResult:
        """Run a command line in the phone's shell to its end.

        Args:
            framed: whether the phone has `FRAMED_SHELL`; without it what the command says as an
                error comes with the rest of its output.

        Raises:
            PhoneLostError: the phone is not there, fell silent, or the link ended before the exit
                code came: what had arrived is thrown away.
            PhoneFaultError: the answer breaks the protocol or is larger than the limit.
        """
        if not framed:
            return self._unframed(serial, command, timeout_s)
        collected = {_STDOUT: bytearray(), _STDERR: bytearray()}
        size = 0
        with self._service(serial, f"shell,v2,raw:{command}", timeout_s) as link:
            while True:
                kind, length = _FRAME.unpack(link.exactly(_FRAME.size))
                size += length
                if size > MAX_OUTPUT_BYTES or kind not in {_STDOUT, _STDERR, _EXIT}:
                    raise PhoneFaultError(f"{serial} sent a shell packet of {kind}/{length} bytes")
                data = link.exactly(length)
                if kind == _EXIT:
                    code = data[0] if data else 255
                    return ShellResult(bytes(collected[_STDOUT]), bytes(collected[_STDERR]), code)
                collected[kind] += data

    def _unframed(self, serial: str, command: str, timeout_s: float | None) -> ShellResult:
        """`shell` on a phone without packets: the end is proved by a line that nobody can guess."""
        mark = f"--{secrets.token_hex(8)}--"
        said = self.execute(serial, f"{command}; echo {mark}$?", timeout_s=timeout_s)
        output, found, code = said.rpartition(mark.encode())
        digits = code.strip()
        if not found or not (digits.isdigit() and len(digits) <= 3) or not code.endswith(b"\n"):
            raise PhoneLostError(f"the link to {serial} ended before the command did")
        return ShellResult(output, b"", int(digits))

    def execute(self, serial: str, command: str, *, timeout_s: float | None = None) -> bytes:
        """Everything a command writes, raw; whether that is all of it only its form can tell.

        Raises: PhoneLostError, PhoneFaultError: as for `shell`.
        """
        collected = bytearray()
        with self._service(serial, f"exec:{command}", timeout_s) as link:
            while data := link.some():
                collected += data
                if len(collected) > MAX_OUTPUT_BYTES:
                    raise PhoneFaultError(f"{serial} sent more than {MAX_OUTPUT_BYTES} bytes")
        return bytes(collected)

    @contextlib.contextmanager
    def _service(self, serial: str, name: str, timeout_s: float | None) -> Iterator[_Link]:
        with self._request(f"host:transport:{serial}", timeout_s) as link:
            link.reaches_phone = True
            link.request(name)
            yield link

    @contextlib.contextmanager
    def _request(self, name: str, timeout_s: float | None) -> Iterator[_Link]:
        deadline_s = self._clock.monotonic_s() + (timeout_s or self._timeout_s)
        link = _Link(self._address, deadline_s, self._clock)
        try:
            link.request(name)
            yield link
        finally:
            link.close()


class _Link:
    """One connection to the server; every wait ends at the deadline.

    Attributes:
        reaches_phone: whether what is sent from now on may reach the phone.
    """

    def __init__(self, address: tuple[str, int], deadline_s: float, clock: Clock) -> None:
        self.reaches_phone = False
        self._deadline_s = deadline_s
        self._clock = clock
        self._name = "connect"
        self._buffer = b""
        self._socket = socket.socket()
        try:
            self._socket.settimeout(self._remaining_s())
            self._socket.connect(address)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            self._socket.close()
            host, port = address
            raise self._lost(
                f"no adb server answers at {host}:{port} ({error}); start it again", "no_server"
            ) from error

    def close(self) -> None:
        self._socket.close()

    def request(self, name: str) -> None:
        """Ask for a service; returns once the server agreed."""
        self._name = name.partition(":")[0] if name.startswith(("shell", "exec")) else name
        data = name.encode()
        if len(data) > 0xFFFF:
            raise PhoneFaultError(f"a command of {len(data)} bytes is too long for adb")
        self._socket.settimeout(self._remaining_s())
        try:
            self._socket.sendall(b"%04x%b" % (len(data), data))
        except OSError as error:
            raise self._broken(error) from error
        status = self.exactly(4)
        if status == b"FAIL":
            said = self.block().decode(errors="replace")
            raise self._lost(f"adb refused {self._name}: {said}", _state_in(said))
        if status != b"OKAY":
            raise PhoneFaultError(f"the adb server answered {status!r}; is it one?")

    def block(self) -> bytes:
        """A length in four hexadecimal digits and that many bytes."""
        length = self.exactly(4)
        try:
            return self.exactly(int(length, 16))
        except ValueError as error:
            raise PhoneFaultError(f"the adb server sent {length!r} as a length") from error

    def exactly(self, size: int) -> bytes:
        """The next `size` bytes; an end before them is a lost phone."""
        data = self._buffer
        if len(data) < size:
            parts, missing = [data], size - len(data)
            while missing > 0:
                part = self._receive()
                if not part:
                    raise self._lost(f"the link ended in the middle of {self._name}", "cut")
                parts.append(part)
                missing -= len(part)
            data = b"".join(parts)
        self._buffer = data[size:]
        return data[:size]

    def some(self) -> bytes:
        """Bytes as they come; empty at the end."""
        data, self._buffer = self._buffer, b""
        return data or self._receive()

    def _receive(self) -> bytes:
        self._socket.settimeout(self._remaining_s())
        try:
            return self._socket.recv(_CHUNK_BYTES)
        except OSError as error:
            raise self._broken(error) from error

    def _remaining_s(self) -> float:
        remaining_s = self._deadline_s - self._clock.monotonic_s()
        if remaining_s <= 0:
            raise self._lost(f"no answer to {self._name} in time", "silent")
        return remaining_s

    def _broken(self, error: OSError) -> PhoneLostError:
        if isinstance(error, TimeoutError):
            return self._lost(f"no answer to {self._name} in time", "silent")
        return self._lost(f"the link to the adb server broke during {self._name}", "cut")

    def _lost(self, text: str, state: str) -> PhoneLostError:
        return PhoneLostError(text, state=state, may_have_arrived=self.reaches_phone)


def _state_in(refusal: str) -> str:
    """What a refusal of the server says of the phone."""
    for word, state in _REFUSALS.items():
        if word in refusal:
            return state
    return "refused"


_REFUSALS: Final = {
    "unauthorized": "unauthorized",
    "offline": "offline",
    "authorizing": "offline",
    "connecting": "offline",
    "not found": "not listed",
}
