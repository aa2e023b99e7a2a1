"""The mock phone's small file system: what shell commands and `adb push`/`pull` read and write.

Files live in memory only; nothing here ever touches a file of the machine that runs the mock.
What the clone itself stores (its files app) lies among them and can only be read.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from apps_mock.adb_calls import Call
from apps_mock.errors import MockFileError

CAPACITY_BYTES: Final = 256 * 1024 * 1024
LONGEST_PATH: Final = 1200
FILE_MODE: Final = 0o100660
FOLDER_MODE: Final = 0o040771

_SHARED: Final = "/storage/emulated/0"
_ALIASES: Final = ("/sdcard", "/mnt/sdcard", "/storage/self/primary")
_FOLDERS: Final = (
    "/", "/data", "/data/local", "/data/local/tmp", "/storage", "/storage/emulated", _SHARED,
    f"{_SHARED}/Download", f"{_SHARED}/Pictures", "/proc", "/system", "/system/bin",
)  # fmt: skip
_OF_THE_SYSTEM: Final = {
    "/proc/cpuinfo": b"processor\t: 0\nHardware\t: clone\n",
    "/proc/meminfo": b"MemTotal:        7812345 kB\nMemFree:         2012345 kB\n"
    b"MemAvailable:    4012345 kB\n",
    "/proc/uptime": b"93780.00 180000.00\n",
    "/proc/version": b"Linux version 5.10.177-android12-9 (clone) #1 SMP PREEMPT\n",
}
"""Files that every phone has and that nobody writes."""
_SYSTEM_MODE: Final = 0o100444
_WRITABLE: Final = (_SHARED, "/data/local/tmp")


@dataclass(slots=True)
class File:
    """One file: content, permission bits with type, time of change."""

    data: bytes
    mode: int
    changed_at_s: int


def _nothing_stored() -> Mapping[str, int]:
    return {}


class Files:
    """A tree of folders and files; paths are absolute, `/sdcard` is the shared storage.

    Args:
        stored: path and size of what the clone itself stores now; never written through here.
    """

    def __init__(
        self, now_s: Callable[[], int], *, stored: Callable[[], Mapping[str, int]] = _nothing_stored
    ) -> None:
        self._now_s = now_s
        self._stored = stored
        self._folders: dict[str, int] = dict.fromkeys(_FOLDERS, 0)
        self._files = {name: File(data, _SYSTEM_MODE, 0) for name, data in _OF_THE_SYSTEM.items()}

    def stat(self, path: str) -> tuple[int, int, int] | None:
        """Mode, size in bytes and time of change; None where nothing is there."""
        place = resolve(path)
        if self.is_folder(place):
            return FOLDER_MODE, 4096, self._folders.get(place, 0)
        file = self._files.get(place)
        if file is None:
            size = self._stored().get(place)
            return None if size is None else (FILE_MODE, size, 0)
        return file.mode, len(file.data), file.changed_at_s

    def is_folder(self, path: str) -> bool:
        """Whether a folder is there."""
        place = resolve(path)
        return place in self._folders or any(
            name.startswith(f"{place}/") for name in self._stored()
        )

    def read(self, path: str) -> bytes:
        """A file's content.

        Raises: MockFileError: nothing there, or a folder.
        """
        place = resolve(path)
        if self.is_folder(place):
            raise MockFileError(path, "Is a directory")
        if place in self._files:
            return self._files[place].data
        if place in self._stored():
            return bytes(self._stored()[place])
        raise MockFileError(path, "No such file or directory")

    def write(self, path: str, data: bytes, *, append: bool = False, mode: int = FILE_MODE) -> None:
        """Replace or extend a file.

        Raises: MockFileError: its folder is missing or read-only, or the storage is full.
        """
        place = resolve(path)
        if self.is_folder(place) or path.endswith("/"):
            raise MockFileError(path, "Is a directory")
        self._check_writable(path, place)
        old = self._files[place].data if append and place in self._files else b""
        used = sum(
            len(file.data)
            for name, file in self._files.items()
            if name not in {place, *_OF_THE_SYSTEM}
        )
        if used + len(old) + len(data) > CAPACITY_BYTES:
            raise MockFileError(path, "No space left on device")
        self._files[place] = File(old + data, mode, self._now_s())

    def touch(self, path: str, changed_at_s: int) -> None:
        """Set a file's time of change."""
        self._files[resolve(path)].changed_at_s = changed_at_s

    def make_folder(self, path: str, *, parents: bool = False) -> None:
        """Make a folder; with `parents` also what is missing above, and an old one is fine.

        Raises: MockFileError: it exists, or there is nothing to put it in.
        """
        place = resolve(path)
        if self.stat(place) is not None:
            if parents and place in self._folders:
                return
            raise MockFileError(path, "File exists")
        above = posixpath.dirname(place)
        if parents and above not in self._folders:
            self.make_folder(above, parents=True)
        self._check_writable(path, place)
        self._folders[place] = self._now_s()

    def remove(self, path: str, *, recursive: bool = False) -> None:
        """Remove a file, or a folder with all in it.

        Raises: MockFileError: nothing there, a folder without `recursive`, or read-only.
        """
        place = resolve(path)
        if self.stat(place) is None:
            raise MockFileError(path, "No such file or directory")
        if place in self._folders and not recursive:
            raise MockFileError(path, "Is a directory")
        self._check_writable(path, place)
        below = place + "/"
        for table in (self._files, self._folders):
            for name in [each for each in table if each == place or each.startswith(below)]:
                del table[name]

    def names(self, path: str) -> tuple[str, ...]:
        """What lies in a folder, sorted.

        Raises: MockFileError: no such folder.
        """
        place = resolve(path)
        if not self.is_folder(place):
            raise MockFileError(path, "No such file or directory")
        below = "/" if place == "/" else f"{place}/"
        inside = (*self._folders, *self._files, *self._stored())
        found = {name[len(below) :].partition("/")[0] for name in inside if name.startswith(below)}
        return tuple(sorted(found - {""}))

    def matches(self, pattern: str, folder: str = "/") -> tuple[str, ...]:
        """Paths that a shell pattern means, as it writes them, sorted; may be none.

        Args:
            folder: where a relative pattern starts.
        """
        is_absolute = pattern.startswith("/")
        found = ["/" if is_absolute else ""]
        for name in [each for each in pattern.split("/") if each]:
            found = [path for above in found for path in self._below(above, name, folder)]
        return tuple(sorted(found))

    def _below(self, above: str, name: str, folder: str) -> list[str]:
        """What is in a folder and matches one part of a pattern."""
        place = posixpath.join(folder, above)
        if not self.is_folder(place):
            return []
        plain = re.sub(r"\[([*?\[])\]", "", name)
        if not set(plain) & set("*?["):
            path = posixpath.join(above, re.sub(r"\[([*?\[])\]", r"\1", name))
            return [path] if self.stat(posixpath.join(folder, path)) else []
        shown = [each for each in self.names(place) if name[0] == "." or not each.startswith(".")]
        return [posixpath.join(above, each) for each in fnmatch.filter(shown, name)]

    def is_writable(self, path: str) -> bool:
        """Whether the path may be changed."""
        return resolve(path).startswith(_WRITABLE)

    def walk(self, path: str) -> tuple[str, ...]:
        """A path and everything below it, a folder before what is in it.

        Raises: MockFileError: nothing there.
        """
        if self.stat(path) is None:
            raise MockFileError(path, "No such file or directory")
        found = [path]
        if self.is_folder(path):
            for name in self.names(path):
                found += self.walk(posixpath.join(path, name))
        return tuple(found)

    def _check_writable(self, path: str, place: str) -> None:
        if not self.is_folder(posixpath.dirname(place)):
            raise MockFileError(path, "No such file or directory")
        if not place.startswith(tuple(f"{root}/" for root in _WRITABLE)):
            raise MockFileError(path, "Read-only file system")
        if place in _FOLDERS or place in self._stored():
            raise MockFileError(path, "Permission denied")


def resolve(path: str) -> str:
    """The one name of a path: absolute, no dots, shared storage under its real folder.

    Raises: MockFileError: it is too long.
    """
    if len(path) > LONGEST_PATH:
        raise MockFileError(f"{path[:40]}…", "File name too long")
    place = posixpath.normpath("/" + path.lstrip("/"))
    for alias in _ALIASES:
        if place == alias or place.startswith(alias + "/"):
            return _SHARED + place[len(alias) :]
    return place


async def inputs(files: Files, call: Call, paths: list[str]) -> bytes:
    """What a command reads: the named files (`-` is its standard input), or else standard input.

    Raises: MockFileError: a file cannot be read.
    """
    parts = [
        await call.input.all() if path == "-" else files.read(call.path(path))
        for path in paths or ["-"]
    ]
    return b"".join(parts)
