"""Hand-written policies that stand beside every learnt one: what does not beat them learnt nothing.

They see what any policy sees (observation, goal, history) and nothing of the clone's state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from device_runtime.ports import Decided, PolicyRequest
from sync.screen_text import STOP_WORDS, Item, items_of
from sync.text_table import words_of
from sync.vocabulary import (
    Action,
    Direction,
    Key,
    Observation,
    finish,
    press,
    scroll,
    tap_element,
    type_text,
)

MAX_SPAN_WORDS = 4

SUBMIT_WORDS = frozenset(
    words_of("save done store search find show ok yes confirm add new create start buy book apply")
)
"""Words of buttons that complete something."""


class _Scripted:
    """A policy that decides each request on its own."""

    wants_encoding = False
    name = "scripted"

    def decide(self, requests: Sequence[PolicyRequest]) -> list[Decided]:
        """One action per request."""
        return [Decided(self.act(request), policy_version=self.name) for request in requests]

    def act(self, request: PolicyRequest) -> Action:
        """The action for one request."""
        raise NotImplementedError


class NoopPolicy(_Scripted):
    """Claims at once that the goal is reached."""

    name = "noop"

    def act(self, request: PolicyRequest) -> Action:
        """Finish."""
        del request
        return finish()


class RandomPolicy(_Scripted):
    """Any action that this screen allows, each kind as likely as the others."""

    name = "random"

    def act(self, request: PolicyRequest) -> Action:
        """A random action."""
        random, seen = request.random, request.observation
        choices: list[Callable[[], Action]] = [
            lambda: _random_tap(seen, random),
            lambda: press(random.choice((Key.BACK, Key.HOME, Key.ENTER))),
            finish,
        ]
        if any(element.scrollable for element in seen.elements):
            choices.append(lambda: scroll(random.choice((Direction.DOWN, Direction.UP))))
        if _focused(seen) is not None:
            choices.append(lambda: type_text(_random_span(request.goal, random)))
        return random.choice(choices)()


class TypingOnlyPolicy(_Scripted):
    """Types goal words into whatever field it meets; on screens without one it wanders."""

    name = "typing_only"

    def act(self, request: PolicyRequest) -> Action:
        """Type, or go where typing may be possible."""
        random, seen = request.random, request.observation
        if _focused(seen) is not None:
            choices: tuple[Action, ...] = (
                type_text(_random_span(request.goal, random)),
                press(Key.ENTER),
                finish(),
            )
            return random.choice(choices)
        fields = [index for index, element in enumerate(seen.elements) if element.editable]
        if fields:
            return tap_element(seen, random.choice(fields))
        return _random_tap(seen, random)


def _random_tap(seen: Observation, random: Random) -> Action:
    touchable = [item.element for item in items_of(seen) if item.touchable]
    return tap_element(seen, random.choice(touchable)) if touchable else press(Key.BACK)


def _random_span(goal: str, random: Random) -> str:
    words = goal.split() or [""]
    start = random.randrange(len(words))
    return " ".join(words[start : start + random.randint(1, MAX_SPAN_WORDS)])


def _focused(seen: Observation) -> int | None:
    for index, element in enumerate(seen.elements):
        if element.editable and element.focused:
            return index
    return None


class LexicalPolicy(_Scripted):
    """Taps what matches the goal words that were not used yet, types names and numbers into fields.

    In this order: type an unused name, number or code into the focused field; tap the item whose
    words cover most unused goal words; focus an empty field while there is something to type; press
    what completes a form after typing; scroll once; claim completion.
    """

    name = "lexical"

    def act(self, request: PolicyRequest) -> Action:
        """The best match's action."""
        seen, history = request.observation, request.history
        items = items_of(seen)
        used = history.typed | history.tapped
        spans = [span for span in _nameable(request.goal) if not used.issuperset(words_of(span))]
        focused = _focused(seen)
        if focused is not None and spans and not _holds_goal_words(seen, focused, request.goal):
            return type_text(spans[0])
        wanted = {_stem(word) for word in words_of(request.goal) if word not in STOP_WORDS | used}
        best = _best_match(items, wanted, {entry.label for entry in history.entries[-1:]})
        if best is not None:
            return tap_element(seen, best.element)
        if spans:
            empty = _empty_field(items, request.goal)
            if empty is not None:
                return tap_element(seen, empty.element)
        submit = _submit(items, {entry.label for entry in history.entries})
        if submit is not None:
            return tap_element(seen, submit.element)
        scrolled = any(entry.label == "" for entry in history.entries)
        if spans and not scrolled and any(element.scrollable for element in seen.elements):
            return scroll(Direction.DOWN)
        return finish()


def _stem(word: str) -> str:
    """The word without the ending that a plural may have."""
    return word.removesuffix("s")


def _nameable(goal: str) -> list[str]:
    """Runs of goal words that look like something to type: capitalised, or with digits."""
    spans: list[list[str]] = []
    joined = False
    for position, word in enumerate(goal.split()):
        special = any(letter.isdigit() for letter in word) or (position > 0 and word[0].isupper())
        if special and joined:
            spans[-1].append(word)
        elif special:
            spans.append([word])
        joined = special
    return [" ".join(span) for span in spans]


def _holds_goal_words(seen: Observation, field: int, goal: str) -> bool:
    words = words_of(seen.elements[field].text)
    return bool(words) and set(words) <= set(words_of(goal))


def _best_match(items: Sequence[Item], wanted: set[str], just_touched: set[str]) -> Item | None:
    best, best_score = None, (0, 0.0)
    for item in items:
        hits = len(wanted.intersection(map(_stem, item.words)))
        if not item.touchable or item.focused or not hits or item.label in just_touched:
            continue
        score = (hits, hits / len(item.words))
        if score > best_score:
            best, best_score = item, score
    return best


def _empty_field(items: Sequence[Item], goal: str) -> Item | None:
    words = set(words_of(goal))
    for item in items:
        if item.editable and not (item.words and set(item.words) <= words):
            return item
    return None


def _submit(items: Sequence[Item], touched: set[str]) -> Item | None:
    for item in items:
        fits = item.touchable and not item.editable and SUBMIT_WORDS.intersection(item.words)
        if fits and len(item.words) <= 3 and item.label not in touched:
            return item
    return None
