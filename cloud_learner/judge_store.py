"""Which stored episodes nobody has judged yet, and what becomes of them when somebody does.

A late verdict (a judge's, an owner's) is a row of its own; the episode's counting columns follow
the verdict that counts most, so that figures, API and audit say the same afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from sqlalchemy import Connection, delete, select, update

from cloud_learner.errors import UnknownRowError
from cloud_learner.ingest_store import claimed_complete, deciding_verdict, record_verdict
from cloud_learner.store import Database
from cloud_learner.tables import EPISODE_BODIES, EPISODES, VERDICTS
from sync.codec import decode_episode
from sync.vocabulary import EndReason, Episode, Verdict, VerdictSource

_PAGE = 64


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


def store_late_verdict(connection: Connection, verdict: Verdict) -> bool:
    """Store a verdict on an episode that is stored already; inside the caller's transaction.

    One verifier of one version says one thing of an episode; only where it could not decide before
    may it say something else.

    Raises: UnknownRowError: there is no such episode.
    """
    found = connection.execute(
        select(EPISODE_BODIES.c.body)
        .join(EPISODES, EPISODES.c.row == EPISODE_BODIES.c.row)
        .where(EPISODES.c.id == verdict.episode_id)
    ).first()
    if found is None:
        raise UnknownRowError("episode", verdict.episode_id)
    same = (
        VERDICTS.c.episode_id == verdict.episode_id,
        VERDICTS.c.verifier == verdict.verifier,
        VERDICTS.c.verifier_version == verdict.verifier_version,
        VERDICTS.c.source == verdict.source.value,
    )
    known = connection.execute(select(VERDICTS.c.score).where(*same)).first()
    if known is not None and (known.score is not None or verdict.score is None):
        return False
    connection.execute(delete(VERDICTS).where(*same))
    record_verdict(connection, verdict)
    _follow(connection, decode_episode(found.body))
    return True


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
            EPISODES.c.end_reason != EndReason.ENV_ERROR.value,
            EPISODES.c.id.not_in(mine),
        )
        .order_by(EPISODES.c.row)
        .limit(_PAGE)
    )
    return [(int(row), bytes(body)) for row, body in connection.execute(statement)]


def _follow(connection: Connection, episode: Episode) -> None:
    """Let an episode's columns say what the verdict says that counts."""
    rows = connection.execute(select(VERDICTS).where(VERDICTS.c.episode_id == episode.id))
    verdict = deciding_verdict([_verdict(row) for row in rows.mappings()])
    if verdict is None:
        return
    success = None if verdict.score is None else verdict.success
    connection.execute(
        update(EPISODES)
        .where(EPISODES.c.id == episode.id)
        .values(
            success=success,
            score=verdict.score,
            progress=verdict.progress,
            goal_reached=verdict.goal_reached,
            false_finish=claimed_complete(episode) and success is False,
        )
    )


def _verdict(row: Any) -> Verdict:  # Any: columns of any type
    return msgspec.convert({name: row[name] for name in row}, Verdict)
