"""Each attack on an update, with real keys and metadata: refused, named, and the phone goes on."""

import json
import zipfile

import pytest

from sync.clock import ManualClock, SystemClock
from sync.errors import TransientError
from sync.trust import rotate_online_keys

pytestmark = pytest.mark.integration


@pytest.fixture
def phone(fleet):
    """A phone that runs release 1."""
    phone = fleet.phone()
    fleet.publish(1)
    assert phone.installer.refresh("canary").applied
    phone.installer.commit()
    phone.transitions.clear()
    return phone


def assert_refused(phone, outcome, reason, runs="r1"):
    assert not outcome.applied
    assert outcome.reason == reason, outcome.detail
    assert phone.runs == runs
    assert outcome.installed.release_id == runs
    assert phone.installer.begin_load().read() is not None
    assert (phone.states[-1], phone.transitions[-1].reason) == ("idle", reason)
    assert "\n" not in outcome.detail


def flip(data, at=-20):
    damaged = bytearray(data)
    damaged[at] ^= 1
    return bytes(damaged)


def swapped(name, data):
    def change(entries):
        entries[name] = data

    return change


def newest(bundle, role):
    """Name and bytes of the metadata of `role` in a bundle."""
    with zipfile.ZipFile(bundle) as archive:
        name = max(name for name in archive.namelist() if name.endswith(f"{role}.json"))
        return name, archive.read(name)


def test_an_untouched_bundle_is_applied(fleet, phone):
    outcome = phone.installer.apply_bundle(fleet.publish(2))
    assert outcome.applied
    assert phone.runs == "r2"


@pytest.mark.parametrize("at", [0, 9, 40, -1])
def test_a_tampered_adapter(fleet, phone, rewrite_bundle, at):
    def change(entries):
        entries["adapter.bin"] = flip(entries["adapter.bin"], at)

    made = rewrite_bundle(fleet.publish(2), change)
    assert_refused(phone, phone.installer.apply_bundle(made), "tampered")


def test_a_tampered_adapter_of_a_release_that_runs_or_is_older_is_still_called_tampered(
    fleet, phone, rewrite_bundle
):
    def change(entries):
        entries["adapter.bin"] = flip(entries["adapter.bin"])

    older = fleet.directory / "releases" / "r1.zip"
    assert_refused(phone, phone.installer.apply_bundle(rewrite_bundle(older, change)), "tampered")
    phone.installer.apply_bundle(fleet.publish(2))
    made = rewrite_bundle(older, change)
    assert_refused(phone, phone.installer.apply_bundle(made), "tampered", runs="r2")


def test_an_adapter_that_grew(fleet, phone, rewrite_bundle):
    def change(entries):
        entries["adapter.bin"] += b"more"

    made = rewrite_bundle(fleet.publish(2), change)
    assert_refused(phone, phone.installer.apply_bundle(made), "tampered")


def test_bytes_flipped_in_the_zip_itself(fleet, phone, make_adapter):
    path = fleet.publish(2)
    data = path.read_bytes()
    at = data.index(make_adapter(2)) + 60
    path.write_bytes(data[:at] + flip(data[at : at + 30]) + data[at + 30 :])
    assert_refused(phone, phone.installer.apply_bundle(path), "tampered")


@pytest.mark.parametrize("old_text", [b'"version":2', b'"id":"r2"', b'{"release"', b'"policy_io'])
def test_a_tampered_description(fleet, phone, rewrite_bundle, old_text):
    def change(entries):
        assert old_text in entries["release.json"]
        text = entries["release.json"].replace(old_text, old_text[:-1] + b"9")
        entries["release.json"] = text

    made = rewrite_bundle(fleet.publish(2), change)
    assert_refused(phone, phone.installer.apply_bundle(made), "tampered")


