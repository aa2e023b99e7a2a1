from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from apps_mock.layout import lay_out
from apps_mock.look import draw_look
from apps_mock.places import KEYBOARD_PX, Window
from apps_mock.widgets import Button, Chip, Chips, Event, Field, Row, Screen, Text, Tile, Tiles
from device_runtime.ui_tree import walk
from sync.vocabulary import Split

LOOK = replace(
    draw_look(Split.TRAIN, 1), boxed_rows=True, primary_place="inline", action_place="inline"
)
WINDOW = Window("org.example.app", 1080, 2400, 0, "", keyboard=False)


def long_list(count: int = 40) -> Screen:
    return Screen("List", tuple(Row(f"row {n}", on_tap=Event("go", str(n))) for n in range(count)))


def events(laid_out):
    return [target.event for target in laid_out.targets]


def test_every_widget_becomes_a_place_that_does_what_it_says():
    screen = Screen(
        "Title",
        (
            Row("Wi-Fi", checked=True, on_toggle=Event("toggle", "wifi", "on")),
            Field("name", "Name", "Ada"),
            Text("only text"),
            Chips((Chip("All", selected=True, on_tap=Event("set", "class", "All")),)),
            Tiles((Tile("Maps", Event("launch", "maps")),)),
        ),
        (Button("Save", Event("save"), primary=True),),
    )

    laid_out = lay_out(screen, LOOK, WINDOW)

    assert set(events(laid_out)) == {
        Event("back"),
        Event("toggle", "wifi", "on"),
        Event("set", "class", "All"),
        Event("launch", "maps"),
        Event("save"),
        None,
    }
    assert laid_out.fields == ("name",)
    assert laid_out.submit == Event("save")
    texts = {node.text for node in walk((laid_out.root,))}
    assert {"Title", "Wi-Fi", "Ada", "only text", "All", "Maps", "Save"} <= texts


@pytest.mark.parametrize("seed", range(12))
def test_places_lie_on_the_screen_and_do_not_overlap_by_accident(seed):
    laid_out = lay_out(long_list(8), draw_look(Split.TEST, seed), WINDOW)

    boxes = [target.bounds for target in laid_out.targets]
    for left, top, right, bottom in boxes:
        assert 0 <= left < right <= 1080
        assert 0 <= top < bottom <= 2400
    rows = sorted(box for box, event in zip(boxes, events(laid_out), strict=True) if event.value)
    assert all(above[3] <= below[1] for above, below in pairwise(rows))


def test_what_lies_below_is_hidden_until_it_is_scrolled_into_view():
    first = lay_out(long_list(), LOOK, WINDOW)
    last = lay_out(long_list(), LOOK, WINDOW._replace(scroll_px=first.scroll_max_px))

    assert Event("go", "39") not in events(first)
    assert Event("go", "39") in events(last)
    assert any(not hidden.above for hidden in first.hidden)
    assert all(hidden.above for hidden in last.hidden)
    assert any(node.scrollable for node in walk((first.root,)))


def test_a_short_page_does_not_scroll():
    laid_out = lay_out(long_list(3), LOOK, WINDOW)

    assert laid_out.scroll_max_px == 0
    assert not any(node.scrollable for node in walk((laid_out.root,)))


def test_the_keyboard_hides_what_lies_under_it_and_the_foot_moves_above():
    look = replace(LOOK, primary_place="bottom")
    screen = long_list()._replace(actions=(Button("Save", Event("save"), primary=True),))

    laid_out = lay_out(screen, look, WINDOW._replace(keyboard=True))

    assert all(target.bounds[3] <= 2400 - KEYBOARD_PX for target in laid_out.targets)
    assert Event("save") in events(laid_out)


def test_a_switch_of_its_own_wins_over_the_row_around_it():
    row = Row("07:45", on_tap=Event("open"), checked=True, on_toggle=Event("toggle", "a", "on"))

    laid_out = lay_out(Screen("Alarms", (row,), back=False), LOOK, WINDOW)

    assert events(laid_out) == [Event("open"), Event("toggle", "a", "on")]
    switch, box = laid_out.targets[1].bounds, laid_out.targets[0].bounds
    assert box[0] <= switch[0] < switch[2] <= box[2]


def test_a_dialog_shows_nothing_else():
    screen = Screen("Sure?", (Text("really"),), (Button("Yes", Event("yes")),), dialog=True)

    laid_out = lay_out(screen, LOOK, WINDOW)

    assert events(laid_out) == [Event("yes")]
