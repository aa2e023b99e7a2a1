"""What an update needs comes in one piece where the cloud packs it, and proves itself as ever."""

import zlib

import msgspec
import pytest

from sync.cohorts import StagedOffer
from sync.errors import RejectedError
from sync.update_pack import (
    RepositoryFiles,
    UpdatePack,
    pack_path,
    packed_fetch,
    read_pack,
    written,
)
from sync.vocabulary import ReleaseId

pytestmark = pytest.mark.integration


@pytest.fixture
def packing(fleet):
    """A fleet whose cloud packs."""
    files = RepositoryFiles(fleet.directory / "tuf")

    def serve(path):
        part = files.read(path, 0, 1 << 20)
        if part is None:
            raise FileNotFoundError(path)
        return [part.data]

    fleet.serve = serve
    return fleet


def pack_in(fleet, channel="canary"):
    part = RepositoryFiles(fleet.directory / "tuf").read(pack_path(channel), 0, 1 << 20)
    return read_pack(part.data)


def test_an_announced_release_takes_two_requests(packing):
    phone = packing.phone()
    packing.publish(1)
    outcome = phone.installer.refresh("canary", announced=True)
    adapter = packing.requests[-1]
    assert (outcome.applied, phone.runs) == (True, "r1")
    assert packing.requests == ["packs/canary", adapter]
    assert adapter.endswith(".adapter.bin")


def test_a_look_at_the_channel_without_news_asks_for_no_pack(packing):
    phone = packing.phone()
    packing.publish(1)
    phone.installer.refresh("canary")
    packing.requests.clear()
    assert phone.installer.refresh("canary") is None
    assert packing.requests == ["metadata/2.root.json", "metadata/timestamp.json"]


def test_a_cloud_of_before_that_packs_nothing_is_asked_file_by_file(fleet):
    phone = fleet.phone()
    fleet.publish(1)
    assert phone.installer.refresh("canary", announced=True).applied
    assert fleet.requests[:3] == ["packs/canary", "metadata/2.root.json", "metadata/timestamp.json"]


def test_the_offered_release_is_in_the_pack_beside_the_one_that_the_channel_points_at(packing):
    packing.publish(1)
    packing.publish(2, channel=None)
    offer = StagedOffer(ReleaseId("r2"), version=2, seed="s", share_bps=10)
    packing.repository.offer("canary", offer)
    described = [path for path in pack_in(packing).files if path.endswith(".release.json")]
    assert len(described) == 2


def test_the_pack_follows_what_is_published(packing):
    files = RepositoryFiles(packing.directory / "tuf")
    packing.publish(1)
    first = files.read("packs/canary", 0, 1 << 20)
    again = files.read("packs/canary", 0, 1 << 20)
    packing.publish(2)
    second = files.read("packs/canary", 0, 1 << 20)
    assert first == again
    assert second.version != first.version
    assert read_pack(second.data) != read_pack(first.data)


def test_a_pack_comes_in_chunks_as_any_file_does(packing):
    packing.publish(1)
    files = RepositoryFiles(packing.directory / "tuf")
    whole = files.read("packs/canary", 0, 1 << 20)
    parts = [files.read("packs/canary", offset, 700).data for offset in range(0, whole.total, 700)]
    assert b"".join(parts) == whole.data
    assert len(parts) > 1


@pytest.mark.parametrize("path", ["packs/other", "packs/../keys", "packs/", "packs/canary/x"])
def test_only_channels_have_packs(packing, path):
    packing.publish(1)
    assert RepositoryFiles(packing.directory / "tuf").read(path, 0, 100) is None


def test_a_channel_that_points_nowhere_has_the_metadata_alone(packing):
    packing.publish(1)
    assert all(path.startswith("metadata/") for path in pack_in(packing, "beta").files)


def spoilt(pack, change):
    return written(UpdatePack(root=pack.root, files={**pack.files, **change(pack.files)}))


def bad_signature(files):
    return {
        "metadata/timestamp.json": files["metadata/timestamp.json"].replace(
            b'"sig": "', b'"sig": "0'
        )
    }


def another_description(files):
    return {path: b"{}" for path in files if path.endswith(".release.json")}


@pytest.mark.parametrize(
    "make",
    [
        lambda pack: b"no pack",
        lambda pack: b"",
        lambda pack: zlib.compress(b"\xc1"),
        lambda pack: written(UpdatePack(root=pack.root, files={})),
        lambda pack: spoilt(pack, bad_signature),
        lambda pack: spoilt(pack, another_description),
        lambda pack: written(pack)[:-9],
    ],
)
def test_a_pack_that_proves_nothing_only_costs_time(packing, make):
    phone = packing.phone()
    packing.publish(1)
    honest, data = packing.serve, make(pack_in(packing))
    packing.serve = lambda path: [data] if path == "packs/canary" else honest(path)
    assert phone.installer.refresh("canary", announced=True).applied
    assert phone.states[-1] == "trial"
    assert "idle" not in phone.states


def test_an_old_pack_takes_no_phone_back(packing):
    phone = packing.phone()
    packing.publish(1)
    old = written(pack_in(packing))
    packing.publish(2)
    phone.installer.refresh("canary", announced=True)
    honest = packing.serve
    packing.serve = lambda path: [old] if path == "packs/canary" else honest(path)
    assert phone.installer.refresh("canary", announced=True) is None
    assert phone.runs == "r2"


def test_a_pack_of_strangers_installs_nothing(packing, make_fleet):
    phone = packing.phone()
    packing.publish(1)
    stranger = make_fleet("stranger")
    stranger.publish(9)
    files = RepositoryFiles(stranger.directory / "tuf")
    honest = packing.serve

    def theirs(path):
        part = files.read(path, 0, 1 << 20)
        return honest(path) if part is None else [part.data]

    packing.serve = theirs
    outcome = phone.installer.refresh("canary", announced=True)
    assert (outcome.applied, outcome.reason) == (False, "wrong_key")
    assert phone.runs == "factory"


def test_a_pack_without_end_is_given_up():
    read = []

    def endless(path):
        if path != "packs/canary":
            raise FileNotFoundError(path)
        while True:
            read.append(1)
            yield bytes(64 * 1024)

    fetch = packed_fetch(endless, "canary")
    assert fetch is endless
    assert len(read) < 20


def test_a_pack_that_unfolds_without_end_is_refused():
    bomb = zlib.compress(bytes(8 * 1024 * 1024), 9)
    with pytest.raises(RejectedError) as refused:
        read_pack(bomb)
    assert refused.value.reason == "too_large"


def test_fields_of_a_later_pack_are_passed_over():
    later = zlib.compress(msgspec.msgpack.encode({"root": 1, "files": {}, "more": 1}))
    assert read_pack(later) == UpdatePack(root=1, files={})
