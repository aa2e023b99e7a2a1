"""Which devices a filter means."""

from __future__ import annotations

import pytest

from cloud_learner.fleet_filter import meets, parse_filter
from sync.errors import RejectedError

PIXEL = {
    "model": "Pixel 7",
    "android": "14",
    "online": "true",
    "battery": "80",
    "app": ("clock", "tickets"),
    "build": "1.10.2",
}


@pytest.mark.parametrize(
    ("text", "is_meant"),
    [
        ("", True),
        ("model=pixel 7", True),
        ("model=Pixel*,android>=13,online=true", True),
        ("model=Pixel", False),
        ("model!=Pixel 7", False),
        ("android>14", False),
        ("android>=14.0", True),
        ("android<9", False),
        ("build>1.9", True),
        ("build<=1.10", False),
        ("battery<20", False),
        ("app=tickets", True),
        ("app=todo", False),
        ("app!=todo", True),
        ("site=lab", False),
        ("site!=lab", True),
        ("site>1", False),
        (" model = Pixel 7 , online = true ", True),
        ("model=[P]ixel*", False),
    ],
)
def test_conditions_hold_or_do_not(text, is_meant):
    assert meets(PIXEL, parse_filter(text)) is is_meant


@pytest.mark.parametrize(
    "text", ["model", "=Pixel", "android>new", "online==true", "a b=c", "a=1,x", ",", " , ,"]
)
def test_what_is_no_filter_is_refused_and_told_how(text):
    with pytest.raises(RejectedError, match="--where"):
        parse_filter(text)


def test_a_filter_that_is_too_long_is_refused():
    with pytest.raises(RejectedError, match="2000 characters"):
        parse_filter("battery<" + "9" * 5_000)
