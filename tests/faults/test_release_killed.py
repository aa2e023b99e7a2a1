"""SIGKILL in every state of an update: the phone that starts again acts on something whole.

The process is a real one, with the real installer, slots and signed files; it kills itself the
moment that a state was entered, before anything after it. What starts afterwards is what an
operator would start: it goes on with the update, or has taken it back.
"""

import os
import signal
import sys

import pytest

from device_runtime.installer import Installer, enrol
from device_runtime.shadow import ShadowFigures, ShadowOutcome
from device_runtime.slots import PhoneBase, Slots
from sync.adapter_file import adapter_digest, pack
from sync.releases import Reason
from sync.trust import Repository, TrustedClient
from sync.vocabulary import Release, ReleaseId

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="needs fork, to kill real processes cheaply"
)

BASE = PhoneBase(digest="b" * 64, policy_io_version="1")
STATES = ("announced", "downloading", "verified", "staged", "shadow", "trial", "committed")
KILLED = -signal.SIGKILL


def sound(candidate, active):
    return ShadowOutcome(ShadowFigures(screens=16))


class Fleet:
    """Signed releases, and one phone that runs release 1."""

    def __init__(self, folder):
        self.phone_dir = folder / "phone"
        self.repository = Repository.create(folder / "tuf", folder / "keys")
        enrol(self.phone_dir, self.repository.root_bytes, BASE)
        self.publish(1)
        self.installer().refresh("canary")
        self.installer().commit()

    def publish(self, version):
        data = pack({}, base_digest=BASE.digest, policy_io_version=BASE.policy_io_version)
        release = Release(
            id=ReleaseId(f"r{version}"),
            version=version,
            base_digest=BASE.digest,
            adapter_digest=adapter_digest(data),
            adapter_size_bytes=len(data),
            policy_io_version=BASE.policy_io_version,
        )
        self.repository.publish(release, data, "canary")

    def installer(self, report=None):
        client = TrustedClient(self.phone_dir / "trust", lambda path: [self.repository.read(path)])
        return Installer(self.phone_dir, client, shadow=sound, report=report)

    def acting(self):
        slots = Slots(self.phone_dir)
        return slots.checked(slots.state().active).release_id


def in_process(work):
    """Run `work` in a process of its own; how that ended, as `subprocess` counts it."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def killer(state):
    def report(transition):
        if transition.state.value == state:
            os.kill(os.getpid(), signal.SIGKILL)

    return report


@pytest.fixture
def fleet(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    return Fleet(tmp_path)


@pytest.mark.parametrize("state", STATES)
def test_a_phone_killed_in_a_state_goes_on_with_the_update(fleet, state):
    fleet.publish(2)

    def update():
        installer = fleet.installer(killer(state))
        installer.refresh("canary")
        installer.commit()

    assert in_process(update) == KILLED
    again = fleet.installer()
    running = again.begin_load()
    assert running.read() is not None
    assert running.release_id == fleet.acting()
    again.refresh("canary")
    again.commit()
    assert fleet.acting() == "r2"
    assert Slots(fleet.phone_dir).state().trial_left is None


@pytest.mark.parametrize("state", STATES)
def test_a_phone_killed_in_a_state_again_and_again_never_stops_acting(fleet, state):
    fleet.publish(2)
    for _ in range(5):

        def live():
            installer = fleet.installer(killer(state))
            assert installer.begin_load().read() is not None
            installer.refresh("canary")
            installer.commit()

        in_process(live)
        assert fleet.acting() in {"r1", "r2"}
    assert fleet.installer().begin_load().read() is not None


def test_a_phone_killed_while_it_takes_a_release_back_has_taken_it_back(fleet):
    fleet.publish(2)
    fleet.installer().refresh("canary")
    assert in_process(lambda: fleet.installer(killer("reverted")).revert(Reason.DAMAGED)) == KILLED
    assert fleet.installer().begin_load().release_id == "r1"
    assert fleet.installer().refresh("canary") is None


def test_a_release_that_kills_its_process_at_each_load_is_gone_at_the_fourth_without_a_network(
    fleet,
):
    fleet.publish(2)
    fleet.installer().refresh("canary")

    def load():
        installer = Installer(fleet.phone_dir, TrustedClient(fleet.phone_dir / "trust"))
        if installer.begin_load().release_id == "r2":
            os.kill(os.getpid(), signal.SIGKILL)

    assert [in_process(load) for _ in range(4)] == [KILLED, KILLED, KILLED, 0]
    assert fleet.acting() == "r1"
    assert fleet.installer().refresh("canary") is None
