"""Releases on one phone: verified, staged beside what runs, tried, kept or taken back.

    idle → announced → downloading → verified → staged → shadow → trial → committed
             └────────────┴──────────────┴→ idle (refused) ←┘      └──→ reverted

What runs is replaced only by one rename of `slots/state.json`, so a crash at any moment leaves the
old release or the new one. A release on trial has a number of loads, counted down on disk *before*
each load: a policy that kills its process is taken back at a later start, without a network.
A release may belong to a base network that this phone has not got: that is fetched with it, where
it is signed, and laid beside the slots (`held_bases`) before the release is tried.
Before its trial it is scored on logged screens (`shadow`), where somebody can do that: what is
broken there never acts, and a process that dies meanwhile goes on with the same candidate.
Expired metadata or a lost server never stop what runs.

Each transition goes to `report`, whose owner puts it into the outbox.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import msgspec

from device_runtime.acting_release import ActingRelease
from device_runtime.candidate import CandidateFolder
from device_runtime.errors import InstalledFilesError, InstallError
from device_runtime.free_space import free_bytes
from device_runtime.held_bases import HeldBases
from device_runtime.release_judge import ReleaseJudge
from device_runtime.shadow import Shadows
from device_runtime.slots import InstalledRelease, PhoneBase, Slots, SlotState
from device_runtime.transitions import InstallState, Transition, TransitionReporter
from device_runtime.trial_start import InstallOutcome, TrialStart, opened_for
from sync.adapter_file import AdapterFile
from sync.clock import Clock, SystemClock
from sync.cohorts import CohortPhone
from sync.errors import RejectedError
from sync.releases import Bundle, Reason, read_bundle
from sync.runtime_level import RUNTIME_LEVEL
from sync.trust import TrustedClient, enrol_root
from sync.vocabulary import FACTORY_RELEASE, Release


def enrol(
    phone_dir: Path,
    root: bytes,
    base: PhoneBase | None = None,
    history: Iterable[bytes] = (),
) -> None:
    """Lay what the phone trusts, and the base that its adapters must fit. Idempotent.

    Args:
        history: the roots before `root`, where they are at hand (see `sync.trust.enrol_root`).

    Raises:
        RejectedError: `root` is no root metadata.
        IntegrityError: the phone trusts another root already.
    """
    enrol_root(phone_dir / "trust", root, history)
    if base is not None:
        slots = Slots(phone_dir)
        with slots.locked():
            slots.write_state(msgspec.structs.replace(slots.state(), base=base))


class Installer:
    """The only thing that changes which release acts on a phone.

    Args:
        phone_dir: the phone's folder, enrolled.
        client: verifies against the phone's own root.
        phone: what staged releases tell phones apart by; None is offered none.
        base: the base that the phone was set up with; as enrolled where not given.
        probe: loads an adapter as the policy would; raises a `ProjectError` where it cannot.
        shadow: scores a candidate before its trial; None tries it without.
        report: gets each transition, in order.
        trial_loads: how often a release may be loaded before it must have been committed.
        free: how many bytes the phone's disk has free; asked of the disk where not given.
        runtime: level of the phone's program.
    """

    def __init__(
        self,
        phone_dir: Path,
        client: TrustedClient,
        *,
        phone: CohortPhone | None = None,
        base: PhoneBase | None = None,
        probe: Callable[[AdapterFile], None] | None = None,
        shadow: Shadows | None = None,
        report: Callable[[Transition], None] | None = None,
        clock: Clock | None = None,
        trial_loads: int = 3,
        free: Callable[[], int] | None = None,
        runtime: int = RUNTIME_LEVEL,
    ) -> None:
        if trial_loads < 1:
            raise ValueError(f"a trial needs at least one load, got {trial_loads}")
        self._slots = Slots(phone_dir)
        self._candidate = CandidateFolder(phone_dir)
        self._bases = HeldBases(phone_dir)
        self._client = client
        self._phone = phone
        self._enter = TransitionReporter(report, SystemClock() if clock is None else clock)
        self._judge = ReleaseJudge(
            self._slots,
            self._bases,
            client,
            partial(free_bytes, phone_dir) if free is None else free,
            runtime,
        )
        self._acting = ActingRelease(self._slots, self._judge, self._enter, trial_loads)
        self._trial = TrialStart(
            self._slots, self._candidate, self._bases, self._acting, probe=probe, shadow=shadow
        )
        self._told: tuple[str, str] | None = None
        if base is not None and self._slots.state().base != base:
            with self._slots.locked():
                self._slots.write_state(msgspec.structs.replace(self._slots.state(), base=base))

    def current(self) -> InstalledRelease:
        """What acts now.

        Raises: InstalledFilesError: the slot that acts is not whole; `begin_load` reverts it.
        """
        return self._acting.of(self._slots.state())

    def apply_bundle(self, path: Path) -> InstallOutcome:
        """Install the release in the bundle at `path`, however old the file or its name is.

        The very release that acts already is applied, without a new trial.

        Raises: OSError: the file cannot be read.
        """
        self._enter(InstallState.ANNOUNCED, detail=path.name)
        try:
            bundle = read_bundle(path)
            self._enter(InstallState.DOWNLOADING, _claimed(bundle), detail=path.name)
            release = self._client.verify_bundle(bundle)
            return self._trial.install(release, bundle.adapter, bundle.base)
        except RejectedError as error:
            return self._refused(error)

    def refresh(self, channel: str, *, announced: bool = False) -> InstallOutcome | None:
        """Install what `channel` points to; None where there is nothing to do.

        A release that was taken back on this phone is not tried again. Downloads hold up nothing
        that acts. A candidate whose scoring was broken off is not downloaded again.

        Args:
            announced: somebody said that there is news.

        Raises: TransientError: the network failed, or scoring waits; what runs goes on, try again
            later.
        """
        release: Release | None = None
        try:
            release = self._client.channel(channel, self._phone, announced=announced)
            if release is None or not self._is_news(release):
                return None
            if (kept := self._candidate.adapter(release)) is not None:
                return self._trial.install(release, kept, pointed_at=True)
            if self._told is None or self._told[0] != release.id:
                self._enter(InstallState.ANNOUNCED, release, detail=channel)
            state = self._slots.state()
            self._judge.require_worth_fetching(state, release)
            self._enter(InstallState.DOWNLOADING, release, detail=channel)
            adapter = self._client.adapter(release)
            base = self._missing_base(state, release)
            return self._trial.install(release, adapter, base, pointed_at=True)
        except RejectedError as error:
            return self._refused(error, release)

    def adapter_for(self, release_id: str) -> AdapterFile | None:
        """The adapter of any published release, for pinned assignments; installs nothing.

        None is the factory's policy.

        Raises:
            InstallError: the release does not verify or does not fit this phone.
            TransientError: the network failed.
        """
        state = self._slots.state()
        for slot in (state.active, state.fallback):
            try:
                installed = self._slots.installed(slot)
                if installed.release_id == release_id:
                    return installed.read()
            except InstalledFilesError:
                continue  # damaged here: the server has it whole
        if release_id == FACTORY_RELEASE:
            return None
        try:
            release = self._client.release(release_id)
            base_bytes = self._judge.base_to_fetch(state, release)
            self._judge.require_fits(state, release, base_bytes=base_bytes)
            opened = opened_for(state, release, self._client.adapter(release))
            base = self._missing_base(state, release)
            if base is not None:
                with self._slots.locked():
                    self._bases.put(release.base_digest, base)
            return opened
        except RejectedError as error:
            raise InstallError(str(error), reason=error.reason) from error

    def begin_load(self) -> InstalledRelease:
        """What to load now; a release on trial loses one of its loads first.

        Takes back a release whose loads are used up, whose files are damaged, or whose base is not
        here. Bases that no slot needs any more are removed.
        """
        with self._slots.locked():
            state = self._acting.count_load(self._slots.state())
            self._bases.keep(self._needed_bases())
            return self._acting.of(state)

    def commit(self, release_id: str | None = None) -> InstalledRelease:
        """The release on trial has shown that it can act: keep it. Idempotent.

        Args:
            release_id: which release has shown it; another one that came meanwhile stays on trial.
        """
        with self._slots.locked():
            state = self._slots.state()
            active = self._acting.of(state)
            if state.trial_left is None or release_id not in {None, active.release_id}:
                return active
            return self._acting.of(self._acting.commit(state))

    def revert(self, reason: Reason) -> InstalledRelease:
        """Go back to what acted before, and from there to the factory's policy."""
        with self._slots.locked():
            state = self._slots.state()
            if state.active != "factory":
                state = self._acting.whole(self._acting.revert(state, reason))
            return self._acting.of(state)

    def _missing_base(self, state: SlotState, release: Release) -> bytes | None:
        """The packed base of a release, fetched; None where it is here."""
        digest = release.base_digest
        if digest == state.base.digest or self._bases.holds(digest):
            return None
        return self._client.base(digest)

    def _needed_bases(self) -> set[str]:
        """The bases of the releases in both slots, and of the candidate."""
        candidate = self._candidate.release()
        return self._acting.bases() | ({candidate.base_digest} if candidate is not None else set())

    def _is_news(self, release: Release) -> bool:
        state = self._slots.state()
        if release.id in state.reverted:
            return False
        try:
            return self._slots.checked(state.active).release != release
        except InstalledFilesError:
            return True

    def _refused(self, error: RejectedError, release: Release | None = None) -> InstallOutcome:
        told = None if release is None else (str(release.id), str(error.reason))
        if told is None or told != self._told:  # a channel is looked at again and again
            self._enter(InstallState.IDLE, release, reason=error.reason, detail=str(error))
        self._told = told
        with self._slots.locked():
            installed = self._acting.of(self._acting.whole(self._slots.state()))
        return InstallOutcome(
            applied=False, installed=installed, reason=str(error.reason), detail=str(error)
        )


def _claimed(bundle: Bundle) -> Release | None:
    """What the bundle says it is, for the report only."""
    try:
        return bundle.release()
    except RejectedError:
        return None
