from __future__ import annotations

from dataclasses import replace

import pytest

from apps_mock.layout import lay_out, page_under
from apps_mock.look import draw_look
from apps_mock.places import Window
from apps_mock.widgets import Event, Option, Picker, Screen, Text
from device_runtime.ui_tree import walk
from sync.vocabulary import Split

LOOK = replace(
    draw_look(Split.TRAIN, 1), width_px=1080, height_px=2400, density=2.625, font_scale=1.0
)
WINDOW = Window("org.example.app", 1080, 2400, 0, "", keyboard=False, today="2025-03-14")
OPTIONS = tuple(Option(str(n), f"Option {n}") for n in range(4))


def asked(picker, overlay=None, look=LOOK):
    screen = Screen("Form", (picker, Text("below")))
    window = WINDOW._replace(overlay=overlay or picker.key)
    return screen, look, window._replace(width_px=look.width_px, height_px=look.height_px)


def opened(picker, overlay=None, look=LOOK):
    return lay_out(*asked(picker, overlay, look))


def events(laid_out):
    return {target.event for target in laid_out.targets}


def texts(laid_out):
    return {node.text for node in walk((laid_out.root,))}


def test_a_drop_down_lists_its_options_and_marks_the_chosen_one():
    laid_out = opened(Picker("class", "Class", "2", options=OPTIONS))

    assert events(laid_out) == {
        Event("close"),
        *(Event("set", "class", option.value) for option in OPTIONS),
    }
    checked = [node.text for node in walk((laid_out.root,)) if node.checked]
    assert checked == ["Option 2"]


def test_what_lies_below_an_overlay_is_neither_touched_nor_in_the_hierarchy():
    picker = Picker("class", "Class", "2", options=OPTIONS)

    laid_out, under = opened(picker), page_under(*asked(picker))

    assert Event("back") not in events(laid_out)
    assert "below" not in texts(laid_out)
    assert under is not None
    assert "below" in texts(under)


def test_a_drop_down_that_is_longer_than_the_screen_scrolls():
    many = tuple(Option(str(n), f"Option {n}") for n in range(80))

    laid_out = opened(Picker("n", "Number", "", options=many))

    assert laid_out.scroll_max_px > 0
    assert any(hidden.event == Event("set", "n", "79") for hidden in laid_out.hidden)


def test_a_date_picker_begins_with_its_value_or_today():
    march = opened(Picker("day", "Day", "", "date"))
    june = opened(Picker("day", "Day", "2026-06-02", "date"))

    assert Event("set", "day", "2025-03-31") in events(march)
    assert Event("set", "day", "2026-06-30") in events(june)
    assert "June 2026" in texts(june)
    chosen = [node for node in walk((june.root,)) if node.selected]
    assert [node.description for node in chosen] == ["2 June"]


def test_a_month_has_all_its_days_and_ways_to_its_neighbours():
    laid_out = opened(Picker("day", "Day", "", "date"), "day|2024-12")

    days = {event.extra for event in events(laid_out) if event.name == "set"}
    assert days == {f"2024-12-{day:02d}" for day in range(1, 32)}
    assert {Event("open", "day|2024-11"), Event("open", "day|2025-01")} <= events(laid_out)


def test_a_time_picker_asks_for_the_hour_and_then_for_minutes():
    picker = Picker("at", "Time", "07:45", "time")

    hours, minutes = opened(picker), opened(picker, "at|07")

    assert {event for event in events(hours) if event.name == "open"} == {
        Event("open", f"at|{hour:02d}") for hour in range(24)
    }
    assert {event.extra for event in events(minutes) if event.name == "set"} == {
        f"07:{minute:02d}" for minute in range(0, 60, 5)
    }


@pytest.mark.parametrize("size", [(720, 1280, 2.0), (1440, 3120, 3.5)])
@pytest.mark.parametrize("overlay", ["day", "day|2026-08"])
def test_the_largest_month_fits_on_every_screen(size, overlay):
    width, height, density = size
    look = replace(LOOK, width_px=width, height_px=height, density=density, font_scale=1.3)

    laid_out = opened(Picker("day", "Day", "", "date"), overlay, look)

    assert all(node.bounds[3] <= height for node in walk((laid_out.root,)))
    assert Event("close") in events(laid_out)


def test_an_overlay_that_the_page_does_not_have_shows_the_page():
    picker = Picker("day", "Day", "", "date")

    assert Event("back") in events(opened(picker, "other"))
    assert page_under(*asked(picker, "other")) is None
