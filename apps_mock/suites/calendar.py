"""Tasks in the calendar app: events are found, changed, moved and deleted."""

from __future__ import annotations

from dataclasses import replace

from apps_mock.apps.calendar_events import WEEKLY, CalendarEvent, listed, shifted
from apps_mock.catalogue import Term
from apps_mock.entities import Draw
from apps_mock.plans import GiveUp, Plan, Press
from apps_mock.suites import calendar_links, calendar_questions, calendar_twins
from apps_mock.suites.calendar_scenes import (
    Scene,
    argument_of,
    day_ahead,
    editing,
    removing,
    way_by_search,
    way_to_day,
    way_to_event,
)
from apps_mock.suites.calendar_twins import HOURS
from apps_mock.templates import Instance, Template
from apps_mock.wanted import Change, PageGoal
from apps_mock.widgets import Event


def _open(draw: Draw) -> Instance:
    today, day = day_ahead(draw)
    scene = Scene(draw, today, quiet=(day,))
    event = draw.random.choice(scene.fill_day(day, 2))
    return Instance(
        words={"title": event.title, "day": Term(day, "day")},
        data=scene.data,
        plan=way_to_event(today, event),
        page=PageGoal("event", argument_of(event)),
        now=scene.now,
    )


def _show_day(draw: Draw) -> Instance:
    today, day = day_ahead(draw)
    scene = Scene(draw, today)
    return Instance(
        words={"day": Term(day, "day")},
        data=scene.data,
        plan=way_to_day(today, day),
        page=PageGoal("day", day),
        now=scene.now,
    )


def _changed(
    scene: Scene, way: Plan, event: CalendarEvent, words: dict[str, str | Term], **values: str
) -> Instance:
    """One event that gets other values; `way` leads to its page."""
    wanted = replace(event, **values)  # type: ignore[arg-type]  # the fields here are texts
    return Instance(
        words={"title": event.title, "day": Term(wanted.day, "day"), **words},
        data=scene.data,
        plan=editing(way, event, wanted),
        changes=(Change("events", event.id, tuple(values.items())),),
        now=scene.now,
    )


def _one_of_two(draw: Draw) -> tuple[Scene, CalendarEvent, Plan]:
    """One of two events on a day to come, and the way to it over its day."""
    today, day = day_ahead(draw)
    scene = Scene(draw, today, quiet=(day,))
    event = draw.random.choice(scene.fill_day(day, 2))
    return scene, event, way_to_event(today, event)


def _move_day(draw: Draw) -> Instance:
    today, day = day_ahead(draw)
    scene = Scene(draw, today)
    before = shifted(day, draw.random.choice((-3, -2, -1, 1, 2, 3, 4, 5, 6, 7)))
    event = scene.put(scene.new(before, location=scene.location()))
    return _changed(scene, way_by_search(event), event, {}, day=day)


def _change_start(draw: Draw) -> Instance:
    scene, event, way = _one_of_two(draw)
    start = draw.random.choice([hour for hour in HOURS if hour != event.start])
    return _changed(scene, way, event, {"time": start}, start=start)


def _rename(draw: Draw) -> Instance:
    scene, event, way = _one_of_two(draw)
    title = scene.title()
    return _changed(scene, way, event, {"new": title}, title=title)


def _add_location(draw: Draw) -> Instance:
    scene, event, way = _one_of_two(draw)
    location = scene.location()
    return _changed(scene, way, event, {"location": location}, location=location)


def _invite(draw: Draw) -> Instance:
    today, day = day_ahead(draw)
    scene = Scene(draw, today)
    event, name = scene.put(scene.new(day)), draw.name()
    return _changed(scene, way_by_search(event), event, {"name": name}, people=name)


def _series(draw: Draw) -> tuple[Scene, CalendarEvent, str]:
    """A weekly event that has begun, and one of its days to come."""
    today, day = day_ahead(draw)
    scene = Scene(draw, today, quiet=(day,))
    event = scene.put(scene.new(shifted(day, -7 * draw.random.randrange(1, 5)), repeats=WEEKLY))
    scene.fill_day(day, 1)
    return scene, event, day


def _delete_series(draw: Draw) -> Instance:
    scene, event, _ = _series(draw)
    day = listed(event, scene.today).day
    return Instance(
        words={"title": event.title},
        data=scene.data,
        plan=removing(way_by_search(event, day=day), event, day),
        changes=(Change("events", event.id, removed=True),),
        now=scene.now,
    )


def _skip_day(draw: Draw) -> Instance:
    scene, event, day = _series(draw)
    argument = argument_of(event, day)
    return Instance(
        words={"title": event.title, "day": Term(day, "day")},
        data=scene.data,
        plan={
            **way_to_event(scene.today, event, day),
            ("event", argument): Press(Event("go", "delete", argument)),
            ("delete", argument): Press(Event("skip", argument)),
        },
        changes=(Change("events", event.id, (("skipped", (day,)),)),),
        now=scene.now,
    )


