"""Releases on one phone: staged beside what runs, tried, kept, taken back, whatever dies when."""

import threading

import pytest

from device_runtime.errors import InstalledFilesError, InstallError
from device_runtime.installer import Installer, enrol
from device_runtime.slots import PhoneBase, Slots
from sync.errors import IntegrityError, RejectedError
from sync.releases import Reason, roll_back_of
from sync.trust import TrustedClient, rotate_online_keys
from sync.vocabulary import ReleaseId

pytestmark = pytest.mark.integration

INSTALLED = ["announced", "downloading", "verified", "staged", "trial"]


def test_a_new_phone_runs_the_factorys_policy(fleet):
    phone = fleet.phone()
    current = phone.installer.current()
    assert (current.release_id, current.release, current.read()) == ("factory", None, None)
    assert phone.installer.refresh("canary") is None


def test_a_release_goes_through_every_state(fleet):
    phone = fleet.phone()
    fleet.publish(1)
    outcome = phone.installer.refresh("canary")
    assert outcome.applied
    assert phone.installer.current().state == "trial"
    phone.installer.commit()
    assert phone.states == [*INSTALLED, "committed"]
    assert phone.installer.current().state == "committed"
    assert {t.release_id for t in phone.transitions} == {"r1"}


def test_the_installed_adapter_is_the_published_one(fleet, make_adapter):
    phone = fleet.phone()
    fleet.publish(1)
    phone.installer.refresh("canary")
    opened = phone.installer.begin_load().read()
    assert opened.digest == fleet.repository.release("r1").adapter_digest
    assert list(opened.tensors) == ["layer.A"]


def test_nothing_happens_while_the_channel_stands_still(fleet):
    phone = fleet.phone()
    fleet.publish(1)
    phone.installer.refresh("canary")
    phone.transitions.clear()
    fleet.requests.clear()
    assert phone.installer.refresh("canary") is None
    assert phone.states == []
    assert not [path for path in fleet.requests if path.endswith("adapter.bin")]


def test_a_phone_follows_its_own_channel_only(fleet):
    phone = fleet.phone()
    fleet.publish(1, channel="canary")
    assert phone.installer.refresh("stable") is None
    fleet.repository.set_channel("stable", "r1")
    assert phone.installer.refresh("stable").applied


def test_every_update_lands_beside_what_runs(fleet):
    phone = fleet.phone()
    folders = []
    for version in (1, 2, 3):
        fleet.publish(version)
        phone.installer.refresh("canary")
        phone.installer.commit()
        folders.append(phone.installer.current().adapter_path.parent.name)
    assert folders == ["a", "b", "a"]


def test_a_mapped_adapter_keeps_its_bytes_while_later_ones_are_installed(fleet):
    phone = fleet.phone()
    fleet.publish(1)
    phone.installer.refresh("canary")
    with phone.installer.current().adapter_path.open("rb") as held:
        for version in (2, 3):
            fleet.publish(version)
            phone.installer.refresh("canary")
            phone.installer.commit()
        assert held.read() == fleet.repository.adapter("r1")


def test_applying_what_runs_again_changes_nothing(fleet):
    phone = fleet.phone()
    bundle = fleet.publish(1)
    phone.installer.apply_bundle(bundle)
    phone.installer.commit()
    before = Slots(phone.folder).state()
    assert phone.installer.apply_bundle(bundle).applied
    assert Slots(phone.folder).state() == before


def test_a_bundle_works_from_anywhere_without_a_network(fleet, tmp_path):
    bundle = fleet.publish(1).rename(tmp_path / "download (1).zip")
    phone = fleet.phone()
    assert phone.installer.apply_bundle(bundle).applied
    assert fleet.requests == []


def test_the_phones_folder_can_be_moved(fleet, tmp_path):
    phone = fleet.phone()
    phone.installer.apply_bundle(fleet.publish(1))
    moved = phone.folder.rename(tmp_path / "moved")
    installer = Installer(moved, TrustedClient(moved / "trust"))
    assert installer.begin_load().read() is not None
    assert installer.apply_bundle(fleet.publish(2)).applied


