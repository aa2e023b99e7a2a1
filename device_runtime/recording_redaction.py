"""What says whose phone it is leaves a recording before it is written.

Properties and settings are kept by name, and all others dropped. In texts, what looks like a serial
number, a device's or network's address, a mail address, an account, a telephone number or a link
becomes a mark. Secrets on the screen go as `redaction` finds them, and are painted over in the
picture. Whatever else the owner wants hidden is given as words.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from device_runtime.adb_screenshot import read_screenshot
from device_runtime.errors import HierarchyError, PhoneFaultError
from device_runtime.painting import paint_out
from device_runtime.phone_questions import (
    PROPERTIES,
    SCREENSHOT,
    SIZE,
    TREE,
    Answer,
    properties_of,
)
from device_runtime.redaction import OWNED_REDACTION, redact
from device_runtime.ui_tree import elements_of, parse
from sync.vocabulary import Observation, Rect

HIDDEN: Final = "[hidden]"

_KEPT_PROPERTIES: Final = re.compile(
    r"ro\.(?:product|build\.version|boot\.hardware|soc|hardware|miui|vivo|oplus)\b.*"
    r"|ro\.(?:build\.(?:characteristics|display\.id|type)|board\.platform|crypto\.state|debuggable"
    r"|kernel\.qemu|secure|sf\.lcd_density)"
    r"|(?:sys\.boot_completed|dev\.bootcomplete|init\.svc\.bootanim|persist\.sys\.locale"
    r"|persist\.security\.adbinput|persist\.sys\.usb\.config)"
)
_SERIAL: Final = re.compile(r"serial", re.IGNORECASE)
_NUMBERED: Final = re.compile(r"(?=.*\d).{6}")
"""A serial number; what else makers put in its place is a word that stands in other places too."""
_PATTERNS: Final = (
    re.compile(r"[\w.+-]+@[\w-]+\.[A-Za-z][\w.-]+"),  # a mail address
    re.compile(r"\b(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}\b"),  # a device's address
    re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}\b"),  # a network address
    re.compile(r"\b(?:[0-9A-Fa-f]{1,4}:){4,7}[0-9A-Fa-f]{1,4}\b|\bfe80::[0-9A-Fa-f:]+"),
    re.compile(r"(?<=Account \{name=)[^,}]+"),
    re.compile(r"(?i)(?<=\bssid[=:])\s*(?:\"[^\"]*\"|[^\s,;]+)"),
    re.compile(r"(?<=\bdat=)\S+"),  # what an app was opened with
    re.compile(r"\b(?:tel|mailto|sms|geo):[^\s\"']+"),
    re.compile(r"\+\d[\d ()-]{6,16}\d"),  # a telephone number with its country
)
_IMEI: Final = re.compile(r"(?<!\d)\d{15}(?!\d)")
_SHOWN: Final = re.compile(r'(?<=[\s"])(?P<name>text|content-desc|hint)="(?P<value>[^"]*)"')
_SECRET_FIELD: Final = re.compile(r'\bpassword="true"')
_NODE: Final = re.compile(r'<node\b(?:[^<>"]|"[^"]*")*>?')
_BOUNDS: Final = re.compile(r'bounds="\[(-?\d{1,6}),(-?\d{1,6})\]\[(-?\d{1,6}),(-?\d{1,6})\]"')
_SIZES: Final = re.compile(r"size: (\d{1,5})x(\d{1,5})")
_SHORTEST: Final = 3


def redacted(answers: Mapping[str, Answer], *, words: Iterable[str] = ()) -> dict[str, Answer]:
    """`answers` without what says whose phone it is.

    Args:
        words: serial numbers, names and other texts to hide wherever they stand, in any case.
    """
    serials = (value for name, value in properties_of(answers).items() if _SERIAL.search(name))
    hidden = _Hidden([*words, *filter(_NUMBERED.search, serials)])
    kept = {
        command: replace(
            answer,
            stdout=answer.stdout if command == SCREENSHOT else hidden.in_bytes(answer.stdout),
            stderr=hidden.in_bytes(answer.stderr),
        )
        for command, answer in answers.items()
    }
    if PROPERTIES in kept:
        kept[PROPERTIES] = replace(kept[PROPERTIES], stdout=_properties(kept))
    _hide_on_screen(kept, hidden)
    return kept


class _Hidden:
    """Replaces patterns and given words."""

    def __init__(self, words: Iterable[str]) -> None:
        known = sorted({word for word in words if len(word) >= _SHORTEST}, key=len, reverse=True)
        self._words = re.compile("|".join(map(re.escape, known)), re.IGNORECASE) if known else None

    def in_bytes(self, data: bytes) -> bytes:
        text = data.decode("utf-8", "surrogateescape")
        return self.in_text(text).encode("utf-8", "surrogateescape")

    def in_text(self, text: str) -> str:
        if self._words is not None:
            text = self._words.sub(HIDDEN, text)
        for pattern in _PATTERNS:
            text = pattern.sub(HIDDEN, text)
        return _IMEI.sub(lambda match: HIDDEN if _is_luhn(match[0]) else match[0], text)


def _properties(answers: Mapping[str, Answer]) -> bytes:
    kept = {
        name: value
        for name, value in properties_of(answers).items()
        if _KEPT_PROPERTIES.fullmatch(name) and not _SERIAL.search(name)
    }
    return "".join(f"[{name}]: [{value}]\n" for name, value in sorted(kept.items())).encode()


def _hide_on_screen(answers: dict[str, Answer], hidden: _Hidden) -> None:
    """Hide what is secret in the tree, and paint over it in the picture."""
    tree = answers.get(TREE)
    if tree is None or tree.file is None:
        return
    text = tree.file.decode("utf-8", "surrogateescape")
    on_screen = _Hidden(_secrets_of(tree.file))
    covered: list[Rect] = []

    def safe_label(match: re.Match[str]) -> str:
        value = html.unescape(match["value"])
        safe = hidden.in_text(on_screen.in_text(value))
        return match[0] if safe == value else f'{match["name"]}="{html.escape(safe)}"'

    def safe_node(match: re.Match[str]) -> str:
        if _SECRET_FIELD.search(match[0]):
            safe = _SHOWN.sub(f'\\g<name>="{HIDDEN}"', match[0])
        else:
            safe = _SHOWN.sub(safe_label, match[0])
        if safe != match[0] and (bounds := _BOUNDS.search(match[0])):
            left, top, right, bottom = map(int, bounds.groups())
            covered.append((left, top, right, bottom))
        return safe

    safe = _NODE.sub(safe_node, text)
    answers[TREE] = replace(tree, file=safe.encode("utf-8", "surrogateescape"))
    if safe != text:
        _paint(answers, covered)


def _paint(answers: dict[str, Answer], covered: list[Rect]) -> None:
    """Paint over parts of the picture; it is not kept where that cannot be done for sure."""
    picture = answers.pop(SCREENSHOT, None)
    size = _SIZES.findall(answers.get(SIZE, Answer()).text)
    if picture is None or not size:
        return
    width, height = map(int, size[-1])
    try:
        shot = read_screenshot(picture.stdout)
        if (shot.width_px > shot.height_px) != (width > height):
            width, height = height, width
        painted = paint_out(shot.png, Observation(width, height), covered)
    except (PhoneFaultError, ImportError, OSError, ValueError, SyntaxError):
        return  # no picture, no Pillow, or one that Pillow refuses
    answers[SCREENSHOT] = replace(picture, stdout=painted)


def _secrets_of(dump: bytes) -> list[str]:
    """What the redaction of screens finds in a dump; nothing where the dump is damaged."""
    try:
        elements = elements_of(parse(dump).roots, 1 << 15, 1 << 15)
    except HierarchyError:
        return []
    seen = Observation(width_px=1 << 15, height_px=1 << 15, elements=elements)
    return list(redact(seen, OWNED_REDACTION).slots.values())


def _is_luhn(digits: str) -> bool:
    """Whether the last digit is the check digit that device numbers end with."""
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
    return sum(number - 9 * (number > 9) for number in doubled) % 10 == 0
