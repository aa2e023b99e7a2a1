"""Which part of a screen's picture belongs to the app: not the status bar, not the keyboard."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from device_runtime.screen_reading_text import TextLine
from sync.vocabulary import Rect

_CLOCK = re.compile(r"\d{1,2}[:.]\d{2}(?:\s?[AP]M)?", re.IGNORECASE)
_STATUS_SHARE: Final = 0.06
_KEYS_IN_A_ROW: Final = 5
_KEY_ROWS: Final = 2
_KEY_MARGIN: Final = 0.9
"""Height of a key above and below its letter, in letters."""


def status_bottom(lines: Sequence[TextLine], width_px: int, height_px: int) -> int:
    """Where the app begins: below the bar at the top that tells the time; else at 0."""
    deepest = _STATUS_SHARE * max(width_px, height_px)
    clocks = [
        line.bounds
        for line in lines
        if line.bounds[3] <= deepest and _CLOCK.fullmatch(line.text.strip())
    ]
    return max((bottom for *_, bottom in clocks), default=0)


def keyboard_top(lines: Sequence[TextLine], boxes: Sequence[Rect], height_px: int) -> int:
    """Where the app ends: above rows of single letters in the lower half; else at the bottom."""
    letters = [
        line.bounds
        for line in lines
        if len(line.text) == 1 and line.text.isalpha() and line.bounds[1] > height_px * 0.4
    ]
    rows: dict[int, list[Rect]] = {}
    for bounds in sorted(letters, key=lambda one: one[1]):
        row = next((top for top in rows if abs(top - bounds[1]) < bounds[3] - bounds[1]), bounds[1])
        rows.setdefault(row, []).append(bounds)
    full = [row for row in rows.values() if len(row) >= _KEYS_IN_A_ROW]
    if len(full) < _KEY_ROWS:
        return height_px
    first = min(full, key=lambda row: row[0][1])
    letter = first[0]
    keys = [
        box[1]
        for box in boxes
        if box[0] <= letter[0]
        and letter[2] <= box[2]
        and box[1] <= letter[1]
        and letter[3] <= box[3]
    ]
    margin = round(_KEY_MARGIN * (letter[3] - letter[1]))
    return max(keys, default=min(bounds[1] for bounds in first) - margin)
