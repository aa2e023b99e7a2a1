"""A fleet of many releases: what phones read at an update stays small, old ones can be had."""

import pytest

from sync.published import PublishedReleases
from sync.release_archive import LEAST_LISTED, MOST_LISTED
from sync.repository import KEPT_VERSIONS
from sync.trust import Repository, rotate_online_keys

pytestmark = pytest.mark.integration

MANY = MOST_LISTED + 3
MISSING = {"metadata/2.root.json"}


@pytest.fixture
def old_fleet(fleet, make_adapter):
    """A fleet with more releases than the newest metadata lists; stable stands at the first."""
    data = make_adapter(1)
    fleet.publish(1, data=data, channel="stable")
    for version in range(2, MANY + 1):
        fleet.publish(version, data=data)
    return fleet


def test_an_update_reads_no_archive(old_fleet):
    phone = old_fleet.phone()
    assert phone.installer.refresh("canary").applied
    assert not [path for path in old_fleet.requests if "archive" in path]


def test_a_channel_that_stands_at_an_old_release_is_followed(old_fleet):
    phone = old_fleet.phone()
    assert phone.installer.refresh("stable").applied
    assert phone.runs == "r1"


def test_an_old_release_can_be_had_from_the_archive(old_fleet):
    phone = old_fleet.phone()
    phone.installer.refresh("canary")
    old_fleet.requests.clear()
    assert phone.installer.adapter_for("r2") is not None
    read = [path for path in old_fleet.requests if ".archive-" in path]
    assert 1 <= len(read) <= 2
    assert phone.installer.adapter_for("r3") is not None


def test_a_bundle_of_an_old_release_proves_itself(old_fleet, tmp_path):
    path = tmp_path / "old.zip"
    path.write_bytes(old_fleet.repository.bundle("r2"))
    phone = old_fleet.phone()
    assert phone.installer.apply_bundle(path).applied
    assert phone.runs == "r2"


def test_the_archive_is_there_after_a_restart_and_goes_on_growing(old_fleet, make_adapter):
    old_fleet.repository = Repository(old_fleet.directory / "tuf", old_fleet.directory / "keys")
    for version in range(MANY + 1, MANY + 2 * LEAST_LISTED):
        old_fleet.publish(version, data=make_adapter(1))
    published = PublishedReleases(old_fleet.directory / "tuf")
    assert [one.version for one in published.releases()] == list(range(1, MANY + 2 * LEAST_LISTED))
    assert old_fleet.phone().installer.adapter_for("r20") is not None


def test_superseded_metadata_goes_and_every_root_stays(old_fleet):
    folder = old_fleet.directory / "tuf" / "metadata"
    assert len(list(folder.glob("*.targets.json"))) == KEPT_VERSIONS
    assert len(list(folder.glob("*.snapshot.json"))) == KEPT_VERSIONS
    rotate_online_keys(old_fleet.directory / "tuf", old_fleet.directory / "keys")
    assert len(list(folder.glob("*.root.json"))) == 2


def test_a_rotation_signs_the_archive_anew(old_fleet):
    phone = old_fleet.phone()
    phone.installer.refresh("canary")
    rotate_online_keys(old_fleet.directory / "tuf", old_fleet.directory / "keys")
    old_fleet.repository = Repository(old_fleet.directory / "tuf", old_fleet.directory / "keys")
    assert phone.installer.adapter_for("r2") is not None


def test_renewing_reaches_the_archive(old_fleet):
    repository = old_fleet.repository
    assert not repository.renew()
    assert repository.renew(within_days=366)
    versions = {one.signed.version for one in repository._archive.values()}
    assert versions == {2}
    assert old_fleet.phone().installer.adapter_for("r2") is not None


def test_what_an_update_reads_does_not_grow_with_what_is_archived(old_fleet, make_adapter):
    def read(name):
        old_fleet.requests.clear()
        assert old_fleet.phone(name).installer.refresh("canary").applied
        served = (old_fleet.repository.read(path) for path in set(old_fleet.requests) - MISSING)
        return sum(map(len, served))

    data = make_adapter(1)
    early = read("early")
    for version in range(MANY + 1, MANY + 4 * (MOST_LISTED - LEAST_LISTED) + 1):
        old_fleet.publish(version, data=data)
    assert abs(read("late") - early) < 0.02 * early
