"""Whether a phone should take a release, judged by its signed description before any download.

Base, encoding and program must fit, its version must be above all that was ever tried here, and
there must be room. Nothing here changes anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from device_runtime.errors import InstalledFilesError
from device_runtime.free_space import require_space
from device_runtime.held_bases import HeldBases
from device_runtime.slots import Slots, SlotState
from sync.releases import require_fits, require_newer
from sync.runtime_level import RUNTIME_LEVEL
from sync.trust import TrustedClient
from sync.vocabulary import Release


@dataclass(frozen=True, slots=True)
class ReleaseJudge:
    """The rules of one phone.

    Attributes:
        free: how many bytes the phone's disk has free.
        runtime: level of the phone's program.
    """

    slots: Slots
    bases: HeldBases
    client: TrustedClient
    free: Callable[[], int]
    runtime: int = RUNTIME_LEVEL

    def require_worth_fetching(self, state: SlotState, release: Release) -> None:
        """Nothing where what a channel points to may be downloaded.

        Raises: RejectedError: the phone would refuse it, or has no room for it.
        """
        base_bytes = self.base_to_fetch(state, release)
        if not self.starts_anew(state):
            self._require_newer(state, release)
        self.require_fits(state, release, base_bytes=base_bytes)
        self.require_space(release.adapter_size_bytes, base_bytes)

    def require_installable(
        self, state: SlotState, release: Release, *, base_bytes: int | None, pointed_at: bool
    ) -> None:
        """Nothing where a verified release may go on trial.

        Args:
            base_bytes: as for `require_fits`.
            pointed_at: the phone's channel asks for it, signed just now.

        Raises: RejectedError: it may not.
        """
        if not (pointed_at and self.starts_anew(state)):
            self._require_newer(state, release)
        self.require_fits(state, release, base_bytes=base_bytes)

    def require_fits(
        self, state: SlotState, release: Release, *, base_bytes: int | None = 0
    ) -> None:
        """Nothing where the phone can run `release`.

        Args:
            base_bytes: size of its base where that comes with it; 0 where it has to be here, None
                where it is neither here nor to be had.

        Raises: RejectedError: "base_mismatch", "policy_io_mismatch" or "runtime_too_old".
        """
        digest = release.base_digest
        held = bool(base_bytes) or (digest != state.base.digest and self.bases.holds(digest))
        require_fits(
            release,
            base_digest=state.base.digest,
            policy_io_version=state.base.policy_io_version,
            others=(digest,) if held else (),
            runtime=self.runtime,
        )

    def require_space(self, adapter_bytes: int, base_bytes: int | None) -> None:
        """Nothing where there is room for an adapter and, where it comes with it, its base.

        Raises: RejectedError: "no_space".
        """
        require_space(self.free(), adapter_bytes=adapter_bytes, base_bytes=base_bytes or 0)

    def base_to_fetch(self, state: SlotState, release: Release) -> int | None:
        """Size of the base that has to come with a release; 0 where it is here, None: not signed.

        Raises: TransientError: the network failed.
        """
        digest = release.base_digest
        if digest == state.base.digest or self.bases.holds(digest):
            return 0
        return self.client.base_size_bytes(digest)

    def starts_anew(self, state: SlotState) -> bool:
        """Whether none of the keys counts any more under which versions were counted here.

        Whoever stole those keys may have signed any version, and phones would refuse everything
        below it for ever; so a channel that was signed with the new keys counts from where it is.
        """
        return bool(state.floor_keys) and not self.client.targets_keys() & set(state.floor_keys)

    def _require_newer(self, state: SlotState, release: Release) -> None:
        try:
            installed = self.slots.installed(state.active).release
        except InstalledFilesError:
            installed = None
        require_newer(release, installed=installed, floor=state.floor)