def test_a_policy_that_kills_its_process_is_taken_back_without_a_network(fleet):
    phone = fleet.phone()
    fleet.publish(1)
    phone.installer.refresh("canary")
    phone.installer.commit()
    fleet.publish(2)
    phone.installer.refresh("canary")
    fleet.requests.clear()
    loaded = [Installer(phone.folder, phone.client).begin_load().release_id for _ in range(4)]
    assert loaded == ["r2", "r2", "r2", "r1"]
    assert fleet.requests == []


def test_a_release_that_crashed_is_not_fetched_again_and_a_newer_one_is(fleet):
    phone = fleet.phone()
    fleet.publish(1)
    phone.installer.refresh("canary")
    phone.installer.revert(Reason.CRASH_LOOP)
    assert phone.runs == "factory"
    assert phone.installer.refresh("canary") is None
    fleet.publish(2)
    assert phone.installer.refresh("canary").applied
    assert phone.runs == "r2"


def test_a_reverted_release_can_still_be_applied_by_hand(fleet):
    phone = fleet.phone()
    bundle = fleet.publish(1)
    phone.installer.apply_bundle(bundle)
    phone.installer.revert(Reason.CRASH_LOOP)
    assert phone.installer.apply_bundle(bundle).applied
    phone.installer.commit()
    assert phone.runs == "r1"


def test_a_committed_release_loses_no_loads(fleet):
    phone = fleet.phone()
    fleet.publish(1)
    phone.installer.refresh("canary")
    phone.installer.commit()
    assert {phone.installer.begin_load().release_id for _ in range(10)} == {"r1"}


def test_a_commit_for_an_earlier_release_leaves_the_newer_one_on_trial(fleet):
    phone = fleet.phone()
    for version in (1, 2):
        fleet.publish(version)
        phone.installer.refresh("canary")
    assert phone.installer.commit("r1").state == "trial"
    assert phone.installer.commit("r2").state == "committed"
    assert phone.states[-1] == "committed"


def test_reverting_goes_back_one_release_and_then_to_the_factory(fleet):
    phone = fleet.phone()
    for version in (1, 2):
        fleet.publish(version)
        phone.installer.refresh("canary")
        phone.installer.commit()
    back = [phone.installer.revert(Reason.PROBE_FAILED).release_id for _ in range(3)]
    assert back == ["r1", "factory", "factory"]
    assert [t.release_id for t in phone.transitions if t.state == "reverted"] == ["r2", "r1"]


def test_an_older_release_stays_refused_after_a_revert(fleet):
    phone = fleet.phone()
    bundles = [fleet.publish(version) for version in (1, 2, 3)]
    phone.installer.apply_bundle(bundles[0])
    phone.installer.apply_bundle(bundles[2])
    phone.installer.revert(Reason.CRASH_LOOP)
    assert phone.installer.apply_bundle(bundles[1]).reason == "older_version"


def test_a_roll_back_is_a_newer_release_with_the_old_adapter(fleet):
    phone = fleet.phone()
    for version in (1, 2):
        fleet.publish(version)
        phone.installer.refresh("canary")
        phone.installer.commit()
    old = fleet.repository.release("r1")
    back = roll_back_of(old, new_id=ReleaseId("r3"), version=3, now_ms=0)
    fleet.repository.publish(back, fleet.repository.adapter("r1"), "canary")
    assert phone.installer.refresh("canary").applied
    current = phone.installer.current()
    assert (current.release_id, current.read().digest) == ("r3", old.adapter_digest)


def test_a_newer_release_ends_the_trial_of_an_older_one(fleet):
    phone = fleet.phone()
    fleet.publish(1)
    phone.installer.refresh("canary")
    phone.installer.commit()
    for version in (2, 3):
        fleet.publish(version)
        phone.installer.refresh("canary")
    assert phone.runs == "r3"
    assert phone.installer.revert(Reason.CRASH_LOOP).release_id == "r1"


