"""What must hold of a phone before an agent may act on it: battery, heat, network, its owner.

Reading is the driver's: one shell command whose output `parse_conditions` understands. Deciding is
a pure function; what could not be read is None and counts as not met.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Protocol

CONDITIONS_COMMAND: Final = (
    "dumpsys battery; dumpsys wifi | grep -E '^Wi-Fi is|mNetworkInfo|mWifiInfo'; "
    "dumpsys power | grep -E 'mLastUserActivityTime|mWakefulness='"
)
"""Prints what `parse_conditions` reads; every part may be missing."""

_CHARGING_STATES: Final = frozenset({"2", "5"})
_FIELD = re.compile(r"^\s*(level|scale|temperature|status): (-?\d+)\s*$", re.MULTILINE)
_POWERED = re.compile(r"^\s*(?:AC|USB|Wireless|Dock) powered: (true|false)\s*$", re.MULTILINE)
_WIFI = re.compile(r"mNetworkInfo.*?state: ([A-Z]+)/|Wi-Fi is (enabled|disabled)")
_ACTIVITY = re.compile(r"mLastUserActivityTime(?:\(excludingAttention\))?=.*?\((\d+) ms ago\)")
_ASLEEP = re.compile(r"mWakefulness=(Asleep|Dozing)")


@dataclass(frozen=True, slots=True)
class Conditions:
    """What is true of a phone now; None where it could not be read.

    Attributes:
        battery_percent: charge, 0 to 100.
        temperature_c: of the battery.
        charging: whether power comes in.
        wifi: whether Wi-Fi is connected.
        idle_s: since when nobody has touched the phone.
    """

    battery_percent: float | None = None
    temperature_c: float | None = None
    charging: bool | None = None
    wifi: bool | None = None
    idle_s: float | None = None


MAINS = Conditions(
    battery_percent=100.0, temperature_c=25.0, charging=True, wifi=True, idle_s=float("inf")
)
"""A clone's: it has no battery and no owner."""


@dataclass(frozen=True, slots=True)
class ConditionRules:
    """What must hold; the defaults ask nothing.

    Attributes:
        battery_percent: least charge.
        temperature_c: highest temperature of the battery; 0 is no limit.
        charging, wifi: whether they are needed.
        idle_s: for how long the owner must not have touched the phone.
    """

    battery_percent: float = 0.0
    temperature_c: float = 0.0
    charging: bool = False
    wifi: bool = False
    idle_s: float = 0.0


NO_CONDITIONS: Final = ConditionRules()


class ReadsConditions(Protocol):
    """Reads what is true of a phone now."""

    def __call__(self) -> Conditions:
        """The conditions; a phone that cannot be reached raises `PhoneLostError`."""
        ...


def unmet(conditions: Conditions, rules: ConditionRules) -> str | None:
    """Why the agent may not act now, in one line; None where all that is asked holds."""
    checks = (
        (
            bool(rules.battery_percent),
            conditions.battery_percent,
            lambda percent: percent >= rules.battery_percent,
            f"battery_percent: {{:.0f}} % are left, {rules.battery_percent:.0f} % are needed",
        ),
        (
            bool(rules.temperature_c),
            conditions.temperature_c,
            lambda celsius: celsius <= rules.temperature_c,
            f"temperature_c: the battery has {{:.1f}} °C, {rules.temperature_c:.1f} °C are allowed",
        ),
        (rules.charging, conditions.charging, bool, "charging: the phone is not charging"),
        (rules.wifi, conditions.wifi, bool, "wifi: the phone is not on Wi-Fi"),
        (
            bool(rules.idle_s),
            conditions.idle_s,
            lambda idle_s: idle_s >= rules.idle_s,
            f"idle_s: the phone was touched {{:.0f}} s ago, {rules.idle_s:.0f} s are needed",
        ),
    )
    for asked, value, holds, text in checks:
        if asked and value is None:
            return f"{text.partition(':')[0]}: the phone does not say"
        if asked and not holds(value):
            return text.format(value)
    return None


def parse_conditions(output: str) -> Conditions:
    """What the output of `CONDITIONS_COMMAND` says."""
    facts = dict(_FIELD.findall(output))
    level, scale = facts.get("level"), int(facts.get("scale", 100))
    temperature = facts.get("temperature")
    powered = _POWERED.findall(output)
    charging = None
    if powered or "status" in facts:
        charging = "true" in powered or facts.get("status") in _CHARGING_STATES
    return Conditions(
        battery_percent=None if level is None or scale <= 0 else 100.0 * int(level) / scale,
        temperature_c=None if temperature is None else int(temperature) / 10.0,
        charging=charging,
        wifi=_wifi(output),
        idle_s=_idle_s(output),
    )


def _wifi(output: str) -> bool | None:
    found = [(state, switch) for state, switch in _WIFI.findall(output)]
    states = [state for state, _ in found if state]
    if states:
        return "CONNECTED" in states
    return False if ("", "disabled") in found else None


def _idle_s(output: str) -> float | None:
    """Seconds since the owner's last touch; for ever while the screen is off."""
    if _ASLEEP.search(output):
        return float("inf")
    ages = [int(age) / 1000.0 for age in _ACTIVITY.findall(output)]
    return min(ages) if ages else None
