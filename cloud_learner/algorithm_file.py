"""Which algorithm learns, and how: by name, with changes from a TOML or JSON file.

    algorithm = "grpo"
    [settings]
    group_size = 4

What a file does not say is as in `algorithm_settings.ALGORITHMS`. A key that no algorithm of that
name has, and a value out of its range, is an error that says what would be right.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from math import isfinite
from pathlib import Path

import msgspec

from cloud_learner.algorithm_settings import ALGORITHMS, STABILISED, AnySettings
from cloud_learner.errors import SettingsError

_KEYS = frozenset({"algorithm", "settings"})


@dataclass(frozen=True, slots=True)
class AlgorithmChoice:
    """An algorithm by its name in `ALGORITHMS`, and its settings."""

    name: str = "a_ride"
    settings: AnySettings = STABILISED


def algorithm_choice(name: str, changes: Mapping[str, object] | None = None) -> AlgorithmChoice:
    """The algorithm of that name with some settings changed.

    Args:
        changes: by the names of the settings; nested ones (`replay`) as mappings.

    Raises: SettingsError: no algorithm has that name, no setting that key, or a value is out of
        its range.
    """
    if name not in ALGORITHMS:
        known = ", ".join(sorted(ALGORITHMS))
        raise SettingsError(f"there is no algorithm {name!r}: take one of {known}")
    return AlgorithmChoice(name, _changed(ALGORITHMS[name], changes or {}, name))


def read_algorithm(path: Path) -> AlgorithmChoice:
    """The choice that a file makes: JSON where its name ends in .json, else TOML.

    Raises: SettingsError: the file cannot be read, or what it says cannot be used.
    """
    document = _document(path)
    if unknown := sorted(set(document) - _KEYS):
        raise SettingsError(
            f"{path} has an unknown key {unknown[0]!r}: it holds `algorithm` and `settings`"
        )
    name, changes = document.get("algorithm"), document.get("settings", {})
    if not isinstance(name, str) or not isinstance(changes, dict):
        raise SettingsError(
            f'{path}: write algorithm = "NAME", and [settings] as a table with what to change'
        )
    try:
        return algorithm_choice(name, changes)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from error


def _document(path: Path) -> dict[str, object]:
    try:
        text = path.read_text("utf-8")
        document: object = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path} cannot be read ({error}); correct or remove it") from error
    if not isinstance(document, dict):
        raise SettingsError(f"{path} must hold an object with `algorithm` and `settings`")
    return document


def _changed(settings: AnySettings, changes: Mapping[str, object], name: str) -> AnySettings:
    merged = msgspec.to_builtins(settings)
    _merge(merged, changes, name)
    for key, value in _leaves(merged, ""):
        if isinstance(value, float) and not isfinite(value):
            raise SettingsError(f"setting {key} of {name} must be a number, got {value}")
    try:
        return msgspec.convert(merged, type(settings))
    except msgspec.ValidationError as error:
        text = str(error).replace("$.", "").replace("`", "")
        raise SettingsError(f"settings of {name}: {text}; correct it") from error


def _merge(into: dict[str, object], changes: Mapping[str, object], where: str) -> None:
    for key, value in changes.items():
        if key not in into:
            close = get_close_matches(key, into, n=1)
            advice = f"did you mean {close[0]}?" if close else f"it has {', '.join(sorted(into))}"
            raise SettingsError(f"{where} has no setting {key!r}: {advice}")
        present = into[key]
        if isinstance(present, dict) and isinstance(value, Mapping):
            _merge(present, value, f"{where}.{key}")
        else:
            into[key] = value


def _leaves(tree: Mapping[str, object], path: str) -> Iterator[tuple[str, object]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value
