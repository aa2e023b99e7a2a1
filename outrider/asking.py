"""Questions at the terminal: a yes or a no, with an end to the waiting; silence is a no."""

from __future__ import annotations

import select
import sys
from collections.abc import Callable
from typing import Final, TextIO

from sync.clock import Clock, SystemClock

LOOK_EVERY_S: Final = 0.1
Stopped = Callable[[], object]
"""Says something true as soon as nobody is to be asked any more."""
_YES: Final = frozenset({"y", "yes"})
_NO: Final = frozenset({"n", "no"})


def answered_yes(
    question: str, *, timeout_s: float, stopped: Stopped, clock: Clock | None = None
) -> bool:
    """Whether somebody says yes in time; nothing, anything else and a stop mean no."""
    typed = _ask(f"{question} [y/N] ", timeout_s=timeout_s, stopped=stopped, clock=clock)
    return typed in _YES


def thumb(*, timeout_s: float, stopped: Stopped, clock: Clock | None = None) -> bool | None:
    """Thumb up (True), thumb down (False), or None for no answer."""
    asked = "Was the goal reached? [y/n, Enter to skip] "
    typed = _ask(asked, timeout_s=timeout_s, stopped=stopped, clock=clock)
    return True if typed in _YES else False if typed in _NO else None


def is_at_terminal() -> bool:
    """Whether somebody can be asked: both sides of the conversation are a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _ask(question: str, *, timeout_s: float, stopped: Stopped, clock: Clock | None) -> str:
    """What was typed, in lower case; empty where nothing was."""
    sys.stderr.write(question)
    sys.stderr.flush()
    line = _line(sys.stdin, timeout_s=timeout_s, stopped=stopped, clock=clock or SystemClock())
    if not line.endswith("\n"):
        sys.stderr.write("\n")
    return line.strip().lower()


def _line(stream: TextIO, *, timeout_s: float, stopped: Stopped, clock: Clock) -> str:
    """The next line of a stream, or nothing once the time is up or it was stopped."""
    if not _can_wait(stream):
        return stream.readline()
    deadline_s = clock.monotonic_s() + timeout_s
    while not stopped() and clock.monotonic_s() < deadline_s:
        if select.select([stream], [], [], LOOK_EVERY_S)[0]:
            return stream.readline()
    return ""


def _can_wait(stream: TextIO) -> bool:
    """Whether the system can wait for the stream; text that is in memory already needs no wait."""
    try:
        stream.fileno()
    except (OSError, ValueError):
        return False
    return True
