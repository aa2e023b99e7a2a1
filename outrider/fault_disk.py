"""Disks that take nothing: files that may not grow, and a folder that is mounted read-only.

The first is a limit of the kernel on a running process (a write fails as on a full disk), the
second a mount that only the calling process sees. Linux only.
"""

from __future__ import annotations

import ctypes
import os
import resource
from pathlib import Path
from typing import Final

_NEW_MOUNTS: Final = 0x00020000
_NEW_USER: Final = 0x10000000
_MS_RDONLY: Final = 0x1
_MS_REMOUNT: Final = 0x20
_MS_BIND: Final = 0x1000
_MS_REC: Final = 0x4000
_MS_PRIVATE: Final = 0x40000
_SMALL_BYTES: Final = 4096


def fill_disk(pid: int) -> None:
    """Let no file of a process grow from now on: its writes fail."""
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (_SMALL_BYTES, resource.RLIM_INFINITY))


def empty_disk(pid: int) -> None:
    """Let its files grow again."""
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def make_read_only(folder: Path) -> None:
    """Let this process, which has one thread, see `folder` on a read-only disk from now on.

    Raises: OSError: this machine does not let this user do so.
    """
    if os.geteuid() == 0:
        _call("unshare", _NEW_MOUNTS)
    else:
        uid, gid = os.geteuid(), os.getegid()
        _call("unshare", _NEW_MOUNTS | _NEW_USER)
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"0 {uid} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"0 {gid} 1", encoding="ascii")
    target = os.fsencode(folder.resolve())
    _call("mount", b"none", b"/", None, _MS_REC | _MS_PRIVATE, None)
    _call("mount", target, target, None, _MS_BIND, None)
    _call("mount", b"none", target, None, _MS_BIND | _MS_REMOUNT | _MS_RDONLY, None)


def _call(name: str, *arguments: bytes | int | None) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
