"""The `[redaction]` table of an owner's file: what else to hide, and what not."""

from __future__ import annotations

import tomllib
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

from device_runtime.errors import SettingsError
from device_runtime.redaction import OWNED_REDACTION
from device_runtime.secret_patterns import RedactionRules

SECRETS_KEY: Final = "owner_secrets_file"
_SWITCHES: Final = tuple(
    one.name for one in fields(RedactionRules) if one.name not in {"owner_secrets", "thorough"}
)


def read_redaction(file: Path) -> RedactionRules:
    """The redaction rules in a file's `[redaction]` table; the shipped ones where it has none.

    `owner_secrets_file` names a text file with one secret a line: secrets never stand in settings.

    Raises: SettingsError: a key or value that means nothing, or a file that cannot be read.
    """
    try:
        table = tomllib.loads(file.read_text("utf-8")).get("redaction", {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{file} cannot be read ({error}): name a TOML file") from error
    if not isinstance(table, dict):
        raise SettingsError(f"{file}: redaction is not a table: write [redaction] on its own line")
    changes: dict[str, Any] = {}  # Any: values of the rules' types, checked below
    for name, value in table.items():
        if name == SECRETS_KEY:
            changes["owner_secrets"] = _listed(file, value)
        elif name not in _SWITCHES:
            known = ", ".join((*_SWITCHES, SECRETS_KEY))
            raise SettingsError(f"{file}: redaction has an unknown key {name!r}: use {known}")
        elif not isinstance(value, bool):
            raise SettingsError(f"{file}: redaction.{name} cannot be {value!r}: true or false")
        else:
            changes[name] = value
    return replace(OWNED_REDACTION, **changes)


def _listed(file: Path, value: object) -> tuple[str, ...]:
    """The secrets in the file that a settings file names, relative to it."""
    if not isinstance(value, str):
        raise SettingsError(f"{file}: redaction.{SECRETS_KEY} cannot be {value!r}: write a path")
    path = file.parent / Path(value).expanduser()
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: redaction.{SECRETS_KEY}: {path}: {error}") from error
    return tuple(line.strip() for line in lines if line.strip())
