"""Pictures of screens from a phone's log into the cloud's store, over real sessions."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from fastapi import FastAPI, Response
from fastapi.testclient import TestClient

from cloud_learner.api_blobs import blob_routes
from cloud_learner.blob_intake import BlobIntake
from cloud_learner.blob_store import STORE_FILE, BlobStore, record_screens
from cloud_learner.errors import UnknownRowError
from cloud_learner.ingest import Ingest
from cloud_learner.ingest_store import Origin, record_episode
from cloud_learner.store import Database, sqlite_url
from cloud_learner.tokens import TokenFile
from device_runtime.trajectory_log import TrajectoryLog
from sync.blob_folder import BlobFolder
from sync.blob_sender import BlobSettings
from sync.blobs import CHUNK_BYTES, MAX_BLOB_BYTES, digest_of
from sync.clock import SystemClock
from sync.fetch import DirectoryFiles
from sync.loopback import LoopbackBroker
from sync.messages import Birth, EpisodeUpload, ScreenPicture
from sync.session import CloudSession, DeviceSession
from sync.vocabulary import DeviceId, new_uuid7
from tests.blob_world import picture
from tests.wire import episode

WAIT_S = 20.0
TOKEN = "a-token-of-sufficient-length"


class Cloud:
    """Database, store, intake and session: the service without its director."""

    def __init__(self, broker, folder):
        self.database = Database(sqlite_url(folder / "cloud.db"))
        self.store = BlobStore(
            self.database, folder / "blobs", clock=SystemClock(), new_id=new_uuid7
        )
        self.intake = BlobIntake(self.store, clock=SystemClock())
        ingest = Ingest(self.database, clock=SystemClock())
        self.session = CloudSession(
            transport=broker.transport("cloud", service=True),
            fleet="home",
            ingest=ingest.commit,
            files=DirectoryFiles(folder),
            blobs=self.intake.take,
        )
        self.intake.start(self.session)
        self.session.start()

    def close(self):
        self.session.close()
        self.intake.close()
        self.database.close()


class Phone:
    """A phone's log, folder and session; `show` closes an episode whose steps saw pictures."""

    def __init__(self, broker, folder, name):
        self.name = name
        database = folder / f"{name}.db"
        self.log = TrajectoryLog.open(database, clock=SystemClock(), new_id=new_uuid7)
        self.folder = BlobFolder(folder / f"{name}-blobs")
        self.session = DeviceSession(
            transport=broker.transport(name),
            database=database,
            fleet="home",
            birth=Birth(device_id=DeviceId(name)),
            blobs=BlobSettings(self.folder.directory),
        )
        self.session.start()

    def show(self, number, *pictures):
        screens = [f"{digest_of(data).hex()[:-1]}s" for data in pictures]
        seen = episode(number, steps=max(len(pictures), 1), device=self.name)
        steps = tuple(
            replace(step, observation=replace(step.observation, screenshot=screen))
            for step, screen in zip(seen.steps, screens, strict=False)
        )
        kept = tuple(
            ScreenPicture(screen=screen, blob=self.folder.put(data), size_bytes=len(data))
            for screen, data in zip(screens, pictures, strict=True)
        )
        ended = replace(seen, steps=steps)
        self.log.append_many([(ended, ())], screens={ended.id: kept})
        self.session.wake()

    def wait_stored(self):
        deadline = time.monotonic() + WAIT_S
        while self.session.stats().blobs_waiting or self.session.stats().depth:
            assert time.monotonic() < deadline, self.session.stats()
            time.sleep(0.02)

    def close(self):
        self.session.close()
        self.log.close()


@pytest.fixture
def broker():
    return LoopbackBroker(fleet="home")


@pytest.fixture
def cloud(broker, tmp_path):
    cloud = Cloud(broker, tmp_path)
    yield cloud
    cloud.close()


@pytest.fixture
def make_phone(broker, tmp_path):
    phones = []

    def make(name):
        phones.append(Phone(broker, tmp_path, name))
        return phones[-1]

    yield make
    for phone in phones:
        phone.close()


@pytest.fixture
def client(cloud, tmp_path):
    token = TokenFile(tmp_path / "token")
    token.write(TOKEN)
    app = FastAPI()
    app.add_exception_handler(UnknownRowError, lambda _request, _error: Response(status_code=404))
    app.include_router(blob_routes(cloud.store, token))
    return TestClient(app, headers={"Authorization": f"Bearer {TOKEN}"})


def test_pictures_of_an_episode_arrive_and_are_given_out_by_digest(cloud, make_phone, client):
    phone = make_phone("phone-1")
    large = picture(1, 2 * CHUNK_BYTES + 3)
    phone.show(1, large, picture(2))
    phone.wait_stored()
    screens = client.get("/v1/episodes/episode-1/screens").json()
    assert {one["state"] for one in screens.values()} == {"stored"}
    assert {one["blob"] for one in screens.values()} == {
        digest_of(large).hex(),
        digest_of(picture(2)).hex(),
    }
    answer = client.get(f"/v1/blobs/{digest_of(large).hex()}")
    assert answer.content == large
    assert answer.headers["content-type"] == "image/webp"
    assert client.get("/v1/blobs").json()["blob_bytes_stored"] == len(large) + 1000
    assert client.get(f"/v1/blobs/{'0' * 64}").status_code == 404
    assert client.get("/v1/blobs/..%2F..%2Fcloud.db").status_code in {404, 422}
    assert client.get("/v1/blobs", headers={"Authorization": "Bearer no"}).status_code == 401


