"""Where the cloud keeps blobs, as far as the wire needs it: a port, and what it knows of a blob."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class BlobState(StrEnum):
    """What a store knows of a blob that an episode names."""

    WANTED = "wanted"
    STORED = "stored"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class BlobRecord:
    """A blob that a committed episode names.

    Attributes:
        received: bits of the chunks that are on disk (see `sync.blobs`).
        reason: why it is refused.
    """

    size_bytes: int
    state: BlobState = BlobState.WANTED
    received: int = 0
    reason: str = ""


class BlobShelf(Protocol):
    """Where blobs go. All calls come from one thread; what they did survives a crash."""

    @property
    def store_id(self) -> str:
        """Names the store; another one holds nothing of what was sent to this one."""
        ...

    def look(self, digests: Iterable[bytes]) -> Mapping[bytes, BlobRecord]:
        """What is known of these; blobs that no committed episode names are left out."""
        ...

    def write(self, digest: bytes, index: int, data: bytes, *, received: int) -> None:
        """Keep a chunk; `received` are the bits of all that are here then.

        Raises: OSError: it could not be kept.
        """
        ...

    def finish(self, digest: bytes, *, sender: str) -> bool:
        """Believe a blob whose chunks are all here, or throw them away: False where they lie.

        Raises: OSError: it could not be kept.
        """
        ...
