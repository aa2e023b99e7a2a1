"""Orders that no message or database can carry are refused before they are stored."""

from __future__ import annotations

import pytest

from cloud_learner.api_fleet import (
    ControlOrder,
    LabelOrder,
    RevokeOrder,
    RotateOrder,
    SettingsOrder,
)
from cloud_learner.fleet_desk import Invitation, Which
from cloud_learner.order_limits import MOST_INT, MOST_NAMES, MOST_TEXT_CHARS
from cloud_learner.task_store import TaskOrder
from sync.codec import encode_body
from sync.messages import DesiredSettings

ALL = Which(everyone=True)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"temperature": float("nan")}, "temperature: nan is no number"),
        ({"temperature": float("-inf")}, "temperature: -inf is no number"),
        ({"temperature": 10**26}, "temperature: from"),
        ({"temperature": -(2**64)}, "temperature: from"),
        ({"colour": "x" * (MOST_TEXT_CHARS + 1)}, "colour: at most"),
        ({"colour": "half \ud800 a character"}, "colour: holds what is no text"),
        ({"colour": "a\0b"}, "colour: holds what is no text"),
        ({"": 1}, "a name has 1 to"),
        ({"n" * 65: 1}, "a name has 1 to"),
        ({f"n{number}": 1 for number in range(MOST_NAMES + 1)}, "settings: at most"),
    ],
)
def test_settings_that_cannot_be_told_are_refused(values, says):
    with pytest.raises(ValueError, match=says):
        SettingsOrder(which=ALL, values=values)


def test_what_passes_fits_into_a_message():
    values = {
        f"{number:02d}{'n' * 62}": text
        for number, text in enumerate(["é" * MOST_TEXT_CHARS] * (MOST_NAMES - 2))
    }
    order = SettingsOrder(which=ALL, values={**values, "least": -MOST_INT, "most": MOST_INT})
    assert encode_body(DesiredSettings(version=1, values=order.values)).data


@pytest.mark.parametrize(
    "make",
    [
        TaskOrder,
        lambda: TaskOrder(goal="a", template="b"),
        lambda: TaskOrder(goal="a" * (MOST_TEXT_CHARS + 1)),
        lambda: TaskOrder(goal="a", seed=2**63),
        lambda: TaskOrder(goal="a", seed=-1),
        lambda: TaskOrder(goal="a", step_budget=10**9),
        lambda: TaskOrder(goal="a", deadline_s=float("inf")),
        lambda: TaskOrder(goal="a", deadline_s=float("nan")),
        lambda: TaskOrder(goal="a", deadline_s=0),
        lambda: ControlOrder(which=ALL, reason="a" * (MOST_TEXT_CHARS + 1)),
        lambda: ControlOrder(which=ALL, until_ms=2**63),
        lambda: LabelOrder(which=ALL, labels={"site": "a" * (MOST_TEXT_CHARS + 1)}),
        lambda: LabelOrder(which=ALL, labels={"": "a"}),
        lambda: RotateOrder(days=float("nan")),
        lambda: RotateOrder(days=-1.0),
        lambda: RevokeOrder(reason="a\0"),
        lambda: Invitation(labels={"site": "\ud800"}),
    ],
)
def test_other_orders_have_limits_too(make):
    with pytest.raises(ValueError, match=r"\w"):
        make()