def test_an_adapter_and_a_description_that_agree_but_were_not_signed(
    fleet, phone, rewrite_bundle, make_adapter, make_fleet
):
    other = make_fleet("other").publish(2, data=make_adapter(99))

    def change(entries):
        with zipfile.ZipFile(other) as archive:
            for name in ("release.json", "adapter.bin"):
                entries[name] = archive.read(name)

    made = rewrite_bundle(fleet.publish(2), change)
    assert_refused(phone, phone.installer.apply_bundle(made), "tampered")


@pytest.mark.parametrize("role", ["targets", "snapshot", "timestamp"])
def test_tampered_metadata(fleet, phone, rewrite_bundle, role):
    bundle = fleet.publish(2)
    name, data = newest(bundle, role)
    document = json.loads(data)
    document["signed"]["version"] += 1
    made = rewrite_bundle(bundle, swapped(name, json.dumps(document).encode()))
    assert_refused(phone, phone.installer.apply_bundle(made), "tampered")


def test_a_bundle_of_another_fleet(phone, make_fleet):
    made = make_fleet("other").publish(2)
    assert_refused(phone, phone.installer.apply_bundle(made), "wrong_key")


def test_metadata_signed_by_another_repository(fleet, phone, rewrite_bundle, make_fleet):
    other = make_fleet("other")
    other.publish(1)
    stranger = other.publish(2)

    def change(entries):
        with zipfile.ZipFile(stranger) as archive:
            for name in archive.namelist():
                if name.startswith("metadata/"):
                    entries[name] = archive.read(name)

    made = rewrite_bundle(fleet.publish(2), change)
    assert_refused(phone, phone.installer.apply_bundle(made), "wrong_key")


@pytest.mark.parametrize("role", ["targets", "snapshot", "timestamp"])
def test_one_metadata_file_signed_by_another_repository(
    fleet, phone, rewrite_bundle, make_fleet, role
):
    bundle = fleet.publish(2)
    other = make_fleet("other")
    other.publish(1)
    name, _ = newest(bundle, role)
    _, stranger = newest(other.publish(2), role)
    made = rewrite_bundle(bundle, swapped(name, stranger))
    assert_refused(phone, phone.installer.apply_bundle(made), "wrong_key")


def test_a_new_root_that_the_trusted_root_did_not_sign(fleet, phone, rewrite_bundle, make_fleet):
    other = make_fleet("other")
    rotate_online_keys(other.directory / "tuf", other.directory / "keys")
    root = other.repository.read("metadata/2.root.json")
    made = rewrite_bundle(fleet.publish(2), swapped("metadata/2.root.json", root))
    assert_refused(phone, phone.installer.apply_bundle(made), "wrong_key")


def test_keys_that_were_rotated_away(fleet, phone, make_fleet):
    old = fleet.publish(2)
    rotate_online_keys(fleet.directory / "tuf", fleet.directory / "keys")
    renewed = make_fleet()
    phone.client.refresh()  # now the phone knows the new root
    assert_refused(phone, phone.installer.apply_bundle(old), "wrong_key")
    assert phone.installer.apply_bundle(renewed.publish(3)).applied
    assert phone.runs == "r3"


def test_an_older_version_from_its_own_bundle(fleet, phone):
    two, three = fleet.publish(2), fleet.publish(3)
    assert phone.installer.apply_bundle(three).applied
    assert_refused(phone, phone.installer.apply_bundle(two), "older_version", runs="r3")


def test_an_older_version_under_another_name_and_after_a_restart(fleet, phone):
    two, three = fleet.publish(2), fleet.publish(3)
    phone.installer.apply_bundle(three)
    renamed = two.rename(two.with_name("r9.zip"))
    again = fleet.phone()
    assert_refused(again, again.installer.apply_bundle(renamed), "older_version", runs="r3")


@pytest.mark.requirement("OR-REL-1")
def test_an_older_release_under_the_newest_metadata(fleet, phone, rewrite_bundle):
    two, three = fleet.publish(2), fleet.publish(3)
    phone.installer.apply_bundle(three)

    def change(entries):
        with zipfile.ZipFile(two) as archive:
            for name in ("release.json", "adapter.bin"):
                entries[name] = archive.read(name)

    made = rewrite_bundle(three, change)
    assert_refused(phone, phone.installer.apply_bundle(made), "older_version", runs="r3")


