"""Pictures of screens in a folder, by digest: what steps name in `Observation.screenshot`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from sync.text_policy_io import picture_digest
from sync.vocabulary import Episode

Pictures = Callable[[str], bytes | None]
"""The picture file of a digest; None where it is not here: `PictureFolder.read`, for one."""
EpisodePictures = Callable[[Episode], Pictures]
"""The pictures of one episode's screens, as its own device sent them."""


class PictureFolder:
    """A folder of pictures; several processes may write and read it."""

    def __init__(self, directory: Path) -> None:
        """Use `directory`; it is made where it is not there."""
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def keep(self, png: bytes) -> str:
        """The digest under which `png` can be read from now on. Idempotent."""
        digest = picture_digest(png)
        path = self._path(digest)
        if not path.exists():
            handle, name = tempfile.mkstemp(dir=self._directory, suffix=".part")
            with os.fdopen(handle, "wb") as file:
                file.write(png)
            Path(name).replace(path)
        return digest

    def read(self, digest: str) -> bytes | None:
        """The picture of that digest; None where there is none, or it is damaged."""
        try:
            png = self._path(digest).read_bytes()
        except OSError:
            return None
        return png if picture_digest(png) == digest else None

    def digests(self) -> list[str]:
        """Digests of all pictures, the oldest first."""
        found = [(path.stat().st_mtime_ns, path.stem) for path in self._directory.glob("*.png")]
        return [digest for _age, digest in sorted(found)]

    def discard(self, digest: str) -> None:
        """Forget a picture. Idempotent."""
        self._path(digest).unlink(missing_ok=True)

    def _path(self, digest: str) -> Path:
        if not digest.isalnum():
            raise ValueError(f"a digest is letters and digits, got {digest!r}")
        return self._directory / f"{digest}.png"
