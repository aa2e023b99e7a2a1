"""AndroidWorld's tasks that change a calendar: events of all kinds are added and deleted."""

from __future__ import annotations

from apps_mock.apps.calendar_events import DAILY, MONTHLY, WEEKLY, CalendarEvent, shifted
from apps_mock.apps.calendar_view import REPETITIONS, weekday_of
from apps_mock.catalogue import Term
from apps_mock.entities import Draw
from apps_mock.suites.calendar_scenes import (
    Scene,
    adding,
    day_ahead,
    new_event,
    removing,
    removing_all,
    some_day,
    way_to_event,
)
from apps_mock.templates import Instance, Template
from apps_mock.wanted import Change

HOURS = tuple(f"{hour:02}:00" for hour in range(7, 21))
_LENGTHS = (15, 30, 45, 60)


def _new(scene: Scene, day: str, repeats: str = "") -> CalendarEvent:
    random = scene.draw.random
    return scene.new(
        day,
        random.choice(HOURS),
        minutes=random.choice(_LENGTHS),
        description=scene.description(),
        repeats=repeats,
    )


def _added(scene: Scene, event: CalendarEvent, **words: str | Term) -> Instance:
    return Instance(
        words={
            "title": event.title,
            "time": event.start,
            "minutes": str(event.minutes),
            "description": event.description,
            **words,
        },
        data=scene.data,
        plan=adding(event, scene.today),
        changes=(new_event(event),),
        now=scene.now,
    )


def _add(draw: Draw) -> Instance:
    today, day = day_ahead(draw)
    scene = Scene(draw, today)
    return _added(scene, _new(scene, day), day=Term(day, "day"))


def _add_in_two_weeks(draw: Draw) -> Instance:
    today = some_day(draw, last=14)
    scene = Scene(draw, today)
    return _added(scene, _new(scene, shifted(today, 14)))


def _add_relative(draw: Draw) -> Instance:
    today = some_day(draw, last=22)
    day = shifted(today, draw.random.randrange(1, 7))
    scene = Scene(draw, today)
    return _added(scene, _new(scene, day), weekday=Term(weekday_of(day)))


def _add_tomorrow(draw: Draw) -> Instance:
    today = some_day(draw, last=27)
    scene = Scene(draw, today)
    return _added(scene, _new(scene, shifted(today, 1)))


def _add_repeating(draw: Draw) -> Instance:
    today, day = day_ahead(draw)
    scene = Scene(draw, today)
    repeats = draw.random.choice((DAILY, WEEKLY, MONTHLY))
    rule = Term(REPETITIONS[repeats].lower())
    return _added(scene, _new(scene, day, repeats), day=Term(day, "day"), rule=rule)


def _delete_one(draw: Draw) -> Instance:
    today, day = day_ahead(draw)
    scene = Scene(draw, today, quiet=(day,))
    event = draw.random.choice(scene.fill_day(day, 3))
    scene.put(scene.new(shifted(day, 7), event.start, title=event.title))
    return Instance(
        words={"title": event.title, "day": Term(day, "day"), "time": event.start},
        data=scene.data,
        plan=removing(way_to_event(today, event), event),
        changes=(Change("events", event.id, removed=True),),
        now=scene.now,
    )


def _delete_day(draw: Draw) -> Instance:
    today, day = day_ahead(draw)
    scene = Scene(draw, today, quiet=(day,))
    return _cleared(scene, scene.fill_day(day, 2), day=Term(day, "day"))


def _delete_relative(draw: Draw) -> Instance:
    today = some_day(draw, last=22)
    day = shifted(today, draw.random.randrange(1, 7))
    scene = Scene(draw, today, quiet=(day,))
    events = scene.fill_day(day, 2)
    return _cleared(scene, events, weekday=Term(weekday_of(day)), name=draw.first_name())


def _cleared(scene: Scene, events: list[CalendarEvent], **words: str | Term) -> Instance:
    """All of these are deleted."""
    stages, plan, changes = removing_all(scene.today, events)
    return Instance(
        words=words, data=scene.data, plan=plan, changes=changes, stages=stages, now=scene.now
    )


