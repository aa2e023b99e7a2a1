"""What `set_up` has to give so that a task can be made of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from typing import Final

from apps_mock.blame import place_of
from apps_mock.errors import SetUpError
from apps_mock.registry import APPS
from apps_mock.templates import Instance, Template

_KINDS: Final = {"words": dict, "plan": dict, "changes": tuple, "others": dict, "stages": tuple}


def checked(template: Template, given: object) -> Instance:
    """What `set_up` gave.

    Raises: SetUpError: it is no instance.
    """
    if not isinstance(given, Instance):
        raise _fault(template, f"set_up gave {given!r:.60}; return an Instance")
    for name, kind in _KINDS.items():
        value = getattr(given, name)
        if not isinstance(value, kind):
            said = f"Instance.{name} is {value!r:.60}; it has to be a {kind.__name__}"
            raise _fault(template, said)
    if given.data is not None and not is_dataclass(given.data):
        said = f"Instance.data is {given.data!r:.60}; it has to be a dataclass of tables"
        raise _fault(template, said)
    return given


def filled(template: Template, phrasing: str, words: Mapping[str, str]) -> str:
    """A goal: a phrasing with its gaps filled.

    Raises: SetUpError: the words lack a gap, or the phrasing cannot be filled.
    """
    try:
        return phrasing.format_map(words)
    except KeyError as error:
        gap = error.args[0]
        text = (
            f"the phrasing {phrasing!r} has the gap {{{gap}}}, which the words of set_up lack; "
            f"add {gap!r} to words, or rename the gap"
        )
        raise _fault(template, text) from error
    except (ValueError, IndexError, AttributeError) as error:
        text = f"the phrasing {phrasing!r} cannot be filled; write gaps as {{name}}"
        raise _fault(template, text) from error


def check_apps(template: Template, names: Iterable[str]) -> None:
    """Whether there are the apps that an instance speaks of.

    Raises: SetUpError: one of them is unknown.
    """
    for name in names:
        if name not in APPS:
            text = f"set_up speaks of an app {name!r} that there is not"
            raise _fault(template, f"{text}; name one of `outrider clones list`")


def _fault(template: Template, text: str) -> SetUpError:
    return SetUpError(f"{place_of(template.set_up)}the template {template.name!r}: {text}")
