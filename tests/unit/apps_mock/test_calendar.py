from __future__ import annotations

from random import Random

import pytest

from apps_mock.app import AppState, Page, Provided, Say, Share
from apps_mock.apps.calendar import APP, CalendarData, CalendarEvent, fixture
from apps_mock.apps.calendar_events import (
    bystanders,
    end_of,
    grid_of,
    happens_on,
    occurrences,
    on_day,
    shifted,
    shifted_month,
)
from apps_mock.entities import Draw
from apps_mock.look import draw_look
from apps_mock.widgets import Button, Chips, Event, Picker, Row, Text
from sync.vocabulary import Split

TODAY = "2025-03-14"
LOOK = draw_look(Split.TRAIN, 0)
LUNCH = CalendarEvent("e0", "Lunch", TODAY, "12:00", 45, location="Room 7", people="Ada Blum")
YOGA = CalendarEvent("e1", "Yoga", "2025-02-28", "18:30", 90, repeats="weekly")
RENT = CalendarEvent("e2", "Rent", "2025-01-31", "09:00", 30, repeats="monthly")
TRIP = CalendarEvent("e3", "Trip", "2025-04-02", "07:15", 120)


def state_of(*events, page=APP.home, today=TODAY, time="10:00"):
    return AppState(CalendarData(events), (APP.home, page), Provided(today, time))


def after(state, *events):
    for event in events:
        state = APP.step(state, event)
    return state


def shown(state):
    return APP.view(state, LOOK)


def titles(state):
    return [widget.title for widget in shown(state).body if isinstance(widget, Row)]


def labels(state):
    return [widget.text for widget in shown(state).body if isinstance(widget, Text)]


def days(state):
    return [
        chip
        for widget in shown(state).body
        if isinstance(widget, Chips) and len(widget.chips) == 7
        for chip in widget.chips
    ]


@pytest.mark.parametrize(
    ("repeats", "day", "expected"),
    [
        ("", "2025-03-14", True),
        ("", "2025-03-21", False),
        ("daily", "2025-03-15", True),
        ("daily", "2025-03-13", False),
        ("weekly", "2025-03-28", True),
        ("weekly", "2025-03-27", False),
        ("weekly", "2025-03-07", False),
        ("monthly", "2025-05-14", True),
        ("monthly", "2025-05-15", False),
    ],
)
def test_events_happen_on_the_days_of_their_rule(repeats, day, expected):
    event = CalendarEvent("e0", "Lunch", TODAY, repeats=repeats)

    assert happens_on(event, day) is expected


def test_the_last_of_a_month_repeats_only_in_months_that_have_it():
    found = occurrences([RENT], "2025-01-01", "2025-06-30")

    assert [each.day for each in found] == ["2025-01-31", "2025-03-31", "2025-05-31"]


def test_a_skipped_day_is_left_out_of_a_series():
    event = CalendarEvent("e0", "Yoga", TODAY, repeats="weekly", skipped=("2025-03-21",))

    found = occurrences([event], TODAY, "2025-04-04")

    assert [each.day for each in found] == ["2025-03-14", "2025-03-28", "2025-04-04"]


def test_a_day_lists_its_events_in_order_of_time():
    breakfast = CalendarEvent("e9", "Breakfast", TODAY, "08:00")

    assert on_day([YOGA, LUNCH, TRIP, breakfast], TODAY) == [breakfast, LUNCH, YOGA]


def test_months_and_days_roll_over_the_year():
    assert shifted_month("2025-12", 1) == "2026-01"
    assert shifted_month("2025-01", -1) == "2024-12"
    assert shifted("2024-02-28", 1) == "2024-02-29"
    assert end_of(CalendarEvent("e0", "Party", TODAY, "23:30", 45)) == "00:15"


def test_a_month_grid_starts_on_monday_and_holds_the_whole_month():
    assert grid_of("2025-03") == (
        "2025-02-24", "2025-03-03", "2025-03-10", "2025-03-17", "2025-03-24", "2025-03-31",
    )  # fmt: skip
    assert len(grid_of("2021-02")) == 4