def test_an_adapter_that_the_policy_cannot_load_is_taken_back_at_once(fleet):
    def probe(adapter):
        raise RejectedError("no such slot", reason="base_mismatch")

    phone = fleet.phone(probe=probe)
    outcome = phone.installer.apply_bundle(fleet.publish(1))
    assert (outcome.applied, outcome.reason) == (False, "base_mismatch")
    assert phone.states == [*INSTALLED, "reverted"]
    assert phone.runs == "factory"


def test_a_probe_that_breaks_off_leaves_what_ran_before(fleet):
    def probe(adapter):
        raise IntegrityError("the graphs are gone")

    phone = fleet.phone(probe=probe)
    outcome = phone.installer.apply_bundle(fleet.publish(1))
    assert (outcome.applied, outcome.reason, phone.runs) == (False, "probe_failed", "factory")


def test_a_defect_in_the_probe_is_not_hidden_and_nothing_is_left_on_trial(fleet):
    def probe(adapter):
        raise KeyError("a programmer's mistake")

    phone = fleet.phone(probe=probe)
    with pytest.raises(KeyError):
        phone.installer.apply_bundle(fleet.publish(1))
    assert phone.runs == "factory"


def test_the_probe_sees_the_adapter_that_will_act_and_counts_as_one_load(fleet):
    seen = []
    phone = fleet.phone(probe=seen.append)
    phone.installer.apply_bundle(fleet.publish(1))
    assert [adapter.digest for adapter in seen] == [fleet.repository.release("r1").adapter_digest]
    assert Slots(phone.folder).state().trial_left == 2


@pytest.mark.parametrize("damage", ["flip", "cut", "remove"])
def test_a_damaged_slot_is_noticed_at_the_next_load_and_the_one_before_acts(fleet, damage):
    phone = fleet.phone()
    for version in (1, 2):
        fleet.publish(version)
        phone.installer.refresh("canary")
        phone.installer.commit()
    path = phone.installer.current().adapter_path
    data = path.read_bytes()
    path.unlink()
    if damage == "flip":
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    elif damage == "cut":
        path.write_bytes(data[:10])
    assert phone.installer.begin_load().release_id == "r1"
    assert phone.transitions[-1].reason == "damaged"


def test_a_refused_bundle_on_a_damaged_phone_says_what_runs_then(fleet, tmp_path):
    phone = fleet.phone()
    phone.installer.apply_bundle(fleet.publish(1))
    phone.installer.current().adapter_path.write_bytes(b"gone")
    bad = tmp_path / "bad.zip"
    bad.write_bytes(b"nothing")
    outcome = phone.installer.apply_bundle(bad)
    assert (outcome.applied, outcome.installed.release_id) == (False, "factory")


def test_a_state_that_cannot_be_read_stops_the_phone_with_advice(fleet):
    phone = fleet.phone()
    (phone.folder / "slots" / "state.json").write_bytes(b"{")
    with pytest.raises(InstalledFilesError, match="to go back to factory"):
        phone.installer.begin_load()


def test_a_state_of_a_newer_program_is_not_guessed_at(fleet):
    phone = fleet.phone()
    (phone.folder / "slots" / "state.json").write_bytes(b'{"schema_version":2}')
    with pytest.raises(InstalledFilesError, match="newer program"):
        phone.installer.begin_load()


def test_a_new_base_takes_adapters_of_the_old_one_out_of_use(fleet):
    phone = fleet.phone()
    phone.installer.apply_bundle(fleet.publish(1))
    renewed = Installer(
        phone.folder,
        phone.client,
        base=PhoneBase(digest="d" * 64, policy_io_version="1"),
        report=phone.transitions.append,
    )
    assert renewed.begin_load().release_id == "factory"
    assert phone.transitions[-1].reason == "base_mismatch"


