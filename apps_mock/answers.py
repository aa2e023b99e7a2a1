"""Answers: whether what was answered is what was asked for, by the answer's declared type.

Texts are brought into the form that their type declares and then compared exactly, never by
likeness: 5pm is not 6pm, 100 is not 900, and a day off by one is another day.

| type   | counts as the same                                                                     |
|--------|----------------------------------------------------------------------------------------|
| number | any script's digits; thousands apart by comma, dot, apostrophe or space; 12.5 and 12.50 |
| date   | ISO; the locales' ways to write a day, with or without its year                        |
| time   | 24 hours with or without a leading zero; am and pm                                     |
| name   | Unicode NFC, upper and lower case, runs of spaces                                      |
| list   | names apart by commas, "and" or line breaks; in any order unless `ordered`             |

What `Answer.shown` and `Answer.forms` say is right as it stands, whatever the type.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Final

from apps_mock.catalogue import LOCALES, day_text, month_name
from apps_mock.wanted import Answer


def is_right(given: str, wanted: Answer) -> bool:
    """Whether the text answers what was asked for."""
    text = plain(given)
    if not text:
        return False
    if text in {plain(form) for form in (wanted.shown, *wanted.forms)}:
        return True
    if wanted.kind == "list":
        return _same_list(given, wanted)
    return _SAME[wanted.kind](text, wanted)


def plain(text: str) -> str:
    """The text in Unicode NFC, case-folded, with single spaces and Western digits."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    digits = (
        str(unicodedata.decimal(letter)) if letter.isdecimal() else letter for letter in folded
    )
    return " ".join("".join(digits).split())


def _same_name(text: str, wanted: Answer) -> bool:
    return text == plain(wanted.value)


_GROUPED: Final = re.compile(r"[+-]?\d{1,3}(?:([,.' ’])\d{3})(?:\1\d{3})*")
_THREE_DECIMALS: Final = re.compile(r"[+-]?\d+[.,]\d{3}")
_DECIMAL: Final = re.compile(r"([+-]?\d[\d,.' ’]*?)(?:[.,](\d+))?")


def _same_number(text: str, wanted: Answer) -> bool:
    value = _number(wanted.value)
    if value is None:
        return False
    fraction = wanted.value.partition(".")[2]
    if len(fraction) == 3 and _THREE_DECIMALS.fullmatch(text):
        return value == _number(text.replace(",", "."))
    return value == _number(_without_groups(text))


def _without_groups(text: str) -> str:
    """The number with a dot before its decimals and nothing between its thousands."""
    if _GROUPED.fullmatch(text):
        return _digits_of(text)
    match = _DECIMAL.fullmatch(text)
    if match is None or match[2] is None:
        return text
    whole, decimals = match[1], match[2]
    if _GROUPED.fullmatch(whole) and text[len(whole)] not in whole:
        whole = _digits_of(whole)
    return f"{whole}.{decimals}"


def _digits_of(text: str) -> str:
    return "".join(letter for letter in text if letter.isdigit() or letter in "+-")


def _number(text: str) -> Decimal | None:
    """The value of a number in plain digits; None for anything else."""
    if not re.fullmatch(r"[+-]?\d+(?:\.\d+)?", text, flags=re.ASCII):
        return None
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def _same_date(text: str, wanted: Answer) -> bool:
    return text in _date_forms(wanted.value)


@lru_cache(maxsize=1024)
def _date_forms(iso: str) -> frozenset[str]:
    """The ways to write a day."""
    year, month, day = (int(part) for part in iso.split("-"))
    forms = {iso}
    for locale in LOCALES:
        shown = day_text(iso, locale)
        with_year = f"{year}年{shown}" if locale == "ja" else f"{shown} {year}"
        forms |= {shown, with_year}
    english = f"{month_name(month, 'en')} {day}"
    forms |= {english, f"{english} {year}", f"{english}, {year}"}
    return frozenset(map(plain, forms))


_TIME: Final = re.compile(r"(\d{1,2})(?::(\d{2}))? ?(am|pm|a\.m\.|p\.m\.)?", flags=re.ASCII)


def _same_time(text: str, wanted: Answer) -> bool:
    return _minute_of_day(text) == _minute_of_day(wanted.value) is not None


def _minute_of_day(text: str) -> int | None:
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    hour, minute, half = int(match[1]), int(match[2] or 0), (match[3] or "").replace(".", "")
    if minute > 59 or (match[2] is None and not half):
        return None
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (half == "pm")
    return hour * 60 + minute if hour < 24 else None


_SEPARATORS: Final = re.compile(r"[,、،\n]|(?<!\S)and(?!\S)")


def entries_of(text: str) -> list[str]:
    """The entries of a list, each as `plain` writes it."""
    parts = (plain(part) for part in _SEPARATORS.split(text.casefold()))
    return [part for part in parts if part]


def _same_list(given: str, wanted: Answer) -> bool:
    entries, right = entries_of(given), entries_of(wanted.value)
    if wanted.ordered:
        return entries == right
    return Counter(entries) == Counter(right)


_SAME: Final[dict[str, Callable[[str, Answer], bool]]] = {
    "number": _same_number,
    "date": _same_date,
    "time": _same_time,
    "name": _same_name,
}