def test_what_two_phones_saw_travels_once_and_belongs_to_both_episodes(cloud, make_phone, client):
    phones = [make_phone("phone-1"), make_phone("phone-2")]
    seen = [picture(number, CHUNK_BYTES + number) for number in range(4)]
    for number, phone in enumerate(phones):
        phone.show(number, *seen)
    for phone in phones:
        phone.wait_stored()
    sent = sum(phone.session.stats().blobs.chunk_bytes for phone in phones)
    assert sent == sum(map(len, seen))
    assert cloud.intake.stats().desk.shared == 4
    assert len(client.get("/v1/episodes/episode-0/screens").json()) == 4
    assert len(client.get("/v1/episodes/episode-1/screens").json()) == 4


def test_a_cloud_that_starts_again_with_an_empty_folder_gets_its_pictures_again(
    broker, tmp_path, make_phone
):
    cloud = Cloud(broker, tmp_path)
    phone = make_phone("phone-1")
    phone.show(1, picture(1), picture(2))
    phone.wait_stored()
    cloud.close()
    for path in sorted((tmp_path / "blobs").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    again = Cloud(broker, tmp_path)
    assert again.store.counts()["blobs_wanted"] == 2
    deadline = time.monotonic() + WAIT_S
    while again.store.counts()["blobs_stored"] < 2:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert again.store.read(digest_of(picture(1))).data == picture(1)
    assert phone.session.stats().blobs.again == 2
    again.close()


def test_a_harmed_file_is_not_given_out_and_wanted_again(cloud, make_phone, client, tmp_path):
    phone = make_phone("phone-1")
    phone.show(1, picture(1))
    phone.wait_stored()
    name = digest_of(picture(1)).hex()
    (tmp_path / "blobs" / name[:2] / name[2:]).write_bytes(b"harmed")
    assert client.get(f"/v1/blobs/{name}").status_code == 404
    assert cloud.store.counts()["blobs_wanted"] == 1
    make_phone("phone-2").show(2, picture(1))
    deadline = time.monotonic() + WAIT_S
    while client.get(f"/v1/blobs/{name}").status_code != 200:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_blob_whose_row_was_not_written_before_a_crash_is_found_in_the_folder(tmp_path, broker):
    cloud = Cloud(broker, tmp_path)
    with cloud.database.write() as connection:
        upload = EpisodeUpload(episode=episode(1))
        record_episode(connection, Origin("phone-1", "i", 1, 5), upload)
        named = ScreenPicture(screen="s", blob=digest_of(picture(1)), size_bytes=1000)
        record_screens(connection, 1, [named], now_ms=5)
    BlobFolder(tmp_path / "blobs").put(picture(1))
    phone = Phone(broker, tmp_path, "phone-1")
    phone.show(2, picture(1))
    phone.wait_stored()
    assert phone.session.stats().blobs.chunks == 0
    assert cloud.store.counts()["blobs_stored"] == 1
    phone.close()
    cloud.close()


def test_a_picture_that_claims_to_be_huge_is_refused_unseen(cloud, make_phone):
    phone = make_phone("phone-1")
    huge = ScreenPicture(screen="s", blob=phone.folder.put(b"x"), size_bytes=MAX_BLOB_BYTES + 1)
    odd = ScreenPicture(screen="t", blob=b"short", size_bytes=5)
    ended = episode(1)
    phone.log.append_many([(ended, ())], screens={ended.id: (huge, odd)})
    phone.session.wake()
    deadline = time.monotonic() + WAIT_S
    while not phone.session.stats().blobs.refused:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert cloud.store.counts()["blobs_refused"] == 1
    assert phone.session.stats().blobs.chunks == 0


def test_a_store_keeps_its_name_over_a_restart(broker, tmp_path):
    first = Cloud(broker, tmp_path)
    first.close()
    again = Cloud(broker, tmp_path)
    assert again.store.store_id == first.store.store_id
    assert (tmp_path / "blobs" / STORE_FILE).read_text() == first.store.store_id
    again.close()


def test_a_phone_without_leave_to_send_keeps_its_pictures_and_sends_its_episodes(
    broker, tmp_path, cloud
):
    phone = Phone(broker, tmp_path, "phone-1")
    phone.session.close()
    phone.session = DeviceSession(
        transport=broker.transport("phone-1"),
        database=tmp_path / "phone-1.db",
        fleet="home",
        birth=Birth(device_id=DeviceId("phone-1")),
        blobs=BlobSettings(phone.folder.directory, lambda: False),
    )
    phone.session.start()
    phone.show(1, picture(1))
    assert phone.session.wait_drained(WAIT_S)
    assert phone.session.stats().blobs_waiting == 1
    assert phone.session.stats().blobs.offers == 0
    assert cloud.intake.stats().desk.offers == 0
    phone.close()
