"""From an action to what fingers and keys do: the one meaning of every action, on every phone.

Fractions become pixels here and nowhere else. The clone in process and the driver of real phones
both play these events, so the same action does the same thing on both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from device_runtime.errors import InvalidActionError
from sync.vocabulary import (
    Action,
    ActionKind,
    Direction,
    Element,
    Key,
    Observation,
    Rect,
)

LONG_PRESS_MS: Final = 800
SWIPE_MS: Final = 300
DRAG_MS: Final = 1000
WAIT_MS: Final = 1000
SCROLL_SHARE: Final = 0.6
"""How much of the scrolled area's extent the finger crosses."""

KEYCODE_DELETE: Final = 67
KEYCODE_FORWARD_DELETE: Final = 112
KEYCODE_MOVE_END: Final = 123
KEYCODES: Final[dict[Key, int]] = {
    Key.HOME: 3,
    Key.BACK: 4,
    Key.ENTER: 66,
    Key.MENU: 82,
    Key.RECENTS: 187,
}
"""Android's key codes of the keys that an action can press."""


@dataclass(frozen=True, slots=True)
class Touch:
    """One finger down and up at a point; `duration_ms` 0 is a tap."""

    x_px: int
    y_px: int
    duration_ms: int = 0


@dataclass(frozen=True, slots=True)
class Swipe:
    """One finger from (x1, y1) to (x2, y2), pixels."""

    x1: int
    y1: int
    x2: int
    y2: int
    duration_ms: int = SWIPE_MS


@dataclass(frozen=True, slots=True)
class Text:
    """Characters into the focused field."""

    text: str


@dataclass(frozen=True, slots=True)
class KeyPress:
    """A key, by Android's code, `times` times."""

    keycode: int
    times: int = 1


@dataclass(frozen=True, slots=True)
class StartApp:
    """Bring an app to the front, by label or package."""

    name: str


@dataclass(frozen=True, slots=True)
class Pause:
    """Do nothing for a while."""

    duration_ms: int


InputEvent = Touch | Swipe | Text | KeyPress | StartApp | Pause


def input_events(action: Action, observation: Observation) -> tuple[InputEvent, ...]:
    """What to play for `action` on the screen that was last seen; empty for finish, answer and ask.

    Raises: InvalidActionError: the action means nothing here (nothing to type into, nothing that
        scrolls, a slot that nobody resolved).
    """
    player = _PLAYERS.get(action.kind)
    return player(action, observation) if player else ()


def _pixel(fraction: float | None, extent_px: int) -> int:
    return min(round((fraction or 0.0) * extent_px), extent_px - 1)


def _touch(action: Action, observation: Observation, duration_ms: int = 0) -> Touch:
    return Touch(
        _pixel(action.x, observation.width_px),
        _pixel(action.y, observation.height_px),
        duration_ms,
    )


def _tap(action: Action, observation: Observation) -> tuple[InputEvent, ...]:
    return (_touch(action, observation),)


def _double_tap(action: Action, observation: Observation) -> tuple[InputEvent, ...]:
    return (_touch(action, observation), _touch(action, observation))


def _long_press(action: Action, observation: Observation) -> tuple[InputEvent, ...]:
    return (_touch(action, observation, action.duration_ms or LONG_PRESS_MS),)


def _swipe(action: Action, observation: Observation) -> tuple[InputEvent, ...]:
    usual_ms = DRAG_MS if action.kind is ActionKind.DRAG else SWIPE_MS
    return (
        Swipe(
            _pixel(action.x, observation.width_px),
            _pixel(action.y, observation.height_px),
            _pixel(action.x2, observation.width_px),
            _pixel(action.y2, observation.height_px),
            action.duration_ms or usual_ms,
        ),
    )


