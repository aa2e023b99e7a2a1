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

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from device_runtime.candidate import CandidateFolder
from device_runtime.errors import InstalledFilesError, InstallError
from device_runtime.free_space import free_bytes
from device_runtime.held_bases import HeldBases
from device_runtime.release_judge import ReleaseJudge
from device_runtime.shadow import ShadowFigures, ShadowOutcome, Shadows
from device_runtime.slots import (
    SLOTS,
    InstalledRelease,
    PhoneBase,
    Slots,
    SlotState,
    other_slot,
)
from device_runtime.transitions import InstallState, Transition, TransitionReporter
from sync.adapter_file import AdapterFile, unpack
from sync.clock import Clock, SystemClock
from sync.cohorts import CohortPhone
from sync.errors import ProjectError, RejectedError
from sync.releases import Bundle, Reason, read_bundle, require_fits
from sync.trust import TrustedClient, enrol_root
from sync.vocabulary import FACTORY_RELEASE, Release

_MAX_REVERTED = 64


@dataclass(frozen=True, slots=True)
class InstallOutcome:
    """What came of one attempt.

    Attributes:
        applied: whether the release is what acts now.
        reason: why not.
        installed: what acts now, either way.
    """

    applied: bool
    installed: InstalledRelease
    reason: str | None = None
    detail: str = ""


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
    ) -> None:
        if trial_loads < 1:
            raise ValueError(f"a trial needs at least one load, got {trial_loads}")
        self._slots = Slots(phone_dir)
        self._candidate = CandidateFolder(phone_dir)
        self._bases = HeldBases(phone_dir)
        self._client = client
        self._phone = phone
        self._probe = probe
        self._shadow = shadow
        self._enter = TransitionReporter(report, SystemClock() if clock is None else clock)
        self._trial_loads = trial_loads
        self._judge = ReleaseJudge(
            self._slots,
            self._bases,
            client,
            partial(free_bytes, phone_dir) if free is None else free,
        )
        self._told: tuple[str, str] | None = None
        if base is not None and self._slots.state().base != base:
            with self._slots.locked():
                self._slots.write_state(msgspec.structs.replace(self._slots.state(), base=base))

    def current(self) -> InstalledRelease:
        """What acts now.

        Raises: InstalledFilesError: the slot that acts is not whole; `begin_load` reverts it.
        """
        return self._active(self._slots.state())

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
            return self._install(release, bundle.adapter, bundle.base)
        except RejectedError as error:
            return self._refused(error)

    def refresh(self, channel: str) -> InstallOutcome | None:
        """Install what `channel` points to; None where there is nothing to do.

        A release that was taken back on this phone is not tried again. Downloads hold up nothing
        that acts. A candidate whose scoring was broken off is not downloaded again.

        Raises: TransientError: the network failed, or scoring waits; what runs goes on, try again
            later.
        """
        release: Release | None = None
        try:
            release = self._client.channel(channel, self._phone)
            if release is None or not self._is_news(release):
                return None
            if (kept := self._candidate.adapter(release)) is not None:
                return self._install(release, kept, pointed_at=True)
            if self._told is None or self._told[0] != release.id:
                self._enter(InstallState.ANNOUNCED, release, detail=channel)
            state = self._slots.state()
            self._judge.require_worth_fetching(state, release)
            self._enter(InstallState.DOWNLOADING, release, detail=channel)
            adapter = self._client.adapter(release)
            base = self._missing_base(state, release)
            return self._install(release, adapter, base, pointed_at=True)
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
            opened = _opened(state, release, self._client.adapter(release))
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
            state = self._slots.state()
            if state.trial_left == 0:
                state = self._revert(state, Reason.CRASH_LOOP)
            state = self._whole(state)
            self._bases.keep(self._needed_bases())
            if state.trial_left is not None:
                left = state.trial_left - 1
                state = self._slots.write_state(msgspec.structs.replace(state, trial_left=left))
            return self._active(state)

    def commit(self, release_id: str | None = None) -> InstalledRelease:
        """The release on trial has shown that it can act: keep it. Idempotent.

        Args:
            release_id: which release has shown it; another one that came meanwhile stays on trial.
        """
        with self._slots.locked():
            state = self._slots.state()
            active = self._active(state)
            if state.trial_left is None or release_id not in {None, active.release_id}:
                return active
            state = self._slots.write_state(msgspec.structs.replace(state, trial_left=None))
            self._enter(InstallState.COMMITTED, active.release)
            return self._active(state)

    def revert(self, reason: Reason) -> InstalledRelease:
        """Go back to what acted before, and from there to the factory's policy."""
        with self._slots.locked():
            state = self._slots.state()
            if state.active != "factory":
                state = self._whole(self._revert(state, reason))
            return self._active(state)

    def _install(
        self,
        release: Release,
        adapter: bytes,
        base: bytes | None = None,
        *,
        pointed_at: bool = False,
    ) -> InstallOutcome:
        """Put a verified release on trial, after it was scored where somebody can do that.

        Args:
            base: the packed base that came with it.
            pointed_at: the channel asks for it; what is in a bundle may be as old as that.
        """
        with self._slots.locked():
            state = self._whole(self._slots.state())
            base_bytes = None if base is None else len(base)
            self._judge.require_installable(
                state, release, base_bytes=base_bytes, pointed_at=pointed_at
            )
            self._judge.require_space(len(adapter), base_bytes)
            opened = _opened(state, release, adapter)
            resumes = self._candidate.adapter(release) is not None
            if not resumes:
                self._enter(InstallState.VERIFIED, release)
            active = self._active(state)
            if active.release == release:
                return InstallOutcome(applied=True, installed=active, detail="it acts already")
            if base is not None and release.base_digest != state.base.digest:
                self._bases.put(release.base_digest, base)
            if self._shadow is None:
                return self._tried(self._on_trial(state, release, adapter), opened)
            if not resumes:
                self._candidate.put(release, adapter)
                self._enter(InstallState.STAGED, release)
                self._enter(InstallState.SHADOW, release)
            outcome = self._shadow(opened, active.read())
            if outcome.reason is not None:
                return self._turned_down(state, release, outcome)
            state = self._on_trial(state, release, adapter, outcome.figures)
            self._candidate.clear()
            return self._tried(state, opened)

    def _turned_down(
        self, state: SlotState, release: Release, outcome: ShadowOutcome
    ) -> InstallOutcome:
        """Refuse a candidate for what scoring found; it is not fetched again from its channel."""
        state = self._slots.write_state(
            msgspec.structs.replace(state, reverted=_with(state.reverted, release.id))
        )
        self._candidate.clear()
        self._enter(
            InstallState.IDLE,
            release,
            reason=str(outcome.reason),
            detail=outcome.detail,
            figures=outcome.figures,
        )
        return InstallOutcome(
            applied=False,
            installed=self._active(state),
            reason=str(outcome.reason),
            detail=outcome.detail,
        )

    def _on_trial(
        self,
        state: SlotState,
        release: Release,
        adapter: bytes,
        figures: ShadowFigures | None = None,
    ) -> SlotState:
        """The state once `release` acts, on trial, and what acted before is where to go back.

        Args:
            figures: what scoring found, where there was any.
        """
        if state.trial_left is not None:  # a newer release ends an older one's trial
            state = self._slots.write_state(
                msgspec.structs.replace(state, active=state.fallback, trial_left=None)
            )
        anew = self._judge.starts_anew(state)
        slot = other_slot(state.active)
        self._slots.write(slot, release, adapter)
        if figures is None:
            self._enter(InstallState.STAGED, release)
        state = self._slots.write_state(
            msgspec.structs.replace(
                state,
                active=slot,
                fallback=state.active,
                trial_left=self._trial_loads - (0 if self._probe is None else 1),
                floor=release.version if anew else max(state.floor, release.version),
                floor_keys=tuple(sorted(self._client.targets_keys())),
                reverted=tuple(other for other in state.reverted if other != release.id),
            )
        )
        self._enter(InstallState.TRIAL, release, figures=figures)
        return state

    def _tried(self, state: SlotState, adapter: AdapterFile) -> InstallOutcome:
        """The outcome of one load by the probe, which counts as the trial's first."""
        if self._probe is not None:
            try:
                self._probe(adapter)
            except ProjectError as error:
                reason = error.reason if isinstance(error, RejectedError) else Reason.PROBE_FAILED
                state = self._revert(state, reason, str(error))
                return InstallOutcome(
                    applied=False,
                    installed=self._active(state),
                    reason=str(reason),
                    detail=str(error),
                )
            except BaseException:
                self._revert(state, Reason.PROBE_FAILED)
                raise
        return InstallOutcome(applied=True, installed=self._active(state))

    def _missing_base(self, state: SlotState, release: Release) -> bytes | None:
        """The packed base of a release, fetched; None where it is here."""
        digest = release.base_digest
        if digest == state.base.digest or self._bases.holds(digest):
            return None
        return self._client.base(digest)

    def _needed_bases(self) -> set[str]:
        """The bases of the releases in both slots, and of the candidate."""
        needed = set()
        for slot in SLOTS:
            try:
                found = self._slots.installed(slot).release
            except InstalledFilesError:
                continue
            if found is not None:
                needed.add(found.base_digest)
        candidate = self._candidate.release()
        return needed if candidate is None else needed | {candidate.base_digest}

    def _is_news(self, release: Release) -> bool:
        state = self._slots.state()
        if release.id in state.reverted:
            return False
        try:
            return self._slots.checked(state.active).release != release
        except InstalledFilesError:
            return True

    def _active(self, state: SlotState) -> InstalledRelease:
        return self._slots.installed(state.active, on_trial=state.trial_left is not None)

    def _whole(self, state: SlotState) -> SlotState:
        """The state once nothing acts that is damaged or made for another base."""
        while state.active != "factory":
            try:
                release = self._slots.checked(state.active).release
                if release is not None:
                    self._judge.require_fits(state, release)
                return state
            except InstalledFilesError as error:
                state = self._revert(state, Reason.DAMAGED, str(error))
            except RejectedError as error:
                state = self._revert(state, error.reason, str(error))
        return state

    def _revert(self, state: SlotState, reason: str, detail: str = "") -> SlotState:
        try:
            release = self._slots.installed(state.active).release
        except InstalledFilesError:
            release = None
        reverted = state.reverted if release is None else _with(state.reverted, release.id)
        state = self._slots.write_state(
            msgspec.structs.replace(
                state,
                active=state.fallback,
                fallback="factory",
                trial_left=None,
                reverted=reverted,
            )
        )
        self._enter(InstallState.REVERTED, release, reason=reason, detail=detail)
        return state

    def _refused(self, error: RejectedError, release: Release | None = None) -> InstallOutcome:
        told = None if release is None else (str(release.id), str(error.reason))
        if told is None or told != self._told:  # a channel is looked at again and again
            self._enter(InstallState.IDLE, release, reason=error.reason, detail=str(error))
        self._told = told
        with self._slots.locked():
            installed = self._active(self._whole(self._slots.state()))
        return InstallOutcome(
            applied=False, installed=installed, reason=str(error.reason), detail=str(error)
        )


def _with(reverted: tuple[str, ...], release_id: str) -> tuple[str, ...]:
    """The releases that are not fetched again, and one more."""
    if release_id in reverted:
        return reverted
    return (*reverted, release_id)[-_MAX_REVERTED:]


def _opened(state: SlotState, release: Release, adapter: bytes) -> AdapterFile:
    """The adapter, readable, finite, and made for what its release says."""
    opened = unpack(adapter)
    inside = dataclasses.replace(
        release, base_digest=opened.base_digest, policy_io_version=opened.policy_io_version
    )
    require_fits(
        inside,
        base_digest=release.base_digest,
        policy_io_version=state.base.policy_io_version,
    )
    return opened


def _claimed(bundle: Bundle) -> Release | None:
    """What the bundle says it is, for the report only."""
    try:
        return bundle.release()
    except RejectedError:
        return None
