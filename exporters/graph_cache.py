"""Exported graphs are made once for each base, whoever asks first, and kept."""

from __future__ import annotations

import fcntl
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def exported_once(target: Path, export: Callable[[Path], object]) -> Path:
    """`target`, a folder that `export` fills where it is not there yet.

    Several processes may ask at once: one exports while the others wait. A folder appears whole or
    not at all, also when the process that made it was killed.

    Args:
        export: writes the files into the folder that it is given; what it raises is passed on.
    """
    cache = target.parent
    if not target.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with _locked(cache / ".lock"):
            if not target.exists():
                with tempfile.TemporaryDirectory(prefix="export-", dir=cache) as folder:
                    whole = Path(folder) / target.name
                    export(whole)
                    whole.rename(target)
    return target


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold `path` as a lock between processes; it is let go when the process ends, too."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
