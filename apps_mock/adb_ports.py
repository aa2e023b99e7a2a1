"""What the ADB daemon needs of the phone behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from apps_mock.phone_state import PhoneState
from device_runtime.ports import PhoneInfo


class ClonePhone(Protocol):
    """A phone that fingers and keys drive and that shows a tree; the daemon locks around it.

    Pixels are those of the upright screen. Nothing here blocks for long or raises on odd input.
    """

    def info(self) -> PhoneInfo:
        """What phone it is; its size is that of the upright screen."""
        ...

    def touch(self, x_px: int, y_px: int, *, duration_ms: int = 0) -> object:
        """One finger down and up."""
        ...

    def swipe(self, x1: int, y1: int, x2: int, y2: int, *, duration_ms: int = 300) -> object:
        """One finger across the screen; content follows it."""
        ...

    def type_text(self, text: str) -> object:
        """Characters into the focused field, if any."""
        ...

    def press(self, keycode: int, *, times: int = 1) -> object:
        """One key, by Android's code."""
        ...

    def open_app(self, name: str) -> bool:
        """Bring an app to the front, by label or package; False where there is none."""
        ...

    def tree_xml(self) -> bytes:
        """The screen in uiautomator's XML."""
        ...

    def foreground(self) -> tuple[str, str]:
        """Package and activity in front."""
        ...

    def screenshot(self) -> bytes:
        """The screen as PNG."""
        ...

    def loaded_state(self) -> PhoneState | None:
        """What the clone holds, for the commands that ask; None where nothing is loaded."""
        ...

    def restore(self, state: PhoneState) -> None:
        """Go on from a state, such as one that a command changed."""
        ...

    def resize(self, width_px: int, height_px: int) -> None:
        """Give the screen another size, as turning the phone does; apps keep their state."""
        ...

    @property
    def keyboard_shown(self) -> bool:
        """Whether the on-screen keyboard is up."""
        ...


@dataclass(frozen=True, slots=True)
class Answer:
    """What a phone answered to one command.

    Attributes:
        file: what the command left in the file that it names last (a dump, a screenshot), where it
            names one; the mock phone then has that file.
    """

    stdout: bytes = b""
    stderr: bytes = b""
    exit_code: int = 0
    file: bytes | None = None


@runtime_checkable
class RecordedPhone(Protocol):
    """Answers of a phone that was recorded, in place of a clone behind the daemon.

    The daemon keeps its own grammar, files and text tools: pipes, redirections, `echo`, `cat`,
    `grep`, `rm` and such run on the mock phone as always. A recording answers single commands, so
    it does not depend on how a client strings them together.
    """

    def properties(self) -> Mapping[str, str]:
        """`getprop` as a table; name, model and device stand in the daemon's banner."""
        ...

    def answer(self, words: Sequence[str]) -> Answer | None:
        """What the phone answered to a command, by its name and arguments.

        None where the recording has no such command; it is then counted and ends with code 127 as
        an unknown one. Called from the daemon's thread; must not block.
        """
        ...
