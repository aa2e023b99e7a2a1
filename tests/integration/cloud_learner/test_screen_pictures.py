"""Pictures that the learner reads: each episode's own, whatever others call by the same name."""

import pytest
from sqlalchemy import update

from cloud_learner.blob_store import record_screens
from cloud_learner.ingest_store import Origin, record_episode
from cloud_learner.screen_pictures import ScreenPictures
from cloud_learner.tables import BLOBS
from sync.blob_folder import BlobFolder
from sync.blob_shelf import BlobState
from sync.messages import EpisodeUpload, ScreenPicture
from tests.blob_world import picture
from tests.wire import episode

SCREEN = "5" * 64


@pytest.fixture
def folder(tmp_path):
    return BlobFolder(tmp_path / "blobs")


def sent(database, folder, number, data):
    """An episode of a device of its own, whose only screen came as `data`."""
    ended = episode(number, device=f"phone-{number}")
    named = ScreenPicture(screen=SCREEN, blob=folder.put(data), size_bytes=len(data))
    with database.write() as connection:
        origin = Origin(ended.device_id, "install", number, 1)
        record_episode(connection, origin, EpisodeUpload(episode=ended))
        record_screens(connection, number, [named], now_ms=5)
    return ended


def store(database):
    with database.write() as connection:
        connection.execute(update(BLOBS).values(state=BlobState.STORED.value))


def test_an_episode_is_shown_what_came_with_it_and_not_anothers_of_that_name(database, folder):
    first = sent(database, folder, 1, picture(1))
    second = sent(database, folder, 2, picture(2))
    store(database)
    pictures = ScreenPictures(database, folder.directory)

    assert pictures.of(first)(SCREEN) == picture(1)
    assert pictures.of(second)(SCREEN) == picture(2)
    assert pictures.of(episode(3))(SCREEN) is None


def test_a_picture_that_has_not_arrived_is_not_there(database, folder):
    ended = sent(database, folder, 1, picture(1))
    pictures = ScreenPictures(database, folder.directory).of(ended)

    assert pictures(SCREEN) is None
    store(database)
    assert pictures(SCREEN) == picture(1)
    assert pictures("6" * 64) is None
