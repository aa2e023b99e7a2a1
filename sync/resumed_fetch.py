"""Large files in pieces that outlive a lost connection and the process, and none too slowly."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from sync.clock import Clock
from sync.errors import FetchInterruptedError

GRACE_S: Final = 60.0
"""How long any file may take."""
LEAST_BYTES_PER_S: Final = 512
"""What a file has to come at from then on, on average."""

FetchFrom = Callable[[str, int], Iterator[bytes]]
"""The chunks of a file, by its path, from an offset on; it raises as a `trust.Fetch` does."""


class ResumedFetch:
    """A `trust.Fetch` that keeps what came of large files, and goes on behind it next time.

    The path names the content (it holds its hash), so pieces of two states never mix; whoever reads
    the whole file checks it. A file that came to its end is forgotten here, right or wrong.

    Args:
        fetch_from: asks for a file from an offset on.
        folder: where pieces are kept.
        is_large: which paths are worth it.
    """

    def __init__(
        self, fetch_from: FetchFrom, folder: Path, *, is_large: Callable[[str], bool]
    ) -> None:
        self._fetch_from = fetch_from
        self._folder = folder
        self._is_large = is_large

    def __call__(self, path: str) -> Iterator[bytes]:
        """The file's chunks from its beginning on, those that came before first."""
        if not self._is_large(path):
            yield from self._fetch_from(path, 0)
            return
        kept = self._folder / hashlib.sha256(path.encode()).hexdigest()[:32]
        try:
            if kept.exists():
                yield kept.read_bytes()
            yield from self._rest(path, kept)
        except GeneratorExit:  # whoever reads has no use for it: it is too long, or the disk full
            kept.unlink(missing_ok=True)
            raise
        kept.unlink(missing_ok=True)

    def _rest(self, path: str, kept: Path) -> Iterator[bytes]:
        self._forget_others(kept)
        self._folder.mkdir(parents=True, exist_ok=True)
        with kept.open("ab") as file:
            try:
                for chunk in self._fetch_from(path, file.tell()):
                    file.write(chunk)
                    yield chunk
            except FetchInterruptedError as error:
                if error.offset == 0:  # the file is another one by now
                    file.truncate(0)
                raise

    def _forget_others(self, kept: Path) -> None:
        """One download at a time: pieces of what nobody asks for any more go."""
        for other in self._folder.glob("*"):
            if other != kept:
                other.unlink(missing_ok=True)


class LeastRate:
    """A `FetchFrom` that gives up a file that comes too slowly; what came of it is not lost.

    Whoever serves a byte now and then would otherwise hold a phone at one file for ever, with every
    deadline kept.
    """

    def __init__(self, fetch_from: FetchFrom, *, clock: Clock) -> None:
        self._fetch_from = fetch_from
        self._clock = clock

    def __call__(self, path: str, offset: int) -> Iterator[bytes]:
        """The chunks from `offset` on.

        Raises: FetchInterruptedError: too slow; `offset` says where to go on.
        """
        begun_s, begun_at = self._clock.monotonic_s(), offset
        for chunk in self._fetch_from(path, offset):
            offset += len(chunk)
            yield chunk
            waited_s = self._clock.monotonic_s() - begun_s
            if waited_s > GRACE_S and offset - begun_at < LEAST_BYTES_PER_S * waited_s:
                raise FetchInterruptedError(
                    f"{path} came at less than {LEAST_BYTES_PER_S} bytes a second: try again",
                    path=path,
                    offset=offset,
                )
