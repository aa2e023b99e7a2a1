"""Pictures of screens as the learner reads them: found by what steps call them.

A screen is named by the digest of the picture that the policy saw; the blob that travelled is
another file of the same picture (`cloud_learner.blob_store` keeps it).
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import select

from cloud_learner.store import Database
from cloud_learner.tables import BLOBS, EPISODE_SCREENS
from sync.blob_folder import BlobFolder
from sync.blob_shelf import BlobState


class ScreenPictures:
    """The pictures in a cloud's store of blobs; reads only.

    Args:
        directory: of the blobs.
    """

    def __init__(self, database: Database, directory: Path) -> None:
        self._database = database
        self._folder = BlobFolder(directory)

    def read(self, screen: str) -> bytes | None:
        """The file of a screen's picture; None where it has not arrived, or is damaged."""
        statement = (
            select(BLOBS.c.digest)
            .join(EPISODE_SCREENS, EPISODE_SCREENS.c.blob == BLOBS.c.digest)
            .where(EPISODE_SCREENS.c.screen == screen, BLOBS.c.state == BlobState.STORED.value)
            .limit(1)
        )
        with self._database.read() as connection:
            blob = connection.execute(statement).scalar()
        return None if blob is None else self._folder.read(bytes.fromhex(blob))
