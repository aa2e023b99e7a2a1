"""Which templates are asked for less, and how they come back."""

from __future__ import annotations

from dataclasses import replace
from math import exp

import pytest

from cloud_learner.algorithm_settings import GroupSettings
from cloud_learner.failure_cooldown import FailureCooldown

SETTINGS = GroupSettings(cool_down_after=2, cool_down_groups=3, dropped_weight=0.05)


def after(failures, settings=SETTINGS):
    cooldown = FailureCooldown(settings)
    for _ in range(failures):
        cooldown.observe("hard", solved=False)
    return cooldown


@pytest.mark.parametrize(
    ("failures", "weight"),
    [(0, None), (1, None), (2, exp(-1)), (3, exp(-2)), (4, exp(-3)), (5, 0.05), (9, 0.05)],
)
def test_the_weight_falls_with_each_failing_group_until_the_template_is_dropped(failures, weight):
    assert after(failures).weights().get("hard") == weight


def test_one_success_takes_a_template_back():
    cooldown = after(7)

    cooldown.observe("hard", solved=True)

    assert cooldown.weights() == {}
    cooldown.observe("hard", solved=False)
    assert cooldown.weights() == {}


def test_templates_are_counted_apart():
    cooldown = after(2)
    cooldown.observe("easy", solved=False)

    assert set(cooldown.weights()) == {"hard"}


def test_it_can_be_turned_off():
    assert after(9, replace(SETTINGS, cool_down_after=0)).weights() == {}


def test_it_goes_on_from_its_counts():
    resumed = FailureCooldown(SETTINGS)
    resumed.restore(after(3).counts())

    assert resumed.weights() == after(3).weights()
