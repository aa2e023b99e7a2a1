"""Demonstrations told again with other names: more to learn from what was shown. Pure.

A goal names things (people, places, times) that its screens and typed texts show as well. A copy of
the episode in which each of those names is another one, everywhere alike, is as good a
demonstration: what is to be done does not depend on what things are called. So a policy learns from
few demonstrations where a name stands and where it goes, instead of the names that it saw.
Nothing is played for a copy, and none counts as a demonstration.

The idea is that of data augmentation by entity replacement, as in Andreas 2020,
"Good-enough compositional data augmentation".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from random import Random

from sync.vocabulary import Action, Element, Episode, Step

SHORTEST_NAME = 3
"""Shorter words are no names: "on", "am", "3"."""

_WORD = re.compile(r"[^\W_]+(?:[:.'’+-][^\W_]+)*")
_VOWELS, _CONSONANTS, _DIGITS = "aeiou", "bcdfghjklmnprstvwz", "123456789"


def retold(episode: Episode, *, copies: int, seed: int) -> Iterator[Episode]:
    """The episode itself, then `copies` of it with other names; none where it has no names.

    The same task and seed give the same copies, whenever it is played. What the phone said of its
    own encoding and decisions is left out of a copy: they are to be found anew.
    """
    yield episode
    names, task = names_of(episode), episode.assignment
    for number in range(copies if names else 0):
        random = Random(f"{seed} {task.template} {task.seed} {task.look} {number}")
        yield _renamed(episode, {name: _other(name, random) for name in names})


def names_of(episode: Episode) -> tuple[str, ...]:
    """Words of the goal, but its first, that look like names and that its screens or texts show."""
    shown = set(_WORD.findall(" ".join(_texts(episode))))
    words = dict.fromkeys(_WORD.findall(episode.goal)[1:])
    return tuple(word for word in words if _is_name(word) and word in shown)


def _is_name(word: str) -> bool:
    return len(word) >= SHORTEST_NAME and (word[0].isupper() or any(map(str.isdigit, word)))


def _texts(episode: Episode) -> Iterator[str]:
    for step in episode.steps:
        for element in step.observation.elements:
            yield element.text
            yield element.description
        for action in (step.action, step.taught_action):
            if action is not None and isinstance(action.text, str):
                yield action.text


def _other(name: str, random: Random) -> str:
    """A word of the same shape: letters, digits and capitals stand where they stood."""
    letters = []
    vowel = random.random() < 0.5
    for letter in name:
        if letter.isdigit():
            letters.append(random.choice(_DIGITS))
        elif letter.isalpha():
            chosen = random.choice(_VOWELS if vowel else _CONSONANTS)
            letters.append(chosen.upper() if letter.isupper() else chosen)
            vowel = not vowel
        else:
            letters.append(letter)
    return "".join(letters)


def _renamed(episode: Episode, others: dict[str, str]) -> Episode:
    longest_first = sorted(others, key=len, reverse=True)
    names = "|".join(re.escape(name) for name in longest_first)
    pattern = re.compile(rf"(?<![^\W_])(?:{names})(?![^\W_])")

    def told(text: str) -> str:
        return pattern.sub(lambda found: others[found.group()], text) if text else text

    def element(one: Element) -> Element:
        text, description = told(one.text), told(one.description)
        same = text == one.text and description == one.description
        return one if same else replace(one, text=text, description=description)

    def action(one: Action) -> Action:
        return replace(one, text=told(one.text)) if isinstance(one.text, str) else one

    def step(one: Step) -> Step:
        seen = replace(one.observation, elements=tuple(map(element, one.observation.elements)))
        taught = None if one.taught_action is None else action(one.taught_action)
        return replace(
            one,
            observation=seen,
            action=action(one.action),
            taught_action=taught,
            decisions=(),
            input_digest="",
        )

    return replace(episode, goal=told(episode.goal), steps=tuple(map(step, episode.steps)))
