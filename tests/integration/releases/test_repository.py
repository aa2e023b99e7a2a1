"""The signing side: keys apart and private, one version above the other, whole after a crash."""

import stat
from functools import partial

import pytest
from tuf.api.metadata import Metadata

from sync.errors import IntegrityError, RejectedError
from sync.published import PublishedReleases, read_served
from sync.releases import read_bundle
from sync.trust import Repository, rotate_online_keys

pytestmark = pytest.mark.integration


def reopened(fleet):
    return Repository(fleet.directory / "tuf", fleet.directory / "keys")


def test_keys_are_readable_by_their_owner_only(fleet):
    keys = sorted((fleet.directory / "keys").rglob("*.pem"))
    names = [key.relative_to(fleet.directory / "keys").as_posix() for key in keys]
    assert names == [
        "online/snapshot.pem",
        "online/targets.pem",
        "online/timestamp.pem",
        "root/root.pem",
    ]
    assert {stat.S_IMODE(key.stat().st_mode) for key in keys} == {0o600}
    assert {stat.S_IMODE(key.parent.stat().st_mode) for key in keys} == {0o700}


def test_keys_that_others_can_read_are_refused(fleet):
    (fleet.directory / "keys" / "online" / "targets.pem").chmod(0o644)
    with pytest.raises(IntegrityError, match="chmod 600"):
        reopened(fleet)


def test_the_root_key_can_be_carried_away(fleet):
    (fleet.directory / "keys" / "root" / "root.pem").unlink()
    fleet.repository = reopened(fleet)
    fleet.publish(1)
    assert fleet.phone().installer.refresh("canary").applied
    with pytest.raises(IntegrityError, match="root key"):
        rotate_online_keys(fleet.directory / "tuf", fleet.directory / "keys")


def test_a_repository_is_not_made_twice(fleet, make_fleet):
    fleet.publish(1)
    again = make_fleet()
    assert again.repository.root_bytes == fleet.repository.root_bytes
    assert [release.id for release in again.repository.releases()] == ["r1"]


def test_another_fleets_keys_are_refused(fleet, make_fleet):
    other = make_fleet("other")
    with pytest.raises(IntegrityError, match="another fleet"):
        Repository(fleet.directory / "tuf", other.directory / "keys")


def test_an_empty_folder_is_no_repository(tmp_path):
    with pytest.raises(IntegrityError, match="no whole release repository"):
        PublishedReleases(tmp_path)


def test_versions_only_rise(fleet):
    fleet.publish(2)
    with pytest.raises(RejectedError) as caught:
        fleet.publish(2, id="other")
    assert caught.value.reason == "older_version"
    with pytest.raises(RejectedError):
        fleet.publish(1)
    assert fleet.repository.latest_version == 2


def test_publishing_the_same_release_again_is_harmless(fleet):
    fleet.publish(1)
    fleet.publish(1, channel="stable")
    assert [release.id for release in fleet.repository.releases()] == ["r1"]
    assert fleet.repository.channel("stable").release_id == "r1"


def test_an_adapter_that_is_not_the_described_one_is_never_signed(fleet, make_adapter):
    release = fleet.release(1, make_adapter(1))
    with pytest.raises(RejectedError) as caught:
        fleet.repository.publish(release, make_adapter(2), "canary")
    assert caught.value.reason == "tampered"
    assert reopened(fleet).releases() == []


def test_a_channel_never_goes_back(fleet):
    for version in (1, 2):
        fleet.publish(version)
    with pytest.raises(RejectedError) as caught:
        fleet.repository.set_channel("canary", "r1")
    assert caught.value.reason == "older_version"
    assert fleet.repository.channel("canary").release_id == "r2"


def test_a_channel_to_nowhere(fleet):
    assert fleet.repository.channel("beta") is None
    with pytest.raises(RejectedError) as caught:
        fleet.repository.set_channel("beta", "r1")
    assert caught.value.reason == "unknown_release"


def test_what_was_published_is_there_after_a_restart(fleet, make_adapter):
    fleet.publish(1)
    fleet.repository.set_channel("stable", "r1")
    again = reopened(fleet)
    assert again.release("r1") == fleet.repository.release("r1")
    assert again.adapter("r1") == make_adapter(1)
    assert again.channel("stable").version == 1


def test_the_bundle_lies_beside_the_repository(fleet):
    path = fleet.publish(1)
    assert path == fleet.directory / "releases" / "r1.zip"
    assert read_bundle(path).release() == fleet.repository.release("r1")


@pytest.mark.parametrize(
    "path",
    [
        "../keys/root/root.pem",
        "metadata/../../keys/root/root.pem",
        "metadata/.timestamp.json",
        "/etc/passwd",
        "metadata",
        "keys/root/root.pem",
        "metadata/9.root.json",
        "",
    ],
)
def test_nothing_outside_is_served(fleet, path):
    with pytest.raises(FileNotFoundError):
        fleet.repository.read(path)
    with pytest.raises(FileNotFoundError):
        read_served(fleet.directory / "tuf", path)


def test_a_crash_at_any_write_of_publishing_leaves_a_repository_that_phones_accept(
    make_fleet, outlasts
):
    fleet = make_fleet()
    fleet.publish(1)
    phone = fleet.phone()
    phone.installer.refresh("canary")
    version, cut_at, finished = 2, 0, False
    while not finished:
        cut_at += 1
        finished = outlasts(partial(fleet.publish, version), cut_at)
        fleet.repository = reopened(fleet)
        outcome = phone.installer.refresh("canary")
        assert outcome is None or outcome.applied
        version = fleet.repository.latest_version + 1
        if finished:
            assert phone.runs == f"r{version - 1}"
    assert cut_at > 10


def test_rotated_keys_reach_phones_and_old_ones_stop_counting(fleet, make_fleet):
    fleet.publish(1)
    phone = fleet.phone()
    phone.installer.refresh("canary")
    path = fleet.directory / "keys" / "online" / "targets.pem"
    stolen = path.read_bytes()
    rotate_online_keys(fleet.directory / "tuf", fleet.directory / "keys")
    fresh = path.read_bytes()
    path.write_bytes(stolen)
    with pytest.raises(IntegrityError, match="another fleet"):
        reopened(fleet)
    path.write_bytes(fresh)
    fleet.repository = reopened(fleet)
    fleet.publish(2)
    assert phone.installer.refresh("canary").applied
    root = Metadata.from_bytes(fleet.repository.root_bytes)
    assert root.signed.version == 2
