"""What a phone cannot run is refused by its description, before a byte of it is downloaded."""

import pytest

from device_runtime.errors import InstallError
from device_runtime.free_space import needed_bytes
from device_runtime.installer import Installer
from sync.runtime_level import RUNTIME_LEVEL

pytestmark = pytest.mark.integration


def downloads(fleet):
    return [path for path in fleet.requests if path.endswith(("adapter.bin", "base.zip"))]


def installer_with(phone, free):
    return Installer(phone.folder, phone.client, report=phone.transitions.append, free=free)


@pytest.mark.parametrize(
    ("described", "reason"),
    [
        ({"base_digest": "c" * 64}, "base_mismatch"),
        ({"policy_io_version": "2"}, "policy_io_mismatch"),
        ({"min_runtime": RUNTIME_LEVEL + 1}, "runtime_too_old"),
        ({"adapter_size_bytes": 1 << 50}, "no_space"),
    ],
)
def test_refused_before_the_download(fleet, described, reason):
    phone = fleet.phone()
    fleet.publish(1, **described)
    outcome = phone.installer.refresh("canary")
    assert (outcome.applied, outcome.reason) == (False, reason)
    assert phone.states == ["announced", "idle"]
    assert downloads(fleet) == []


def test_a_phone_of_this_program_runs_what_asks_for_it(fleet):
    fleet.publish(1, min_runtime=RUNTIME_LEVEL)
    assert fleet.phone().installer.refresh("canary").applied


def test_room_is_asked_for_again_each_time_and_told_once(fleet):
    phone = fleet.phone()
    fleet.publish(1)
    free = 0
    installer = installer_with(phone, lambda: free)
    for _ in range(3):
        assert installer.refresh("canary").reason == "no_space"
    assert phone.states == ["announced", "idle"]
    free = needed_bytes(fleet.repository.release("r1").adapter_size_bytes, 0)
    assert installer.refresh("canary").applied
    assert phone.states[2:] == ["downloading", "verified", "staged", "trial"]


def test_one_byte_too_little_is_too_little(fleet):
    phone = fleet.phone()
    fleet.publish(1)
    needed = needed_bytes(fleet.repository.release("r1").adapter_size_bytes, 0)
    assert installer_with(phone, lambda: needed - 1).refresh("canary").reason == "no_space"


def test_a_bundle_needs_room_too(fleet):
    phone = fleet.phone()
    outcome = installer_with(phone, lambda: 0).apply_bundle(fleet.publish(1))
    assert (outcome.applied, outcome.reason, phone.runs) == (False, "no_space", "factory")


def test_a_pinned_release_for_a_newer_program_has_a_reason(fleet):
    phone = fleet.phone()
    fleet.publish(1, min_runtime=RUNTIME_LEVEL + 1)
    with pytest.raises(InstallError) as caught:
        phone.installer.adapter_for("r1")
    assert caught.value.reason == "runtime_too_old"
    assert downloads(fleet) == []


def test_another_reason_for_the_same_release_is_told_again(fleet):
    phone = fleet.phone()
    fleet.publish(1)
    assert installer_with(phone, lambda: 0).refresh("canary").reason == "no_space"
    fleet.publish(2, min_runtime=RUNTIME_LEVEL + 1)
    assert phone.installer.refresh("canary").reason == "runtime_too_old"
    assert [t.reason for t in phone.transitions if t.reason] == ["no_space", "runtime_too_old"]
