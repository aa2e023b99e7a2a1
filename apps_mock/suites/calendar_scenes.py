"""Calendars that tasks are set in: a day on the phone's clock, events around it, and ways to them.

Days that a goal names belong to the split; the phone's clock is set so that they lie where the task
wants them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from datetime import date, timedelta

from apps_mock.apps.calendar_events import (
    DEFAULT_MINUTES,
    DEFAULT_START,
    DESCRIPTIONS,
    LOCATIONS,
    MINUTE_CHOICES,
    STARTS,
    TITLES,
    CalendarData,
    CalendarEvent,
    Occurrence,
    bystanders,
    grid_of,
    shifted,
    shifted_month,
)
from apps_mock.entities import Draw, spelled, split_of
from apps_mock.plans import Entry, Fill, GiveAnswer, Plan, Press, Stage
from apps_mock.records import fresh_id
from apps_mock.wanted import Change
from apps_mock.widgets import Event

_FIRST_YEAR_DAY = date(2024, 1, 1)
_YEAR_DAYS = 3 * 365


def some_day(draw: Draw, *, first: int = 1, last: int = 31) -> str:
    """A day of the split, between the first and the last wanted day of its month."""
    while True:
        day = _FIRST_YEAR_DAY + timedelta(days=draw.random.randrange(_YEAR_DAYS))
        if first <= day.day <= last and split_of(spelled(day)) is draw.split:
            return day.isoformat()


def day_ahead(draw: Draw) -> tuple[str, str]:
    """Today, and a later day of the same month that belongs to the split."""
    day = some_day(draw, first=4)
    return shifted(day, -draw.random.randrange(1, int(day[8:]))), day


class Scene:
    """A calendar in the making.

    Args:
        today: what the phone's clock shows.
        quiet: days on which nothing happens but what the task puts there.
        time: time of day on the phone's clock; drawn where empty.
    """

    def __init__(
        self, draw: Draw, today: str, *, quiet: Sequence[str] = (), time: str = ""
    ) -> None:
        self.draw = draw
        self.today = today
        self.now = f"{today}T{time or draw.random.choice(STARTS)}"
        self._events = bystanders(draw, today, quiet=quiet)

    @property
    def data(self) -> CalendarData:
        """The calendar as it is by now."""
        return CalendarData(self._events)

    def title(self) -> str:
        """A title that no event has."""
        taken = {event.title for event in self._events}
        while (title := self.draw.of(TITLES, pseudo=True)) in taken:
            pass
        return title

    def new(
        self,
        day: str,
        start: str = "",
        *,
        title: str = "",
        minutes: int = 0,
        location: str = "",
        people: str = "",
        description: str = "",
        repeats: str = "",
    ) -> CalendarEvent:
        """An event that is not in the calendar; start, title and length are drawn where empty."""
        random = self.draw.random
        return CalendarEvent(
            fresh_id(self._events, "e"),
            title or self.title(),
            day,
            start or random.choice(STARTS),
            minutes or random.choice(MINUTE_CHOICES),
            location=location,
            people=people,
            description=description,
            repeats=repeats,
        )

    def put(self, event: CalendarEvent) -> CalendarEvent:
        """The event, now in the calendar."""
        self._events = (*self._events, event)
        return event

    def fill_day(self, day: str, count: int) -> list[CalendarEvent]:
        """Some events of an hour on one day, in order of time, none touching another."""
        starts = sorted(self.draw.random.sample(STARTS[::6], count))
        return [self.put(self.new(day, start, minutes=60)) for start in starts]

    def location(self) -> str:
        """A place."""
        return self.draw.of(LOCATIONS, pseudo=True)

    def description(self) -> str:
        """What may be written about an event."""
        return self.draw.of(DESCRIPTIONS, pseudo=True)


def argument_of(event: CalendarEvent, day: str = "") -> str:
    """What the pages about an event have as their argument."""
    return Occurrence(day or event.day, event).argument


def way_to_day(today: str, day: str) -> Plan:
    """From the first page to a day's, over as many months as lie between."""
    if _in_grid(today[:7], day):
        return {("home", ""): Press(Event("day", day))}
    step = 1 if day > today else -1
    month = shifted_month(today[:7], step)
    plan: Plan = {("home", ""): Press(Event("month", month))}
    while not _in_grid(month, day):
        following = shifted_month(month, step)
        plan["month", month] = Press(Event("month", following))
        month = following
    plan["month", month] = Press(Event("day", day))
    return plan


