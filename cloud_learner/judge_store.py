"""Which stored episodes nobody has judged yet, and where a judge's verdicts on them go."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, select

from cloud_learner.store import Database
from cloud_learner.tables import EPISODE_BODIES, EPISODES, VERDICTS
from cloud_learner.verdict_store import store_late_verdict
from sync.codec import decode_episode
from sync.vocabulary import EndReason, Episode, Verdict, VerdictSource

_PAGE = 64
_CUT_OFF = (EndReason.GUARD.value, EndReason.ENV_ERROR.value)
"""Ends that nobody judges: what would have come of the episode is not known."""


class JudgeStore:
    """The cloud database as a judge sees it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def unjudged(self, *, judge: str, version: str, again: bool = False) -> Iterator[Episode]:
        """Episodes that are decided by nobody, in row order; read page by page.

        Args:
            judge, version: whoever asks; what it has judged before is left out.
            again: also what it could not decide before.
        """
        after = 0
        while True:
            with self._database.read() as connection:
                page = _page(connection, after, judge=judge, version=version, again=again)
            for _, body in page:
                yield decode_episode(body)
            if len(page) < _PAGE:
                return
            after = page[-1][0]

    def store(self, verdict: Verdict) -> bool:
        """Store a late verdict and let the episode's row follow; False where it says nothing new.

        Raises: UnknownRowError: there is no such episode.
        """
        with self._database.write() as connection:
            return store_late_verdict(connection, verdict)


def _page(
    connection: Connection, after: int, *, judge: str, version: str, again: bool
) -> list[tuple[int, bytes]]:
    mine = select(VERDICTS.c.episode_id).where(
        VERDICTS.c.verifier == judge,
        VERDICTS.c.verifier_version == version,
        VERDICTS.c.source == VerdictSource.JUDGE.value,
    )
    if again:
        mine = mine.where(VERDICTS.c.score.is_not(None))
    statement = (
        select(EPISODES.c.row, EPISODE_BODIES.c.body)
        .join(EPISODE_BODIES, EPISODE_BODIES.c.row == EPISODES.c.row)
        .where(
            EPISODES.c.row > after,
            EPISODES.c.success.is_(None),
            EPISODES.c.duplicate.is_(False),
            EPISODES.c.end_reason.not_in(_CUT_OFF),
            EPISODES.c.id.not_in(mine),
        )
        .order_by(EPISODES.c.row)
        .limit(_PAGE)
    )
    return [(int(row), bytes(body)) for row, body in connection.execute(statement)]
