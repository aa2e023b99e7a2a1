from __future__ import annotations

from dataclasses import replace

import pytest

from apps_mock.look import FONT_SCALES, draw_look
from apps_mock.measuring import faces_of, lines_of, shared, tail_of, text_height, text_width
from apps_mock.places import TEXT_SP
from sync.vocabulary import Split

LOOK = replace(draw_look(Split.TRAIN, 1), density=2.0, font_scale=1.0)
FACES = faces_of(LOOK)


def share(*texts, room=(0, 720)):
    return shared(texts, "button", room=room, pad=24, height=96, faces=FACES)


def test_texts_grow_with_density_and_font_scale():
    sizes = [faces_of(replace(LOOK, font_scale=scale))["body"].size_px for scale in FONT_SCALES]

    assert sizes == sorted(set(sizes))
    assert faces_of(replace(LOOK, density=3.5))["body"].size_px == round(TEXT_SP["body"] * 3.5)


def test_short_texts_share_a_line_equally():
    (line,) = share("Yes", "No", "Later")

    assert [(one.left, one.right) for one in line.shares] == [(0, 240), (240, 480), (480, 720)]
    assert line.height == 96


def test_a_longer_text_gets_more_of_the_line_where_equal_parts_would_cut_it():
    (line,) = share("OK", "Reservierungsbestätigung", room=(0, 560))

    widths = [one.right - one.left for one in line.shares]
    assert widths[1] > widths[0]
    assert widths[1] >= text_width("Reservierungsbestätigung", "button", FACES) + 48


def test_what_does_not_fit_beside_each_other_goes_on_further_lines():
    words = ("Reservierungsbestätigung", "Fahrkartenautomaten", "Sonderzugverbindungen")

    lines = share(*words)

    assert len(lines) > 1
    assert sorted(one.number for line in lines for one in line.shares) == [0, 1, 2]
    for line in lines:
        assert line.shares[0].left == 0
        assert line.shares[-1].right <= 720


def test_nothing_needs_no_line():
    assert share() == ()


@pytest.mark.parametrize("room", [120, 300])
def test_heights_follow_the_lines(room):
    text = "a text that needs several lines in a narrow place"

    lines = lines_of(text, "body", room, FACES)

    assert len(lines) > 1
    assert text_height(text, "body", room, FACES) > FACES["body"].size_px * len(lines)


def test_a_field_shows_the_end_of_a_text_that_is_too_long():
    tail = tail_of("a long text that was typed", "field", 200, FACES)

    assert "a long text that was typed".endswith(tail)
    assert text_width(tail, "field", FACES) <= 200
    assert tail_of("one\ntwo\x85", "field", 400, FACES) == "one two "
    assert tail_of("short", "field", 400, FACES) == "short"
