"""What kind of phone a mock is on the wire: its Android, its owner, its displays, its speed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from random import Random
from types import MappingProxyType
from typing import Final

from apps_mock.adb_auth import AuthProfile

API_LEVELS: Final = MappingProxyType({23: "6.0.1", 29: "10", 34: "14"})
"""Android's version by API level; 23 stands for phones from before shell v2."""

_OLD: Final = 23
_FEATURES: Final = (
    "shell_v2", "cmd", "stat_v2", "ls_v2", "fixed_push_mkdir", "fixed_push_symlink_timestamp",
)  # fmt: skip


class DisplayProfile(StrEnum):
    """What displays the phone has.

    Attributes:
        SINGLE: one, upright, used as it is.
        OVERRIDE: one that was given a smaller size with `wm size`.
        ROTATED: one that is turned to landscape.
        TWO: an outer one that is on and an inner one that is off.
    """

    SINGLE = "single"
    OVERRIDE = "override"
    ROTATED = "rotated"
    TWO = "two"


class Latency(StrEnum):
    """How long commands take.

    Attributes:
        INSTANT: as long as the mock needs.
        EMULATOR: as on an emulator of a desktop computer.
        PHONE: as on a phone of the middle class.
    """

    INSTANT = "instant"
    EMULATOR = "emulator"
    PHONE = "phone"


_RANGES_MS: Final[dict[Latency, dict[str, tuple[int, int]]]] = {
    Latency.INSTANT: {},
    Latency.EMULATOR: {
        "input": (60, 120),
        "screencap": (120, 250),
        "uiautomator": (500, 1200),
        "app_process": (300, 600),
        "monkey": (300, 600),
        "am": (40, 120),
        "cmd": (10, 30),
        "content": (150, 300),
        "dumpsys": (10, 40),
        "getprop": (2, 8),
        "pm": (40, 120),
        "settings": (20, 60),
        "wm": (20, 60),
    },
    Latency.PHONE: {
        "input": (150, 300),
        "screencap": (300, 1000),
        "uiautomator": (1000, 3000),
        "app_process": (500, 1000),
        "monkey": (600, 1500),
        "am": (150, 600),
        "cmd": (20, 80),
        "content": (300, 700),
        "dumpsys": (20, 120),
        "getprop": (5, 20),
        "pm": (100, 400),
        "settings": (60, 200),
        "wm": (60, 200),
    },
}
"""Milliseconds from and to, by command. Most of it is the start of a Java process."""


class Delays:
    """How long each command takes on one phone; the same seed gives the same sequence."""

    def __init__(self, latency: Latency, *, seed: int) -> None:
        self._ranges = _RANGES_MS[latency]
        self._random = Random(f"latency|{latency}|{seed}")

    def next_s(self, command: str) -> float:
        """Seconds that the next run of a command takes."""
        span = self._ranges.get(command)
        return self._random.uniform(*span) / 1000 if span else 0.0


@dataclass(frozen=True, slots=True)
class PhoneProfile:
    """One kind of phone.

    Attributes:
        api: one of `API_LEVELS`.
        seed: decides the jitter of the latencies.
    """

    api: int = 34
    auth: AuthProfile = AuthProfile.NONE
    display: DisplayProfile = DisplayProfile.SINGLE
    latency: Latency = Latency.INSTANT
    seed: int = 0

    def __post_init__(self) -> None:
        if self.api not in API_LEVELS:
            raise ValueError(f"no profile for API level {self.api}; there are {[*API_LEVELS]}")

    @property
    def is_old(self) -> bool:
        """Whether the phone is from before shell v2."""
        return self.api <= _OLD

    @property
    def features(self) -> tuple[str, ...]:
        """What the daemon says it can do."""
        return () if self.is_old else _FEATURES

    @property
    def android_version(self) -> str:
        """Android's version, as phones show it."""
        return API_LEVELS[self.api]
