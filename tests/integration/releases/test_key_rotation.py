"""Keys replaced under a new root: phones follow, however long they were off, and old keys end."""

import shutil
from functools import partial

import pytest

from sync.errors import IntegrityError
from sync.key_rotation import key_status, plan_rotation, rotate_online_keys, rotate_root
from sync.role_signing import RootKeys
from sync.signing_keys import make_signer, next_key_path, online_key_path
from sync.trust import Repository, enrol_root

pytestmark = pytest.mark.integration


def rotate(fleet, root_folders, *, threshold=1, count=1, out):
    rotate_root(
        fleet.directory / "tuf",
        root_folders=root_folders,
        new=RootKeys(count, threshold, out),
    )


def reopened(fleet):
    fleet.repository = Repository(fleet.directory / "tuf", fleet.directory / "keys")
    return fleet.repository


@pytest.fixture
def guarded(tmp_path, make_fleet):
    """A fleet whose root needs two of three keys, in two places that nobody else sees."""
    folder = tmp_path / "guarded"
    Repository.create(
        folder / "tuf", folder / "keys", root_keys=RootKeys(3, 2, tmp_path / "root" / "all")
    )
    for name, place in (("root-1", "a"), ("root-2", "b"), ("root-3", "b")):
        (tmp_path / "root" / place).mkdir(exist_ok=True)
        key = tmp_path / "root" / "all" / f"{name}.pem"
        key.rename(tmp_path / "root" / place / key.name)
    return make_fleet("guarded")


def test_a_threshold_that_can_never_be_met_is_misuse():
    with pytest.raises(ValueError, match="2 of 1"):
        RootKeys(1, 2)


def test_the_service_publishes_without_any_root_key(guarded):
    assert not list((guarded.directory / "keys").glob("root/*.pem"))
    guarded.publish(1)
    assert guarded.phone().installer.refresh("canary").applied


def test_one_of_two_needed_root_keys_rotates_nothing(guarded, tmp_path):
    before = sorted((guarded.directory / "tuf").rglob("*"))
    with pytest.raises(IntegrityError, match="1 root keys of this fleet"):
        rotate_online_keys(
            guarded.directory / "tuf",
            guarded.directory / "keys",
            root_folders=[tmp_path / "root" / "a"],
        )
    assert sorted((guarded.directory / "tuf").rglob("*")) == before


def test_keys_from_two_places_rotate_together(guarded, tmp_path):
    guarded.publish(1)
    phone = guarded.phone()
    phone.installer.refresh("canary")
    folders = [tmp_path / "root" / "a", tmp_path / "root" / "b"]
    rotate_online_keys(guarded.directory / "tuf", guarded.directory / "keys", root_folders=folders)
    reopened(guarded)
    guarded.publish(2)
    assert phone.installer.refresh("canary").applied


def test_a_phone_that_was_off_follows_every_rotation(fleet, tmp_path):
    fleet.publish(1)
    phone = fleet.phone()
    phone.installer.refresh("canary")
    folder = fleet.directory / "keys" / "root"
    for index in range(3):
        following = tmp_path / f"root{index}"
        rotate(fleet, [folder], out=following, count=2, threshold=2)
        folder = following
        rotate_online_keys(fleet.directory / "tuf", fleet.directory / "keys", root_folders=[folder])
    reopened(fleet)
    fleet.publish(2)
    assert phone.installer.refresh("canary").applied
    assert fleet.repository.root.signed.version == 7


def test_a_phone_that_is_enrolled_again_after_rotations_is_of_the_same_fleet(fleet, tmp_path):
    phone = fleet.phone()
    trust = phone.folder / "trust"
    folder = fleet.directory / "keys" / "root"
    for index in range(3):
        rotate(fleet, [folder], out=tmp_path / f"root{index}")
        folder = tmp_path / f"root{index}"
    published = reopened(fleet)
    with pytest.raises(IntegrityError, match="another fleet"):
        enrol_root(trust, published.root_bytes)
    enrol_root(trust, published.root_bytes, published.root_history())
    phone.client.refresh()  # from here on the phone itself knows how it came to be
    enrol_root(trust, published.root_bytes)


def test_a_root_key_that_was_replaced_signs_no_further_root(fleet, tmp_path):
    old = fleet.directory / "keys" / "root"
    rotate(fleet, [old], out=tmp_path / "new")
    with pytest.raises(IntegrityError, match="0 root keys"):
        rotate(fleet, [old], out=tmp_path / "stolen")


def test_one_role_alone_can_be_rotated(fleet):
    keys = fleet.directory / "keys"
    before = {role: online_key_path(keys, role).read_bytes() for role in ("targets", "timestamp")}
    rotate_online_keys(fleet.directory / "tuf", keys, roles=["timestamp"])
    assert online_key_path(keys, "targets").read_bytes() == before["targets"]
    assert online_key_path(keys, "timestamp").read_bytes() != before["timestamp"]
    reopened(fleet)
    fleet.publish(1)
    assert fleet.phone().installer.refresh("canary").applied


