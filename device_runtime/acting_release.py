"""Which release acts on a phone, and how that changes: put on trial, kept, taken back.

Each change is one rename of `slots/state.json`, so a crash at any moment leaves the old release or
the new one. Whoever calls holds the slots' lock, and passes the state that it read under it.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from device_runtime.errors import InstalledFilesError
from device_runtime.release_judge import ReleaseJudge
from device_runtime.shadow import ShadowFigures
from device_runtime.slots import SLOTS, InstalledRelease, Slots, SlotState, other_slot
from device_runtime.transitions import InstallState, TransitionReporter
from sync.errors import RejectedError
from sync.releases import Reason
from sync.vocabulary import Release

_MAX_REVERTED = 64


@dataclass(frozen=True, slots=True)
class ActingRelease:
    """What acts on one phone.

    Attributes:
        judge: says what fits this phone.
        enter: tells of each state that is entered.
        trial_loads: how often a release may be loaded before it must have been committed.
    """

    slots: Slots
    judge: ReleaseJudge
    enter: TransitionReporter
    trial_loads: int

    def of(self, state: SlotState) -> InstalledRelease:
        """What acts in `state`.

        Raises: InstalledFilesError: the slot that acts is not whole.
        """
        return self.slots.installed(state.active, on_trial=state.trial_left is not None)

    def whole(self, state: SlotState) -> SlotState:
        """The state once nothing acts that is damaged or made for another base."""
        while state.active != "factory":
            try:
                release = self.slots.checked(state.active).release
                if release is not None:
                    self.judge.require_fits(state, release)
                return state
            except InstalledFilesError as error:
                state = self.revert(state, Reason.DAMAGED, str(error))
            except RejectedError as error:
                state = self.revert(state, error.reason, str(error))
        return state

    def put_on_trial(
        self,
        state: SlotState,
        release: Release,
        adapter: bytes,
        *,
        loads_used: int,
        figures: ShadowFigures | None = None,
    ) -> SlotState:
        """The state once `release` acts, on trial, and what acted before is where to go back.

        Args:
            loads_used: how many of the trial's loads come with this.
            figures: what scoring found, where there was any.
        """
        if state.trial_left is not None:  # a newer release ends an older one's trial
            state = self.slots.write_state(
                msgspec.structs.replace(state, active=state.fallback, trial_left=None)
            )
        anew = self.judge.starts_anew(state)
        slot = other_slot(state.active)
        self.slots.write(slot, release, adapter)
        if figures is None:
            self.enter(InstallState.STAGED, release)
        state = self.slots.write_state(
            msgspec.structs.replace(
                state,
                active=slot,
                fallback=state.active,
                trial_left=self.trial_loads - loads_used,
                floor=release.version if anew else max(state.floor, release.version),
                floor_keys=tuple(sorted(self.judge.client.targets_keys())),
                reverted=tuple(other for other in state.reverted if other != release.id),
            )
        )
        self.enter(InstallState.TRIAL, release, figures=figures)
        return state

    def count_load(self, state: SlotState) -> SlotState:
        """The state before what acts is loaded: a release on trial loses one of its loads.

        One that has none left is taken back, as is what is damaged or fits no more.
        """
        if state.trial_left == 0:
            state = self.revert(state, Reason.CRASH_LOOP)
        state = self.whole(state)
        if state.trial_left is None:
            return state
        left = state.trial_left - 1
        return self.slots.write_state(msgspec.structs.replace(state, trial_left=left))

    def commit(self, state: SlotState) -> SlotState:
        """The state once the release on trial is kept."""
        state = self.slots.write_state(msgspec.structs.replace(state, trial_left=None))
        self.enter(InstallState.COMMITTED, self.of(state).release)
        return state

    def revert(self, state: SlotState, reason: str, detail: str = "") -> SlotState:
        """The state once what acted before acts again."""
        try:
            release = self.slots.installed(state.active).release
        except InstalledFilesError:
            release = None
        state = self.slots.write_state(
            msgspec.structs.replace(
                state,
                active=state.fallback,
                fallback="factory",
                trial_left=None,
                reverted=state.reverted if release is None else _with(state.reverted, release.id),
            )
        )
        self.enter(InstallState.REVERTED, release, reason=reason, detail=detail)
        return state

    def bar(self, state: SlotState, release: Release) -> SlotState:
        """The state once `release` is not fetched again from its channel."""
        return self.slots.write_state(
            msgspec.structs.replace(state, reverted=_with(state.reverted, release.id))
        )

    def bases(self) -> set[str]:
        """The bases of the releases in both slots."""
        needed = set()
        for slot in SLOTS:
            try:
                found = self.slots.installed(slot).release
            except InstalledFilesError:
                continue
            if found is not None:
                needed.add(found.base_digest)
        return needed


def _with(reverted: tuple[str, ...], release_id: str) -> tuple[str, ...]:
    """The releases that are not fetched again, and one more."""
    if release_id in reverted:
        return reverted
    return (*reverted, release_id)[-_MAX_REVERTED:]
