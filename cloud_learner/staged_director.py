"""The director of staged releases: looks at the facts and makes the signed channel follow.

One thread calls `tick` again and again. Each tick carries out what the state of each staged release
asks for, and tells the state machine that it is so; then it looks at the evidence, and carries out
what follows from that. A kill between any two of these repeats an effect, which the second time
finds the channel as it should be.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

import structlog

from cloud_learner.errors import StagedReleaseError
from cloud_learner.ports import Downlink, StagedSigner
from cloud_learner.staged_evidence_store import EvidenceStore
from cloud_learner.staged_offer import offer_of
from cloud_learner.staged_phone_store import StagedPhones
from cloud_learner.staged_release import (
    ENDED,
    OFFERED,
    Carried,
    Effect,
    Entry,
    Look,
    OfferStage,
    PointChannel,
    StagedPhase,
    TakeBack,
    effects_of,
)
from cloud_learner.staged_store import StagedRelease, StagedStore
from sync.clock import Clock
from sync.errors import ProjectError, TransientError
from sync.messages import ReleaseAnnouncement
from sync.releases import ChannelPointer, roll_back_of
from sync.vocabulary import ReleaseId

_log = structlog.get_logger()
_READ_EVERY_S: Final = 1.0
_REST: Final = 20.0
"""A look that took a second is followed by so many seconds without one."""


@dataclass(frozen=True, slots=True)
class StagedChanged:
    """A staged release entered a phase, or something was noted of it."""

    release_id: str
    entry: Entry


class StagedDirector:
    """Runs every staged release of a fleet.

    Args:
        look_every_s: least pause between two looks at the evidence; a long look makes it longer.
        tell: called with each line that the audit log gets from here.
    """

    def __init__(
        self,
        store: StagedStore,
        phones: StagedPhones,
        evidence: EvidenceStore,
        *,
        signer: StagedSigner,
        downlink: Downlink,
        clock: Clock,
        look_every_s: float,
        tell: Callable[[StagedChanged], None],
    ) -> None:
        self._store = store
        self._phones = phones
        self._evidence = evidence
        self._signer = signer
        self._downlink = downlink
        self._clock = clock
        self._look_every_s = look_every_s
        self._tell = tell
        self._look_at_s = clock.monotonic_s()
        self._read_at_s = self._look_at_s
        self._failed: dict[str, str] = {}

    def tick(self) -> None:
        """Carry out what is to be done; look at the evidence where it is time to.

        Call it as often as you like: it reads the database once a second.

        Raises: StoreUnavailableError: nothing was decided; call again.
        """
        began_s = self._clock.monotonic_s()
        if began_s < self._read_at_s:
            return
        self._read_at_s = began_s + _READ_EVERY_S
        is_time = began_s >= self._look_at_s
        for staged in self._store.open():
            self._carry_out(staged)
            if is_time:
                self._look(staged.release_id)
        if is_time:
            took_s = self._clock.monotonic_s() - began_s
            self._look_at_s = began_s + max(self._look_every_s, _REST * took_s)

    def _look(self, release_id: str) -> None:
        """Look until nothing follows any more: one event makes one transition."""
        staged = self._store.get(release_id)
        self._phones.note(staged)
        while (before := staged.state).phase not in ENDED:
            self._told(release_id, self._store.tell(release_id, self._facts(staged)).entries)
            staged = self._store.get(release_id)
            self._carry_out(staged)
            staged = self._store.get(release_id)
            if staged.state == before:
                return

    def _facts(self, staged: StagedRelease) -> Look:
        match staged.state.phase:
            case StagedPhase.APPROVED:
                pointer = self._signer.channel(staged.channel)
                return Look(
                    channel_is_free=self._is_free(staged),
                    moved=_beside({staged.replaces}, pointer),
                )
            case StagedPhase.ROLLING_BACK:
                return Look(still_exposed=self._phones.still_exposed(staged))
            case phase if phase in OFFERED:
                pointer = self._signer.channel(staged.channel)
                return Look(evidence=self._evidence.evidence(staged), moved=_moved(staged, pointer))
            case _:
                return Look()

    def _is_free(self, staged: StagedRelease) -> bool:
        """Whether the channel is as it was planned for, and no other one is under way on it."""
        pointer = self._signer.channel(staged.channel)
        if pointer is None or pointer.release_id != staged.replaces:
            return False
        return not any(
            other.channel == staged.channel
            and other.release_id != staged.release_id
            and other.state.phase not in {StagedPhase.DRAFT, StagedPhase.APPROVED}
            for other in self._store.open()
        )

    def _carry_out(self, staged: StagedRelease) -> None:
        for effect in effects_of(staged.state):
            try:
                carried = self._make_true(staged, effect)
            except TransientError:
                raise
            except (ProjectError, OSError, ValueError) as error:
                self._say_once(staged.release_id, str(error))
                return
            self._failed.pop(staged.release_id, None)
            try:
                move = self._store.tell(staged.release_id, carried)
            except StagedReleaseError:
                return
            self._told(staged.release_id, move.entries)

    def _make_true(self, staged: StagedRelease, effect: Effect) -> Carried:
        """Make the channel as `effect` says; it may be so already.

        Raises: RejectedError, IntegrityError: it cannot be signed.
        """
        pointer = self._signer.channel(staged.channel)
        match effect:
            case OfferStage(stage):
                self._offer(staged, stage, pointer)
            case PointChannel():
                self._point(staged.channel, staged.release_id, pointer)
            case TakeBack():
                return Carried(effect, version=self._take_back(staged, pointer))
        return Carried(effect)

    def _offer(self, staged: StagedRelease, stage: int, pointer: ChannelPointer | None) -> None:
        if pointer is None or pointer.release_id == staged.release_id:
            return  # everybody has it: whoever resumes after that only soaks
        version = self._signer.release(staged.release_id).version
        offer = offer_of(staged.release_id, version, staged.plan, stage)
        if pointer.staged != offer:
            self._signer.offer(staged.channel, offer)
        self._announce(staged.channel, staged.release_id, version)

    def _point(self, channel: str, release_id: str, pointer: ChannelPointer | None) -> None:
        if pointer is None or pointer.release_id != release_id:
            self._signer.set_channel(channel, release_id)
        self._announce(channel, release_id, self._signer.release(release_id).version)

    def _take_back(self, staged: StagedRelease, pointer: ChannelPointer | None) -> int:
        """Sign the release that points at the old adapter; its version."""
        source = _moved(staged, pointer) or staged.replaces
        ours = self._signer.release(staged.release_id).version
        if pointer is not None and source != staged.replaces and pointer.version > ours:
            return pointer.version  # somebody gave the channel a release above ours
        if pointer is None or pointer.release_id != staged.roll_back_id:
            old = self._signer.release(source)
            again = roll_back_of(
                old,
                new_id=ReleaseId(staged.roll_back_id),
                version=1 + max(self._signer.latest_version, self._store.highest_version()),
                now_ms=self._clock.wall_ms(),
            )
            self._signer.publish(again, self._signer.adapter(old.id), staged.channel)
        version = self._signer.release(staged.roll_back_id).version
        self._store.keep_roll_back(staged, source=source, version=version)
        self._announce(staged.channel, staged.roll_back_id, version)
        return version

    def _announce(self, channel: str, release_id: str, version: int) -> None:
        """Say that there is something to look for; devices look by themselves, too."""
        try:
            self._downlink.announce(
                ReleaseAnnouncement(channel=channel, release_id=release_id, version=version)
            )
        except TransientError as error:
            _log.info("announcement_postponed", error=str(error))

    def _told(self, release_id: str, entries: tuple[Entry, ...]) -> None:
        for entry in entries:
            _log.info("staged_release", release_id=release_id, phase=entry.now, why=entry.reason)
            self._tell(StagedChanged(release_id, entry))

    def _say_once(self, release_id: str, error: str) -> None:
        if self._failed.get(release_id) != error:
            self._failed[release_id] = error
            _log.warning("staged_release_not_signed", release_id=release_id, error=error)


def _moved(staged: StagedRelease, pointer: ChannelPointer | None) -> str:
    """What somebody else pointed the channel at; empty where nobody did."""
    return _beside({staged.replaces, staged.release_id, staged.roll_back_id}, pointer)


def _beside(known: Collection[str], pointer: ChannelPointer | None) -> str:
    """What a channel points at, where that is none of these."""
    return "" if pointer is None or pointer.release_id in known else str(pointer.release_id)