def _scroll(action: Action, observation: Observation) -> tuple[InputEvent, ...]:
    left, top, right, bottom = _scrolled_area(action, observation)
    x, y = (left + right) // 2, (top + bottom) // 2
    half_x = round((right - left) * SCROLL_SHARE / 2)
    half_y = round((bottom - top) * SCROLL_SHARE / 2)
    match action.direction:
        case Direction.DOWN:
            return (Swipe(x, y + half_y, x, y - half_y),)
        case Direction.UP:
            return (Swipe(x, y - half_y, x, y + half_y),)
        case Direction.RIGHT:
            return (Swipe(x + half_x, y, x - half_x, y),)
        case _:
            return (Swipe(x - half_x, y, x + half_x, y),)


def _scrolled_area(action: Action, observation: Observation) -> Rect:
    """The visible part of the element that the action names, or of the largest scrollable one."""
    if action.element is not None:
        if not 0 <= action.element < len(observation.elements):
            raise InvalidActionError(f"there is no element {action.element} to scroll")
        area = _visible(observation.elements[action.element], observation)
    else:
        areas = [_visible(each, observation) for each in observation.elements if each.scrollable]
        area = max(areas, key=_size, default=(0, 0, 0, 0))
    if _size(area) == 0:
        raise InvalidActionError("nothing on this screen scrolls")
    return area


def _visible(element: Element, observation: Observation) -> Rect:
    left, top, right, bottom = element.bounds
    return (
        max(left, 0),
        max(top, 0),
        min(right, observation.width_px),
        min(bottom, observation.height_px),
    )


def _size(area: Rect) -> int:
    return max(area[2] - area[0], 0) * max(area[3] - area[1], 0)


def _type(action: Action, observation: Observation) -> tuple[InputEvent, ...]:
    if not isinstance(action.text, str):
        raise InvalidActionError("the text is a redacted slot that this phone cannot resolve")
    if any(ord(character) < 32 and character != "\n" for character in action.text):
        raise InvalidActionError("unsupported_text: control characters cannot be typed")
    field = next((each for each in observation.elements if each.editable and each.focused), None)
    if field is None:
        raise InvalidActionError("no text field has the focus")
    cleared = clearing(field.text) if action.clear and field.text else ()
    return (*cleared, *_lines(action.text))


def clearing(shown: str) -> tuple[InputEvent, ...]:
    """What empties the focused field, which shows `shown`, wherever its cursor stands."""
    count = len(shown)
    deleted = KeyPress(KEYCODE_DELETE, times=count)
    if "\n" not in shown:
        return (KeyPress(KEYCODE_MOVE_END), deleted)
    return (deleted, KeyPress(KEYCODE_FORWARD_DELETE, times=count))


def _lines(text: str) -> Iterator[InputEvent]:
    """Text line by line; a line feed is the Enter key, which ends a form where the app says so."""
    for number, line in enumerate(text.split("\n")):
        if number:
            yield KeyPress(KEYCODES[Key.ENTER])
        if line:
            yield Text(line)


def _key(action: Action, _observation: Observation) -> tuple[InputEvent, ...]:
    return tuple(KeyPress(KEYCODES[key]) for key in Key if key is action.key)


def _open_app(action: Action, _observation: Observation) -> tuple[InputEvent, ...]:
    return (StartApp(action.app or ""),)


def _wait(action: Action, _observation: Observation) -> tuple[InputEvent, ...]:
    return (Pause(action.duration_ms or WAIT_MS),)


_PLAYERS: Final[dict[ActionKind, Callable[[Action, Observation], tuple[InputEvent, ...]]]] = {
    ActionKind.TAP: _tap,
    ActionKind.DOUBLE_TAP: _double_tap,
    ActionKind.LONG_PRESS: _long_press,
    ActionKind.SWIPE: _swipe,
    ActionKind.DRAG: _swipe,
    ActionKind.SCROLL: _scroll,
    ActionKind.TYPE: _type,
    ActionKind.KEY: _key,
    ActionKind.OPEN_APP: _open_app,
    ActionKind.WAIT: _wait,
}
