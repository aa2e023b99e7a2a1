"""Texts that an app writes past its look: they stay English whatever the language.

The rule has to know names from words: in a look whose letters are not Latin ones, a Latin word of a
screen has to come from the phone's data (before or now), the goal, an app's name or a translation.
Tokens with digits or signs of addresses in them are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from apps_mock.catalogue import Locale, file_of, texts_of
from apps_mock.look import Look
from apps_mock.phone_state import PhoneState
from apps_mock.registry import APPS
from apps_mock.tasks import Task
from apps_mock.widgets import Event, Screen

_WORD: Final = re.compile(r"[A-Za-z]{3,}")
_NO_WORD: Final = re.compile(r"[./0-9@:]")
_NOT_READ: Final = frozenset({"key", "name", "icon", "image", "kind", "value"})
_FOREIGN: Final = frozenset({"ja", "ar"})


def raw_texts(screen: Screen, look: Look, state: PhoneState, task: Task) -> list[str]:
    """One line per text of an app's screen that no translation and no data gave."""
    app = state.foreground
    if look.locale not in _FOREIGN or state.front is None or state.overlays:
        return []
    raw = [text for text in _read(screen) if _unknown(text, frozenset())]
    if not raw:
        return []
    known = _translated(look.locale) | _labels() | _kept(state) | _kept(task.state)
    known |= _words(task.goal)
    return [
        f"{app} writes {text!r} as it is in {look.locale}; let the look say it (look.say) and add "
        f"it to {file_of(app)}"
        for text in raw
        if _unknown(text, known)
    ]


def _unknown(text: str, known: frozenset[str]) -> frozenset[str]:
    tokens = (token for token in text.split() if not _NO_WORD.search(token))
    return _words(" ".join(tokens)) - known


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(text))


def _read(widget: Any) -> Iterator[str]:  # Any: widgets of every kind
    """The texts of a widget, and of those in it, that people read."""
    for name in widget._fields:
        value = getattr(widget, name)
        if name in _NOT_READ or isinstance(value, Event):
            continue
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, str):
                yield part
            elif hasattr(part, "_fields"):
                yield from _read(part)


def _kept(state: PhoneState) -> frozenset[str]:
    """The words in the phone's data and in what is typed."""
    shown = " ".join(repr((app.data, app.stack)) for _, app in state.apps)
    return _words(shown.replace("\\n", " "))


def _translated(locale: Locale) -> frozenset[str]:
    return frozenset().union(*map(_words, texts_of(locale)))


def _labels() -> frozenset[str]:
    return frozenset().union(*(_words(app.label) for app in APPS.values()))
