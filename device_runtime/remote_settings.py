"""Settings that the owner changes from afar: checked here, kept on disk, acknowledged by version.

    DesiredSettings (retained) ─► take: version, type, range ─► remote_settings.json ─► report

A value that is not taken leaves the one before in force and is told by its reason code; a name that
this program does not know is counted. What is not set from afar has the device's own value.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec
import structlog

from device_runtime.log_quota import QUOTA_BYTES as LOG_QUOTA_BYTES
from sync.clock import Clock
from sync.durable_file import write_durably
from sync.messages import DesiredSettings, ReportedSettings, SettingValue

_LOG = structlog.get_logger()
FILE: Final = "remote_settings.json"


@dataclass(frozen=True, slots=True)
class NumberRule:
    """A number that can be set from afar; both ends of its range are allowed."""

    lowest: float
    highest: float
    default: float
    what: str

    def refusal(self, value: SettingValue, *, own: float) -> str:
        """Why `value` is not taken, as a reason code; empty where it is.

        Args:
            own: what the device itself has.
        """
        del own
        if isinstance(value, bool) or not isinstance(value, int | float):
            return "type"
        return "" if self.lowest <= value <= self.highest else "range"  # NaN is in no range


@dataclass(frozen=True, slots=True)
class PermitRule:
    """A permit that can be taken back from afar, and given back.

    It cannot be given from afar: the device's own setting is the most that can be had.
    """

    what: str
    default: float = 0.0

    def refusal(self, value: SettingValue, *, own: float) -> str:
        """Why `value` is not taken, as a reason code; empty where it is."""
        if not isinstance(value, bool | float) or value not in {0.0, 1.0}:
            return "type"
        return "" if value <= own else "range"


RULES: Final[Mapping[str, NumberRule | PermitRule]] = MappingProxyType(
    {
        "temperature": NumberRule(
            0.0, 4.0, 0.0, "exploration of episodes that the phone plays on its own behalf; 0 none"
        ),
        "health_every_s": NumberRule(
            1.0, 86_400.0, 15.0, "seconds between two reports of how the device does"
        ),
        "outbox_quota_mb": NumberRule(
            1.0, 100_000.0, 256.0, "megabytes that what waits to be sent may take"
        ),
        "log_quota_mb": NumberRule(
            1.0,
            100_000.0,
            LOG_QUOTA_BYTES / 1_000_000,
            "megabytes of steps that stay in the log; the oldest go first",
        ),
        "upload_screens": PermitRule(
            "whether pictures of screens may leave; only false, where the device itself says so"
        ),
    }
)
"""All that can be set from afar."""


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What is on disk."""

    version: int
    values: dict[str, float]
    refused: tuple[tuple[str, str], ...] = ()
    unknown: int = 0


_NOTHING: Final = _Kept(version=0, values={})


class RemoteSettings:
    """One device's settings from afar; implements `sync.ports.SettingsHolder`. Thread-safe.

    Args:
        folder: the phone's.
        own: values of this device that hold where nothing is set from afar.
    """

    def __init__(
        self, folder: Path, *, clock: Clock, own: Mapping[str, float] = MappingProxyType({})
    ) -> None:
        self._path = folder / FILE
        self._clock = clock
        self._own = {name: own.get(name, rule.default) for name, rule in RULES.items()}
        self._lock = threading.Lock()
        self._kept = self._read()

    def number(self, name: str) -> float:
        """The value of a setting now.

        Raises: KeyError: there is no such setting.
        """
        with self._lock:
            return self._kept.values.get(name, self._own[name])

    def take(self, desired: DesiredSettings) -> ReportedSettings:
        """Go by `desired` where it is newer, durably; what holds afterwards, either way."""
        with self._lock:
            if desired.version > self._kept.version:
                kept = self._merged(desired)
                write_durably(self._path, msgspec.json.encode(kept))
                self._kept = kept
                _LOG.info("settings_taken", version=kept.version, refused=dict(kept.refused))
            return self._report()

    def report(self) -> ReportedSettings | None:
        """What holds now; None where nothing was ever set from afar."""
        with self._lock:
            return self._report() if self._kept.version else None

    def _merged(self, desired: DesiredSettings) -> _Kept:
        values: dict[str, float] = {}
        refused: list[tuple[str, str]] = []
        for name, value in desired.values.items():
            reason = self._refusal(name, value)
            if not reason:
                values[name] = float(value)
                continue
            refused.append((name, reason))
            if name in self._kept.values:
                values[name] = self._kept.values[name]
        unknown = sum(reason == "unknown" for _, reason in refused)
        return _Kept(
            version=desired.version,
            values=values,
            refused=tuple(refused),
            unknown=self._kept.unknown + unknown,
        )

    def _refusal(self, name: str, value: SettingValue) -> str:
        if name not in RULES:
            return "unknown"
        return RULES[name].refusal(value, own=self._own[name])

    def _report(self) -> ReportedSettings:
        kept = self._kept
        values = {**self._own, **kept.values}
        return ReportedSettings(
            version=kept.version,
            values={name: _said(name, value) for name, value in values.items()},
            refused=kept.refused,
            unknown=kept.unknown,
            at_ms=self._clock.wall_ms(),
        )

    def _read(self) -> _Kept:
        """What an earlier process took; nothing where that cannot be read: it is said again."""
        try:
            kept = msgspec.json.decode(self._path.read_bytes(), type=_Kept)
        except FileNotFoundError:
            return _NOTHING
        except (OSError, msgspec.DecodeError) as error:
            _LOG.warning("settings_unreadable", file=str(self._path), error=str(error))
            return _NOTHING
        sound = {
            name: value for name, value in kept.values.items() if not self._refusal(name, value)
        }
        return msgspec.structs.replace(kept, values=sound)


def _said(name: str, value: float) -> SettingValue:
    """A value as it is told: a permit is true or false."""
    return bool(value) if isinstance(RULES[name], PermitRule) else value
