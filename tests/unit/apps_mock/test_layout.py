from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from apps_mock.layout import cache_info, lay_out, page_under
from apps_mock.look import draw_look
from apps_mock.places import Window, sizes_of
from apps_mock.widgets import (
    Button,
    Card,
    Chip,
    Chips,
    Event,
    Field,
    Image,
    Link,
    Option,
    Picker,
    Row,
    Screen,
    Slider,
    Text,
    Tile,
    Tiles,
)
from device_runtime.ui_tree import walk
from sync.vocabulary import Split

LOOK = replace(
    draw_look(Split.TRAIN, 1),
    boxed_rows=True,
    primary_place="inline",
    action_place="inline",
    field_style="above",
    width_px=1080,
    height_px=2400,
    density=2.625,
    font_scale=1.0,
    row_px=147,
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
    look = draw_look(Split.TEST, seed)
    window = WINDOW._replace(width_px=look.width_px, height_px=look.height_px)
    laid_out = lay_out(long_list(8), look, window)

    boxes = [target.bounds for target in laid_out.targets]
    for left, top, right, bottom in boxes:
        assert 0 <= left < right <= look.width_px
        assert 0 <= top < bottom <= look.height_px
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

    assert all(target.bounds[3] <= 2400 - sizes_of(look).keyboard for target in laid_out.targets)
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


def node_with(laid_out, **wanted):
    for node in walk((laid_out.root,)):
        if all(getattr(node, name) == value for name, value in wanted.items()):
            return node
    raise AssertionError(f"no node with {wanted}")


def test_what_a_form_can_have_is_named_and_can_be_touched():
    screen = Screen(
        "Form",
        (
            Picker("city", "City", "b", options=(Option("a", "Ahlen"), Option("b", "Bergun"))),
            Picker("day", "Day", "2025-03-14", "date"),
            Slider("volume", "Volume", 50),
            Image("train", "A train", Event("zoom")),
            Card("Offer", ("cheap", "now"), Event("offer"), badge="new"),
            Link("More", Event("more")),
        ),
    )

    laid_out = lay_out(screen, LOOK, WINDOW)

    assert set(events(laid_out)) >= {
        Event("open", "city"),
        Event("open", "day"),
        Event("slide", "volume", "25"),
        Event("slide", "volume", "75"),
        Event("zoom"),
        Event("offer"),
        Event("more"),
    }
    assert node_with(laid_out, class_name="android.widget.Spinner").text == "Bergun"
    assert node_with(laid_out, text="14 March").clickable
    assert node_with(laid_out, class_name="android.widget.SeekBar").text == "50"
    assert node_with(laid_out, description="A train").clickable
    assert node_with(laid_out, text="new")


def test_a_slider_at_its_end_goes_no_further():
    laid_out = lay_out(Screen("S", (Slider("v", "Volume", 100),)), LOOK, WINDOW)

    assert Event("slide", "v", "100") in events(laid_out)
    assert Event("slide", "v", "125") not in events(laid_out)


def test_a_password_shows_as_dots_in_the_hierarchy_too():
    screen = Screen("Login", (Field("pin", "PIN", "s3cret", password=True),))

    laid_out = lay_out(screen, LOOK, WINDOW)

    node = node_with(laid_out, password=True)
    assert node.text == "••••••"
    assert not any("s3cret" in "".join(text.lines) for text in laid_out.texts)


def test_a_search_field_tells_what_its_enter_key_sends():
    field = Field("q", "Search", "", search=True, on_enter=Event("find"))

    laid_out = lay_out(Screen("Shop", (field,)), LOOK, WINDOW)

    assert laid_out.enters == (("q", Event("find")),)


def test_an_error_stands_below_its_field():
    laid_out = lay_out(
        Screen("Form", (Field("mail", "Mail", "x", error="no address"),)), LOOK, WINDOW
    )

    field = node_with(laid_out, class_name="android.widget.EditText")
    assert node_with(laid_out, text="no address").bounds[1] >= field.bounds[3]


@pytest.mark.parametrize("boxed", [True, False])
def test_long_presses_are_sent_by_what_can_be_held(boxed):
    look = replace(LOOK, boxed_rows=boxed)
    row = Row("Song", on_tap=Event("go", "song"), on_hold=Event("mark", "1"), selected=True)

    laid_out = lay_out(Screen("Songs", (row, Text("ABC-1", copyable=True))), look, WINDOW)

    held = {target.hold for target in laid_out.targets}
    assert held >= {Event("mark", "1"), Event("copy_text", "ABC-1")}
    assert node_with(laid_out, selected=True).long_clickable
    assert node_with(laid_out, text="ABC-1").long_clickable


def test_menu_entries_are_hidden_until_the_menu_is_opened():
    screen = Screen("Note", (Text("hi"),), overflow=(Button("Archive", Event("archive")),))

    closed = lay_out(screen, LOOK, WINDOW)
    opened = lay_out(screen, LOOK, WINDOW._replace(overlay="menu"))

    assert Event("archive") not in events(closed)
    assert Event("open", "menu") in events(closed)
    hidden = next(entry for entry in closed.hidden if entry.event == Event("archive"))
    assert hidden.via == Event("open", "menu")
    assert set(events(opened)) == {Event("close"), Event("archive")}
    under = page_under(screen, LOOK, WINDOW._replace(overlay="menu"))
    assert under is not None
    assert under.root == closed.root


def test_texts_wrap_and_rows_grow_with_them():
    long = "a name that goes on and on and on until it needs a further line of its own at least"

    laid_out = lay_out(
        Screen("List", (Row(long, on_tap=Event("a")), Row("b", on_tap=Event("b")))), LOOK, WINDOW
    )

    written = next(text for text in laid_out.texts if text.role == "title")
    assert len(written.lines) > 1
    heights = {
        target.event: target.bounds[3] - target.bounds[1]
        for target in laid_out.targets
        if target.event is not None
    }
    assert heights[Event("a")] > heights[Event("b")]


def test_right_to_left_looks_are_mirror_images():
    screen = Screen(
        "Title",
        (Row("Wi-Fi", "on", checked=True, on_toggle=Event("toggle", "wifi", "on"), badge="x"),),
        (Button("Save", Event("save"), primary=True),),
    )

    usual = lay_out(screen, LOOK, WINDOW)
    mirrored = lay_out(screen, replace(LOOK, locale="ar"), WINDOW)

    for one, other in zip(walk((usual.root,)), walk((mirrored.root,)), strict=True):
        left, top, right, bottom = one.bounds
        assert other.bounds == (1080 - right, top, 1080 - left, bottom)


def test_a_notice_stands_at_the_foot_and_covers_nothing():
    laid_out = lay_out(long_list(), LOOK, WINDOW._replace(notice="Saved"))

    top = node_with(laid_out, text="Saved").bounds[1]
    assert all(target.bounds[3] <= top for target in laid_out.targets)


def test_a_dialog_with_a_long_body_scrolls():
    screen = long_list(60)._replace(dialog=True, actions=(Button("OK", Event("ok")),))

    laid_out = lay_out(screen, LOOK, WINDOW)

    assert laid_out.scroll_max_px > 0
    assert Event("ok") in events(laid_out)


def test_held_out_looks_float_their_main_button_and_show_places_as_tabs():
    look = replace(LOOK, primary_place="floating", place_for_places="tabs")
    screen = long_list()._replace(
        actions=(Button("New", Event("new"), primary=True),),
        places=(Button("Trash", Event("go", "trash")),),
    )

    laid_out = lay_out(screen, look, WINDOW)

    button = node_with(laid_out, text="New")
    assert button.bounds[1] > 2000
    assert button.bounds[0] > 540
    assert any(node.class_name.endswith("TabLayout") for node in walk((laid_out.root,)))


def test_the_same_screen_is_laid_out_once():
    screen = Screen("Once", (Text("only once"),))
    before = cache_info()

    first = lay_out(screen, LOOK, WINDOW)
    again = lay_out(Screen("Once", (Text("only once"),)), LOOK, WINDOW)

    assert again is first
    assert cache_info().hits > before.hits
