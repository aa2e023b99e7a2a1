"""Pictures of screens as the learner reads them: found by what an episode's steps call them.

A screen is named by the digest of the picture that the policy saw; the blob that travelled is
another file of the same picture (`cloud_learner.blob_store` keeps it). It is what a device says it
is, so an episode is shown what came with it, never what another device calls by the same name.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from sqlalchemy import select

from cloud_learner.store import Database
from cloud_learner.store_patience import Wait, give_up, patiently
from cloud_learner.tables import BLOBS, EPISODE_SCREENS, EPISODES
from sync.blob_folder import BlobFolder
from sync.blob_shelf import BlobState
from sync.picture_folder import Pictures
from sync.vocabulary import Episode, EpisodeId


class ScreenPictures:
    """The pictures in a cloud's store of blobs; reads only.

    Args:
        directory: of the blobs.
        wait: how reads wait where the database is away; they raise at once by default.
    """

    def __init__(self, database: Database, directory: Path, *, wait: Wait = give_up) -> None:
        self._database = database
        self._wait = wait
        self._folder = BlobFolder(directory)

    def of(self, episode: Episode) -> Pictures:
        """The pictures of an episode's screens."""
        return partial(self.read, episode.id)

    @patiently
    def read(self, episode_id: EpisodeId, screen: str) -> bytes | None:
        """The file of a screen's picture; None where it has not arrived, or is damaged."""
        statement = (
            select(BLOBS.c.digest)
            .join(EPISODE_SCREENS, EPISODE_SCREENS.c.blob == BLOBS.c.digest)
            .join(EPISODES, EPISODES.c.row == EPISODE_SCREENS.c.episode_row)
            .where(
                EPISODES.c.id == episode_id,
                EPISODE_SCREENS.c.screen == screen,
                BLOBS.c.state == BlobState.STORED.value,
            )
        )
        with self._database.read() as connection:
            blob = connection.execute(statement).scalar()
        return None if blob is None else self._folder.read(bytes.fromhex(blob))
