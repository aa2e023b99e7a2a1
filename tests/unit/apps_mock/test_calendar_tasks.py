from __future__ import annotations

from datetime import date
from random import Random

import pytest

from apps_mock.apps.calendar_events import happens_on, occurrences, on_day, shifted
from apps_mock.apps.calendar_view import weekday_of
from apps_mock.entities import Draw, spelled, split_of
from apps_mock.suites.calendar import TEMPLATES
from apps_mock.suites.calendar_scenes import Scene, way_to_day
from sync.vocabulary import Split

TWINS = {
    "SimpleCalendarAddOneEvent",
    "SimpleCalendarAddOneEventInTwoWeeks",
    "SimpleCalendarAddOneEventRelativeDay",
    "SimpleCalendarAddOneEventTomorrow",
    "SimpleCalendarAddRepeatingEvent",
    "SimpleCalendarAnyEventsOnDate",
    "SimpleCalendarDeleteEvents",
    "SimpleCalendarDeleteEventsOnRelativeDay",
    "SimpleCalendarDeleteOneEvent",
    "SimpleCalendarEventOnDateAtTime",
    "SimpleCalendarEventsInNextWeek",
    "SimpleCalendarEventsInTimeRange",
    "SimpleCalendarEventsOnDate",
    "SimpleCalendarFirstEventAfterStartTime",
    "SimpleCalendarLocationOfEvent",
    "SimpleCalendarNextEvent",
    "SimpleCalendarNextMeetingWithPerson",
}
BY_NAME = {template.name: template for template in TEMPLATES}
SEEDS = range(12)


def instances(name):
    for split in Split:
        for seed in SEEDS:
            yield BY_NAME[name].set_up(Draw(Random(f"{name}|{seed}"), split))


def today_of(instance):
    return instance.now[:10]


def added(instance):
    return dict(instance.changes[0].values)


def test_every_twin_is_there_under_its_original_name():
    twins = {template.name for template in TEMPLATES if template.suite == "androidworld"}

    assert twins == TWINS
    assert sum("answer" in BY_NAME[name].tags for name in TWINS) == 9


def test_questions_cover_every_type_of_answer():
    kinds = {
        next(instances(template.name)).answer.kind
        for template in TEMPLATES
        if "answer" in template.tags
    }

    assert kinds == {"number", "date", "time", "name", "list"}


def test_a_weekday_means_the_next_such_day():
    for instance in instances("SimpleCalendarAddOneEventRelativeDay"):
        day = added(instance)["day"]

        assert shifted(today_of(instance), 1) <= day <= shifted(today_of(instance), 6)
        assert weekday_of(day) == instance.words["weekday"].text


@pytest.mark.parametrize(
    ("name", "days"),
    [("SimpleCalendarAddOneEventTomorrow", 1), ("SimpleCalendarAddOneEventInTwoWeeks", 14)],
)
def test_relative_days_follow_from_the_clock(name, days):
    for instance in instances(name):
        assert added(instance)["day"] == shifted(today_of(instance), days)


@pytest.mark.parametrize(
    "name", ["SimpleCalendarDeleteEvents", "SimpleCalendarDeleteEventsOnRelativeDay"]
)
def test_clearing_a_day_is_about_all_of_its_events_and_no_others(name):
    for instance in instances(name):
        removed = {change.record for change in instance.changes}
        day = next(event.day for event in instance.data.events if event.id in removed)

        assert {event.id for event in on_day(instance.data.events, day)} == removed
        assert not any(event.repeats for event in instance.data.events if event.id in removed)


def test_the_event_to_delete_has_a_namesake_on_another_day():
    for instance in instances("SimpleCalendarDeleteOneEvent"):
        title = instance.words["title"]
        same = [event for event in instance.data.events if event.title == title]

        assert len(same) == 2
        assert len({event.day for event in same}) == 2


def test_the_coming_week_has_the_same_events_however_its_ends_are_counted():
    for instance in instances("SimpleCalendarEventsInNextWeek"):
        today, events = today_of(instance), instance.data.events
        answers = {
            tuple(each.event.title for each in occurrences(events, first, last))
            for first in (today, shifted(today, 1))
            for last in (shifted(today, 6), shifted(today, 7))
        }

        assert answers == {tuple(instance.answer.value.split("\n"))}


def test_a_time_range_leaves_out_what_lies_before_and_after():
    for instance in instances("SimpleCalendarEventsInTimeRange"):
        day, start = instance.words["day"].text, instance.words["time"]
        events = on_day(instance.data.events, day)
        inside = [event.title for event in events if start <= event.start < "20:00"]

        assert instance.answer.value.split("\n") == inside
        assert len(inside) == 2 < len(events)


def test_the_first_event_after_a_time_is_not_the_days_first():
    for instance in instances("SimpleCalendarFirstEventAfterStartTime"):
        events = on_day(instance.data.events, instance.words["day"].text)
        later = [event.title for event in events if event.start >= instance.words["time"]]

        assert instance.answer.value == later[0] != events[0].title


def test_the_next_event_comes_after_the_clock():
    for instance in instances("SimpleCalendarNextEvent"):
        today, time = instance.now.split("T")
        coming = [
            each.event.title
            for each in occurrences(instance.data.events, today, shifted(today, 7))
            if (each.day, each.event.start) > (today, time)
        ]

        assert coming[0] == instance.answer.value


def test_the_next_meeting_with_somebody_is_neither_the_last_nor_the_one_after():
    for instance in instances("SimpleCalendarNextMeetingWithPerson"):
        events = [event for event in instance.data.events if event.people == instance.words["name"]]
        coming = sorted(event.day for event in events if event.day >= today_of(instance))

        assert len(events) == 3
        assert len(coming) == 2
        assert instance.answer.value.startswith(coming[0])


@pytest.mark.parametrize("name", ["calendar_delete_missing", "calendar_move_missing"])
def test_what_cannot_be_done_is_about_an_event_that_is_not_there(name):
    for instance in instances(name):
        assert instance.infeasible
        assert instance.words["title"] not in {event.title for event in instance.data.events}
        assert on_day(instance.data.events, instance.words["day"].text)


def test_named_days_belong_to_the_split():
    for split in Split:
        for seed in SEEDS:
            instance = BY_NAME["calendar_show_day"].set_up(Draw(Random(seed), split))
            day = date.fromisoformat(instance.words["day"].text)

            assert split_of(spelled(day)) is split


def test_a_far_day_is_reached_over_the_months_between():
    plan = way_to_day("2025-03-14", "2025-06-20")

    assert [move.event.value for move in plan.values()] == [
        "2025-04", "2025-05", "2025-06", "2025-06-20",
    ]  # fmt: skip
    (near,) = way_to_day("2025-03-14", "2025-04-05").values()
    assert near.event.value == "2025-04-05"


def test_a_scene_keeps_its_quiet_days_for_the_task():
    scene = Scene(Draw(Random(1), Split.TEST), "2025-03-14", quiet=("2025-03-20",))
    events = scene.fill_day("2025-03-20", 3)

    assert on_day(scene.data.events, "2025-03-20") == events
    assert all(happens_on(event, "2025-03-20") for event in events)
    assert scene.title() not in {event.title for event in scene.data.events}
