"""A small HTTP server over an ADB stream, for programs on the phone that speak it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from apps_mock.adb_calls import Input
from apps_mock.adb_streams import ByteStream
from apps_mock.errors import AdbProtocolError, ShellLimitError

LARGEST_BODY_BYTES: Final = 4 * 1024 * 1024
MOST_HEADERS: Final = 100


@dataclass(frozen=True, slots=True)
class Request:
    """One request."""

    method: str
    path: str
    body: bytes
    keeps_open: bool


@dataclass(frozen=True, slots=True)
class Response:
    """What is answered."""

    body: bytes
    status: str = "200 OK"
    kind: str = "text/plain"


Answer = Callable[[Request], Awaitable[Response]]


async def serve_http(stream: ByteStream, answer: Answer) -> None:
    """Answer requests until the peer goes away or asks to close.

    Raises: AdbProtocolError: what comes is no HTTP.
    """
    source = Input(stream.read)
    while True:
        try:
            request = await _read_request(source)
        except ShellLimitError as error:
            raise AdbProtocolError("a request is too large") from error
        if request is None:
            return
        response = await answer(request)
        head = (
            f"HTTP/1.1 {response.status}\r\nContent-Type: {response.kind}\r\n"
            f"Content-Length: {len(response.body)}\r\n"
            f"Connection: {'keep-alive' if request.keeps_open else 'close'}\r\n\r\n"
        )
        await stream.write(head.encode() + response.body)
        if not request.keeps_open:
            return


async def _read_request(source: Input) -> Request | None:
    """The next request; None where the peer has gone."""
    first = (await source.line()).decode("latin-1").split()
    if not first:
        return None
    if len(first) != 3 or not first[2].startswith("HTTP/1."):
        raise AdbProtocolError("a request line is none")
    headers: dict[str, str] = {}
    while (line := (await source.line()).strip()) and len(headers) < MOST_HEADERS:
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    length = headers.get("content-length", "0")
    if not length.isdigit() or len(length) > 9 or int(length) > LARGEST_BODY_BYTES:
        raise AdbProtocolError(f"a body of {length} bytes is too large")
    body = await source.exactly(int(length))
    keeps_open = headers.get("connection", "keep-alive").lower() != "close"
    return Request(first[0], first[1], body, keeps_open)