def test_a_power_cut_at_any_write_leaves_the_old_release_or_the_new_one(fleet, outlasts):
    phone = fleet.phone()
    phone.installer.apply_bundle(fleet.publish(1))
    phone.installer.commit()
    bundle = fleet.publish(2)

    def apply_anew():
        Installer(phone.folder, TrustedClient(phone.folder / "trust")).apply_bundle(bundle)

    finished = False
    cut_at = 0
    seen = set()
    while not finished:
        cut_at += 1
        finished = outlasts(apply_anew, cut_at)
        restarted = Installer(phone.folder, TrustedClient(phone.folder / "trust"))
        running = restarted.begin_load()
        assert running.read().digest == fleet.repository.release(running.release_id).adapter_digest
        seen.add(running.release_id)
        if running.release_id == "r2":  # start over from the old one
            restarted.revert(Reason.CRASH_LOOP)
    assert seen == {"r1", "r2"}
    assert cut_at > 5  # adapter, description, their folder, state, its folder


def test_two_processes_never_interleave(fleet):
    phone = fleet.phone()
    bundles = [fleet.publish(version) for version in range(1, 6)]

    def apply(bundle):
        client = TrustedClient(phone.folder / "trust")
        Installer(phone.folder, client).apply_bundle(bundle)

    threads = [threading.Thread(target=apply, args=(bundle,)) for bundle in bundles]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert phone.runs == "r5"


def test_any_published_release_can_be_had_for_a_pinned_assignment(fleet):
    phone = fleet.phone()
    for version in (1, 2, 3):
        fleet.publish(version)
    phone.installer.refresh("canary")
    digests = [phone.installer.adapter_for(f"r{version}").digest for version in (1, 2, 3)]
    assert digests == [fleet.repository.release(f"r{v}").adapter_digest for v in (1, 2, 3)]
    assert phone.installer.adapter_for("factory") is None
    assert phone.runs == "r3"


def test_an_installed_release_is_had_without_the_network(fleet):
    phone = fleet.phone()
    fleet.publish(1)
    phone.installer.refresh("canary")
    fleet.requests.clear()
    assert phone.installer.adapter_for("r1") is not None
    assert fleet.requests == []


def test_a_pinned_release_that_was_never_published_has_a_reason(fleet):
    phone = fleet.phone()
    fleet.publish(1)
    with pytest.raises(InstallError) as caught:
        phone.installer.adapter_for("r9")
    assert caught.value.reason == "unknown_release"


def test_a_pinned_release_published_after_the_last_refresh_is_found(fleet):
    phone = fleet.phone()
    fleet.publish(1)
    phone.installer.refresh("canary")
    fleet.publish(2, channel=None)
    assert phone.installer.adapter_for("r2") is not None


def test_enrolling_again_is_harmless_and_another_fleet_is_refused(fleet, make_fleet):
    phone = fleet.phone()
    enrol(phone.folder, fleet.repository.root_bytes)
    rotate_online_keys(fleet.directory / "tuf", fleet.directory / "keys")
    enrol(phone.folder, make_fleet().repository.root_bytes)  # a later root of the same fleet
    with pytest.raises(IntegrityError, match="another fleet"):
        enrol(phone.folder, make_fleet("other").repository.root_bytes)


@pytest.mark.parametrize("root", [b"", b"{}", b"null", b'{"signed":{"_type":"targets"}}'])
def test_enrolling_with_what_is_no_root_lays_nothing(tmp_path, root):
    with pytest.raises(RejectedError):
        enrol(tmp_path / "p", root)
    assert not (tmp_path / "p" / "trust" / "root.json").exists()


def test_a_phone_that_was_never_enrolled_says_so(tmp_path):
    with pytest.raises(IntegrityError, match="enrol"):
        TrustedClient(tmp_path / "trust")


def test_a_transition_becomes_an_event_of_text_fields(fleet):
    phone = fleet.phone()
    phone.installer.apply_bundle(fleet.publish(1))
    event = phone.transitions[-1].event()
    assert event.kind == "release_state_entered"
    assert event.fields["state"] == "trial"
    assert event.fields["release_id"] == "r1"
    assert all(isinstance(value, str) for value in event.fields.values())


def test_a_trial_without_loads_is_misuse(fleet):
    phone = fleet.phone()
    with pytest.raises(ValueError):
        Installer(phone.folder, phone.client, trial_loads=0)
