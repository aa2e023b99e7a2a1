"""A phone whose screens are read from their pictures where the tree says too little."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Protocol

from device_runtime import ports
from device_runtime.adb_screenshot import read_screenshot
from device_runtime.picture_pixels import fit
from device_runtime.ports import ActOutcome, Phone, PhoneInfo, ResetOutcome
from device_runtime.screen_reading import ScreenReader, merge
from device_runtime.screen_reading_text import require_reader
from device_runtime.screen_reading_when import When
from sync.vocabulary import Action, ActionKind, Assignment, Observation

_STAYING: Final = frozenset({ActionKind.TYPE, ActionKind.WAIT, ActionKind.ASK_USER})
"""Actions after which the focus is where it was."""
_TOUCHES: Final = frozenset({ActionKind.TAP, ActionKind.DOUBLE_TAP, ActionKind.LONG_PRESS})


class ActsAsSeen(Protocol):
    """A phone that carries out an action by what somebody else saw of its screen."""

    def act_as_seen(self, action: Action, seen: Observation) -> ActOutcome:
        """Like `Phone.act`, on the screen that `seen` describes."""
        ...


class ReadingPhone:
    """Any phone, with elements from the picture beside those of the tree; implements `Phone`.

    Args:
        phone: the phone that is driven; where it also is an `ActsAsSeen`, texts are typed and
            areas scrolled that only the picture shows.
        reader: turns its screenshots into elements.
        when: no-tree reads only screens whose tree says next to nothing.
    """

    def __init__(
        self, phone: Phone, reader: ports.ScreenReader, *, when: When = When.NO_TREE
    ) -> None:
        self._phone = phone
        self._reader = reader
        self._when = when
        self._touched: tuple[int, int] | None = None
        self._last: Observation | None = None

    def reset(self, assignment: Assignment) -> ResetOutcome:
        """Bring the phone into the start state of `assignment`."""
        self._touched = self._last = None
        return self._phone.reset(assignment)

    def observe(self) -> Observation:
        """What is on the screen now; read from its picture where that is wanted.

        Raises: ReaderError: the extra `ocr` is not installed.
        """
        seen = self._phone.observe()
        if self._when.includes(seen.elements):
            png = self._phone.screenshot()
            size = picture_size(png)
            read = self._reader.read(
                png,
                package=seen.package,
                touched=self._touched_in(seen, size),
                keyboard_shown=seen.keyboard_shown,
            )
            fitted = fit(read, size, (seen.width_px, seen.height_px))
            seen = replace(seen, elements=merge(seen.elements, fitted))
        self._last = seen
        return seen

    def act(self, action: Action) -> ActOutcome:
        """Carry out one action once, by what was seen last."""
        seen = self._last or self.observe()
        if action.kind in _TOUCHES and action.x is not None and action.y is not None:
            self._touched = (round(action.x * seen.width_px), round(action.y * seen.height_px))
        elif action.kind not in _STAYING:
            self._touched = None
        self._last = None
        act_as_seen = getattr(self._phone, "act_as_seen", None)
        return self._phone.act(action) if act_as_seen is None else act_as_seen(action, seen)

    def screenshot(self) -> bytes:
        """The screen as PNG bytes."""
        return self._phone.screenshot()

    def info(self) -> PhoneInfo:
        """What phone this is."""
        return self._phone.info()

    def close(self) -> None:
        """Let go of the phone."""
        self._phone.close()

    def _touched_in(self, seen: Observation, size: tuple[int, int]) -> tuple[int, int] | None:
        """The last touch in the picture's pixels."""
        if self._touched is None:
            return None
        x, y = self._touched
        return x * size[0] // seen.width_px, y * size[1] // seen.height_px


def reader_for(when: When) -> ScreenReader | None:
    """What reads pictures where `when` says so; drivers take it for screens that have no tree.

    Raises: ReaderError: they are to be read, and the extra `ocr` is not installed.
    """
    if when is When.NEVER:
        return None
    require_reader()
    return ScreenReader()


def reading(phone: Phone, reader: ports.ScreenReader | None, when: When) -> Phone:
    """The phone, with its screens read from their pictures where there is a reader."""
    return phone if reader is None else ReadingPhone(phone, reader, when=when)


def picture_size(png: bytes) -> tuple[int, int]:
    """Width and height that a PNG states, pixels.

    Raises: PhoneFaultError: it is no PNG, or not all of one.
    """
    shot = read_screenshot(png)
    return shot.width_px, shot.height_px
