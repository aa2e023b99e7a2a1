"""Clone episodes with code's verdict on each, for measuring judges: logged ones, or played now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from outrider.cloud_database import cloud_database, has_database, named_database
from outrider.errors import CommandError, MisuseError
from outrider.phone_folders import PHONES

if TYPE_CHECKING:
    from apps_mock.templates import Template
    from sync.vocabulary import Episode, Verdict

Truth = tuple["Episode", bool]
"""An episode, and whether code says that it succeeded."""

ACTORS = ("oracle", "lexical", "random", "noop")
"""Who plays in turn where episodes are played now: ends of all kinds."""


def logged(data: Path, *, most: int | None, seed: int) -> list[Truth]:
    """The episodes below a folder that code has judged: of phones' logs, else of the cloud.

    Args:
        most: as many of them at most, drawn by `seed`.

    Raises:
        MisuseError: there is no log.
        CommandError: code has judged nothing in them.
    """
    from cloud_learner.judge import can_be_judged

    found = {
        episode.id: (episode, truth) for episode, truth in _in_logs(data) if can_be_judged(episode)
    }
    if not found:
        raise CommandError(f"code has judged no episode in {data}: let clones be played there")
    truths = [found[name] for name in sorted(found)]
    if most is not None and most < len(truths):
        truths = Random(seed).sample(truths, most)
    return truths


def _in_logs(data: Path) -> Iterator[Truth]:
    from cloud_learner.phone_logs import find_logs, read_uploads

    paths = find_logs(data / PHONES)
    if not paths:
        yield from _in_store(data)
    for path in paths:
        for upload in read_uploads(path):
            truth = _by_code(upload.verdicts)
            if truth is not None:
                yield upload.episode, truth


def _in_store(data: Path) -> Iterator[Truth]:
    from cloud_learner.report_store import ReportStore
    from sync.vocabulary import VerdictSource

    database = named_database()
    if not has_database(data, database):
        raise MisuseError(f"{data} holds no phone that ever ran; name another folder with --data")
    with cloud_database(data, database) as opened:
        for stored in ReportStore(opened).stored_episodes():
            for row in stored.verdicts:
                if row["source"] == VerdictSource.CODE.value and row["score"] is not None:
                    yield stored.episode, row["score"] >= 1.0
                    break


def played(suite: str, *, count: int, seed_base: int) -> list[Truth]:
    """Episodes on clones, played now by actors of every kind; the same each time.

    Raises: MisuseError: no such suite.
    """
    from apps_mock.evaluation import templates_of
    from device_runtime.errors import UnknownTaskError

    try:
        chosen = templates_of(suite)
    except UnknownTaskError as error:
        raise MisuseError(str(error)) from error
    return list(_played(chosen, count, seed_base))


def _played(chosen: Sequence[Template], count: int, seed_base: int) -> Iterator[Truth]:
    from dataclasses import replace

    from apps_mock.actors import Actors
    from apps_mock.evaluation import instances
    from apps_mock.farm import play
    from cloud_learner.judge import can_be_judged
    from sync.vocabulary import AssignmentId, Split

    drawn = instances(
        chosen,
        count=-(-count // len(ACTORS)),
        seed_base=seed_base,
        split=Split.TEST,
        actor="noop",
    )
    assignments = [
        replace(one, actor=actor, id=AssignmentId(f"{one.id}.{actor}"))
        for one in drawn
        for actor in ACTORS
    ]
    for ended in play(assignments[:count], Actors().policy_for):
        truth = _by_code(ended.verdicts)
        if truth is not None and can_be_judged(ended.episode):
            yield ended.episode, truth


def _by_code(verdicts: tuple[Verdict, ...]) -> bool | None:
    from sync.vocabulary import VerdictSource

    decided = [
        verdict.success
        for verdict in verdicts
        if verdict.source is VerdictSource.CODE and verdict.score is not None
    ]
    return decided[0] if decided else None
