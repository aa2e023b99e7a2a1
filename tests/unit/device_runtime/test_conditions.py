import math
from dataclasses import replace

import pytest

from device_runtime.conditions import (
    MAINS,
    ConditionRules,
    Conditions,
    parse_conditions,
    unmet,
)

EVERYTHING = ConditionRules(
    battery_percent=15.0, temperature_c=45.0, charging=True, wifi=True, idle_s=60.0
)
SAID = """Current Battery Service state:
  AC powered: false
  USB powered: true
  Wireless powered: false
  status: 2
  level: 87
  scale: 100
  temperature: 312
Wi-Fi is enabled
  mNetworkInfo [type: WIFI[], state: CONNECTED/CONNECTED, reason: (unspecified)]
  mWakefulness=Awake
  mLastUserActivityTime=81234567 (4200 ms ago)
"""


def test_a_clone_meets_everything():
    assert unmet(MAINS, EVERYTHING) is None


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"battery_percent": 14.0}, "battery_percent"),
        ({"battery_percent": None}, "battery_percent"),
        ({"temperature_c": 45.1}, "temperature_c"),
        ({"charging": False}, "charging"),
        ({"charging": None}, "charging"),
        ({"wifi": False}, "wifi"),
        ({"idle_s": 59.0}, "idle_s"),
        ({"idle_s": None}, "idle_s"),
    ],
)
def test_what_is_missing_or_unknown_is_named(changes, key):
    assert unmet(replace(MAINS, **changes), EVERYTHING).startswith(f"{key}: ")


def test_rules_that_ask_nothing_need_no_answer():
    assert unmet(Conditions(), ConditionRules()) is None


def test_what_a_phone_says_is_read():
    found = parse_conditions(SAID)

    assert found == Conditions(87.0, 31.2, charging=True, wifi=True, idle_s=4.2)


def test_a_phone_that_says_nothing_is_unknown():
    assert parse_conditions("cmd: Can't find service: battery") == Conditions()


def test_a_sleeping_phone_is_idle_and_a_disabled_radio_is_no_wifi():
    found = parse_conditions("Wi-Fi is disabled\n  mWakefulness=Asleep\n")

    assert found.idle_s == math.inf
    assert found.wifi is False
