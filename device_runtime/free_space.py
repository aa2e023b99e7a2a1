"""Whether a phone has room for a release, asked before anything of it is downloaded."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from sync.errors import RejectedError
from sync.releases import Reason

RESERVE_BYTES: Final = 16 * 1024 * 1024
"""What stays free for the log and the outbox."""
_ADAPTER_COPIES: Final = 4
"""As it arrives, verified, as a candidate, and in its slot."""
_BASE_COPIES: Final = 5
"""Kept pieces, as it arrives, verified, and unpacked to about twice its size."""


def free_bytes(folder: Path) -> int:
    """Free bytes of the disk that `folder` is or will be on."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def needed_bytes(adapter_bytes: int, base_bytes: int) -> int:
    """How many bytes must be free to install an adapter and, where it is new, its base."""
    return _ADAPTER_COPIES * adapter_bytes + _BASE_COPIES * base_bytes + RESERVE_BYTES


def require_space(free: int, *, adapter_bytes: int, base_bytes: int) -> None:
    """Nothing where there is room.

    Raises: RejectedError: "no_space".
    """
    needed = needed_bytes(adapter_bytes, base_bytes)
    if free < needed:
        raise RejectedError(
            f"release: it needs {needed >> 20} MB of free disk, this phone has {free >> 20}: "
            "it is tried again once there is room",
            reason=Reason.NO_SPACE,
        )