def test_metadata_replayed_over_the_network(fleet, phone):
    old = {
        path: fleet.repository.read(path)
        for path in (
            "metadata/timestamp.json",
            "metadata/2.snapshot.json",
            "metadata/2.targets.json",
        )
    }
    fleet.publish(2)
    phone.installer.refresh("canary")
    fleet.serve = lambda path: [old[path]] if path in old else fleet.honest(path)
    assert_refused(phone, phone.installer.refresh("canary"), "older_version", runs="r2")


def test_a_bundle_that_is_newer_than_what_runs_and_older_than_what_the_phone_heard_of(fleet, phone):
    two = fleet.publish(2, channel="canary")
    fleet.publish(3, channel=None)
    assert phone.installer.refresh("beta") is None  # the phone now knows metadata of release 3
    assert phone.installer.apply_bundle(two).applied
    assert phone.runs == "r2"


def test_expired_metadata_in_a_bundle(make_fleet):
    long_ago = ManualClock(SystemClock().wall_ms() - 100 * 86_400_000)
    fleet = make_fleet(clock=long_ago)
    phone = fleet.phone()
    outcome = phone.installer.apply_bundle(fleet.publish(1))
    assert (outcome.applied, outcome.reason, phone.runs) == (False, "expired", "factory")


def test_a_server_that_is_frozen_stops_new_installs_and_not_what_runs(make_fleet):
    clock = ManualClock(SystemClock().wall_ms())
    fleet = make_fleet(clock=clock)
    phone = fleet.phone()
    fleet.publish(1)
    phone.installer.refresh("canary")
    frozen = ManualClock(SystemClock().wall_ms() - 100 * 86_400_000)
    fleet.repository._clock = frozen
    fleet.publish(2)
    assert_refused(phone, phone.installer.refresh("canary"), "expired")


def test_renewing_ends_a_freeze(make_fleet):
    fleet = make_fleet(clock=ManualClock(SystemClock().wall_ms() - 100 * 86_400_000))
    phone = fleet.phone()
    fleet.publish(1)
    assert phone.installer.refresh("canary").reason == "expired"
    today = make_fleet()
    assert today.repository.renew()
    assert phone.installer.refresh("canary").applied
    assert not today.repository.renew()


@pytest.mark.parametrize("role", ["snapshot", "targets"])
def test_mix_and_match_of_two_states(fleet, phone, rewrite_bundle, role):
    two, three = fleet.publish(2), fleet.publish(3)
    _, old = newest(two, role)
    name, _ = newest(three, role)
    made = rewrite_bundle(three, swapped(name, old))
    assert_refused(phone, phone.installer.apply_bundle(made), "tampered")


def test_mix_and_match_of_a_timestamp_without_its_snapshot(fleet, phone, rewrite_bundle):
    two, three = fleet.publish(2), fleet.publish(3)
    _, newer = newest(three, "timestamp")
    made = rewrite_bundle(two, swapped("metadata/timestamp.json", newer))
    assert_refused(phone, phone.installer.apply_bundle(made), "tampered")


def test_a_release_that_its_metadata_does_not_know(fleet, phone, rewrite_bundle):
    one = fleet.directory / "releases" / "r1.zip"
    two = fleet.publish(2)

    def change(entries):
        with zipfile.ZipFile(two) as archive:
            for name in ("release.json", "adapter.bin"):
                entries[name] = archive.read(name)

    made = rewrite_bundle(one, change)
    assert_refused(phone, phone.installer.apply_bundle(made), "tampered")


@pytest.mark.parametrize(
    "endless", ["metadata/timestamp.json", "metadata/2.root.json", ".release.json", ".adapter.bin"]
)
def test_data_without_end_is_cut_off(fleet, phone, endless):
    fleet.publish(2)
    served = 0

    def serve(path):
        nonlocal served
        if not path.endswith(endless):
            yield from fleet.honest(path)
            return
        while True:
            served += 65_536
            yield bytes(65_536)

    fleet.serve = serve
    assert_refused(phone, phone.installer.refresh("canary"), "too_large")
    assert served < 1_000_000


