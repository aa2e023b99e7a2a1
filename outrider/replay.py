"""`outrider episodes replay`: play a logged clone episode again, and say whether it is the same."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from outrider.episodes import Phone, logged_episode
from outrider.errors import MisuseError
from outrider.options import Json
from outrider.output import Output
from outrider.runs import Data


def replay_episode(
    episode_id: Annotated[str, typer.Argument(metavar="ID", help="The episode's id.")],
    *,
    phone: Phone = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Play a logged episode of a clone again; say where it differs, or that it does not."""
    from apps_mock.replays import replay
    from device_runtime.errors import UnknownTaskError

    folder, episode, _ = logged_episode(episode_id, phone=phone, data=data)
    out = Output(json_lines=json)
    try:
        result = replay(episode)
    except UnknownTaskError as error:
        raise MisuseError(f"episode {episode_id} cannot be played again: {error}") from error
    for difference in result.differences:
        out.event("difference", **asdict(difference))
    out.summary(
        id=episode.id,
        phone=folder.name,
        template=episode.assignment.template,
        suite_version=episode.suite_version,
        end_reason=episode.end_reason,
        logged_steps=len(episode.steps),
        replayed_steps=result.steps,
        same=result.same,
    )
    if not result.same:
        raise typer.Exit(1)
