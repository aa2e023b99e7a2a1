"""Questions at the terminal end by themselves, and silence is a no."""

import os
import sys

import pytest

from outrider.asking import answered_yes, thumb
from sync.clock import SystemClock


@pytest.fixture
def typed(monkeypatch):
    """Types at a terminal that stays open."""
    reading, writing = os.pipe()
    with os.fdopen(reading) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        yield lambda text: os.write(writing, text.encode())
    os.close(writing)


def asked(*, timeout_s=5.0, stopped=lambda: None):
    return answered_yes("Pay?", timeout_s=timeout_s, stopped=stopped, clock=SystemClock())


@pytest.mark.parametrize(("text", "agreed"), [("y\n", True), ("No\n", False), ("\n", False)])
def test_what_is_typed_is_taken(typed, capsys, text, agreed):
    typed(text)
    assert asked() is agreed
    assert capsys.readouterr().err.startswith("Pay? [y/N] ")


def test_silence_is_a_no_once_the_time_is_up(typed):
    assert asked(timeout_s=0.01) is False


def test_a_stop_ends_the_waiting(typed):
    looks = iter([None, None, "stopped by its owner"])
    assert asked(timeout_s=60.0, stopped=lambda: next(looks)) is False


@pytest.mark.parametrize(
    ("text", "said"), [("y\n", True), ("n\n", False), ("\n", None), ("what\n", None)]
)
def test_a_thumb_is_up_down_or_none(typed, text, said):
    typed(text)
    assert thumb(timeout_s=5.0, stopped=lambda: None, clock=SystemClock()) is said
