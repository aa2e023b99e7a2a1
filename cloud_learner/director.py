"""The director: looks at the facts, makes the campaign's next move, and hands out what is open.

One thread calls `tick` again and again. Each tick brings the database, the signed releases and the
devices in line, in an order in which a kill at any point loses nothing: first the decision is
committed, then it is carried out; what was committed and not carried out is found again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import structlog

from cloud_learner.campaign import CampaignState, Facts, GateRecord, Move, Phase, advance
from cloud_learner.campaign_store import CampaignStore
from cloud_learner.dispatch import share_out
from cloud_learner.ports import Downlink
from cloud_learner.publishing import Publishing
from cloud_learner.settings import CampaignSettings, DispatchSettings
from sync.clock import Clock
from sync.errors import TransientError
from sync.messages import AssignmentBatch

_log = structlog.get_logger()
_KEEP_TIME_S = 1.0
_EXPIRE_S = 2.0


@dataclass(frozen=True, slots=True)
class PhaseChanged:
    """The campaign entered a phase."""

    phase: Phase
    active_s: float
    env_steps: int


Notice = PhaseChanged | GateRecord


class Director:
    """Runs one campaign.

    Args:
        settings: for a new campaign; one that was begun before keeps its own.
        tell: called with what the terminal and the log should know.
    """

    def __init__(
        self,
        store: CampaignStore,
        *,
        publishing: Publishing,
        downlink: Downlink,
        settings: CampaignSettings,
        dispatch: DispatchSettings,
        clock: Clock,
        tell: Callable[[Notice], None],
    ) -> None:
        self._store = store
        self._publishing = publishing
        self._downlink = downlink
        self._dispatch = dispatch
        self._clock = clock
        self._tell = tell
        self.settings, self.state, self.active_s = store.begin(settings)
        self._looked_at_s = clock.monotonic_s()
        self._kept_s = self.active_s
        self._expired_at_s = self._looked_at_s
        self._said: Phase | None = None
        self._is_settled = False  # whether the signed releases are as the database wants them

    def tick(self) -> CampaignState:
        """One look and what follows from it.

        Raises:
            StoreUnavailableError: nothing was decided; call again.
            IntegrityError: a delivered adapter was changed on disk.
        """
        self._take_time()
        self._settle_releases()
        facts = self._store.facts(
            self.active_s,
            published_version=self._publishing.latest_version,
            with_records=self.settings.curriculum.enabled and self.state.phase is Phase.LEARN,
        )
        self._move(advance(self.settings, self.state, facts), facts)
        self._hand_out()
        return self.state

    def _take_time(self) -> None:
        now_s = self._clock.monotonic_s()
        self.active_s += now_s - self._looked_at_s
        self._looked_at_s = now_s
        if self.active_s - self._kept_s >= _KEEP_TIME_S and self.state.phase is not Phase.FINISHED:
            self._store.keep_time(self.active_s)
            self._kept_s = self.active_s

    def _settle_releases(self) -> None:
        if not self._is_settled:
            self._publishing.reconcile(self.state.promoted)
            self._is_settled = True

    def _move(self, move: Move, facts: Facts) -> None:
        if move != Move(self.state):
            self._store.apply(move, active_s=self.active_s, env_steps=facts.env_steps)
            self._kept_s = self.active_s
            self.state = move.state
            self._is_settled = self._is_settled and move.publish is None and move.gate is None
            self._settle_releases()
        if move.gate is not None:
            _log.info("gate_decided", release_id=move.gate.release_id, reason=move.gate.reason)
            self._tell(move.gate)
        if self.state.phase is not self._said:
            self._said = self.state.phase
            self._tell(PhaseChanged(self.state.phase, self.active_s, facts.env_steps))

    def _hand_out(self) -> None:
        now_s = self._clock.monotonic_s()
        if now_s - self._expired_at_s >= _EXPIRE_S:
            self._expired_at_s = now_s
            self._store.expire(self._dispatch)
        waiting = self._store.open_assignments()
        if not waiting:
            return
        players = self._store.players(self._dispatch)
        for device_id, ids in share_out(waiting, players, self._dispatch).items():
            limit = self._dispatch.message_limit
            for start in range(0, len(ids), limit):
                self._send(device_id, ids[start : start + limit])

    def _send(self, device_id: str, assignment_ids: list[str]) -> None:
        assignments = self._store.mark_sent(device_id, assignment_ids)
        if not assignments:
            return
        try:
            self._downlink.send(device_id, AssignmentBatch(assignments=tuple(assignments)))
        except TransientError:
            self._store.take_back(assignment_ids)