def test_a_crash_at_any_write_of_a_rotation_needs_no_root_key_to_go_on(make_fleet, outlasts):
    fleet = make_fleet()
    fleet.publish(1)
    phone = fleet.phone()
    phone.installer.refresh("canary")
    root_key = fleet.directory / "keys" / "root" / "root.pem"
    version, cut_at, finished = 2, 0, False
    while not finished:
        cut_at += 1
        finished = outlasts(
            partial(rotate_online_keys, fleet.directory / "tuf", fleet.directory / "keys"), cut_at
        )
        hidden = root_key.rename(root_key.with_suffix(".away"))
        reopened(fleet).renew()
        fleet.publish(version)
        assert phone.installer.refresh("canary").applied
        hidden.rename(root_key)
        version += 1
    assert cut_at > 10


def test_a_key_of_a_rotation_that_never_was_is_not_used(fleet):
    keys = fleet.directory / "keys"
    make_signer(next_key_path(keys, "targets"))
    reopened(fleet)
    fleet.publish(1)
    assert fleet.phone().installer.refresh("canary").applied


def test_a_plan_changes_nothing_and_says_what_is_missing(guarded, tmp_path):
    before = sorted(guarded.directory.rglob("*"))
    tuf = guarded.directory / "tuf"
    short = plan_rotation(tuf, ["targets"], [tmp_path / "root" / "a"])
    whole = plan_rotation(tuf, ["targets"], [tmp_path / "root" / "a", tmp_path / "root" / "b"])
    assert (short.can_be_done, short.signatures_needed, short.root_keys_found) == (False, 2, 1)
    assert (whole.can_be_done, whole.root_version, len(whole.old_keys)) == (True, 2, 1)
    assert sorted(guarded.directory.rglob("*")) == before


def test_the_status_counts_days_and_keys(fleet):
    keys = fleet.directory / "keys"
    online_key_path(keys, "snapshot").unlink()
    rows = {
        row.role: row
        for row in key_status(fleet.directory / "tuf", keys, clock=fleet.repository._clock)
    }
    assert list(rows) == ["root", "targets", "snapshot", "timestamp"]
    assert [rows[role].days_left for role in rows] == [1824, 364, 59, 29]
    assert [rows[role].keys_found for role in rows] == [1, 1, 0, 1]
    assert not any(row.ends_soon for row in rows.values())


def test_the_status_tells_of_keys_that_cannot_be_used(fleet):
    keys = fleet.directory / "keys"
    online_key_path(keys, "targets").write_text("no key")
    (keys / "root" / "root.pem").chmod(0o644)
    rows = {
        row.role: row
        for row in key_status(fleet.directory / "tuf", keys, clock=fleet.repository._clock)
    }
    assert [rows[role].keys_found for role in rows] == [0, 0, 1, 1]
    assert ["no signing key" in text for text in rows["targets"].problems] == [True]
    assert ["chmod 600" in text for text in rows["root"].problems] == [True]
    assert rows["snapshot"].problems == ()


def test_root_keys_of_another_fleet_in_the_same_folder_stay(tmp_path):
    folder = tmp_path / "stick"
    for name in ("one", "two"):
        Repository.create(
            tmp_path / name / "tuf", tmp_path / name / "keys", root_keys=RootKeys(2, 2, folder)
        )
    assert len(list(folder.glob("*.pem"))) == 4
    for name in ("one", "two"):
        assert plan_rotation(tmp_path / name / "tuf", ["targets"], [folder]).can_be_done


def test_a_repository_that_lost_a_file_is_never_made_anew(fleet):
    fleet.publish(1)
    keys = {path: path.read_bytes() for path in (fleet.directory / "keys").rglob("*.pem")}
    (fleet.directory / "tuf" / "metadata" / "timestamp.json").unlink()
    with pytest.raises(IntegrityError, match="restore it from a copy"):
        Repository.create(fleet.directory / "tuf", fleet.directory / "keys")
    assert {path: path.read_bytes() for path in keys} == keys


def test_no_other_repository_is_made_beside_releases_whose_metadata_is_gone(fleet):
    fleet.publish(1)
    shutil.rmtree(fleet.directory / "tuf" / "metadata")
    with pytest.raises(IntegrityError):
        Repository.create(fleet.directory / "tuf", fleet.directory / "keys")
    assert not (fleet.directory / "tuf" / "metadata").exists()


def test_a_making_that_was_cut_off_at_any_write_is_made_again(tmp_path, outlasts):
    cut_at, finished = 0, False
    while not finished:
        cut_at += 1
        folder = tmp_path / str(cut_at)
        finished = outlasts(partial(Repository.create, folder / "tuf", folder / "keys"), cut_at)
        Repository.create(folder / "tuf", folder / "keys").renew()
        assert plan_rotation(folder / "tuf", ["targets"], [folder / "keys" / "root"]).can_be_done
    assert cut_at > 10
