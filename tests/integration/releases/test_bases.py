"""A new base as a release: delivered with its adapter, refused without it, and taken back."""

import hashlib
import json
import zipfile

import pytest

from device_runtime.held_bases import HeldBases
from device_runtime.slots import Slots
from sync.base_file import pack_base, packed_base_digest
from sync.errors import FetchInterruptedError, RejectedError
from sync.releases import read_bundle
from sync.resumed_fetch import ResumedFetch
from sync.trust import TrustedClient

NEW = "c" * 64
VERSION = "1"


def is_base_target(path):
    return path.startswith("targets/bases/")


def base_folder(folder, digest=NEW, content=b"weights" * 1000):
    """An exported base as far as releases are concerned: files, and the list of them."""
    folder.mkdir(parents=True)
    files = {"encoder.onnx": b"graph", "weights.safetensors": content}
    for name, data in files.items():
        (folder / name).write_bytes(data)
    listed = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    (folder / "base.json").write_text(
        json.dumps({"digest": digest, "policy_io_version": VERSION, "files": listed})
    )
    return folder


@pytest.fixture
def packed(tmp_path):
    return pack_base(base_folder(tmp_path / "new-base"))


@pytest.fixture
def publish_base(fleet, make_adapter, packed):
    """Publishes release `version` on the new base, and the base with it."""

    def publish(version, *, base=packed, **fields):
        data = make_adapter(version, base_digest=NEW)
        release = fleet.release(version, data, base_digest=NEW, **fields)
        return fleet.repository.publish(release, data, "canary", base=base)

    return publish


def test_base_packs_to_the_same_bytes_and_names_itself(tmp_path, packed):
    assert pack_base(base_folder(tmp_path / "again")) == packed
    assert packed_base_digest(packed) == NEW


@pytest.mark.parametrize("harm", ["byte", "cut", "foreign", "none"])
def test_damaged_base_cannot_be_published(fleet, publish_base, packed, harm, tmp_path):
    spoilt = {
        "byte": packed[:44] + bytes([packed[44] ^ 1]) + packed[45:],
        "cut": packed[:-30],
        "foreign": pack_base(base_folder(tmp_path / "other", digest="d" * 64)),
        "none": b"",
    }[harm]
    with pytest.raises(RejectedError):
        publish_base(1, base=spoilt)
    assert fleet.repository.releases() == []


def test_base_comes_with_the_release_that_belongs_to_it(fleet, publish_base):
    phone = fleet.phone()
    publish_base(1)
    outcome = phone.installer.refresh("canary")
    assert outcome.applied
    assert phone.runs == "r1"
    assert HeldBases(phone.folder).holds(NEW)
    assert phone.installer.begin_load().release.base_digest == NEW
    assert phone.states[-1] == "trial"


def test_base_is_fetched_once_however_many_releases_belong_to_it(fleet, publish_base, make_adapter):
    phone = fleet.phone()
    publish_base(1)
    phone.installer.refresh("canary")
    phone.installer.commit()
    data = make_adapter(2, base_digest=NEW)
    fleet.repository.publish(fleet.release(2, data, base_digest=NEW), data, "canary")
    assert phone.installer.refresh("canary").applied
    assert phone.runs == "r2"
    assert sum(map(is_base_target, fleet.requests)) == 1


def test_release_whose_base_nobody_signed_is_refused_before_its_download(fleet, make_adapter):
    phone = fleet.phone()
    data = make_adapter(1, base_digest=NEW)
    fleet.repository.publish(fleet.release(1, data, base_digest=NEW), data, "canary")
    outcome = phone.installer.refresh("canary")
    assert (outcome.applied, outcome.reason) == (False, "base_mismatch")
    assert phone.states == ["announced", "idle"]
    assert not any("adapter.bin" in path or is_base_target(path) for path in fleet.requests)


def test_release_for_another_encoding_is_refused_before_its_download(fleet, publish_base):
    phone = fleet.phone()
    publish_base(1, policy_io_version="9")
    assert phone.installer.refresh("canary").reason == "policy_io_mismatch"
    assert not any("adapter.bin" in path or is_base_target(path) for path in fleet.requests)


def test_adapter_of_another_base_than_its_release_says_is_refused(fleet, make_adapter, packed):
    phone = fleet.phone()
    data = make_adapter(1)
    release = fleet.release(1, data, base_digest=NEW)
    fleet.repository.publish(release, data, "canary", base=packed)
    assert phone.installer.refresh("canary").reason == "base_mismatch"
    assert phone.runs == "factory"


def test_bundle_brings_its_base_without_a_network(fleet, publish_base, make_adapter):
    phone = fleet.phone()
    first = publish_base(1)
    data = make_adapter(2, base_digest=NEW)
    second = fleet.repository.publish(fleet.release(2, data, base_digest=NEW), data, "canary")
    assert read_bundle(first).base is not None
    assert read_bundle(second).base is None
    fleet.serve = None
    assert phone.installer.apply_bundle(first).applied
    assert phone.installer.apply_bundle(second).applied
    assert phone.runs == "r2"


def test_bundle_without_the_base_that_it_needs_is_refused(fleet, publish_base, make_adapter):
    publish_base(1)
    data = make_adapter(2, base_digest=NEW)
    second = fleet.repository.publish(fleet.release(2, data, base_digest=NEW), data, "canary")
    outcome = fleet.phone().installer.apply_bundle(second)
    assert (outcome.applied, outcome.reason) == (False, "base_mismatch")


