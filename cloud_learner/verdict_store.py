"""Verdicts as rows: which one counts, and what becomes of an episode when one comes later.

A late verdict (a judge's, an owner's) is a row of its own; the episode's counting columns follow
the verdict that counts most, so that figures, API and audit say the same afterwards. Every function
works inside the caller's transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, delete, insert, select, update

from cloud_learner.errors import UnknownRowError
from cloud_learner.store import insert_new, one
from cloud_learner.tables import EPISODE_BODIES, EPISODES, LATE_VERDICTS, VERDICTS
from sync.codec import decode_episode
from sync.vocabulary import ActionKind, Episode, FinishStatus, Verdict, VerdictSource

_TRUST = (VerdictSource.CODE, VerdictSource.PROBE, VerdictSource.OWNER, VerdictSource.JUDGE)


def record_verdict(connection: Connection, verdict: Verdict) -> None:
    """Store one verdict; one verifier of one version says one thing of an episode."""
    insert_new(
        connection,
        VERDICTS,
        {
            "episode_id": verdict.episode_id,
            "verifier": verdict.verifier,
            "verifier_version": verdict.verifier_version,
            "source": verdict.source.value,
            "score": verdict.score,
            "progress": verdict.progress,
            "goal_reached": verdict.goal_reached,
            "checks": msgspec.to_builtins(verdict.checks),
            "side_effects": list(verdict.side_effects),
        },
    )


def store_more_verdicts(
    connection: Connection, device_id: str, verdicts: Sequence[Verdict]
) -> bool:
    """Store what a device says later of episodes of its own; whether something of it was new."""
    news = False
    for verdict in verdicts:
        owner = one(connection, select(EPISODES.c.device_id).where(_is(verdict.episode_id)))
        if owner == device_id:
            news = store_late_verdict(connection, verdict) or news
    return news


def store_late_verdict(connection: Connection, verdict: Verdict) -> bool:
    """Store a verdict on an episode that is stored already; inside the caller's transaction.

    One verifier of one version says one thing of an episode; only where it could not decide before
    may it say something else.

    Raises: UnknownRowError: there is no such episode.
    """
    found = connection.execute(
        select(EPISODE_BODIES.c.body)
        .join(EPISODES, EPISODES.c.row == EPISODE_BODIES.c.row)
        .where(_is(verdict.episode_id))
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


def deciding_verdict(verdicts: Sequence[Verdict]) -> Verdict | None:
    """The verdict that counts: code before probe before owner before judge, of equals the newest.

    An owner who thinks better of it gives a verdict of a higher version.
    """
    decided = [verdict for verdict in verdicts if verdict.score is not None] or list(verdicts)
    if not decided:
        return None
    best = min(trust_of(verdict.source) for verdict in decided)
    trusted = [verdict for verdict in decided if trust_of(verdict.source) == best]
    return max(trusted, key=lambda verdict: verdict.verifier_version)


def trust_of(source: VerdictSource) -> int:
    """How much a source counts: 0 the most."""
    return _TRUST.index(source)


def claimed_complete(episode: Episode) -> bool:
    """Whether the policy ended the episode by saying that the goal is reached."""
    if not (episode.end_reason.terminated and episode.steps):
        return False
    last = episode.steps[-1].action
    return last.kind is ActionKind.ANSWER or last.status is FinishStatus.COMPLETE


def _follow(connection: Connection, episode: Episode) -> None:
    """Let an episode's columns say what the verdict that counts says; note where that is news."""
    rows = connection.execute(select(VERDICTS).where(VERDICTS.c.episode_id == episode.id))
    verdict = deciding_verdict([verdict_of(dict(row)) for row in rows.mappings()])
    if verdict is None:
        return
    success = None if verdict.score is None else verdict.success
    before = connection.execute(
        select(EPISODES.c.row, EPISODES.c.success).where(_is(episode.id))
    ).one()
    if before.success != success:
        connection.execute(insert(LATE_VERDICTS).values(episode_row=before.row))
    connection.execute(
        update(EPISODES)
        .where(_is(episode.id))
        .values(
            success=success,
            score=verdict.score,
            progress=verdict.progress,
            goal_reached=verdict.goal_reached,
            false_finish=claimed_complete(episode) and success is False,
        )
    )


def _is(episode_id: str) -> ColumnElement[bool]:
    return EPISODES.c.id == episode_id


def verdict_of(row: Mapping[str, Any]) -> Verdict:  # Any: columns of any type
    """A row of the table of verdicts as a verdict."""
    return msgspec.convert({str(name): value for name, value in row.items()}, Verdict)
