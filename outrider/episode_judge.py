"""`outrider episodes judge`: the owner's verdict on an episode that was logged before."""

from __future__ import annotations

from typing import Annotated

import typer

from outrider.do_play import Thumb, judge_in, owner_verdict
from outrider.episodes import Phone, logged_episode
from outrider.errors import MisuseError
from outrider.options import Json
from outrider.output import Output
from outrider.runs import Data
from sync.vocabulary import EndReason


def judge_episode(
    episode_id: Annotated[str, typer.Argument(metavar="ID", help="The episode's id.")],
    thumb: Annotated[Thumb, typer.Argument(metavar="up|down", help="Was the goal reached?")],
    *,
    phone: Phone = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Say whether an episode reached its goal; a later verdict of yours replaces an earlier one."""
    out = Output(json_lines=json)
    folder, episode, _ = logged_episode(episode_id, phone=phone, data=data)
    if episode.end_reason is EndReason.ENV_ERROR:
        raise MisuseError(f"episode {episode_id} broke off by an error: it is never judged")
    verdict = judge_in(folder, owner_verdict(episode.id, up=thumb is Thumb.UP))
    out.summary(
        id=episode.id,
        phone=folder.name,
        goal=episode.goal,
        thumb=thumb,
        score=verdict.score,
        version=verdict.verifier_version,
        uploaded="when the phone next runs",
    )
