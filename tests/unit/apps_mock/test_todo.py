"""What the todo app does, beyond the paths that tasks take."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from apps_mock.app import AppState, Copy, Page, Provided, Say, Share
from apps_mock.apps.todo import (
    Filter,
    Todo,
    TodoData,
    TodoList,
    filtered,
    fixture,
    is_due,
    monday_of,
)
from apps_mock.apps.todo_view import APP
from apps_mock.entities import Draw
from apps_mock.look import draw_look, look_number
from apps_mock.widgets import Event, Field, Row, Screen, Text
from sync.vocabulary import Split

LOOK = draw_look(Split.TEST, 3)
NOW = Provided(today="2025-03-12", time="09:41")  # a Wednesday
DATA = TodoData(
    todos=(
        Todo("t0", "Tea Berg", "Weimar", "2025-03-12", "high"),
        Todo("t1", "Soup Adler", "", "2025-03-14", "high", done=True, list="l1"),
        Todo("t2", "Gym Cramer", "", "2025-03-17", "low"),
        Todo("t3", "Bus Dorn", "", "", "none", done=True),
        Todo("t4", "Vet Eder", "", "2025-03-02", "medium", list="l1"),
    ),
    lists=(TodoList("l0", "Inbox"), TodoList("l1", "Thun")),
)


def state_at(*pages: Page, data: TodoData = DATA) -> AppState[TodoData]:
    return AppState(data, (Page("home"), *pages), provided=NOW)


def after(state: AppState[TodoData], *events: Event) -> AppState[TodoData]:
    for event in events:
        state = replace(APP.step(state, event), provided=NOW)
    return state


def shown(state: AppState[TodoData], look=LOOK) -> Screen:
    return APP.view(state, look)


def titles_of(screen: Screen) -> list[str]:
    return [widget.title for widget in screen.body if isinstance(widget, Row)]


def texts_of(screen: Screen) -> list[str]:
    return [widget.text for widget in screen.body if isinstance(widget, Text)]


@pytest.mark.parametrize(
    ("when", "due"),
    [
        ("any", ["t4", "t0", "t1", "t2", "t3"]),
        ("today", ["t0"]),
        ("this_week", ["t0", "t1"]),
        ("next_week", ["t2"]),
        ("later", ["t1", "t2"]),
        ("2025-03-14", ["t1"]),
        ("2025-03-15", []),
    ],
)
def test_days_and_spans_find_what_is_due_the_earliest_first(when, due):
    assert [todo.id for todo in filtered(DATA.todos, Filter(when), NOW.today)] == due


def test_weeks_begin_on_monday():
    sunday, monday = Todo("t", "x", due="2025-03-16"), Todo("t", "x", due="2025-03-17")

    assert monday_of("2025-03-16").isoformat() == "2025-03-10"
    assert is_due(sunday, "this_week", NOW.today)
    assert not is_due(sunday, "next_week", NOW.today)
    assert is_due(monday, "next_week", NOW.today)
    assert is_due(Todo("t", "x", due="2025-12-31"), "this_week", "2026-01-01")


def test_filters_by_priority_and_status_combine():
    assert [t.id for t in filtered(DATA.todos, Filter(priority="high"), NOW.today)] == ["t0", "t1"]
    wanted = Filter(priority="high", status="open")
    assert [t.id for t in filtered(DATA.todos, wanted, NOW.today)] == ["t0"]
    assert Filter.of(wanted.argument) == wanted


def test_a_new_task_opens_and_has_what_was_filled_in():
    state = after(
        state_at(),
        Event("go", "new"),
        Event("edit", "title", " Nap Falk "),
        Event("set", "due", "2025-03-20"),
        Event("set", "priority", "low"),
        Event("set", "list", "l1"),
        Event("save"),
    )

    assert state.data.todos[-1] == Todo(
        "t5", "Nap Falk", due="2025-03-20", priority="low", list="l1"
    )
    assert state.stack == (Page("home"), Page("todo", "t5"))


def test_a_task_added_on_a_lists_page_is_in_that_list():
    state = after(state_at(Page("list", "l1")), Event("go", "new", "l1"))

    state = after(state, Event("edit", "title", "Nap Falk"), Event("save"))

    assert state.data.todos[-1].list == "l1"


@pytest.mark.parametrize(
    ("page", "save"), [("new", "save"), ("new_list", "save_list"), ("rename_list", "save_list")]
)
def test_nothing_is_saved_without_a_name(page, save):
    assert after(state_at(Page(page, "l1")), Event(save)).data is DATA


def test_editing_starts_from_what_is_there_and_keeps_the_rest():
    state = after(state_at(Page("todo", "t1")), Event("edit_todo", "t1"))

    state = after(state, Event("set", "due", "2025-03-15"), Event("save"))

    assert state.data.todos[1] == replace(DATA.todos[1], due="2025-03-15")
    assert state.page == Page("todo", "t1")


def test_ticking_turns_done_on_and_off():
    state = after(state_at(), Event("toggle", "t0", "done"))
    assert state.data.todos[0].done

    assert after(state, Event("toggle", "t0", "done")).data == DATA


def test_deleting_asks_first_and_goes_back_to_the_list():
    state = state_at(Page("todo", "t0"), Page("delete", "t0"))
    assert shown(state).dialog
    assert after(state, Event("back")).data is DATA

    state = after(state, Event("delete", "t0"))

    assert [todo.id for todo in state.data.todos] == ["t1", "t2", "t3", "t4"]
    assert state.page.name == "home"


def test_moving_changes_the_list_only():
    state = after(state_at(Page("todo", "t0"), Page("move", "t0")), Event("move", "l1"))

    assert state.data.todos[0] == replace(DATA.todos[0], list="l1")
    assert state.page.name == "todo"


@pytest.mark.parametrize(("place", "left"), [("", ["t0", "t2", "t4"]), ("l1", "t0 t2 t3 t4")])
def test_clearing_takes_what_is_done_in_one_list_or_everywhere(place, left):
    wanted = left.split() if isinstance(left, str) else left

    state = after(state_at(Page("clear_done", place)), Event("clear_done", place))

    assert [todo.id for todo in state.data.todos] == wanted


def test_lists_are_made_renamed_and_deleted_with_what_is_in_them():
    state = after(state_at(Page("lists")), Event("go", "new_list"))
    state = after(state, Event("edit", "name", "Worms"), Event("save_list"))
    assert state.data.lists[-1] == TodoList("l2", "Worms")

    state = after(state_at(Page("lists"), Page("list", "l1")), Event("rename", "l1"))
    assert state.page.draft("name") == "Thun"
    state = after(state, Event("edit", "name", "Ulm"), Event("save_list"))
    assert state.data.lists[1].name == "Ulm"

    state = after(state, Event("go", "delete_list", "l1"), Event("delete_list", "l1"))
    assert [todo.id for todo in state.data.todos] == ["t0", "t2", "t3"]
    assert state.page.name == "lists"


def test_the_inbox_stays():
    state = state_at(Page("lists"), Page("list", "l0"))

    assert after(state, Event("delete_list", "l0")).data is DATA
    sent = {button.on_tap for button in shown(state).overflow}
    assert sent == {Event("go", "clear_done", "l0")}


def test_the_filters_form_leads_to_its_results():
    state = after(
        state_at(Page("filter")),
        Event("set", "span", "this_week"),
        Event("set", "priority", "high"),
        Event("show"),
    )
    assert state.page == Page("results", "this_week|high|any")

    screen = shown(state)
    assert {"Tasks: 2", "Tea Berg, Soup Adler"} <= set(texts_of(screen))
    assert titles_of(screen) == ["Tea Berg", "Soup Adler"]


def test_a_picked_day_goes_before_a_span():
    state = after(
        state_at(Page("filter")),
        Event("set", "span", "today"),
        Event("set", "day", "2025-03-17"),
        Event("show"),
    )

    assert titles_of(shown(state)) == ["Gym Cramer"]


def test_an_empty_result_says_so():
    screen = shown(state_at(Page("results", Filter("2025-07-01").argument)))

    assert "No tasks found" in texts_of(screen)
    assert titles_of(screen) == []


@pytest.mark.parametrize(
    ("field", "text", "found"),
    [("search", "CRAMER", ["Gym Cramer"]), ("search", "weim", ["Tea Berg"]),
     ("status", "done", ["Soup Adler", "Bus Dorn"])],
)  # fmt: skip
def test_the_list_narrows_by_search_and_status(field, text, found):
    assert titles_of(shown(after(state_at(), Event("edit", field, text)))) == found


def test_a_task_is_shared_with_its_remarks():
    state = state_at(Page("todo", "t0"))

    assert APP.step(state, Event("share", "t0")).effects == (Share("Tea Berg\nWeimar"),)
    assert APP.step(state, Event("copy", "t1")).effects == (Copy("Soup Adler"), Say("Copied"))


def test_a_shared_text_becomes_a_task_with_remarks():
    state = after(state_at(), Event(APP.takes_shares, "one\ntwo\nthree"))

    fields = [widget for widget in shown(state).body if isinstance(widget, Field)]
    assert [field.text for field in fields] == ["one", "two\nthree"]


@pytest.mark.parametrize(
    "page",
    [Page("todo", "t9"), Page("list", "l9"), Page("delete", "t9"), Page("delete_list", "l9")],
)
def test_pages_about_what_is_gone_still_show(page):
    assert shown(state_at(page)).title


@pytest.mark.parametrize("split", list(Split))
def test_fixtures_hold_together(split):
    for number in range(50):
        data = fixture(Draw(Random(number), split))
        lists = {one.id for one in data.lists}

        assert len({todo.title for todo in data.todos}) == len(data.todos)
        assert all(todo.list in lists for todo in data.todos)
        assert data.lists[0].id == "l0"


@pytest.mark.parametrize(
    ("locale", "inbox", "due"),
    [("en", "Inbox", "12 March"), ("de", "Eingang", "12. März"), ("ja", "受信箱", "3月12日")],
)
def test_the_app_speaks_the_locale_of_the_look(locale, inbox, due):
    look = draw_look(Split.TRAIN, look_number(locale, 7))
    rows = [widget for widget in shown(state_at(), look).body if isinstance(widget, Row)]

    assert f"{due} · {inbox}" in {row.subtitle for row in rows}
