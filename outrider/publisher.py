"""Who signs a fleet's releases: one program at a time, in the fleet's folder."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from outrider.errors import MisuseError
from outrider.releases import BUNDLES, REPOSITORY

if TYPE_CHECKING:
    from sync.repository import Repository

KEYS = "keys"


@contextmanager
def sole_publisher(data: Path) -> Iterator[None]:
    """Keep every other program from signing releases of the fleet in `data` meanwhile.

    Raises: MisuseError: another one does so already.
    """
    lock = data / REPOSITORY / "publisher.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise MisuseError(
                f"the cloud service of {data} is running and signs its releases: stop it first"
            ) from error
        yield


@contextmanager
def publishing(data: Path) -> Iterator[Repository]:
    """The signed releases of the fleet in `data`, to be added to.

    Raises: MisuseError: there is no such fleet, or another program publishes there.
    """
    from sync.clock import SystemClock
    from sync.published import is_made
    from sync.repository import Repository

    if not is_made(data / REPOSITORY):
        raise MisuseError(f"{data} holds no signed releases: name a fleet's folder with --data")
    with sole_publisher(data):
        yield Repository(
            data / REPOSITORY, data / KEYS, bundles_dir=data / BUNDLES, clock=SystemClock()
        )
