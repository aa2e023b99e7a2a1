from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import pytest

from apps_mock.layout import lay_out
from apps_mock.layout_check import layout_faults
from apps_mock.look import LOCALES, SCREEN_SIZES, draw_look
from apps_mock.places import Target, Window, Written
from apps_mock.widgets import (
    Button,
    Card,
    Chip,
    Chips,
    Event,
    Field,
    Option,
    Picker,
    Row,
    Screen,
    Slider,
    Text,
    Tile,
    Tiles,
)
from device_runtime.ui_tree import Node
from sync.vocabulary import Split

LOOK = draw_look(Split.TRAIN, 1)


def window_of(look):
    return Window("org.example.app", look.width_px, look.height_px, 0, "", keyboard=False)


def laid_out_in(look, screen):
    return lay_out(screen, look, window_of(look))


class Picture(NamedTuple):
    """A screen's hierarchy and texts, put together by hand."""

    root: Node
    texts: tuple[Written, ...]


def shown_as(laid_out, **other):
    """The screen with another hierarchy or other texts."""
    picture = Picture(laid_out.root, laid_out.texts)
    return laid_out._replace(sketch=picture._replace(**other))


def crowded(screen_number: int) -> Screen:
    words = "Reservierungsbestätigung für Fahrgäste und deren Mitreisende aus Sonderzügen"
    actions = tuple(Button(word, Event(word)) for word in words.split()[:3])
    return Screen(
        words,
        (
            Row(words, words, on_tap=Event("go", "1"), badge="Bestellt am Freitag", icon="train"),
            Row(words, checked=True, on_toggle=Event("toggle", "1", "on")),
            Field("a", words, words, error=words),
            Field("b", words, words, lines=4),
            Picker("c", words, "1", options=(Option("1", words),)),
            Slider("d", words, 25),
            Chips(
                tuple(
                    Chip(word, selected=False, on_tap=Event("set", word)) for word in words.split()
                )
            ),
            Tiles(tuple(Tile(word[:12], Event("launch", word)) for word in words.split())),
            Card(words, (words, words), Event("card"), image="train", badge="neu"),
            Text(words, heading=True),
        ),
        actions,
        places=tuple(Button(word, Event("go", word)) for word in words.split()[:4]),
        tabs=tuple(
            Chip(word, selected=False, on_tap=Event("tab", word)) for word in words.split()[:5]
        ),
        dialog=screen_number == 1,
    )


@pytest.mark.parametrize("size", SCREEN_SIZES)
@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("number", range(2))
def test_crowded_screens_have_no_faults_in_any_look(size, locale, number):
    for seed in range(8):
        for split in (Split.TRAIN, Split.TEST):
            look = draw_look(split, seed)
            look = replace(look, **size._asdict(), locale=locale, row_px=round(50 * size.density))
            assert layout_faults(laid_out_in(look, crowded(number)), look) == []


def test_a_text_that_is_higher_than_its_place_is_named_with_its_app_and_page():
    laid_out = laid_out_in(LOOK, Screen("Laws", (Text("the law"),)))
    text = next(text for text in laid_out.texts if text.role == "body")
    cut = text._replace(lines=("the law",) * 20)
    wide = text._replace(lines=("the law of " * 40,))

    high = layout_faults(shown_as(laid_out, texts=(laid_out.texts[0], cut)), LOOK)
    broad = layout_faults(shown_as(laid_out, texts=(laid_out.texts[0], wide)), LOOK)

    assert any("org.example.app 'Laws'" in fault and "px high" in fault for fault in high)
    assert any("px wide" in fault and "give it more room" in fault for fault in broad)


def test_a_title_that_leaves_no_room_for_the_page_is_a_fault():
    rows = tuple(Row(str(number), on_tap=Event("go", str(number))) for number in range(40))

    faults = layout_faults(laid_out_in(LOOK, Screen("a long title " * 90, rows)), LOOK)

    assert faults


def test_places_that_overlap_are_named():
    laid_out = laid_out_in(LOOK, Screen("Two", (Text("x"),), back=False))
    both = (Target((0, 300, 200, 500), Event("one")), Target((100, 400, 300, 600), Event("two")))

    faults = layout_faults(laid_out._replace(targets=both), LOOK)

    assert len(faults) == 1
    assert "one" in faults[0]
    assert "two" in faults[0]


def test_texts_that_lie_on_each_other_are_named():
    laid_out = laid_out_in(LOOK, Screen("Two", (Text("first"), Text("second")), back=False))
    first = next(text for text in laid_out.texts if text.lines == ("first",))
    second = first._replace(lines=("second",))

    faults = layout_faults(shown_as(laid_out, texts=(first, second)), LOOK)

    assert any("'first' and 'second' lie on each other" in fault for fault in faults)


def test_a_node_outside_the_screen_is_named():
    laid_out = laid_out_in(LOOK, Screen("Out", (Text("x"),)))
    child = replace(laid_out.root.children[0], bounds=(-5, 0, 100, 100), text="lost")
    root = replace(laid_out.root, children=(child,))

    faults = layout_faults(shown_as(laid_out, root=root), LOOK)

    assert any("'lost' lies outside the screen" in fault for fault in faults)
