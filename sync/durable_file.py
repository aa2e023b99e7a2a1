"""Files that are there whole or not at all, whatever dies in between, and one writer at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile


def write_durably(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Put `data` at `path` in one step: temporary file, fsync, rename, fsync of the folder.

    Whoever has the old file open or mapped keeps the old bytes. Folders are made where missing.

    Raises: OSError: disk full, no permission; `path` is then as it was.
    """
    write_all_durably(path.parent, {path.name: data}, mode=mode)


def make_private(path: Path) -> None:
    """Make an empty file that nobody but its owner reads; what is there already stays as it is.

    Where that is not possible nothing happens: whoever opens the file next says why.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def write_all_durably(folder: Path, files: Mapping[str, bytes], *, mode: int = 0o644) -> None:
    """Put each file into `folder` as `write_durably` does, renamed in their order.

    Each is there whole or not at all; a crash may leave the first ones new and the others old.

    Raises: OSError: disk full, no permission; files that were not renamed are as they were.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written: dict[str, Path] = {}
    try:
        for name, data in files.items():
            with NamedTemporaryFile(dir=folder, prefix=f".{name}.", delete=False) as stream:
                written[name] = Path(stream.name)
                os.fchmod(stream.fileno(), mode)
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
        for name in files:
            written[name].replace(folder / name)
            del written[name]
    except BaseException:
        for temporary in written.values():
            temporary.unlink(missing_ok=True)
        raise
    sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Make the renames in `folder` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def exclusive(lock: Path) -> Iterator[None]:
    """Hold `lock` against all other processes and threads; it ends with the process, too."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield
