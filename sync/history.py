"""What a policy remembers of an episode: a pure fold, so that it can always be computed again."""

from __future__ import annotations

from dataclasses import dataclass

from sync.grammar import ACTION_TYPES, type_name
from sync.screen_text import items_of
from sync.text_table import stems_of
from sync.vocabulary import Action, ActionKind, Observation, SlotRef

MAX_ENTRIES = 4
"""Latest actions that are remembered."""

MAX_MEMORY = 4
"""Latest texts that are remembered."""

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
        typed, tapped: stems of words that were typed, and that stood on what was tapped.
    """

    entries: tuple[HistoryEntry, ...] = ()
    memory: tuple[str, ...] = ()
    typed: frozenset[str] = frozenset()
    tapped: frozenset[str] = frozenset()


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
    return History((*history.entries, entry)[-MAX_ENTRIES:], memory, typed, tapped)


def _label_of(observation: Observation, action: Action) -> str:
    if action.text is not None:
        return action.text.slot if isinstance(action.text, SlotRef) else action.text
    if action.element is None or action.element >= len(observation.elements):
        return action.app or ""
    for item in items_of(observation):
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
