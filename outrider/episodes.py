"""`outrider episodes …`: what is in the phones' own logs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from outrider.cloud_database import cloud_database, has_database, named_database
from outrider.errors import MisuseError
from outrider.options import Json
from outrider.output import Output
from outrider.phone_folders import log_of, phone_folders
from outrider.runs import Data, data_folder
from sync.step_text import described

if TYPE_CHECKING:
    from device_runtime.trajectory_log import TrajectoryLog
    from sync.vocabulary import Episode, Step, Verdict

Pictures = Mapping[str, Mapping[str, str | int]]
"""Facts about pictures by the digest of their screen."""
Phone = Annotated[
    Path | None, typer.Option("--phone", help="Folder of one phone; else all below --data.")
]


def list_episodes(
    *,
    phone: Phone = None,
    data: Data = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many, newest first.")] = 50,
    json: Json = False,
) -> None:
    """List the newest episodes of one phone, or of every phone of a fleet."""
    out = Output(json_lines=json)
    rows: list[dict[str, Any]] = []
    logged = acknowledged = 0
    for folder in _folders(phone, data):
        with _opened(folder) as log:
            rows += [
                {"phone": folder.name, **asdict(summary)} for summary in log.summaries(limit=limit)
            ]
            counts = log.counts()
            logged += counts.logged
            acknowledged += counts.acknowledged
    rows.sort(key=lambda row: str(row["id"]), reverse=True)
    newest = rows[:limit] if json else [_short(row) for row in rows[:limit]]
    shown = out.rows("episode", newest, title="Episodes, newest first")
    out.summary(shown=shown, logged=logged, acknowledged=acknowledged)


def show_episode(
    episode_id: Annotated[str, typer.Argument(metavar="ID", help="The episode's id.")],
    *,
    phone: Phone = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Show one episode step by step, with its verdicts and what became of its pictures.

    Pictures are looked up in the cloud's database: OUTRIDER_DATABASE's, else that in the fleet's
    folder. They are "unknown" where there is none, or it cannot be opened.
    """
    folder, episode, verdicts = logged_episode(episode_id, phone=phone, data=data)
    cloud = None if phone is not None and data is None else data_folder(data)
    out = Output(json_lines=json)
    pictures = _pictures(out, cloud, episode)
    _show(out, folder, episode, verdicts, pictures)


def logged_episode(
    episode_id: str, *, phone: Path | None, data: Path | None
) -> tuple[Path, Episode, tuple[Verdict, ...]]:
    """An episode of one phone's log, or of any log of a fleet: the phone's folder, and the record.

    Raises: MisuseError: no log holds it.
    """
    from sync.vocabulary import EpisodeId

    for folder in _folders(phone, data):
        with _opened(folder) as log:
            found = log.read(EpisodeId(episode_id))
        if found is not None:
            return folder, *found
    raise MisuseError(
        f"no log here holds episode {episode_id!r} with its steps; outrider episodes list names "
        "them, and the cloud keeps what a full log let go of"
    )


def _pictures(out: Output, cloud: Path | None, episode: Episode) -> Pictures | None:
    """What a cloud knows of the pictures that an episode's steps name; None where none says it."""
    named = any(step.observation.screenshot for step in episode.steps)
    database = named_database()
    if not named or not has_database(cloud, database):
        return None
    from cloud_learner.blob_store import screens_of
    from cloud_learner.errors import LearnerError

    try:
        with cloud_database(cloud, database) as opened:
            return screens_of(opened, episode.id)
    except LearnerError as error:
        out.note(f"what became of pictures is unknown: {error}")
        return None


def _show(
    out: Output,
    folder: Path,
    episode: Episode,
    verdicts: tuple[Verdict, ...],
    pictures: Pictures | None,
) -> None:
    out.note(f"goal  {episode.goal}")
    rows = [_row(step) for step in episode.steps]
    if any(step.observation.screenshot for step in episode.steps):
        told = [_picture(step, pictures) for step in episode.steps]
        keys = ("screenshot", "picture", "blob", "bytes") if out.json_lines else ("picture",)
        rows = [
            row | {key: one.get(key) for key in keys} for row, one in zip(rows, told, strict=True)
        ]
    out.rows("step", rows, title="Steps")
    for verdict in verdicts:
        out.event(
            "verdict",
            verifier=verdict.verifier,
            source=verdict.source,
            score=verdict.score,
            progress=verdict.progress,
            goal_reached=verdict.goal_reached,
            failed=[
                f"{check.name}: {check.reason}" for check in verdict.checks if not check.passed
            ],
            side_effects=verdict.side_effects,
        )
    out.summary(
        phone=folder.name,
        id=episode.id,
        goal=episode.goal,
        template=episode.assignment.template,
        split=episode.assignment.split,
        purpose=episode.assignment.purpose,
        actor=episode.assignment.actor,
        release_id=episode.release_id,
        steps=len(episode.steps),
        end_reason=episode.end_reason,
        end_detail=episode.end_detail,
        success=any(verdict.success for verdict in verdicts) if verdicts else None,
    )


def _short(row: dict[str, Any]) -> dict[str, object]:
    """An episode for a terminal of 80 columns."""
    return {
        "id": row["id"],
        "phone": row["phone"],
        "task": row["template"] or row["purpose"],
        "score": row["score"],
        "end": row["end_reason"],
    }


def _picture(step: Step, pictures: Pictures | None) -> dict[str, object]:
    """A step's picture as the cloud knows it: stored, wanted, refused, or never told of."""
    screen = step.observation.screenshot
    if screen is None:
        return {"picture": "none"}
    if pictures is None:
        return {"screenshot": screen, "picture": "unknown"}
    known = pictures.get(screen, {})
    return {**known, "screenshot": screen, "picture": known.get("state", "not told")}


def _row(step: Step) -> dict[str, object]:
    observation = step.observation
    return {
        "index": step.index,
        "app": observation.package,
        "elements": len(observation.elements),
        "action": described(step),
        "log_prob": step.log_prob,
        "valid": step.valid,
        "policy": step.policy_version,
    }


def _folders(phone: Path | None, data: Path | None) -> list[Path]:
    return phone_folders(data_folder(data)) if phone is None else [phone]


@contextmanager
def _opened(folder: Path) -> Iterator[TrajectoryLog]:
    from device_runtime.trajectory_log import TrajectoryLog
    from sync.clock import SystemClock
    from sync.vocabulary import new_uuid7

    log = TrajectoryLog.open(log_of(folder), clock=SystemClock(), new_id=new_uuid7)
    try:
        yield log
    finally:
        log.close()
