"""Questions about the calendar: twins of AndroidWorld's, and more of the kind."""

from __future__ import annotations

from apps_mock.apps.calendar_events import (
    CalendarEvent,
    end_of,
    occurrences,
    shifted,
)
from apps_mock.catalogue import LOCALES, Term, day_text
from apps_mock.entities import Draw
from apps_mock.plans import Plan, Press
from apps_mock.suites.calendar_scenes import (
    Scene,
    answered_at,
    argument_of,
    day_ahead,
    some_day,
    titles_of,
    way_by_search,
    way_to_day,
)
from apps_mock.templates import Instance, Template
from apps_mock.wanted import Answer
from apps_mock.widgets import Event

_EVENING = "20:00"


def _asked(scene: Scene, answer: Answer, plan: Plan, **words: str | Term) -> Instance:
    return Instance(words=words, data=scene.data, plan=plan, answer=answer, now=scene.now)


def _listed(events: list[CalendarEvent]) -> Answer:
    titles = titles_of(events)
    return Answer("list", "\n".join(titles), shown=", ".join(titles))


def _day_answered(scene: Scene, day: str, answer: Answer, **words: str | Term) -> Instance:
    """A question that the page of a day answers."""
    plan = answered_at(way_to_day(scene.today, day), "day", day)
    return _asked(scene, answer, plan, day=Term(day, "day"), **words)


def _busy_day(draw: Draw, fewest: int, most: int) -> tuple[Scene, str, list[CalendarEvent]]:
    today, day = day_ahead(draw)
    scene = Scene(draw, today, quiet=(day,))
    return scene, day, scene.fill_day(day, draw.random.randrange(fewest, most + 1))


def _any_on_date(draw: Draw) -> Instance:
    scene, day, events = _busy_day(draw, 1, 2)
    return _day_answered(scene, day, _listed(events))


def _on_date(draw: Draw) -> Instance:
    scene, day, events = _busy_day(draw, 2, 4)
    return _day_answered(scene, day, _listed(events))


def _on_date_at_time(draw: Draw) -> Instance:
    scene, day, events = _busy_day(draw, 2, 4)
    event = draw.random.choice(events)
    return _day_answered(scene, day, Answer("name", event.title), time=event.start)


def _in_time_range(draw: Draw) -> Instance:
    """Some events lie between a time and the evening, one before and one after."""
    today, day = day_ahead(draw)
    scene = Scene(draw, today, quiet=(day,))
    scene.put(scene.new(day, draw.random.choice(("08:00", "08:30", "09:00")), minutes=60))
    starts = draw.random.sample(("12:00", "13:30", "15:00", "16:30", "18:00"), 2)
    inside = [scene.put(scene.new(day, start, minutes=60)) for start in sorted(starts)]
    scene.put(scene.new(day, draw.random.choice(("20:30", "21:00", "21:30")), minutes=60))
    time = draw.random.choice(("10:30", "11:00", "11:30"))
    return _day_answered(scene, day, _listed(inside), time=time, end=_EVENING)


def _first_after(draw: Draw) -> Instance:
    scene, day, events = _busy_day(draw, 3, 4)
    index = draw.random.randrange(1, len(events))
    time = end_of(events[index - 1])
    return _day_answered(scene, day, Answer("name", events[index].title), time=time)


def _count_on_date(draw: Draw) -> Instance:
    scene, day, events = _busy_day(draw, 2, 5)
    return _day_answered(scene, day, Answer("number", str(len(events))))


def _end(draw: Draw) -> Instance:
    scene, day, events = _busy_day(draw, 2, 3)
    event = draw.random.choice(events)
    return _day_answered(scene, day, Answer("time", end_of(event)), title=event.title)


