"""What the clones say in other languages: English text in, the same text in a look's locale out.

One TOML file per app lies in `locales/`: a table per English text (labels, wordings, phrasings with
their gaps), in it one line per locale. What no file knows stays as it is: names, codes and numbers
are the same everywhere.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal, get_args

from sync.errors import RejectedError

Locale = Literal["en", "de", "ja", "ar"]
LOCALES: tuple[Locale, ...] = get_args(Locale)
RIGHT_TO_LEFT: frozenset[Locale] = frozenset({"ar"})

_FOLDER = Path(__file__).parent / "locales"


@dataclass(frozen=True, slots=True)
class Term:
    """A word of an app that a goal names, said in the look's locale; other words stay as written.

    Attributes:
        kind: "word" is looked up in the catalogue, "day" is a day such as `2025-03-14`.
    """

    text: str
    kind: Literal["word", "day"] = "word"


def say(text: str, locale: Locale) -> str:
    """The text in a locale; the text itself where the catalogue has none."""
    return text if locale == "en" else _catalogue(locale).get(text, text)


def english(text: str) -> str:
    """What a text of any locale is in English; the text itself where the catalogue has none."""
    return _originals().get(text, text)


def knows(text: str, locale: Locale) -> bool:
    """Whether the catalogue has the text in that locale."""
    return locale == "en" or text in _catalogue(locale)


def texts_of(locale: Locale) -> Iterable[str]:
    """All that is said in a locale; in English nothing, as no file translates into it."""
    return _catalogue(locale).values()


def add_texts(path: Path, app: str = "") -> None:
    """Take the translations of a user's own app in: a file as those in `locales/`.

    Args:
        app: the app's name, so that `file_of` tells where what it says belongs.

    Raises: RejectedError: it is no such file.
    """
    try:
        texts = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RejectedError(f"{path}: {error}; repair it", reason="malformed") from error
    for text, translations in texts.items():
        _check(path, text, translations)
    for text, translations in texts.items():
        for locale in LOCALES:
            if locale in translations:
                _catalogue(locale)[text] = translations[locale]
    _originals.cache_clear()
    if app:
        _own_files[app] = str(path)


def _check(path: Path, text: str, translations: object) -> None:
    if not isinstance(translations, dict):
        raise RejectedError(
            f'{path}: {text!r} has no table; write ["{text}"] and below it de = "…"',
            reason="malformed",
        )
    for locale, said in translations.items():
        if locale not in LOCALES:
            known = ", ".join(each for each in LOCALES if each != "en")
            raise RejectedError(
                f'{path}: ["{text}"] has a line {locale}; write one of {known}', reason="malformed"
            )
        if not isinstance(said, str):
            raise RejectedError(
                f'{path}: ["{text}"] {locale} is {said!r}; write it in quotes: {locale} = "{said}"',
                reason="malformed",
            )


_own_files: Final[dict[str, str]] = {}


def file_of(app: str) -> str:
    """The file that the translations of what an app says belong in."""
    return _own_files.get(app, f"locales/{app}.toml")


@lru_cache(maxsize=len(LOCALES))
def _catalogue(locale: Locale) -> dict[str, str]:
    texts: dict[str, str] = {}
    for table in _files():
        for text, translations in table.items():
            if locale in translations:
                texts[text] = translations[locale]
    return texts


@lru_cache(maxsize=1)
def _files() -> tuple[dict[str, dict[str, str]], ...]:
    """What stands in all files; reading them takes longer than anything else here."""
    return tuple(
        tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(_FOLDER.glob("*.toml"))
    )


@lru_cache(maxsize=1)
def _originals() -> dict[str, str]:
    return {
        translation: text
        for locale in LOCALES
        if locale != "en"
        for text, translation in _catalogue(locale).items()
    }


_MONTHS: dict[Locale, tuple[str, ...]] = {
    "en": (
        "January", "February", "March", "April", "May", "June", "July", "August", "September",
        "October", "November", "December",
    ),
    "de": (
        "Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September",
        "Oktober", "November", "Dezember",
    ),
    "ja": tuple(f"{number}月" for number in range(1, 13)),
    "ar": (
        "يناير", "فبراير", "مارس", "أبريل", "مايو", "يونيو", "يوليو", "أغسطس", "سبتمبر", "أكتوبر",
        "نوفمبر", "ديسمبر",
    ),
}  # fmt: skip


def month_name(month: int, locale: Locale) -> str:
    """The name of a month, 1..12."""
    return _MONTHS[locale][month - 1]


def day_text(iso: str, locale: Locale) -> str:
    """A day such as `2025-03-14` as people write it, without its year: `14 March`."""
    _, month, day = (int(part) for part in iso.split("-"))
    name = month_name(month, locale)
    match locale:
        case "de":
            return f"{day}. {name}"
        case "ja":
            return f"{name}{day}日"
        case _:
            return f"{day} {name}"


_WEEKDAYS: dict[Locale, str] = {
    "en": "MTWTFSS",
    "de": "MDMDFSS",
    "ja": "月火水木金土日",
    "ar": "نثرخجسح",
}


def weekday_letters(locale: Locale) -> str:
    """One letter a day of the week, from Monday on."""
    return _WEEKDAYS[locale]


def month_text(year: int, month: int, locale: Locale) -> str:
    """A month of a year as people write it: `March 2025`."""
    name = month_name(month, locale)
    return f"{year}年{name}" if locale == "ja" else f"{name} {year}"
