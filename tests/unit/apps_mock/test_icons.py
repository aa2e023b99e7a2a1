from __future__ import annotations

import pytest

from apps_mock.icon_names import icon_for
from apps_mock.icons import GRID, NAMES, POINTS_AHEAD, strokes_of


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_icon_is_drawn_within_its_grid(name):
    strokes = strokes_of(name)

    assert strokes
    for stroke in strokes:
        for x, y in stroke.points:
            assert x - stroke.radius >= -2
            assert x + stroke.radius <= GRID + 2
            assert y - stroke.radius >= -2
            assert y + stroke.radius <= GRID + 2


def test_icons_that_turn_round_exist():
    assert POINTS_AHEAD <= NAMES


@pytest.mark.parametrize(
    ("words", "icon"),
    [
        ("Navigate up", "back"),
        ("More options", "more"),
        ("Remove", "delete"),
        ("Search contacts", "search"),
        ("Done", "check"),
        ("Store", "save"),
        ("Wi-Fi", "wifi"),
        ("qwertz", ""),
    ],
)
def test_words_find_their_icon(words, icon):
    assert icon_for(words) == icon