def test_the_first_page_marks_days_with_events_and_lists_today():
    state = state_of(LUNCH, YOGA, TRIP)

    marked = {chip.on_tap.value for chip in days(state) if "•" in chip.label}

    assert marked == {
        "2025-02-28", "2025-03-07", TODAY, "2025-03-21", "2025-03-28", "2025-04-02", "2025-04-04",
    }  # fmt: skip
    assert [chip.on_tap.value for chip in days(state) if chip.selected] == [TODAY]
    assert titles(state) == ["Lunch", "Yoga"]
    assert "Today, Friday 14 March" in labels(state)
    assert shown(state).title == "March 2025"


def test_turning_to_another_month_and_back_leaves_no_pages_behind():
    home = AppState(CalendarData(), (APP.home,), Provided(TODAY))

    april = after(home, Event("month", "2025-04"))
    may = after(april, Event("month", "2025-05"))

    assert may.stack == (APP.home, Page("month", "2025-05"))
    assert after(may, Event("month", "2025-04")) == april
    assert after(april, Event("month", "2025-03")) == home


def test_turning_the_day_replaces_the_page():
    state = state_of(LUNCH, page=Page("day", TODAY))

    turned = after(state, Event("day", "2025-03-15"))

    assert turned.stack == (APP.home, Page("day", "2025-03-15"))
    assert "No events on this day" in labels(turned)


def test_the_agenda_leaves_out_what_is_over():
    state = state_of(LUNCH, YOGA, TRIP, page=Page("agenda"), time="13:00")

    assert titles(state) == ["Yoga", "Yoga", "Yoga"]
    assert titles(state_of(page=Page("agenda"))) == []
    assert "No coming events" in labels(state_of(page=Page("agenda")))


@pytest.mark.parametrize("sought", ["lunch", " LUN ", "room 7", "blum"])
def test_search_looks_at_titles_places_and_people_in_any_case(sought):
    page = Page("search", "", (("search", sought),))

    assert titles(state_of(LUNCH, YOGA, page=page)) == ["Lunch"]


def test_search_lists_a_series_under_its_next_day():
    state = state_of(TRIP, YOGA, page=Page("search", "", (("search", "y"),)))

    rows = [widget for widget in shown(state).body if isinstance(widget, Row)]

    assert [row.subtitle for row in rows] == ["14 March, 18:30, Every week"]
    assert rows[0].on_tap == Event("go", "event", f"e1|{TODAY}")


def test_search_says_when_it_finds_nothing_and_lists_nothing_before_it_is_asked():
    nothing = state_of(LUNCH, page=Page("search", "", (("search", "zzz"),)))

    assert "No events found" in labels(nothing)
    assert titles(state_of(LUNCH, page=Page("search"))) == []


def test_a_new_event_holds_what_the_form_says():
    state = state_of(LUNCH, page=Page("add"))

    saved = after(
        state,
        Event("edit", "title", " Exam "),
        Event("open", "day"),
        Event("set", "day", "2025-03-20"),
        Event("set", "start", "14:30"),
        Event("set", "minutes", "90"),
        Event("set", "repeats", "weekly"),
        Event("edit", "people", "Ida Voss"),
        Event("save"),
    )

    assert saved.data.events == (
        LUNCH,
        CalendarEvent("e1", "Exam", "2025-03-20", "14:30", 90, repeats="weekly", people="Ida Voss"),
    )
    assert saved.stack == (APP.home,)


def test_a_new_event_takes_the_day_that_it_was_added_on():
    asked = state_of(page=Page("add", "2025-03-20"))

    pickers = {each.key: each.value for each in shown(asked).body if isinstance(each, Picker)}
    saved = after(asked, Event("edit", "title", "Exam"), Event("save"))

    assert pickers == {"day": "2025-03-20", "start": "09:00", "minutes": "60", "repeats": ""}
    assert saved.data.events[0].day == "2025-03-20"


def test_an_event_without_a_title_is_not_saved():
    state = after(state_of(page=Page("add")), Event("edit", "title", "  "), Event("save"))

    assert state.data.events == ()
    assert state.page.name == "add"
    assert state.effects == (Say("An event needs a title"),)