def _in_grid(month: str, day: str) -> bool:
    weeks = grid_of(month)
    return weeks[0] <= day < shifted(weeks[-1], 7)


def way_to_event(today: str, event: CalendarEvent, day: str = "") -> Plan:
    """From the first page to an event's, over its day."""
    day = day or event.day
    plan = way_to_day(today, day)
    plan["day", day] = Press(Event("go", "event", argument_of(event, day)))
    return plan


def way_by_search(event: CalendarEvent, *, day: str = "", sought: str = "") -> Plan:
    """From the first page to an event's, by what it is called or who takes part."""
    found = Event("go", "event", argument_of(event, day))
    return {
        ("home", ""): Press(Event("go", "search")),
        ("search", ""): Fill((Entry("search", sought or event.title),), found),
    }


def answered_at(plan: Plan, page: str, argument: str) -> Plan:
    """The plan, with the answer given on one page."""
    return {**plan, (page, argument): GiveAnswer()}


def form_entries(event: CalendarEvent, *, day: str = "") -> tuple[Entry, ...]:
    """What the form shall hold; `day` is what it holds at first."""
    return (
        Entry("title", event.title),
        Entry("day", event.day, default=day, picker="date"),
        Entry("start", event.start, default=DEFAULT_START, picker="time"),
        Entry("minutes", str(event.minutes), default=str(DEFAULT_MINUTES), picker="choice"),
        Entry("repeats", event.repeats, picker="choice"),
        Entry("location", event.location),
        Entry("people", event.people),
        Entry("description", event.description),
    )


def adding(event: CalendarEvent, today: str) -> Plan:
    """From the first page through the form for a new event."""
    return {
        ("home", ""): Press(Event("go", "add")),
        ("add", ""): Fill(form_entries(event, day=today), Event("save")),
    }


def editing(way: Plan, event: CalendarEvent, wanted: CalendarEvent) -> Plan:
    """A way to an event's page, and on through the form that makes it what is wanted."""
    argument = argument_of(event)
    return {
        **way,
        ("event", argument): Press(Event("edit_event", argument)),
        ("edit", argument): Fill(form_entries(wanted), Event("save")),
    }


def removing(way: Plan, event: CalendarEvent, day: str = "") -> Plan:
    """A way to an event's page, and on until all of it is deleted."""
    argument = argument_of(event, day)
    return {
        **way,
        ("event", argument): Press(Event("go", "delete", argument)),
        ("delete", argument): Press(Event("delete", event.id)),
    }


def removing_all(
    today: str, events: Sequence[CalendarEvent]
) -> tuple[tuple[Stage, ...], Plan, tuple[Change, ...]]:
    """Stages, last plan and changes of deleting one event after the other."""
    plans = [removing(way_to_event(today, event), event) for event in events]
    changes = tuple(Change("events", event.id, removed=True) for event in events)
    stages = tuple(
        Stage("calendar", plan, changes=(change,))
        for plan, change in zip(plans[:-1], changes, strict=False)
    )
    return stages, plans[-1], changes


def new_event(event: CalendarEvent) -> Change:
    """An event that shall be there, in all that it says."""
    names = (entry.name for entry in fields(event) if entry.name != "id")
    return Change("events", None, tuple((name, getattr(event, name)) for name in names))


def titles_of(events: Iterable[CalendarEvent]) -> tuple[str, ...]:
    """What the events are called, each name once, in the events' order."""
    return tuple(dict.fromkeys(event.title for event in events))
