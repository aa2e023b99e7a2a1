"""Release files over HTTP, in byte ranges; and going on elsewhere where one way fails.

The path and what is believed are the same as over MQTT: every file proves itself by signed metadata
(`sync.trust`), so whoever serves it need not be trusted, only reached.
"""

from __future__ import annotations

import http.client
import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from typing import Final
from urllib.parse import quote, urlsplit

from sync.clock import Clock
from sync.errors import FetchInterruptedError, RejectedError, TransientError
from sync.resumed_fetch import FetchFrom

FILES_PATH: Final = "/v1/files/"
READ_BYTES: Final = 64 * 1024
STALL_S: Final = 15.0
RETRY_AFTER_S: Final = 60.0
_RANGE: Final = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


class HttpFiles:
    """Files below a cloud service's address; its `fetch` is a `FetchFrom`.

    Args:
        url: http(s)://host:port of the service, or of whatever serves the same paths.
        headers: what to send with the request for a path, such as who asks.
        context: whom to believe over TLS; the system's authorities where not given.
        stall_s: longest silence before the fetch is given up.

    Raises: ValueError: the address is no http:// or https:// one.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Callable[[str], Mapping[str, str]] = lambda _path: {},
        context: ssl.SSLContext | None = None,
        stall_s: float = STALL_S,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(f"{url!r} is no address such as https://cloud.example")
        self._host, self._port = parts.hostname, parts.port
        self._is_tls = parts.scheme == "https"
        self._prefix = parts.path.rstrip("/") + FILES_PATH
        self._headers = headers
        self._context = context
        self._stall_s = stall_s

    def fetch(self, path: str, offset: int) -> Iterator[bytes]:
        """The file's bytes from `offset` on, as they arrive.

        Raises:
            FileNotFoundError: there is no such file.
            FetchInterruptedError: no answer, a refusal, or an end before the end; `offset` says
                where to go on.
        """
        connection = self._connected()
        try:
            connection.request(
                "GET", self._prefix + quote(path), headers=self._asking(path, offset)
            )
            response = connection.getresponse()
            if response.status == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
                return  # nothing is behind what came: whoever checks the whole sees if that is so
            total = _opened(response, path, offset)
            while chunk := response.read1(READ_BYTES):
                offset += len(chunk)
                yield chunk
            if total is not None and offset < total:
                raise _interrupted(path, offset, "it ended early")
        except (OSError, http.client.HTTPException) as error:
            if isinstance(error, FileNotFoundError):
                raise
            raise _interrupted(path, offset, str(error) or type(error).__name__) from error
        finally:
            connection.close()

    def _asking(self, path: str, offset: int) -> dict[str, str]:
        asked = {**self._headers(path), "Accept-Encoding": "identity"}
        return {**asked, "Range": f"bytes={offset}-"} if offset else asked

    def _connected(self) -> http.client.HTTPConnection:
        if not self._is_tls:
            return http.client.HTTPConnection(self._host, self._port, timeout=self._stall_s)
        context = self._context or ssl.create_default_context()
        return http.client.HTTPSConnection(
            self._host, self._port, timeout=self._stall_s, context=context
        )


class FallbackFetch:
    """A `FetchFrom` that asks one way first, and goes on the other way where that fails.

    A way that failed is not tried first again for a while; then it is. Bytes that came one way are
    never asked for again the other way: a path names one content.

    Args:
        first, second: the two ways; where the first knows no such file, what the second one says
            counts, unless it does not answer.
        retry_after_s: how long `first` is left alone after it failed.
    """

    def __init__(
        self,
        first: FetchFrom,
        second: FetchFrom,
        *,
        clock: Clock,
        retry_after_s: float = RETRY_AFTER_S,
    ) -> None:
        self._first = first
        self._second = second
        self._clock = clock
        self._retry_after_s = retry_after_s
        self._not_before_s = clock.monotonic_s()

    def __call__(self, path: str, offset: int) -> Iterator[bytes]:
        """The file's bytes from `offset` on; raises as a `FetchFrom` does."""
        missing: FileNotFoundError | None = None
        if self._clock.monotonic_s() >= self._not_before_s:
            try:
                for chunk in self._first(path, offset):
                    offset += len(chunk)
                    yield chunk
            except FileNotFoundError as error:
                missing = error  # it answered: what the other way says counts, if it says anything
            except (TransientError, RejectedError, OSError):
                self._not_before_s = self._clock.monotonic_s() + self._retry_after_s
            else:
                return
        try:
            for chunk in self._second(path, offset):
                missing = None  # there is one
                yield chunk
        except (TransientError, OSError) as error:
            if missing is None:
                raise
            raise missing from error


def _opened(response: http.client.HTTPResponse, path: str, offset: int) -> int | None:
    """The size of the whole file, once the answer is the part that was asked for."""
    if response.status == http.client.NOT_FOUND:
        raise FileNotFoundError(path)
    if response.status == http.client.OK and offset == 0:
        return response.length
    found = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
    if response.status == http.client.PARTIAL_CONTENT and found and int(found[1]) == offset:
        return None if found[2] == "*" else int(found[2])
    raise _interrupted(path, offset, f"the server answered {response.status}")


def _interrupted(path: str, offset: int, why: str) -> FetchInterruptedError:
    return FetchInterruptedError(
        f"{path} did not arrive over HTTP ({why}): try again", path=path, offset=offset
    )
