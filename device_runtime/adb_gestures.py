"""From what fingers and keys do to the command lines of a phone's shell."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, assert_never

from device_runtime.adb_text import typed_commands
from device_runtime.errors import InvalidActionError
from device_runtime.gestures import InputEvent, KeyPress, Pause, StartApp, Swipe, Text, Touch

KEYS_PER_COMMAND: Final = 40
DOUBLE_TAP_GAP_S: Final = 0.06
"""Android takes two taps for a double tap where 40 to 300 ms lie between them."""

_PACKAGE = re.compile(r"[A-Za-z]\w*(\.\w+)+")


@dataclass(frozen=True, slots=True)
class ShellEvents:
    """Writes events as commands.

    Attributes:
        packages: package by label in lower case.
        display: the logical display that touches are for.
        typed_at_once: most characters in one `input text`.
    """

    packages: Mapping[str, str] = field(default_factory=dict)
    display: int = 0
    typed_at_once: int = 64

    def commands(self, events: Sequence[InputEvent]) -> list[str]:
        """Commands for events without pauses, each to run where the one before it went well.

        Raises: InvalidActionError: a name that no package has, or text beyond ASCII.
        """
        commands: list[str] = []
        previous: InputEvent | None = None
        for event in events:
            if event == previous and isinstance(event, Touch) and not event.duration_ms:
                commands.append(f"sleep {DOUBLE_TAP_GAP_S}")
            commands += self._commands(event)
            previous = event
        return commands

    def package(self, name: str) -> str:
        """The package of an app's label, or the package that the name is.

        Raises: InvalidActionError: it is neither.
        """
        known = self.packages.get(name.casefold())
        if known is None and not _PACKAGE.fullmatch(name):
            raise InvalidActionError(f"no app is called {name!r}")
        return known or name

    def _commands(self, event: InputEvent) -> list[str]:
        match event:
            case Touch(x, y, 0):
                return [f"{self._input} tap {x} {y}"]
            case Touch(x, y, duration_ms):
                return [f"{self._input} swipe {x} {y} {x} {y} {duration_ms}"]
            case Swipe():
                path = f"{event.x1} {event.y1} {event.x2} {event.y2}"
                return [f"{self._input} swipe {path} {event.duration_ms}"]
            case Text(text):
                return typed_commands(text, self.typed_at_once)
            case KeyPress(keycode, times):
                whole, rest = divmod(times, KEYS_PER_COMMAND)
                counts = [KEYS_PER_COMMAND] * whole + ([rest] if rest else [])
                keys = [" ".join([str(keycode)] * count) for count in counts]
                return [f"{self._input} keyevent {codes}" for codes in keys]
            case StartApp(name):
                package = self.package(name)
                return [f"monkey -p {package} -c android.intent.category.LAUNCHER 1"]
            case Pause():
                return []
            case _:
                assert_never(event)

    @property
    def _input(self) -> str:
        return f"input -d {self.display}" if self.display else "input"
