"""How much an operator's order may hold: what a message and every database can carry.

What a setting means is checked by the device; here only what could not even be told to it is
refused, before it is stored.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Final

from sync.settings_change import SettingsChange

MOST_NAMES: Final = 64
MOST_NAME_CHARS: Final = 64
MOST_TEXT_CHARS: Final = 2_000
MOST_INT: Final = 2**63 - 1
MOST_DAYS: Final = 3_650.0
_NO_TEXT: Final = re.compile("[\0\ud800-\udfff]")


def check_names(names: Iterable[str], what: str) -> None:
    """Raise ValueError unless there are few enough names, each short enough and of plain text."""
    named = list(names)
    if len(named) > MOST_NAMES:
        raise ValueError(f"{what}: at most {MOST_NAMES} at a time")
    if not all(1 <= len(name) <= MOST_NAME_CHARS for name in named):
        raise ValueError(f"{what}: a name has 1 to {MOST_NAME_CHARS} characters")
    for name in named:
        check_text(name, what)


def check_labels(labels: Mapping[str, str | None]) -> None:
    """Raise ValueError unless labels can be kept; None takes one away."""
    check_names(labels, "labels")
    for name, value in labels.items():
        check_text(value or "", name)


def check_text(text: str, what: str) -> None:
    """Raise ValueError unless a text is short enough and every database can keep it."""
    if len(text) > MOST_TEXT_CHARS:
        raise ValueError(f"{what}: at most {MOST_TEXT_CHARS} characters")
    if _NO_TEXT.search(text):
        raise ValueError(f"{what}: holds what is no text")


def check_whole(number: int, what: str, *, least: int = 0, most: int = MOST_INT) -> None:
    """Raise ValueError unless a number lies within its limits."""
    if not least <= number <= most:
        raise ValueError(f"{what}: from {least} to {most}")


def check_values(values: SettingsChange) -> None:
    """Raise ValueError unless settings can be told to a device."""
    check_names(values, "settings")
    for name, value in values.items():
        if isinstance(value, str):
            check_text(value, name)
        elif isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{name}: {value} is no number that a setting can have")
        elif isinstance(value, int):
            check_whole(value, name, least=-MOST_INT)
