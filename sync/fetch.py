"""Release files over the wire: asked for chunk by chunk, with deadlines, resumable at any offset.

The device pulls, so the slow side sets the pace. A request that is not answered is repeated under
the same id, each time after twice as long: a cloud that a whole fleet asks at once is slow, and not
to be asked for the same again and again; and at once on a new connection, since what was asked
without one is lost. A late second answer finds nobody waiting and is dropped.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from sync.clock import Clock
from sync.errors import FetchInterruptedError, RejectedError
from sync.messages import FileChunk, FileRequest
from sync.ports import FilePart

CHUNK_BYTES: Final = 64 * 1024
MAX_FILE_BYTES: Final = 256 * 1024 * 1024
REPEAT_AFTER_S: Final = 2.0

Fetch = Callable[[str], Iterable[bytes]]
"""The chunks of a served file by its path.

It raises `FileNotFoundError` where the server has no such file, and `TransientError` or `OSError`
where it cannot be reached; it has its own deadline. It may yield without end: reading stops at the
length that is allowed.
"""

_Answers = queue.SimpleQueue[FileChunk | None]
"""The chunks that came for one request; None says that it is to be sent again."""


class FileFetcher:
    """The asking side; `fetch` is called from any thread, `take` from the link's.

    Args:
        send: publishes a request; what it does without a connection is to do nothing.
    """

    def __init__(
        self, send: Callable[[FileRequest], None], *, clock: Clock, new_id: Callable[[], str]
    ) -> None:
        self._send = send
        self._clock = clock
        self._new_id = new_id
        self._lock = threading.Lock()
        self._waiting: dict[str, _Answers] = {}

    def take(self, chunk: FileChunk) -> None:
        """Give a chunk to whoever asked for it."""
        with self._lock:
            answers = self._waiting.get(chunk.request_id)
        if answers is not None:
            answers.put(chunk)

    def connected(self) -> None:
        """Ask again for what is waited for: there is a new connection."""
        with self._lock:
            for answers in self._waiting.values():
                answers.put(None)

    def fetch(
        self,
        path: str,
        *,
        offset: int = 0,
        stall_timeout_s: float = 30.0,
        max_bytes: int = MAX_FILE_BYTES,
    ) -> Iterator[bytes]:
        """The file's bytes from `offset` on, chunk by chunk as they arrive.

        Raises:
            RejectedError: no such file ("missing"), or longer than `max_bytes` ("too_large").
            FetchInterruptedError: no chunk came for `stall_timeout_s`, or the file changed
                meanwhile; `offset` says where to go on.
        """
        version = ""
        while True:
            chunk = self._ask(path, offset, stall_timeout_s)
            if version not in {"", chunk.version}:
                raise FetchInterruptedError(
                    f"{path} changed while it was fetched: fetch it again", path=path, offset=0
                )
            _check(chunk, path, offset, max_bytes)
            version = chunk.version
            offset += len(chunk.data)
            if chunk.data:
                yield chunk.data
            if offset >= chunk.total:
                return

    def _ask(self, path: str, offset: int, stall_timeout_s: float) -> FileChunk:
        request = FileRequest(
            request_id=self._new_id(), path=path, offset=offset, length=CHUNK_BYTES
        )
        answers: _Answers = queue.SimpleQueue()
        with self._lock:
            self._waiting[request.request_id] = answers
        try:
            return self._wait(request, answers, stall_timeout_s)
        finally:
            with self._lock:
                del self._waiting[request.request_id]

    def _wait(
        self,
        request: FileRequest,
        answers: _Answers,
        stall_timeout_s: float,
    ) -> FileChunk:
        deadline_s = self._clock.monotonic_s() + stall_timeout_s
        repeat_after_s = REPEAT_AFTER_S
        while True:
            left_s = deadline_s - self._clock.monotonic_s()
            if left_s <= 0:
                raise FetchInterruptedError(
                    f"{request.path} did not arrive within {stall_timeout_s:g} s: try again",
                    path=request.path,
                    offset=request.offset,
                )
            self._send(request)
            try:
                answer = answers.get(timeout=min(left_s, repeat_after_s))
            except queue.Empty:
                repeat_after_s *= 2
            else:
                if answer is not None:
                    return answer


class DirectoryFiles:
    """A FileSource over one directory; nothing outside it can be read."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self._inside = f"{self._root}{os.sep}"

    def read(self, path: str, offset: int, length: int) -> FilePart | None:
        """See FileSource."""
        try:
            wanted = os.path.realpath(self._root / path)  # half the time of Path.resolve
            if not wanted.startswith(self._inside):
                return None
            with Path(wanted).open("rb") as file:
                about = os.fstat(file.fileno())
                file.seek(offset)
                data = file.read(length)
        except (OSError, ValueError):  # gone meanwhile, or a path that no file system takes
            return None
        return FilePart(data, about.st_size, f"{about.st_mtime_ns:x}-{about.st_size:x}")


def _check(chunk: FileChunk, path: str, offset: int, max_bytes: int) -> None:
    if chunk.missing:
        raise RejectedError(f"the cloud has no file {path}: check the name", reason="missing")
    if chunk.total > max_bytes:
        raise RejectedError(
            f"{path} has {chunk.total} bytes, more than {max_bytes}: refuse it", reason="too_large"
        )
    if chunk.offset != offset or (not chunk.data and offset < chunk.total):
        raise FetchInterruptedError(
            f"{path} came in the wrong pieces: fetch it again", path=path, offset=offset
        )
