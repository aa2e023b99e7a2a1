"""Any order of updates, loads, commits, crashes and reverts leaves a phone with something whole.

The client is a fake that trusts what it is told: signatures have their own tests.
"""

import os
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from device_runtime.installer import Installer
from device_runtime.shadow import ShadowFigures, ShadowOutcome
from device_runtime.slots import PhoneBase, Slots
from sync.adapter_file import adapter_digest, pack
from sync.releases import Bundle, Reason, release_to_json, write_bundle
from sync.vocabulary import Release, ReleaseId

BASE = PhoneBase(digest="b" * 64, policy_io_version="1")


def release_of(version):
    values = np.full((4, 2), version, dtype=np.float32)
    data = pack({"A": values}, base_digest=BASE.digest, policy_io_version="1")
    release = Release(
        id=ReleaseId(f"r{version}"),
        version=version,
        base_digest=BASE.digest,
        adapter_digest=adapter_digest(data),
        adapter_size_bytes=len(data),
        policy_io_version="1",
    )
    return release, data


class FakeClient:
    """Believes everything; its channel points at the newest release."""

    def __init__(self):
        self.newest = 0

    def channel(self, name, phone=None, *, announced=False):
        return release_of(self.newest)[0] if self.newest else None

    def adapter(self, release):
        return release_of(release.version)[1]

    def targets_keys(self):
        return frozenset({"key"})

    def base_size_bytes(self, digest):
        return None

    def verify_bundle(self, bundle):
        return bundle.release()


def finds_it_sound(candidate, active):
    return ShadowOutcome(ShadowFigures(screens=16))


def finds_it_broken(candidate, active):
    return ShadowOutcome(ShadowFigures(screens=16), Reason.ONE_ACTION, "it does one thing only")


class PhoneMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.no_fsync = mock.patch.object(os, "fsync", return_value=None)
        self.no_fsync.start()
        self.folder = tempfile.TemporaryDirectory()
        self.phone_dir = Path(self.folder.name) / "phone"
        self.client = FakeClient()
        self.stack = [0]  # versions that acted and can be gone back to, the last one acts
        self.highest = 0
        self.loads_left = None
        self.taken_back = set()
        self.restart()

    def teardown(self):
        self.folder.cleanup()
        self.no_fsync.stop()

    @rule()
    def restart(self):
        self.installer = Installer(self.phone_dir, self.client, base=BASE)

    @rule()
    def restart_as_a_phone_that_scores(self):
        self.installer = Installer(self.phone_dir, self.client, base=BASE, shadow=finds_it_sound)

    @rule()
    def publish_what_scoring_refuses(self):
        self.client.newest += 1
        scoring = Installer(self.phone_dir, self.client, base=BASE, shadow=finds_it_broken)
        assert scoring.refresh("canary").reason == "one_action"
        self.taken_back.add(self.client.newest)

    def installed(self, version):
        """The model of a release that was put on trial."""
        acted = self.stack[:-1] if self.loads_left is not None else self.stack
        self.stack = [*acted, version][-2:]
        if len(self.stack) == 1:
            self.stack = [0, version]
        self.highest = max(self.highest, version)
        self.loads_left = 3
        self.taken_back.discard(version)

    def reverted(self):
        self.taken_back.add(self.stack[-1])
        self.stack = [0, self.stack[-2]] if self.stack[-2] else [0]
        self.loads_left = None

    @rule()
    def publish_and_follow(self):
        self.client.newest += 1
        assert self.installer.refresh("canary").applied
        self.installed(self.client.newest)

    @rule()
    def follow(self):
        outcome = self.installer.refresh("canary")
        newest = self.client.newest
        if newest in {0, self.stack[-1]} or newest in self.taken_back:
            assert outcome is None
        else:
            assert outcome.applied
            self.installed(newest)

    @precondition(lambda self: self.client.newest > 0)
    @rule(data=st.data())
    def apply_any_bundle(self, data):
        version = data.draw(st.integers(1, self.client.newest))
        release, adapter = release_of(version)
        path = Path(self.folder.name) / "any.zip"
        metadata = {"metadata/timestamp.json": b"{}"}
        path.write_bytes(write_bundle(Bundle(release_to_json(release), adapter, metadata)))
        outcome = self.installer.apply_bundle(path)
        if version == self.stack[-1]:
            assert outcome.applied
        elif version < self.highest:
            assert (outcome.applied, outcome.reason) == (False, "older_version")
        else:
            assert outcome.applied
            self.installed(version)

    @rule()
    def load(self):
        running = self.installer.begin_load()
        if self.loads_left == 0:
            self.reverted()
        elif self.loads_left is not None:
            self.loads_left -= 1
        opened = running.read()
        assert (opened is None) == (self.stack[-1] == 0)

    @rule()
    def commit(self):
        self.installer.commit()
        self.loads_left = None

    @rule()
    def revert(self):
        self.installer.revert(Reason.CRASH_LOOP)
        if self.stack[-1]:
            self.reverted()

    @invariant()
    def what_acts_is_what_the_model_says_and_whole(self):
        state = Slots(self.phone_dir).state()
        acting = Slots(self.phone_dir).checked(state.active)
        version = 0 if acting.release is None else acting.release.version
        assert version == self.stack[-1]
        assert state.trial_left == self.loads_left
        assert state.floor == self.highest


PhoneMachine.TestCase.settings = settings(
    max_examples=25,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestPhone = PhoneMachine.TestCase
