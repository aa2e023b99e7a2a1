"""The settings of one device process: frozen, checked once, read from TOML and the environment.

Order of precedence: what the command line says, then `OUTRIDER_<NAME>` in the environment, then the
`[device]` table of the TOML file, then the default. Secrets are paths to files, never values.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

from device_runtime.errors import SettingsError
from device_runtime.screen_permit import ScreensWhen
from sync.vocabulary import DeviceId

_DEVICE_ID = re.compile(r"[a-z0-9][a-z0-9_\-]{0,39}")
_PREFIX = "OUTRIDER_"
_TRUTHS = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What one device process is and does.

    Attributes:
        device_id: its name in the fleet, also its user name at the broker.
        data_dir: folder of the fleet's data on this machine; the device lives in `phones/<id>`.
        phone_folder: where the device lives, if it is elsewhere.
        broker_url: mqtt://host:port or mqtts://host:port.
        broker_ca_file: the broker's certificate authority, for mqtts:// addresses.
        broker_certificate_file, broker_key_file: this device's own certificate and its key, for
            brokers that want one.
        credentials_file: file whose first line is the broker's password for this device.
        fleet: name of the fleet in the topics.
        channel: which release channel it follows.
        seats: episodes that are played side by side.
        workers: processes that a farm spreads its seats over.
        lease_s: how long a farm waits for one step with one mock phone before it gives it up.
        base_dir: the exported base network; `data_dir/base` where not given.
        demonstration_noise: probability that a step of the oracle's demonstrations is random.
        trial_episodes: ended episodes after which a release on trial is kept.
        shadow_screens: logged screens on which a new release is scored before its trial; 0 tries
            it at once. A farm of mock phones, which harms nobody, never scores.
        shadow_s: most time that scoring takes in one go.
        pin_patience_s: how long an assignment waits for the release that it names.
        refresh_every_s: how often the channel is looked at without an announcement.
        health_every_s: how often the device says how it does.
        permit_s: how long a phone may act after it last heard of its owner or its cloud; then it
            stops by itself, also without a network. 0 is for ever.
        upload_screens: whether pictures of its screens are taken and sent, secrets painted over.
            From afar this can be switched off, never on. Off unless said otherwise: a farm draws
            its clones' screens again wherever they are wanted.
        screens_when: what must be true of the phone while they are sent: always, charging, wifi,
            charging_or_wifi or charging_and_wifi.
        screens_width_px: the shorter side of sent screens, about; 0 sends them as they are.
        screens_quality: of lossy WebP, which screens with photographs become, 1 to 100; flat
            ones become few colours. 0 keeps every pixel of all.
        screens_quota_mb: room for pictures on the device's disk, in millions of bytes.
    """

    device_id: DeviceId
    data_dir: Path
    phone_folder: Path | None = None
    broker_url: str = ""
    broker_ca_file: Path | None = None
    broker_certificate_file: Path | None = None
    broker_key_file: Path | None = None
    credentials_file: Path | None = None
    fleet: str = "home"
    channel: str = "stable"
    seats: int = 1
    workers: int = 1
    lease_s: float = 60.0
    base_dir: Path | None = None
    demonstration_noise: float = 0.0
    trial_episodes: int = 3
    shadow_screens: int = 16
    shadow_s: float = 20.0
    pin_patience_s: float = 120.0
    refresh_every_s: float = 60.0
    health_every_s: float = 15.0
    permit_s: float = 0.0
    upload_screens: bool = False
    screens_when: ScreensWhen = ScreensWhen.CHARGING_OR_WIFI
    screens_width_px: int = 270
    screens_quality: int = 50
    screens_quota_mb: int = 256

    def __post_init__(self) -> None:
        if not _DEVICE_ID.fullmatch(self.device_id):
            raise SettingsError(
                f"device id {self.device_id!r} is not made of a-z, 0-9, - and _ (at most 40): "
                "choose another"
            )
        for name in ("seats", "workers", "trial_episodes"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} is at least 1, got {getattr(self, name)}")
        if self.workers > self.seats:
            raise SettingsError(
                f"{self.workers} workers cannot share {self.seats} seats: start fewer workers"
            )
        if not 0.0 <= self.demonstration_noise <= 1.0:
            raise SettingsError(f"demonstration_noise is in 0..1, got {self.demonstration_noise}")
        if self.shadow_screens < 0:
            raise SettingsError(f"shadow_screens is 0 or more, got {self.shadow_screens}")
        for name in ("lease_s", "pin_patience_s", "refresh_every_s", "health_every_s", "shadow_s"):
            if getattr(self, name) <= 0.0:
                raise SettingsError(f"{name} is more than 0 seconds, got {getattr(self, name)}")
        if self.permit_s < 0.0:
            raise SettingsError(f"permit_s is 0 or more seconds, got {self.permit_s}")
        self._check_screens()

    def _check_screens(self) -> None:
        if not 0 <= self.screens_quality <= 100:
            raise SettingsError(f"screens_quality is in 0..100, got {self.screens_quality}")
        if self.screens_width_px < 0 or self.screens_quota_mb < 1:
            raise SettingsError(
                "screens_width_px is 0 or more and screens_quota_mb at least 1, got "
                f"{self.screens_width_px} and {self.screens_quota_mb}"
            )

    @property
    def phone_dir(self) -> Path:
        """Where the device keeps its log, its releases and what it trusts."""
        return self.phone_folder or self.data_dir / "phones" / self.device_id

    @property
    def database(self) -> Path:
        """The device's SQLite file: log, outbox and inbox."""
        return self.phone_dir / "phone.db"

    @property
    def blobs_dir(self) -> Path:
        """Where pictures of screens lie that may be sent."""
        return self.phone_dir / "blobs"

    @property
    def graphs_dir(self) -> Path:
        """Where the exported base network lies."""
        return self.data_dir / "base" if self.base_dir is None else self.base_dir

    def password(self) -> str:
        """The broker's password for this device; empty where no file is named.

        Raises: SettingsError: the file cannot be read.
        """
        if self.credentials_file is None:
            return ""
        try:
            lines = self.credentials_file.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(
                f"credentials file {self.credentials_file} cannot be read ({error})"
            ) from error
        return lines[0].strip() if lines else ""


