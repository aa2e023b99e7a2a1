"""The pictures that a policy was shown last, kept on the phone for shadow scoring.

They come painted over, as the policy saw them; none of them is sent from here. A policy that reads
trees needs none: its screens stand in the log.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from pathlib import Path

from sync.picture_folder import PictureFolder
from sync.text_policy_io import picture_digest


class RecentPictures:
    """A folder that holds the latest pictures; used by one process at a time that keeps some.

    Args:
        most: pictures that are kept; older ones make room.
    """

    def __init__(self, directory: Path, *, most: int) -> None:
        self._folder = PictureFolder(directory)
        self._most = most
        self._kept = OrderedDict.fromkeys(self._folder.digests())

    def keep(self, png: bytes) -> str:
        """The digest under which steps name `png`; a disk that is full or failing keeps nothing."""
        digest = picture_digest(png)
        with suppress(OSError):
            self._folder.keep(png)
            self._kept[digest] = None
            self._kept.move_to_end(digest)
            while len(self._kept) > self._most:
                self._folder.discard(self._kept.popitem(last=False)[0])
        return digest

    def read(self, digest: str) -> bytes | None:
        """The picture of that digest; None where it is not here any more, or damaged."""
        return self._folder.read(digest)
