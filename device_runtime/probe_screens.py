"""What an episode's end tells without asking the phone: its last screen, and the answer given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from device_runtime.probe_readings import ABSENT, OFF, ON, PRESENT, UnreadableError
from sync.vocabulary import ActionKind, Element, Episode, Observation

ScreenReader = Callable[[Episode], str]
"""The value that an episode's end tells.

Raises: UnreadableError: it does not tell.
"""

SCREEN_PARAMETERS: Final = ("text", "contains", "id", "app")
"""What an element of the screen can be known by: its whole label, a part, its id, its app."""


def last_screen(episode: Episode) -> Observation:
    """What showed when the episode ended.

    Raises: UnreadableError: nothing was seen.
    """
    if episode.final_observation is not None:
        return episode.final_observation
    if not episode.steps:
        raise UnreadableError("the episode saw no screen")
    last = episode.steps[-1]
    if last.action.kind not in _LEAVE_AS_IT_IS:
        raise UnreadableError("nobody looked at the screen after the last action")
    return last.observation


_LEAVE_AS_IT_IS: Final = frozenset({ActionKind.FINISH, ActionKind.ANSWER})


def answer_given(episode: Episode) -> str:
    """The answer that ended the episode.

    Raises: UnreadableError: none was given, or only the phone knows its text.
    """
    action = episode.steps[-1].action if episode.steps else None
    if action is None or action.kind is not ActionKind.ANSWER:
        return ""
    if not isinstance(action.text, str):
        raise UnreadableError("the answer is a secret that only the phone knows")
    return action.text


def element_there(given: Mapping[str, str]) -> ScreenReader:
    """A reader of whether an element shows that is known by `given`."""
    return lambda episode: PRESENT if _found(last_screen(episode), given) else ABSENT


def element_state(given: Mapping[str, str]) -> ScreenReader:
    """A reader of whether such an element is checked; it must be one, and checkable."""

    def read(episode: Episode) -> str:
        screen = last_screen(episode)
        found = _found(screen, given)
        checkable = [each for each in found if each.checkable]
        if not checkable:
            checkable = [box for label in found for box in _beside(label, screen)]
        if len({each.bounds for each in checkable}) != 1:
            raise UnreadableError(f"{len(checkable) or 'no'} checkable elements are known by that")
        return ON if checkable[0].checked else OFF

    return read


def _found(screen: Observation, given: Mapping[str, str]) -> list[Element]:
    if not screen.elements:
        raise UnreadableError("the last screen has no elements")
    return [element for element in screen.elements if _is_meant(element, given)]


def _is_meant(element: Element, given: Mapping[str, str]) -> bool:
    wanted = {
        "text": element.label.casefold() == given.get("text", "").casefold(),
        "contains": given.get("contains", "").casefold() in element.label.casefold(),
        "id": element.resource_id in {given.get("id", ""), _full_id(element, given)},
        "app": element.package == given.get("app", ""),
    }
    return all(wanted[name] for name in given)


def _full_id(element: Element, given: Mapping[str, str]) -> str:
    return f"{element.package}:id/{given.get('id', '')}"


def _beside(label: Element, screen: Observation) -> list[Element]:
    """Checkable elements in the same row as a label: as a row's switch stands beside its name."""
    top, bottom = label.bounds[1], label.bounds[3]
    return [
        each
        for each in screen.elements
        if each.checkable and min(bottom, each.bounds[3]) - max(top, each.bounds[1]) > 0
    ]
