"""How a verified release comes to act: judged, laid beside what runs, scored, tried by one load.

verified → (base laid) → staged → shadow → trial → loaded once by the probe
   └─────────────────────────────────┴→ idle (refused)      └→ reverted
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from device_runtime.acting_release import ActingRelease
from device_runtime.candidate import CandidateFolder
from device_runtime.held_bases import HeldBases
from device_runtime.shadow import ShadowOutcome, Shadows
from device_runtime.slots import InstalledRelease, Slots, SlotState
from device_runtime.transitions import InstallState
from sync.adapter_file import AdapterFile, unpack
from sync.errors import ProjectError, RejectedError
from sync.releases import Reason, require_fits
from sync.vocabulary import Release


@dataclass(frozen=True, slots=True)
class InstallOutcome:
    """What came of one attempt.

    Attributes:
        applied: whether the release is what acts now.
        reason: why not.
        installed: what acts now, either way.
        adapter: what acts now, opened; None where the release was not applied.
    """

    applied: bool
    installed: InstalledRelease
    reason: str | None = None
    detail: str = ""
    adapter: AdapterFile | None = None


@dataclass(frozen=True, slots=True)
class TrialStart:
    """Puts releases on trial on one phone.

    Attributes:
        probe: loads an adapter as the policy would; raises a `ProjectError` where it cannot.
        shadow: scores a candidate before its trial; None tries it without.
    """

    slots: Slots
    candidate: CandidateFolder
    bases: HeldBases
    acting: ActingRelease
    probe: Callable[[AdapterFile], None] | None
    shadow: Shadows | None

    def install(
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

        Raises: RejectedError: this phone does not take it; nothing was changed.
        """
        with self.slots.locked():
            state = self.acting.whole(self.slots.state())
            self._require(state, release, adapter, base, pointed_at=pointed_at)
            opened = opened_for(state, release, adapter)
            resumes = self.candidate.adapter(release) is not None
            if not resumes:
                self.acting.enter(InstallState.VERIFIED, release)
            active = self.acting.of(state)
            if active.release == release:
                return InstallOutcome(
                    applied=True, installed=active, detail="it acts already", adapter=opened
                )
            if base is not None and release.base_digest != state.base.digest:
                self.bases.put(release.base_digest, base)
            if self.shadow is None:
                return self._tried(self._on_trial(state, release, adapter), opened)
            if not resumes:
                self.candidate.put(release, adapter)
                self.acting.enter(InstallState.STAGED, release)
                self.acting.enter(InstallState.SHADOW, release)
            outcome = self.shadow(opened, active.read())
            if outcome.reason is not None:
                return self._turned_down(state, release, outcome)
            state = self._on_trial(state, release, adapter, outcome)
            self.candidate.clear()
            return self._tried(state, opened)

    def _require(
        self,
        state: SlotState,
        release: Release,
        adapter: bytes,
        base: bytes | None,
        *,
        pointed_at: bool,
    ) -> None:
        """Nothing where the phone takes the release and has room for it."""
        judge, base_bytes = self.acting.judge, None if base is None else len(base)
        judge.require_installable(state, release, base_bytes=base_bytes, pointed_at=pointed_at)
        judge.require_space(len(adapter), base_bytes)

    def _on_trial(
        self,
        state: SlotState,
        release: Release,
        adapter: bytes,
        scored: ShadowOutcome | None = None,
    ) -> SlotState:
        """The state once the release acts; the probe's load is the trial's first."""
        return self.acting.put_on_trial(
            state,
            release,
            adapter,
            loads_used=0 if self.probe is None else 1,
            figures=None if scored is None else scored.figures,
        )

    def _turned_down(
        self, state: SlotState, release: Release, outcome: ShadowOutcome
    ) -> InstallOutcome:
        """Refuse a candidate for what scoring found; it is not fetched again from its channel."""
        state = self.acting.bar(state, release)
        self.candidate.clear()
        self.acting.enter(
            InstallState.IDLE,
            release,
            reason=str(outcome.reason),
            detail=outcome.detail,
            figures=outcome.figures,
        )
        return self._not_applied(state, str(outcome.reason), outcome.detail)

    def _tried(self, state: SlotState, adapter: AdapterFile) -> InstallOutcome:
        """The outcome of one load by the probe, which counts as the trial's first."""
        if self.probe is not None:
            try:
                self.probe(adapter)
            except ProjectError as error:
                reason = error.reason if isinstance(error, RejectedError) else Reason.PROBE_FAILED
                state = self.acting.revert(state, reason, str(error))
                return self._not_applied(state, str(reason), str(error))
            except BaseException:
                self.acting.revert(state, Reason.PROBE_FAILED)
                raise
        return InstallOutcome(applied=True, installed=self.acting.of(state), adapter=adapter)

    def _not_applied(self, state: SlotState, reason: str, detail: str) -> InstallOutcome:
        return InstallOutcome(
            applied=False, installed=self.acting.of(state), reason=reason, detail=detail
        )


def opened_for(state: SlotState, release: Release, adapter: bytes) -> AdapterFile:
    """The adapter of a release, readable, finite, and made for what its release says.

    Raises: RejectedError: it is not.
    """
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