def test_base_in_a_bundle_that_is_not_the_signed_one_is_refused(
    fleet, publish_base, rewrite_bundle, tmp_path
):
    bundle = publish_base(1)
    other = pack_base(base_folder(tmp_path / "other", content=b"poison"))
    forged = rewrite_bundle(bundle, lambda entries: entries.update({"base.zip": other}))
    phone = fleet.phone()
    outcome = phone.installer.apply_bundle(forged)
    assert (outcome.applied, outcome.reason) == (False, "tampered")
    assert not HeldBases(phone.folder).holds(NEW)


def test_phone_goes_back_to_its_old_base_by_a_newer_release(fleet, publish_base):
    phone = fleet.phone()
    old = fleet.publish(1)
    phone.installer.apply_bundle(old)
    phone.installer.commit()
    publish_base(2)
    assert phone.installer.refresh("canary").applied
    phone.installer.commit()
    fleet.publish(3)
    assert phone.installer.refresh("canary").applied
    assert phone.runs == "r3"
    assert phone.installer.current().release.base_digest != NEW


def test_bad_trial_on_a_new_base_falls_back_to_the_old_one(fleet, publish_base):
    phone = fleet.phone()
    fleet.publish(1)
    phone.installer.refresh("canary")
    phone.installer.commit()
    publish_base(2)
    phone.installer.refresh("canary")
    for _ in range(4):
        loaded = phone.installer.begin_load()
    assert loaded.release_id == "r1"
    assert phone.transitions[-1].reason == "crash_loop"


def test_release_whose_base_was_damaged_on_the_phone_is_taken_back(fleet, publish_base):
    phone = fleet.phone()
    fleet.publish(1)
    phone.installer.refresh("canary")
    phone.installer.commit()
    publish_base(2)
    phone.installer.refresh("canary")
    phone.installer.commit()
    (HeldBases(phone.folder).path(NEW) / "encoder.onnx").write_bytes(b"grapf")
    assert phone.installer.begin_load().release_id == "r1"


def test_bases_that_no_slot_needs_go_at_the_next_start(fleet, publish_base):
    phone = fleet.phone()
    publish_base(1)
    phone.installer.refresh("canary")
    phone.installer.commit()
    for version in (2, 3):
        fleet.publish(version)
        phone.installer.refresh("canary")
        phone.installer.commit()
        expected = version == 2  # r1 may still be gone back to
        phone.installer.begin_load()
        assert HeldBases(phone.folder).holds(NEW) is expected
    state = Slots(phone.folder).state()
    assert {state.active, state.fallback} == {"a", "b"}


def test_pinned_release_brings_its_base(fleet, publish_base):
    phone = fleet.phone()
    publish_base(1)
    fleet.publish(2)
    phone.installer.refresh("canary")
    assert phone.installer.adapter_for("r1").base_digest == NEW
    assert HeldBases(phone.folder).holds(NEW)
    assert phone.runs == "r2"


def test_lost_connection_costs_no_piece_of_a_base_twice(fleet, publish_base, tmp_path, packed):
    publish_base(1)
    asked, broken = [], [True]

    def fetch_from(path, offset):
        data = fleet.repository.read(path)[offset:]
        if is_base_target(path):
            asked.append(offset)
            if broken:
                broken.clear()
                yield data[:40]
                raise FetchInterruptedError("lost", path=path, offset=40)
        yield data

    phone = fleet.phone()
    for _ in range(2):  # another process each time
        fetch = ResumedFetch(fetch_from, tmp_path / "pieces", is_large=is_base_target)
        client = TrustedClient(phone.folder / "trust", fetch)
        client.channel("canary")
        if broken:
            with pytest.raises(Exception, match="lost"):
                client.base(NEW)
    assert client.base(NEW) == packed
    assert asked == [0, 40]
    assert list((tmp_path / "pieces").iterdir()) == []


def test_damaged_pieces_are_fetched_anew(fleet, publish_base, tmp_path, packed):
    publish_base(1)
    pieces = tmp_path / "pieces"

    def fetch_from(path, offset):
        yield fleet.repository.read(path)[offset:]

    phone = fleet.phone()
    fetch = ResumedFetch(fetch_from, pieces, is_large=is_base_target)
    client = TrustedClient(phone.folder / "trust", fetch)
    client.channel("canary")
    path = next(path for path in _served(fleet) if is_base_target(path))
    pieces.mkdir()
    (pieces / hashlib.sha256(path.encode()).hexdigest()[:32]).write_bytes(b"rubbish")
    with pytest.raises(RejectedError, match="hash"):
        client.base(NEW)
    assert client.base(NEW) == packed


def _served(fleet):
    folder = fleet.directory / "tuf"
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]


def test_zip_that_leads_out_of_its_folder_is_no_base(tmp_path):
    forged = tmp_path / "forged.zip"
    with zipfile.ZipFile(forged, "w") as archive:
        archive.writestr("base.json", json.dumps({"digest": NEW, "files": {"../x": "0"}}))
    with pytest.raises(RejectedError, match="names"):
        packed_base_digest(forged.read_bytes())