TEMPLATES = (
    Template(
        name="SimpleCalendarAddOneEvent",
        app="calendar",
        suite="androidworld",
        oracle_steps=18,
        phrasings=(
            (
                "On {day} at {time} add {title} to the calendar for {minutes} minutes with "
                "description {description}"
            ),
            (
                "Put {title} into my calendar on {day} at {time} lasting {minutes} minutes and "
                "described as {description}"
            ),
        ),
        held_out=(
            "Schedule {title} for {minutes} minutes on {day} at {time} with the note {description}",
        ),
        set_up=_add,
        tags=("scrolls",),
    ),
    Template(
        name="SimpleCalendarAddOneEventInTwoWeeks",
        app="calendar",
        suite="androidworld",
        oracle_steps=18,
        phrasings=(
            (
                "Two weeks from today at {time} add {title} to the calendar for {minutes} "
                "minutes with description {description}"
            ),
            (
                "Put {title} into my calendar in two weeks at {time} lasting {minutes} minutes "
                "and described as {description}"
            ),
        ),
        held_out=(
            (
                "Schedule {title} for {minutes} minutes in two weeks at {time} with the note "
                "{description}"
            ),
        ),
        set_up=_add_in_two_weeks,
        tags=("scrolls",),
    ),
    Template(
        name="SimpleCalendarAddOneEventRelativeDay",
        app="calendar",
        suite="androidworld",
        oracle_steps=18,
        phrasings=(
            (
                "This {weekday} at {time} add {title} to the calendar for {minutes} minutes with "
                "description {description}"
            ),
            (
                "Put {title} into my calendar this {weekday} at {time} lasting {minutes} minutes "
                "and described as {description}"
            ),
        ),
        held_out=(
            (
                "Schedule {title} for {minutes} minutes this {weekday} at {time} with the note "
                "{description}"
            ),
        ),
        set_up=_add_relative,
        tags=("scrolls",),
    ),
    Template(
        name="SimpleCalendarAddOneEventTomorrow",
        app="calendar",
        suite="androidworld",
        oracle_steps=18,
        phrasings=(
            (
                "Tomorrow at {time} add {title} to the calendar for {minutes} minutes with "
                "description {description}"
            ),
            (
                "Put {title} into my calendar tomorrow at {time} lasting {minutes} minutes and "
                "described as {description}"
            ),
        ),
        held_out=(
            "Schedule {title} for {minutes} minutes tomorrow at {time} with the note {description}",
        ),
        set_up=_add_tomorrow,
        tags=("scrolls",),
    ),
    Template(
        name="SimpleCalendarAddRepeatingEvent",
        app="calendar",
        suite="androidworld",
        oracle_steps=20,
        phrasings=(
            (
                "Add {title} {rule} from {day} on at {time} for {minutes} minutes with "
                "description {description}"
            ),
            (
                "Put {title} into my calendar {rule} starting {day} at {time} for {minutes} "
                "minutes described as {description}"
            ),
        ),
        held_out=(
            (
                "Schedule {title} {rule} since {day} at {time} for {minutes} minutes with the "
                "note {description}"
            ),
        ),
        set_up=_add_repeating,
        tags=("scrolls",),
    ),
    Template(
        name="SimpleCalendarDeleteOneEvent",
        app="calendar",
        suite="androidworld",
        oracle_steps=6,
        phrasings=(
            "Delete the event {title} on {day} at {time} from the calendar",
            "Remove {title} at {time} on {day} from my calendar",
        ),
        held_out=("{title} on {day} at {time} is called off so take it out of my calendar",),
        set_up=_delete_one,
        tags=("scrolls",),
    ),
    Template(
        name="SimpleCalendarDeleteEvents",
        app="calendar",
        suite="androidworld",
        oracle_steps=9,
        phrasings=(
            "Delete all events on {day} from the calendar",
            "Remove everything that my calendar has on {day}",
        ),
        held_out=("Keep {day} free and take all events of that day out of my calendar",),
        set_up=_delete_day,
        tags=("scrolls",),
    ),
    Template(
        name="SimpleCalendarDeleteEventsOnRelativeDay",
        app="calendar",
        suite="androidworld",
        oracle_steps=9,
        phrasings=(
            "{name} visits me this {weekday} so delete all events of that day from the calendar",
            "Because of {name} remove everything that my calendar has this {weekday}",
        ),
        held_out=("Keep this {weekday} free for {name} and take its events out of my calendar",),
        set_up=_delete_relative,
        tags=("scrolls",),
    ),
)