def test_a_server_that_answers_garbage(fleet, phone):
    fleet.publish(2)
    fleet.serve = lambda path: [b"<html>login</html>"]
    assert_refused(phone, phone.installer.refresh("canary"), "malformed")


def test_a_tampered_adapter_over_the_network(fleet, phone):
    fleet.publish(2)

    def serve(path):
        data = b"".join(fleet.honest(path))
        return [flip(data) if path.endswith("adapter.bin") else data]

    fleet.serve = serve
    assert_refused(phone, phone.installer.refresh("canary"), "tampered")


def test_another_fleets_server(phone, fleet, make_fleet):
    other = make_fleet("other")
    other.publish(5)
    fleet.serve = other.honest
    assert_refused(phone, phone.installer.refresh("canary"), "wrong_key")


def test_a_lost_server_is_no_attack(fleet, phone):
    fleet.publish(2)

    def serve(path):
        raise TransientError("no broker")

    fleet.serve = serve
    with pytest.raises(TransientError):
        phone.installer.refresh("canary")
    assert phone.runs == "r1"
    assert phone.states == []
    fleet.serve = fleet.honest
    assert phone.installer.refresh("canary").applied


def test_a_missing_adapter_on_the_server_is_tried_again_later(fleet, phone):
    fleet.publish(2)

    def serve(path):
        if path.endswith("adapter.bin"):
            raise FileNotFoundError(path)
        return fleet.honest(path)

    fleet.serve = serve
    with pytest.raises(TransientError):
        phone.installer.refresh("canary")
    assert phone.runs == "r1"


@pytest.mark.parametrize("way", ["bundle", "network"])
@pytest.mark.parametrize(
    "case",
    [
        ({"base_digest": "c" * 64}, {"base_digest": "c" * 64}, "base_mismatch"),
        ({}, {"base_digest": "c" * 64}, "base_mismatch"),
        ({"base_digest": "c" * 64}, {}, "base_mismatch"),
        ({"policy_io_version": "2"}, {"policy_io_version": "2"}, "policy_io_mismatch"),
        ({}, {"policy_io_version": "2"}, "policy_io_mismatch"),
        ({"policy_io_version": "2"}, {}, "policy_io_mismatch"),
    ],
)
def test_a_release_for_other_phones(fleet, phone, make_adapter, way, case):
    described, inside, reason = case
    bundle = fleet.publish(2, data=make_adapter(2, **inside), **described)
    if way == "bundle":
        outcome = phone.installer.apply_bundle(bundle)
    else:
        outcome = phone.installer.refresh("canary")
    assert_refused(phone, outcome, reason)


def test_a_signed_adapter_with_nan(fleet, phone, make_nan_adapter):
    assert_refused(
        phone, phone.installer.apply_bundle(fleet.publish(2, data=make_nan_adapter)), "not_finite"
    )


def test_a_signed_file_that_is_no_adapter(fleet, phone):
    outcome = phone.installer.apply_bundle(fleet.publish(2, data=b"hello"))
    assert_refused(phone, outcome, "malformed")


def test_a_file_that_is_no_bundle(fleet, phone, tmp_path):
    path = tmp_path / "r2.zip"
    path.write_bytes(b"PK nonsense")
    assert_refused(phone, phone.installer.apply_bundle(path), "malformed")


def test_the_phones_root_is_never_replaced_by_what_a_bundle_brings(fleet, phone, make_fleet):
    before = (phone.folder / "trust" / "root.json").read_bytes()
    phone.installer.apply_bundle(make_fleet("other").publish(2))
    assert (phone.folder / "trust" / "root.json").read_bytes() == before
    assert not list((phone.folder / "trust").glob(".check-*"))
