"""Reads the service's settings: what the command line says, then a TOML file, then the defaults."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from cloud_learner.curriculum import CurriculumSettings
from cloud_learner.errors import SettingsError
from cloud_learner.judge_settings import JudgeSettings
from cloud_learner.settings import (
    CampaignSettings,
    DispatchSettings,
    GateSettings,
    ServiceSettings,
)

JUDGE_TABLE = "judge"
_TABLES = {
    JUDGE_TABLE: JudgeSettings,
    "service": ServiceSettings,
    "campaign": CampaignSettings,
    "gate": GateSettings,
    "dispatch": DispatchSettings,
    "curriculum": CurriculumSettings,
}
_NESTED = frozenset({"data_dir", "campaign", "gate", "dispatch", "curriculum"})
_T = TypeVar("_T")


def read_settings(
    file: Path | None,
    *,
    data_dir: Path,
    service: Mapping[str, object] | None = None,
    campaign: Mapping[str, object] | None = None,
) -> ServiceSettings:
    """The settings of one service process.

    Args:
        file: TOML with [service], [campaign], [gate], [dispatch] and [curriculum]; None for
            none.
        service, campaign: what the command line says; None values count as not given.

    Raises:
        SettingsError: a file, key or value that cannot be used; nothing was started.
    """
    tables = _read(file)
    given = {"service": service or {}, "campaign": campaign or {}}
    for name, values in given.items():
        chosen = {key: value for key, value in values.items() if value is not None}
        tables[name] = {**tables.get(name, {}), **chosen}
    return replace(
        _made(ServiceSettings, {**tables["service"], "data_dir": data_dir}, file),
        campaign=replace(
            _made(CampaignSettings, tables["campaign"], file),
            gate=_made(GateSettings, tables.get("gate", {}), file),
            curriculum=_made(CurriculumSettings, tables.get("curriculum", {}), file),
        ),
        dispatch=_made(DispatchSettings, tables.get("dispatch", {}), file),
    )


def read_judge_settings(
    file: Path | None, *, given: Mapping[str, object] | None = None
) -> JudgeSettings:
    """The table [judge] of a settings file, under what the command line says.

    Args:
        given: what the command line says; None values count as not given.

    Raises: SettingsError: a file, key or value that cannot be used.
    """
    chosen = {key: value for key, value in (given or {}).items() if value is not None}
    return _made(JudgeSettings, {**_read(file).get(JUDGE_TABLE, {}), **chosen}, file)


def _read(file: Path | None) -> dict[str, dict[str, object]]:
    if file is None:
        return {}
    try:
        document = tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"settings file {file} cannot be read ({error})") from error
    tables = {name: table for name, table in document.items() if name in _TABLES}
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise SettingsError(f"settings file {file}: [{name}] must be a table")
        known = {entry.name for entry in fields(_TABLES[name])} - _NESTED
        for key in table:
            if key not in known:
                raise SettingsError(
                    f"settings file {file}: [{name}] has an unknown key {key!r}: remove it"
                )
    return tables


def _made(cls: type[_T], values: Mapping[str, Any], file: Path | None) -> _T:  # Any: TOML values
    try:
        return msgspec.convert(dict(values), cls)
    except (msgspec.ValidationError, ValueError) as error:
        where = f"settings file {file}" if file is not None else "settings"
        raise SettingsError(f"{where}: {error}; correct it and start again") from error
