"""Probe files: TOML that a person writes, read into a `ProbeSet`.

    goal = "Turn Wi-Fi on"          # may be left out: then the probes fit any goal

    [[check]]
    probe = "wifi"                  # a kind of probe_catalogue.KINDS
    is = "on"

    [[check]]
    name = "Ada is in the book"     # may be left out: then the kind's name
    probe = "contact"
    person = "Ada Moss"             # parameters of the kind

Expectations: `is`, `is_not`, `contains`, `matches`, `at_least`, `at_most`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from device_runtime.errors import SettingsError
from device_runtime.probe_catalogue import KINDS, Kind
from device_runtime.probes import Expectation, Probe, ProbeSet

_TEXTS: Final = {
    "is": "equals",
    "is_not": "differs",
    "contains": "contains",
    "matches": "matches",
}
_NUMBERS: Final = ("at_least", "at_most")
_TOP: Final = frozenset({"goal", "check"})


def read_probes(path: Path) -> ProbeSet:
    """The probes in a file; they are named after it.

    Raises: SettingsError: no such file, no TOML, or an entry that cannot be understood.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise SettingsError(f"{path} is no file: name a probe file") from error
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path} cannot be read as TOML ({error}): repair it") from error
    unknown = sorted(set(document) - _TOP)
    if unknown:
        raise SettingsError(f"{path} has {unknown[0]!r}: it takes goal and [[check]] only")
    goal, entries = document.get("goal", ""), document.get("check", [])
    if not isinstance(goal, str) or not isinstance(entries, list) or not entries:
        raise SettingsError(f"{path} needs a [[check]] at least, and its goal is a text")
    probes = tuple(
        _probe(entry, f"{path}: check {position}") for position, entry in enumerate(entries, 1)
    )
    names = [probe.name for probe in probes]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SettingsError(f'{path} has two checks called {twice!r}: give each a name = "…"')
    return ProbeSet(path.stem, probes, goal)


def _probe(entry: object, where: str) -> Probe:
    if not isinstance(entry, dict):
        raise SettingsError(f"{where} is no table: write [[check]] above it")
    kind_name = entry.get("probe")
    kind = KINDS.get(kind_name) if isinstance(kind_name, str) else None
    if kind is None:
        raise SettingsError(
            f"{where} has probe = {kind_name!r}; there are {', '.join(sorted(KINDS))}"
        )
    parameters, rest = _parameters(entry, kind, where)
    expectation = _expectation(rest, where)
    question = kind.ask(parameters)
    if expectation == Expectation():
        if question.holds is None:
            raise SettingsError(f'{where} says not what to expect: add is = "…"')
        expectation = replace(expectation, equals=question.holds)
    name = entry.get("name", _usual_name(str(kind_name), parameters))
    if not isinstance(name, str) or not name.strip():
        raise SettingsError(f"{where} has no usable name: write a text, or leave it out")
    return Probe(name.strip(), question, expectation)


def _usual_name(kind: str, parameters: Mapping[str, str]) -> str:
    return " ".join((kind, *parameters.values()))


def _parameters(
    entry: Mapping[str, object], kind: Kind, where: str
) -> tuple[dict[str, str], dict[str, object]]:
    """The kind's parameters, and what is left of the entry."""
    known = (*kind.needs, *kind.takes)
    left = {key: value for key, value in entry.items() if key not in {"probe", "name"}}
    given: dict[str, str] = {}
    for key in known:
        value = left.pop(key, None)
        if isinstance(value, str) and value and "\x00" not in value:
            given[key] = value
        elif value is not None or key in kind.needs:
            raise SettingsError(f'{where} needs {key} = "…", a text')
    if not kind.needs and kind.takes and not given:
        raise SettingsError(f"{where} needs one of {', '.join(kind.takes)}")
    if "line" in given:
        _require_pattern(given["line"], "line", where)
    return given, left


def _expectation(left: Mapping[str, object], where: str) -> Expectation:
    values: dict[str, str | float] = {}
    for key, value in left.items():
        if key in _TEXTS and isinstance(value, str):
            values[_TEXTS[key]] = value
        elif key in _NUMBERS and isinstance(value, int | float) and not isinstance(value, bool):
            values[key] = float(value)
        elif key in _TEXTS or key in _NUMBERS:
            form = "a text" if key in _TEXTS else "a number"
            raise SettingsError(f"{where}: {key} is {form}, got {value!r}")
        else:
            raise SettingsError(f"{where} does not take {key!r}")
    pattern = values.get("matches")
    if isinstance(pattern, str):
        _require_pattern(pattern, "matches", where)
    return Expectation(**values)  # type: ignore[arg-type]  # each key's type was checked above


def _require_pattern(pattern: str, key: str, where: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise SettingsError(f"{where}: {key} is no regular expression ({error})") from error
