"""What is wrong with a view that cannot be laid out: which widget, which field, and what it needs.

It runs only once the layout has failed: views are built too often to be checked each time.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import lru_cache
from types import UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from apps_mock.widgets import Screen


def view_fault(screen: object) -> str:
    """The first fault of what a view gave, in one line; empty where there is none."""
    if not isinstance(screen, Screen):
        return f"the view gave {_shown(screen)}; it has to give a Screen"
    return next(_faults(screen, f"the screen {screen.title!r}"), "")


def _faults(value: object, where: str) -> Iterator[str]:
    """Faults of a widget's fields, and of the widgets in them."""
    # mypy takes a class of object for unhashable; every class hashes
    for name, wanted in _fields(cast("Hashable", type(value))).items():
        given = getattr(value, name)
        if not _fits(given, wanted):
            yield (
                f"{where}: {type(value).__name__}.{name} is {_shown(given)}; it has to be "
                f"{_said(wanted)}"
            )
        elif isinstance(given, tuple):
            for part in given if not hasattr(given, "_fields") else (given,):
                if hasattr(part, "_fields"):
                    yield from _faults(part, where)


@lru_cache(maxsize=64)
def _fields(kind: Any) -> dict[str, Any]:  # Any: a class; annotations are of many kinds
    return get_type_hints(kind)


def _fits(given: object, wanted: Any) -> bool:  # Any: as above
    origin = get_origin(wanted)
    if origin in {Union, UnionType}:
        return any(_fits(given, one) for one in get_args(wanted))
    if origin is Literal:
        return given in get_args(wanted)
    if origin is tuple:
        one = get_args(wanted)[0]
        if not isinstance(given, tuple) or hasattr(given, "_fields"):
            return False
        return all(_fits(part, one) for part in given)
    if wanted is None or wanted is type(None):
        return given is None
    return isinstance(given, wanted)


def _said(wanted: Any) -> str:  # Any: as above
    origin, parts = get_origin(wanted), get_args(wanted)
    if origin in {Union, UnionType}:
        return " or ".join(_said(part) for part in parts)
    if origin is Literal:
        return " or ".join(repr(part) for part in parts)
    if origin is tuple:
        return f"a tuple of {_said(parts[0])}"
    return "None" if wanted is type(None) else str(wanted.__name__)


def _shown(given: object) -> str:
    text = repr(given)
    return f"{text[:57]}..." if len(text) > 60 else text
