"""Base networks that came with releases, in one phone's folder, beside the one it was set up with.

    bases/DIGEST/      the exported base of that digest, whole or not there

A release acts on the base that its adapter is made for. Which bases are needed follows from the
slots; what no slot needs goes at the next start.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path
from tempfile import TemporaryDirectory

from sync.base_file import is_whole, unpack_base
from sync.durable_file import sync_folder


class HeldBases:
    """The bases in one phone's folder; whoever changes them holds the slots' lock."""

    def __init__(self, phone_dir: Path) -> None:
        self.directory = phone_dir / "bases"

    def path(self, digest: str) -> Path:
        """Where a base is, if it is here."""
        return self.directory / digest

    def holds(self, digest: str) -> bool:
        """Whether a base is here, every file as it should be."""
        return bool(digest) and is_whole(self.path(digest), digest=digest)

    def put(self, digest: str, data: bytes) -> None:
        """Lay the packed base `data`. Idempotent; a damaged one is replaced.

        Raises:
            RejectedError: it is not that base, or not whole.
            OSError: the disk failed.
        """
        if self.holds(digest):
            return
        self.directory.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".new-", dir=self.directory) as folder:
            made = Path(folder) / digest
            unpack_base(data, made, digest=digest)
            shutil.rmtree(self.path(digest), ignore_errors=True)
            made.rename(self.path(digest))
        sync_folder(self.directory)

    def keep(self, digests: Collection[str]) -> None:
        """Remove every base but these, and what a process that died left half done."""
        for folder in self.directory.glob("*"):
            if folder.is_dir() and folder.name not in digests:
                shutil.rmtree(folder, ignore_errors=True)
