"""What a policy remembers of an episode: a pure fold, so that it can always be computed again."""

from __future__ import annotations

from dataclasses import dataclass

from sync.grammar import ACTION_TYPES, type_name
from sync.screen_text import screen_of
from sync.text_table import stems_of
from sync.vocabulary import Action, ActionKind, Observation, SlotRef

MAX_ENTRIES = 4
"""Latest actions that are remembered."""

MAX_MEMORY = 4
"""Latest texts that are remembered of what was touched."""

MAX_SCREENS = 3
"""Apps whose last screen is remembered."""

MAX_TEXTS = 24
"""Texts that are remembered of one screen."""

_PASSING = ("launcher", "systemui", "permissioncontroller", "packageinstaller")
"""Parts of the names of packages that one only passes through."""

_TOUCHES = {ActionKind.TAP, ActionKind.LONG_PRESS, ActionKind.DOUBLE_TAP}


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One earlier action as the policy remembers it."""

    type_id: int
    label: str
    screen_changed: bool
    valid: bool


@dataclass(frozen=True, slots=True)
class History:
    """What earlier steps leave behind.

    Attributes:
        entries: the latest actions, oldest first.
        memory: texts of the elements acted on lately; the policy can type or answer from them.
        screens: of the apps used lately, package and texts of the last screen that was acted on:
            what was read in one app can so be typed in another.
        typed, tapped: stems of words that were typed, and that stood on what was tapped.
    """

    entries: tuple[HistoryEntry, ...] = ()
    memory: tuple[str, ...] = ()
    typed: frozenset[str] = frozenset()
    tapped: frozenset[str] = frozenset()
    screens: tuple[tuple[str, tuple[str, ...]], ...] = ()


EMPTY_HISTORY = History()


def fold(
    history: History,
    observation: Observation,
    action: Action,
    *,
    valid: bool,
    screen_changed: bool,
) -> History:
    """The history after `action` was tried on `observation`.

    Args:
        valid: whether the action could be carried out.
        screen_changed: whether the next observation differs from this one.
    """
    label = _label_of(observation, action)
    entry = HistoryEntry(ACTION_TYPES.index(type_name(action)), label, screen_changed, valid)
    typed, tapped, memory = history.typed, history.tapped, history.memory
    if action.kind is ActionKind.TYPE and valid:
        typed = typed | frozenset(stems_of(label))
    elif action.kind in _TOUCHES and label:
        tapped = tapped | frozenset(stems_of(label))
        memory = (*(text for text in memory if text != label), label)[-MAX_MEMORY:]
    screens = history.screens
    if not any(part in observation.package for part in _PASSING):
        others = (one for one in screens if one[0] != observation.package)
        screens = (*others, (observation.package, _texts_of(observation)))[-MAX_SCREENS:]
    return History((*history.entries, entry)[-MAX_ENTRIES:], memory, typed, tapped, screens)


def _texts_of(observation: Observation) -> tuple[str, ...]:
    """What can be read on a screen: its texts without those on buttons, each once."""
    items = screen_of(observation).useful.items
    texts = [
        item.label
        for item in items
        if item.words and not item.class_name.casefold().endswith("button")
    ]
    return tuple(dict.fromkeys(texts))[:MAX_TEXTS]


def _label_of(observation: Observation, action: Action) -> str:
    if action.text is not None:
        return action.text.slot if isinstance(action.text, SlotRef) else action.text
    if action.element is None or action.element >= len(observation.elements):
        return action.app or ""
    for item in screen_of(observation).items:
        if action.element == item.element or action.element in item.absorbed:
            return item.label
    return observation.elements[action.element].label


def same_screen(before: Observation, after: Observation) -> bool:
    """Whether nothing that a policy can see has changed."""
    return (
        before.elements == after.elements
        and before.package == after.package
        and before.activity == after.activity
        and before.keyboard_shown == after.keyboard_shown
        and before.rotation == after.rotation
    )