def _next(draw: Draw) -> Instance:
    """The next event is still today or comes tomorrow; another of today is over."""
    today = some_day(draw, last=27)
    tomorrow = shifted(today, 1)
    scene = Scene(draw, today, quiet=(today, tomorrow), time="12:10")
    scene.put(scene.new(today, draw.random.choice(("08:00", "09:30", "10:45")), minutes=30))
    later = draw.random.choice(("13:00", "15:15", "18:30"))
    event = scene.put(scene.new(draw.random.choice((today, tomorrow)), later))
    scene.put(scene.new(tomorrow, "19:30"))
    return _asked(
        scene,
        Answer("name", event.title),
        answered_at({("home", ""): Press(Event("go", "agenda"))}, "agenda", ""),
    )


def _next_week(draw: Draw) -> Instance:
    """Nothing happens today nor in a week's time, so that it does not matter whether they count."""
    today = some_day(draw)
    days = [shifted(today, offset) for offset in range(8)]
    quiet = {days[0], days[7], *draw.random.sample(days[1:7], 4)}
    scene = Scene(draw, today, quiet=tuple(sorted(quiet)))
    scene.put(scene.new(draw.random.choice([day for day in days if day not in quiet])))
    events = [each.event for each in occurrences(scene.data.events, days[1], days[6])]
    return _asked(
        scene,
        _listed(events),
        answered_at({("home", ""): Press(Event("go", "agenda"))}, "agenda", ""),
    )


def _found(scene: Scene, event: CalendarEvent, answer: Answer, sought: str = "") -> Instance:
    """A question that an event's page answers, which is found by search."""
    plan = answered_at(way_by_search(event, sought=sought), "event", argument_of(event))
    return _asked(scene, answer, plan, title=event.title, name=event.people)


def _location(draw: Draw) -> Instance:
    today, day = day_ahead(draw)
    scene = Scene(draw, today)
    event = scene.put(scene.new(day, location=scene.location()))
    return _found(scene, event, Answer("name", event.location))


def _people(draw: Draw) -> Instance:
    today, day = day_ahead(draw)
    scene = Scene(draw, today)
    event = scene.put(scene.new(day, people=draw.name()))
    return _found(scene, event, Answer("name", event.people))


def _day_of(draw: Draw) -> Instance:
    today, day = day_ahead(draw)
    scene = Scene(draw, today)
    event = scene.put(scene.new(day))
    return _found(scene, event, Answer("date", day))


def _next_with(draw: Draw) -> Instance:
    """There was a meeting with the person before, and there will be another one."""
    today, day = day_ahead(draw)
    scene, name = Scene(draw, today), draw.name()
    scene.put(scene.new(shifted(today, -draw.random.randrange(1, 8)), people=name))
    event = scene.put(scene.new(day, people=name))
    scene.put(scene.new(shifted(day, draw.random.randrange(1, 8)), people=name))
    return _found(scene, event, _moment(day, event.start), name)


def _moment(day: str, time: str) -> Answer:
    """A day with a time, in any of the ways that the locales write a day."""
    texts = [day_text(day, locale) for locale in LOCALES]
    year = day[:4]
    days = (day, *texts, *(f"{text} {year}" for text in texts), f"{year}年{day_text(day, 'ja')}")
    forms = tuple(f"{form}{between}{time}" for form in days for between in (" ", ", "))
    return Answer("name", f"{day} {time}", forms=forms)