def test_editing_starts_from_what_is_known_and_follows_the_event_to_its_new_day():
    state = state_of(LUNCH, YOGA, page=Page("event", f"e0|{TODAY}"))

    form = after(state, Event("edit_event", f"e0|{TODAY}"))
    saved = after(form, Event("set", "day", "2025-03-17"), Event("save"))

    assert form.page.draft("location") == "Room 7"
    assert saved.data.events[0].day == "2025-03-17"
    assert saved.data.events[0].location == "Room 7"
    assert saved.data.events[1] is YOGA
    assert saved.page == Page("event", "e0|2025-03-17")


def test_deleting_asks_first_and_returns_to_where_the_event_was_listed():
    state = state_of(LUNCH, YOGA, page=Page("day", TODAY))

    asked = after(state, Event("go", "event", f"e0|{TODAY}"), Event("go", "delete", f"e0|{TODAY}"))
    actions = [button.on_tap for button in shown(asked).actions]

    assert actions == [Event("back"), Event("delete", "e0")]
    assert after(asked, Event("back")).data.events == (LUNCH, YOGA)
    gone = after(asked, Event("delete", "e0"))
    assert gone.data.events == (YOGA,)
    assert gone.page == Page("day", TODAY)


def test_one_day_of_a_series_can_be_deleted_alone():
    state = state_of(YOGA, page=Page("day", TODAY))
    argument = f"e1|{TODAY}"

    asked = after(state, Event("go", "event", argument), Event("go", "delete", argument))
    left = after(asked, Event("skip", argument))

    assert shown(asked).dialog
    assert len(shown(asked).actions) == 3
    assert left.data.events[0].skipped == (TODAY,)
    assert titles(left) == []
    assert titles(after(left, Event("day", "2025-03-21"))) == ["Yoga"]


def test_an_event_page_says_all_that_is_known_and_can_be_shared():
    state = state_of(LUNCH, page=Page("event", f"e0|{TODAY}"))
    screen = shown(state)

    assert {"12:00 – 12:45", "45 minutes", "Room 7", "Ada Blum"} <= set(labels(state))
    assert [button.on_tap for button in screen.overflow] == [Event("share", f"e0|{TODAY}")]
    shared = after(state, Event("share", f"e0|{TODAY}"))
    assert shared.effects == (Share(f"Lunch {TODAY} 12:00 Room 7"),)


def test_an_event_that_is_gone_says_so():
    assert "This event is gone" in labels(state_of(page=Page("event", "e7|2025-03-14")))
    state = state_of(page=Page("event", "e7|2025-03-14"))
    for name in ("edit_event", "share", "skip"):
        assert after(state, Event(name, "e7|2025-03-14")) == state


def test_a_shared_text_becomes_a_new_events_title():
    state = after(AppState(CalendarData(), (APP.home,), Provided(TODAY)), Event("take", "Exam"))

    assert state.page == Page("add", "", (("title", "Exam"),))


def test_the_form_offers_every_way_to_repeat():
    screen = shown(state_of(page=Page("add")))
    repeat = next(
        each for each in screen.body if isinstance(each, Picker) and each.key == "repeats"
    )

    assert [option.value for option in repeat.options] == ["", "daily", "weekly", "monthly"]
    assert screen.actions == (Button(LOOK.word("save"), Event("save"), primary=True),)


@pytest.mark.parametrize("split", list(Split))
def test_calendars_hold_events_around_a_day_and_none_on_quiet_days(split):
    quiet = (TODAY, "2025-03-15")
    for seed in range(20):
        events = bystanders(Draw(Random(seed), split), TODAY, quiet=quiet)

        assert len({event.id for event in events}) == len(events) >= 10
        assert len({event.title for event in events}) == len(events)
        assert not any(happens_on(event, day) for event in events for day in quiet)
        assert occurrences(events, TODAY, shifted(TODAY, 31))


def test_the_same_draw_gives_the_same_calendar():
    one, two, other = (fixture(Draw(Random(seed), Split.TRAIN)) for seed in (3, 3, 4))

    assert one == two
    assert one != other
