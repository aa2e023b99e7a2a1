"""Judges that need no network: what a real judge has to beat.

`ClaimJudge` believes the policy: whoever said that the goal is reached has reached it.
`LexicalJudge` also wants the goal's words to be where the episode ended: on its last screen, or in
what was typed and touched there. Both are deterministic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from cloud_learner.judge_answer import Judgement, undecidable
from cloud_learner.judge_prompt import SHOWN_ACTIONS, last_screen
from sync.screen_text import Goal
from sync.text_table import stems_of
from sync.vocabulary import ActionKind, Episode, FinishStatus, Step


@dataclass(frozen=True, slots=True)
class ClaimJudge:
    """Believes what the policy said."""

    name: str = "claim"
    version: str = "1"

    def judge(self, episode: Episode, *, stopped: Callable[[], bool]) -> Judgement | None:
        """Success where the episode ended with finish(complete) or an answer."""
        del stopped
        claimed = _claimed(episode)
        return Judgement(claimed, "it was said" if claimed else "nobody said so")


@dataclass(frozen=True, slots=True)
class LexicalJudge:
    """Believes the policy where the goal's words are near the end of the episode.

    Attributes:
        share: of the goal's words that mean something, how many have to be there.
    """

    share: float = 0.4
    name: str = "lexical"
    version: str = "1"

    def judge(self, episode: Episode, *, stopped: Callable[[], bool]) -> Judgement | None:
        """Success where it was claimed and enough of the goal's words are there."""
        del stopped
        if not _claimed(episode):
            return Judgement(outcome=False, reason="nobody said so")
        wanted = Goal.of(tuple(episode.goal.split())).content
        if not wanted:
            return undecidable("the goal has no words to look for")
        found = wanted & _words_at_end(episode)
        reason = f"{len(found)} of {len(wanted)} words of the goal are there"
        return Judgement(len(found) >= self.share * len(wanted), reason)


def _claimed(episode: Episode) -> bool:
    if not episode.end_reason.terminated or not episode.steps:
        return False
    last = episode.steps[-1].action
    return last.kind is ActionKind.ANSWER or last.status is FinishStatus.COMPLETE


def _words_at_end(episode: Episode) -> frozenset[str]:
    """Stems of what the last screen says, and of what the last actions were about."""
    screen = last_screen(episode)
    texts = [element.label for element in screen.elements] if screen is not None else []
    texts += _told(episode.steps[-SHOWN_ACTIONS - 1 :])
    return frozenset(stem for text in texts for stem in stems_of(text))


def _told(steps: Iterable[Step]) -> list[str]:
    told = []
    for step in steps:
        action, elements = step.action, step.observation.elements
        if isinstance(action.text, str):
            told.append(action.text)
        if action.element is not None and action.element < len(elements):
            told.append(elements[action.element].label)
    return told
