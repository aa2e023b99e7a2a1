from __future__ import annotations

import pytest

from apps_mock.lettering import Texts, fitted, lines_in
from apps_mock.places import Written
from apps_mock.text_width import line_px, width_px
from device_runtime.ui_tree import Node

BOX = (0, 100, 400, 160)


def written(*lines: str, box=BOX, clip=None, **fields) -> Written:
    return Written("body", box, clip or box, lines, 40, **fields)


def node(text: str, bounds=BOX) -> Node:
    return Node("android.widget.TextView", bounds, text=text)


def test_a_node_takes_its_own_text_whatever_its_lines():
    texts = Texts((written("one two", "three"), written("other")))

    taken = texts.take(node("one two three"))

    assert taken is not None
    assert taken.lines == ("one two", "three")
    assert texts.take(node("one two three")) is None
    assert [each.lines for each in texts.rest()] == [("other",)]


def test_the_same_words_elsewhere_are_left_to_their_own_node():
    low = (0, 900, 400, 960)
    texts = Texts((written("Home"), written("Home", box=low)))

    assert texts.take(node("Home", low)).box == low
    assert texts.take(node("Home", low)) is None
    assert texts.take(node("Home")).box == BOX


@pytest.mark.parametrize(
    "text", ["short", "a somewhat longer text that needs more lines", "x" * 80]
)
def test_what_is_fitted_lies_inside_its_box(text):
    box = (10, 100, 310, 220)

    fit = fitted(text, box, unit=2.625)

    assert fit is not None
    assert len(fit.lines) * line_px(fit.size_px) <= 120
    assert all(width_px(line, fit.size_px) <= 300 for line in fit.lines)


@pytest.mark.parametrize("box", [(0, 0, 0, 10), (0, 10, 10, 10)])
def test_nothing_fits_where_there_is_no_room(box):
    assert fitted("text", box, unit=2.0) is None


def test_lines_stand_in_the_middle_of_their_box():
    (line,) = lines_in(written("one"), "#000000", leftward=False)

    middle = (line.bounds[1] + line.bounds[3]) / 2
    assert middle == pytest.approx(130, abs=1)
    assert line.clip is None


def test_lines_that_reach_beyond_what_shows_are_cut():
    shown = (0, 100, 400, 120)

    (line,) = lines_in(written("one", clip=shown), "#000000", leftward=False)

    assert line.clip == shown


@pytest.mark.parametrize(
    ("leftward", "centred", "align"),
    [(False, False, "left"), (True, False, "right"), (True, True, "centre")],
)
def test_lines_begin_where_reading_does(leftward, centred, align):
    (line,) = lines_in(written("one", centred=centred), "#000000", leftward=leftward)

    assert line.align == align