def read_settings(
    file: Path | None,
    *,
    environment: Mapping[str, str],
    given: Mapping[str, object],
    defaults: Mapping[str, object] = MappingProxyType({}),
) -> Settings:
    """The settings of a device process.

    Args:
        file: TOML with a `[device]` table; None where there is none.
        environment: usually `os.environ`.
        given: what the command line says; None values count as not given.
        defaults: what a role has in place of the fields' own defaults.
    Raises: SettingsError: a file, key or value that cannot be used; nothing was started.
    """
    known = {item.name: str(item.type) for item in fields(Settings)}
    chosen: dict[str, Any] = dict(defaults)  # Any: values of ten types, converted below
    for name, value in _table(file).items():
        if name not in known:
            raise SettingsError(f"{file} has an unknown key {name!r}: remove it")
        chosen[name] = value
    for name in known:
        if (value := environment.get(_PREFIX + name.upper())) is not None:
            chosen[name] = value
    chosen.update((name, value) for name, value in given.items() if value is not None)
    converted = {name: _converted(name, value, known[name]) for name, value in chosen.items()}
    for name in ("device_id", "data_dir"):
        if name not in converted:
            raise SettingsError(f"{name} is not set: give it on the command line or in the file")
    return Settings(**converted)


def _table(file: Path | None) -> Mapping[str, object]:
    if file is None:
        return {}
    try:
        table = tomllib.loads(file.read_text("utf-8")).get("device", {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"settings file {file} cannot be read ({error})") from error
    if not isinstance(table, dict):
        raise SettingsError(f"settings file {file} needs a [device] table")
    return table


def _converted(name: str, value: object, kind: str) -> Any:  # Any: one of ten types
    """`value` as the type that the field is annotated with."""
    try:
        match kind.partition(" ")[0]:
            case "Path":
                return value if isinstance(value, Path) else Path(str(value)).expanduser()
            case "int":
                return int(str(value))
            case "float":
                return float(str(value))
            case "bool":
                return _TRUTHS[str(value).lower()]
            case "ScreensWhen":
                return ScreensWhen(str(value))
            case _:
                return str(value)
    except (KeyError, ValueError) as error:
        raise SettingsError(f"{name} cannot be {value!r}: it is a {kind}") from error
