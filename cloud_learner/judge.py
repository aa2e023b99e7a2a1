"""Judges: who says of an ended episode whether its goal was reached, seeing what the phone logged.

A judge answers success, failure or "cannot be decided"; the last is never success. A verdict of a
judge counts after those of code, probes and the owner.
"""

from __future__ import annotations

from collections.abc import Callable
from secrets import token_hex
from typing import Protocol

from cloud_learner.judge_answer import Judgement, undecidable
from cloud_learner.judge_client import JudgeClient
from cloud_learner.judge_prompt import PROMPT_VERSION, messages, orders_in
from cloud_learner.judge_settings import JudgeSettings
from sync.vocabulary import Check, EndReason, Episode, Verdict, VerdictSource

JudgePicture = Callable[[Episode], bytes | None]
"""The last screen of an episode as PNG, redacted; None where nobody can show it."""


def no_picture(episode: Episode) -> bytes | None:
    """None: nobody can draw."""
    del episode
    return None


class Judge(Protocol):
    """Who judges; may be called from several threads at once."""

    @property
    def name(self) -> str:
        """What verdicts call it."""
        ...

    @property
    def version(self) -> str:
        """Changes whenever it may judge the same episode differently."""
        ...

    def judge(self, episode: Episode, *, stopped: Callable[[], bool]) -> Judgement | None:
        """What it says of an episode that ended; None where it may not ask (budget, stop).

        Raises: JudgeUnusableError: it would say nothing of any other episode either.
        """
        ...


class ModelJudge:
    """A vision-language model behind an OpenAI-compatible endpoint.

    Args:
        picture_of: draws the last screen where the settings want a picture.
        new_word: makes words that no screen can know.
    """

    def __init__(
        self,
        settings: JudgeSettings,
        client: JudgeClient,
        *,
        picture_of: JudgePicture = no_picture,
        new_word: Callable[[], str] = lambda: token_hex(4),
    ) -> None:
        self._settings = settings
        self._client = client
        self._picture_of = picture_of
        self._new_word = new_word

    @property
    def name(self) -> str:
        """The model's name."""
        return f"judge {self._settings.model}"[:96]

    @property
    def version(self) -> str:
        """The prompt's version and how the screen is shown."""
        return f"{PROMPT_VERSION}.{self._settings.screen}"

    def judge(self, episode: Episode, *, stopped: Callable[[], bool]) -> Judgement | None:
        """What the model says of an episode; see `Judge`."""
        if not episode.steps:
            return undecidable("the episode has no step")
        order = orders_in(episode)
        if order is not None:
            return undecidable(f"a text on the screen speaks to a judge: {order!r}")
        picture = None if self._settings.screen == "text" else self._picture_of(episode)
        if picture is None and self._settings.screen == "picture":
            return undecidable("there is no picture of the last screen")
        word = self._new_word()
        chat = messages(
            episode, word=word, picture=picture, tells_screen=self._settings.screen != "picture"
        )
        return self._client.ask(chat, word=word, stopped=stopped)


def can_be_judged(episode: Episode) -> bool:
    """Whether a judge may be asked at all: never where the episode was cut off."""
    return episode.end_reason not in {EndReason.GUARD, EndReason.ENV_ERROR}


def verdict_of(judge: Judge, episode: Episode, judged: Judgement) -> Verdict:
    """A judgement as the verdict that is stored."""
    score = None if judged.outcome is None else float(judged.outcome)
    return Verdict(
        episode_id=episode.id,
        verifier=judge.name,
        verifier_version=judge.version,
        source=VerdictSource.JUDGE,
        score=score,
        progress=score or 0.0,
        goal_reached=bool(judged.outcome),
        checks=(
            Check(DECIDED, judged.outcome is not None, "" if judged.is_final else AGAIN),
            Check("goal reached", bool(judged.outcome), judged.reason),
        ),
    )


DECIDED = "decided"
"""The check of a verdict that says whether the judge could decide."""
AGAIN = "asking again may decide it"
"""Its reason where the judge was not reached."""