def _missing(draw: Draw) -> Instance:
    """Something to be done with an event that is not there on the day where it should be."""
    today, day = day_ahead(draw)
    scene = Scene(draw, today, quiet=(day,))
    scene.fill_day(day, 2)
    return Instance(
        words={
            "title": scene.title(),
            "day": Term(day, "day"),
            "time": draw.random.choice(HOURS),
        },
        data=scene.data,
        plan={**way_to_day(today, day), ("day", day): GiveUp()},
        infeasible=True,
        now=scene.now,
    )


_OWN = (
    Template(
        name="calendar_show_day",
        app="calendar",
        oracle_steps=3,
        phrasings=(
            "Show {day} in my calendar",
            "Open the calendar at {day}",
        ),
        held_out=("Let me see {day} in the calendar",),
        set_up=_show_day,
        tags=("scrolls",),
    ),
    Template(
        name="calendar_open",
        app="calendar",
        oracle_steps=4,
        phrasings=(
            "Open the event {title} on {day} in the calendar",
            "Show me the details of {title} on {day}",
        ),
        held_out=("Look up {title} in my calendar on {day}",),
        set_up=_open,
        tags=("scrolls",),
    ),
    Template(
        name="calendar_move_day",
        app="calendar",
        oracle_steps=12,
        phrasings=(
            "Move the event {title} to {day}",
            "In the calendar change the day of {title} to {day}",
        ),
        held_out=("{title} takes place on {day} instead so correct my calendar",),
        set_up=_move_day,
        tags=("scrolls",),
    ),
    Template(
        name="calendar_change_start",
        app="calendar",
        oracle_steps=10,
        phrasings=(
            "Move the event {title} on {day} to {time}",
            "In the calendar let {title} on {day} start at {time}",
        ),
        held_out=("{title} on {day} begins at {time} instead so correct my calendar",),
        set_up=_change_start,
        tags=("scrolls",),
    ),
    Template(
        name="calendar_rename",
        app="calendar",
        oracle_steps=10,
        phrasings=(
            "Rename the event {title} on {day} to {new}",
            "In the calendar change the title of {title} on {day} to {new}",
        ),
        held_out=("What my calendar calls {title} on {day} shall be called {new}",),
        set_up=_rename,
        tags=("scrolls",),
    ),
    Template(
        name="calendar_add_location",
        app="calendar",
        oracle_steps=10,
        phrasings=(
            "Add the location {location} to the event {title} on {day}",
            "In the calendar set the place of {title} on {day} to {location}",
        ),
        held_out=("{title} on {day} happens at {location} so note that in my calendar",),
        set_up=_add_location,
        tags=("scrolls",),
    ),
    Template(
        name="calendar_invite",
        app="calendar",
        oracle_steps=13,
        phrasings=(
            "Add {name} to the people of the event {title}",
            "In the calendar note that {name} comes to {title}",
        ),
        held_out=("{name} will be at {title} so put that into my calendar",),
        set_up=_invite,
        tags=("scrolls",),
    ),
    Template(
        name="calendar_delete_series",
        app="calendar",
        oracle_steps=9,
        phrasings=(
            "Delete all days of the weekly event {title}",
            "Remove the whole series {title} from my calendar",
        ),
        held_out=("{title} will never take place again so take it out of my calendar",),
        set_up=_delete_series,
        tags=("scrolls",),
    ),
    Template(
        name="calendar_skip_day",
        app="calendar",
        oracle_steps=6,
        phrasings=(
            "Delete {title} on {day} but keep its other days",
            "Take only {day} out of the weekly event {title}",
        ),
        held_out=("The weekly event {title} is left out on {day} so correct my calendar",),
        set_up=_skip_day,
        tags=("scrolls",),
    ),
    Template(
        name="calendar_delete_missing",
        app="calendar",
        oracle_steps=3,
        phrasings=(
            "Delete the event {title} that my calendar has on {day}",
            "Remove {title} from the calendar on {day}",
        ),
        held_out=("Take {title} on {day} out of my calendar",),
        set_up=_missing,
        tags=("infeasible", "scrolls"),
    ),
    Template(
        name="calendar_move_missing",
        app="calendar",
        oracle_steps=3,
        phrasings=(
            "In the calendar move {title} on {day} to {time}",
            "Let the event {title} on {day} begin at {time}",
        ),
        held_out=("{title} on {day} shall start at {time} so correct my calendar",),
        set_up=_missing,
        tags=("infeasible", "scrolls"),
    ),
)

TEMPLATES: tuple[Template, ...] = (
    *calendar_twins.TEMPLATES,
    *_OWN,
    *calendar_questions.TEMPLATES,
    *calendar_links.TEMPLATES,
)
