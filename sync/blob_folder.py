"""Blobs on disk by content: `ab/cdef…`, whole or not there, whatever dies in between.

    bytes ─► temporary file ─► fsync ─► rename                       put, on a device and in a test
    chunks ─► incoming/<digest> ─► digest checked ─► fsync ─► rename  in the cloud

A file is believed only after its digest was checked: disks lie, and so do people with a shell.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sync.blobs import CHUNK_BYTES, digest_of
from sync.durable_file import sync_folder, write_durably

_INCOMING: Final = "incoming"
_NAME_LETTERS: Final = 62
"""Of a file: the rest of the digest's 64 digits after its folder's two."""


class BlobFolder:
    """A folder of blobs; several processes may write and read it."""

    def __init__(self, directory: Path) -> None:
        """Use `directory`; folders are made when something is written."""
        self.directory = directory

    def put(self, data: bytes) -> bytes:
        """The digest under which `data` can be read from now on. Idempotent.

        Raises: OSError: disk full, no permission; nothing changed.
        """
        digest = digest_of(data)
        path = self.path(digest)
        if not self._has(path, len(data)):
            write_durably(path, data)
        return digest

    def read(self, digest: bytes) -> bytes | None:
        """The blob; None where there is none, or its file is damaged (`exists` tells which)."""
        try:
            data = self.path(digest).read_bytes()
        except OSError:
            return None
        return data if digest_of(data) == digest else None

    def exists(self, digest: bytes) -> bool:
        """Whether there is a file of that name, whatever it holds."""
        return self.path(digest).is_file()

    def discard(self, digest: bytes) -> None:
        """Forget a blob, and what came of it. Idempotent."""
        self.path(digest).unlink(missing_ok=True)
        self._part(digest).unlink(missing_ok=True)

    def write_part(self, digest: bytes, index: int, data: bytes) -> None:
        """Keep chunk number `index` of a blob that is not whole yet.

        Raises: OSError: disk full, no permission.
        """
        part = self._part(digest)
        part.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            written = os.pwrite(descriptor, data, index * CHUNK_BYTES)
            if written != len(data):
                raise OSError(f"only {written} of {len(data)} bytes fitted on the disk")
        finally:
            os.close(descriptor)

    def finish(self, digest: bytes) -> bool:
        """Make a blob of its chunks; False where they are not that blob, and are thrown away.

        Raises: OSError: the disk failed; the chunks are kept.
        """
        part, path = self._part(digest), self.path(digest)
        try:
            with part.open("rb") as stream:
                if digest_of(stream.read()) != digest:
                    part.unlink()
                    return False
                os.fsync(stream.fileno())
        except FileNotFoundError:
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        part.replace(path)
        sync_folder(path.parent)
        return True

    def drop_part(self, digest: bytes) -> None:
        """Throw away what came of a blob. Idempotent."""
        self._part(digest).unlink(missing_ok=True)

    def files(self) -> Iterator[tuple[bytes, Path]]:
        """Every blob's digest and file, whole ones only; files of other names are left alone."""
        for folder in sorted(self.directory.glob("[0-9a-f][0-9a-f]")):
            for path in folder.iterdir():
                digest = _digest(folder.name + path.name)
                if len(path.name) == _NAME_LETTERS and digest is not None:
                    yield digest, path

    def path(self, digest: bytes) -> Path:
        """Where a blob lies."""
        name = digest.hex()
        return self.directory / name[:2] / name[2:]

    def _part(self, digest: bytes) -> Path:
        return self.directory / _INCOMING / digest.hex()

    @staticmethod
    def _has(path: Path, size_bytes: int) -> bool:
        try:
            return path.stat().st_size == size_bytes
        except OSError:
            return False


def _digest(name: str) -> bytes | None:
    try:
        return bytes.fromhex(name)
    except ValueError:
        return None