TEMPLATES = (
    Template(
        name="SimpleCalendarAnyEventsOnDate",
        app="calendar",
        suite="androidworld",
        oracle_steps=3,
        phrasings=(
            "Does my calendar have anything on {day} and what is it called",
            "Say by title what is in the calendar on {day} if there is anything",
        ),
        held_out=("Am I busy on {day} and with which events",),
        set_up=_any_on_date,
        tags=("answer", "scrolls"),
    ),
    Template(
        name="SimpleCalendarEventsOnDate",
        app="calendar",
        suite="androidworld",
        oracle_steps=3,
        phrasings=(
            "Which events are in my calendar on {day}",
            "List the titles of all events on {day}",
        ),
        held_out=("What is planned for {day} in the calendar",),
        set_up=_on_date,
        tags=("answer", "scrolls"),
    ),
    Template(
        name="SimpleCalendarEventOnDateAtTime",
        app="calendar",
        suite="androidworld",
        oracle_steps=3,
        phrasings=(
            "Which event do I have on {day} at {time}",
            "What does my calendar say for {time} on {day}",
        ),
        held_out=("What starts at {time} on {day} according to the calendar",),
        set_up=_on_date_at_time,
        tags=("answer", "scrolls"),
    ),
    Template(
        name="SimpleCalendarEventsInTimeRange",
        app="calendar",
        suite="androidworld",
        oracle_steps=4,
        phrasings=(
            "Which events do I have between {time} and {end} on {day}",
            "List the titles of the events on {day} from {time} to {end}",
        ),
        held_out=("What is in the calendar on {day} after {time} and before {end}",),
        set_up=_in_time_range,
        tags=("answer", "scrolls"),
    ),
    Template(
        name="SimpleCalendarFirstEventAfterStartTime",
        app="calendar",
        suite="androidworld",
        oracle_steps=3,
        phrasings=(
            "Which event is the first after {time} on {day}",
            "What comes first in my calendar on {day} from {time} on",
        ),
        held_out=("What do I do first once it is {time} on {day}",),
        set_up=_first_after,
        tags=("answer", "scrolls"),
    ),
    Template(
        name="SimpleCalendarEventsInNextWeek",
        app="calendar",
        suite="androidworld",
        oracle_steps=7,
        phrasings=(
            "Which events do I have in the next seven days",
            "List the titles of what my calendar has for the coming seven days",
        ),
        held_out=("What is planned from now on until a week from now",),
        set_up=_next_week,
        tags=("answer", "scrolls", "no_parameters"),
    ),
    Template(
        name="SimpleCalendarNextEvent",
        app="calendar",
        suite="androidworld",
        oracle_steps=4,
        phrasings=(
            "Which event in my calendar comes next",
            "What is the title of my next event",
        ),
        held_out=("What do I have to go to next",),
        set_up=_next,
        tags=("answer", "scrolls", "no_parameters"),
    ),
    Template(
        name="SimpleCalendarLocationOfEvent",
        app="calendar",
        suite="androidworld",
        oracle_steps=7,
        phrasings=(
            "Where does the event {title} take place",
            "What is the location of {title} in my calendar",
        ),
        held_out=("Where do I have to go for {title}",),
        set_up=_location,
        tags=("answer", "scrolls"),
    ),
    Template(
        name="SimpleCalendarNextMeetingWithPerson",
        app="calendar",
        suite="androidworld",
        oracle_steps=8,
        phrasings=(
            "On which day and at which time do I meet {name} next",
            "When is my next event with {name} by day and time",
        ),
        held_out=("Say day and time of the next meeting that has {name} in it",),
        set_up=_next_with,
        tags=("answer", "scrolls"),
    ),
    Template(
        name="calendar_count",
        app="calendar",
        oracle_steps=4,
        phrasings=(
            "How many events are in my calendar on {day}",
            "Count the events on {day}",
        ),
        held_out=("What is the number of things planned for {day}",),
        set_up=_count_on_date,
        tags=("answer", "scrolls"),
    ),
    Template(
        name="calendar_end",
        app="calendar",
        oracle_steps=3,
        phrasings=(
            "At what time does {title} on {day} end",
            "When is {title} over on {day}",
        ),
        held_out=("Until when does {title} last on {day}",),
        set_up=_end,
        tags=("answer", "scrolls"),
    ),
    Template(
        name="calendar_day_of",
        app="calendar",
        oracle_steps=7,
        phrasings=(
            "On which day is the event {title}",
            "What is the date of {title} in my calendar",
        ),
        held_out=("Say the day that {title} is planned for",),
        set_up=_day_of,
        tags=("answer", "scrolls"),
    ),
    Template(
        name="calendar_people",
        app="calendar",
        oracle_steps=7,
        phrasings=(
            "Who takes part in the event {title}",
            "Who is invited to {title} in my calendar",
        ),
        held_out=("Whom will I meet at {title}",),
        set_up=_people,
        tags=("answer", "scrolls"),
    ),
)
