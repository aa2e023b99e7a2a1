"""Which episodes tell of a staged release, and which of the one that it replaces: as SQL.

A phone is in the arm of the release from the stage on whose share holds it; until then, and for
ever where it is held out, it is in the other arm, with the release that is to be replaced. Episodes
of anything else count in neither. An episode belongs to the time when it was played: phones that
were away bring old ones, and only one of the arms has those.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, FromClause, Integer, and_, case, cast

from cloud_learner.staged_phone_store import ChannelPhone
from cloud_learner.staged_store import StagedRelease
from cloud_learner.tables import DEVICES, EPISODES

PLAYED: FromClause = EPISODES.outerjoin(DEVICES, DEVICES.c.device_id == EPISODES.c.device_id)
"""Episodes, beside what is known of their phones' clocks."""
_ended_at_ms: ColumnElement[int] = EPISODES.c.ended_at_ms + DEVICES.c.clock_offset_ms
played_at_ms: ColumnElement[int] = case(
    (and_(EPISODES.c.ended_at_ms > 0, _ended_at_ms < EPISODES.c.received_at_ms), _ended_at_ms),
    else_=EPISODES.c.received_at_ms,
)
"""When an episode ended by the cloud's clock; when it came where the phone's clock is unknown."""


class Arms:
    """Which phone is in which arm, and by which index."""

    def __init__(self, staged: StagedRelease, phones: Sequence[ChannelPhone]) -> None:
        self.staged = staged
        self.index = {phone.device_id: at for at, phone in enumerate(phones)}
        self._from = [phone.offered_from for phone in phones]

    def counts(self, device_id: str, period: int, *, is_candidate: bool) -> bool:
        """Whether an episode of that phone, period and release is in its arm."""
        at = self.index.get(device_id)
        if at is None:
            return False
        offered_from = self._from[at]
        is_offered = offered_from is not None and offered_from <= period
        return is_offered is is_candidate


def of_arm(staged: StagedRelease, *, is_candidate: bool) -> Any:  # an SQL expression
    """Episodes that a release of this arm played by itself since the first stage."""
    began_ms = staged.stages_began_ms[0]
    return and_(
        EPISODES.c.received_at_ms >= began_ms,  # which the index answers
        played_at_ms >= began_ms,
        EPISODES.c.actor == "release",
        EPISODES.c.duplicate.is_(False),
        EPISODES.c.release_id == (staged.release_id if is_candidate else staged.replaces),
    )


def before_it_began(staged: StagedRelease, within_ms: int) -> Any:  # an SQL expression
    """Episodes that phones played by themselves in the time before the first stage."""
    began_ms = staged.stages_began_ms[0]
    return and_(
        EPISODES.c.received_at_ms >= began_ms - within_ms,
        EPISODES.c.received_at_ms < began_ms,
        EPISODES.c.actor == "release",
        EPISODES.c.duplicate.is_(False),
    )


def period_of(staged: StagedRelease) -> Any:  # an SQL expression
    """Index of the stage in which an episode was played."""
    later = list(enumerate(staged.stages_began_ms))[:0:-1]
    if not later:
        return cast(0, Integer)
    return case(*((played_at_ms >= at_ms, stage) for stage, at_ms in later), else_=0)
