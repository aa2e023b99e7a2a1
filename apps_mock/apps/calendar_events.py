"""Events of the calendar app: records, the days on which they happen, and what a calendar holds."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from random import Random
from typing import NamedTuple

from apps_mock.entities import DEVICE_NAMES, Draw
from sync.vocabulary import Split

DAILY, WEEKLY, MONTHLY = "daily", "weekly", "monthly"
DEFAULT_START = "09:00"
DEFAULT_MINUTES = 60
MINUTE_CHOICES = (15, 30, 45, 60, 90, 120, 180)

_TOPICS = (
    "Budget Garden Harbour Rocket Museum Orchard Bakery Bridge Castle Choir Concert Cycling "
    "Debate Design Energy Family Festival Football Gallery Glacier History Island Jazz Kitchen "
    "Language Lantern Library Market Medicine Mountain Music Ocean Painting Parents Piano Planet "
    "Poetry Pottery Project Quality Railway Recipe Release River Robot Safety Sailing School "
    "Science Security Summer Swimming Tennis Theatre Traffic Travel Valley Village Winter Yoga"
).split()
_KINDS = (
    "Meeting Review Workshop Call Lunch Class Training Visit Planning Party Briefing Interview "
    "Rehearsal Checkup"
).split()
TITLES = tuple(f"{topic} {kind}" for topic in _TOPICS for kind in _KINDS)

_ROOMS = "Cafe Hall Studio Room Library Office Garden Tower".split()
LOCATIONS = tuple(f"{room} {name}" for room in _ROOMS for name in DEVICE_NAMES)

_VERBS = "Bring Discuss Prepare Print Check Collect Compare Update Explain Order Plan Sort".split()
_OBJECTS = (
    "slides contracts samples invoices photos sketches tickets drinks keys numbers posters "
    "brochures figures tools maps reports questions snacks results forms badges chairs"
).split()
DESCRIPTIONS = tuple(f"{verb} {thing}" for verb in _VERBS for thing in _OBJECTS)

STARTS = tuple(f"{hour:02}:{minute:02}" for hour in range(7, 20) for minute in (0, 15, 30, 45))


@dataclass(frozen=True, slots=True)
class CalendarEvent:
    """Something that happens at a time.

    Attributes:
        day: as `2025-03-14`; the first day of one that repeats.
        start: as `14:30`.
        minutes: how long it lasts.
        repeats: "daily", "weekly" or "monthly"; empty where it happens once.
        people: who takes part, as it was typed.
        skipped: days on which one that repeats is left out.
    """

    id: str
    title: str
    day: str
    start: str = DEFAULT_START
    minutes: int = DEFAULT_MINUTES
    location: str = ""
    description: str = ""
    repeats: str = ""
    people: str = ""
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CalendarData:
    """Everything in the app."""

    events: tuple[CalendarEvent, ...] = ()


class Occurrence(NamedTuple):
    """One day of one event."""

    day: str
    event: CalendarEvent

    @property
    def argument(self) -> str:
        """What the pages about it have as their argument."""
        return f"{self.event.id}|{self.day}"


_COMING_DAYS = 62
"""Within so many days everything that repeats happens again."""


@lru_cache(maxsize=16384)
def shifted(iso: str, days: int) -> str:
    """The day that many days later."""
    return (date.fromisoformat(iso) + timedelta(days=days)).isoformat()


def shifted_month(month: str, count: int) -> str:
    """The month, such as `2025-03`, that many months later."""
    year, number = (int(part) for part in month.split("-"))
    years, number = divmod(number - 1 + count, 12)
    return f"{year + years:04}-{number + 1:02}"


@lru_cache(maxsize=1024)
def grid_of(month: str) -> tuple[str, ...]:
    """The Mondays of the weeks that a month's grid shows; its first and last week may be shared."""
    first = f"{month}-01"
    weeks = [shifted(first, -date.fromisoformat(first).weekday())]
    after = f"{shifted_month(month, 1)}-01"
    while shifted(weeks[-1], 7) < after:
        weeks.append(shifted(weeks[-1], 7))
    return tuple(weeks)


def end_of(event: CalendarEvent) -> str:
    """When it is over, as `15:30`."""
    minute = int(event.start[:2]) * 60 + int(event.start[3:]) + event.minutes
    return f"{minute // 60 % 24:02}:{minute % 60:02}"


def summary(event: CalendarEvent, day: str) -> str:
    """What other apps get when the event is shared."""
    parts = (event.title, day, event.start, event.location)
    return " ".join(part for part in parts if part)


def happens_on(event: CalendarEvent, iso: str) -> bool:
    """Whether it takes place on that day."""
    if not event.repeats:
        return event.day == iso
    return bool(occurrences((event,), iso, iso))


def occurrences(events: Iterable[CalendarEvent], first: str, last: str) -> list[Occurrence]:
    """Everything that happens from `first` to `last`, both included, in order of time."""
    found: list[Occurrence] = []
    for event in events:
        if event.repeats:
            days = _series(event, max(first, event.day), last)
            found.extend(Occurrence(day, event) for day in days if day not in event.skipped)
        elif first <= event.day <= last:
            found.append(Occurrence(event.day, event))
    return sorted(found, key=by_time)


def _series(event: CalendarEvent, first: str, last: str) -> Iterator[str]:
    """The days of an event that repeats, from one that is not before its own."""
    if event.repeats == MONTHLY:
        month = first[:7]
        while month <= last[:7]:
            day = month + event.day[7:]
            if first <= day <= last and _exists(day):
                yield day
            month = shifted_month(month, 1)
        return
    step = 7 if event.repeats == WEEKLY else 1
    begin = date.fromisoformat(event.day).toordinal()
    start = date.fromisoformat(first).toordinal()
    start += (begin - start) % step
    for ordinal in range(start, date.fromisoformat(last).toordinal() + 1, step):
        yield date.fromordinal(ordinal).isoformat()


@lru_cache(maxsize=4096)
def _exists(day: str) -> bool:
    """Whether the month has that day."""
    year, month, number = (int(part) for part in day.split("-"))
    return number <= monthrange(year, month)[1]


def by_time(each: Occurrence) -> tuple[str, str, str]:
    """What occurrences are sorted by."""
    return each.day, each.event.start, each.event.title


def listed(event: CalendarEvent, today: str) -> Occurrence:
    """The day under which a list of events has it: the next one, or its first."""
    if event.repeats and event.day < today:
        coming = occurrences([event], today, shifted(today, _COMING_DAYS))
        if coming:
            return coming[0]
    return Occurrence(event.day, event)


def on_day(events: Iterable[CalendarEvent], iso: str) -> list[CalendarEvent]:
    """What happens on one day, in order of time."""
    return [each.event for each in occurrences(events, iso, iso)]


CROWD_COUNT = 64
"""How many different sets of bystanders calendars are made of, per split."""

_FIRST_DAY = "2025-01-01"


@lru_cache(maxsize=4 * CROWD_COUNT)
def _crowd(split: Split, number: int) -> tuple[tuple[int, CalendarEvent], ...]:
    """Events, each with how many days after today it is."""
    draw = Draw(Random(f"calendar|{split}|{number}"), split)
    count = draw.random.randrange(20, 30)
    return tuple(_bystander(draw, f"e{index}") for index in range(count))


def _bystander(draw: Draw, event_id: str) -> tuple[int, CalendarEvent]:
    random = draw.random
    repeats = random.choice((WEEKLY, WEEKLY, MONTHLY)) if random.random() < 0.15 else ""
    offset = random.randrange(-30, 0) if repeats else random.randrange(-15, 32)
    return offset, CalendarEvent(
        event_id,
        draw.of(TITLES, pseudo=True),
        _FIRST_DAY,
        random.choice(STARTS),
        random.choice(MINUTE_CHOICES),
        location=draw.of(LOCATIONS, pseudo=True) if random.random() < 0.6 else "",
        description=draw.of(DESCRIPTIONS, pseudo=True) if random.random() < 0.4 else "",
        repeats=repeats,
        people=draw.name() if random.random() < 0.4 else "",
    )


def bystanders(draw: Draw, today: str, *, quiet: Sequence[str] = ()) -> tuple[CalendarEvent, ...]:
    """Events around a day, none of which happens on a quiet day."""
    crowd = _crowd(draw.split, draw.random.randrange(CROWD_COUNT))
    moved = (_moved(event, shifted(today, offset)) for offset, event in crowd)
    return tuple(event for event in moved if not any(happens_on(event, silent) for silent in quiet))


def _moved(event: CalendarEvent, day: str) -> CalendarEvent:
    """The event on another day; written out because tasks are drawn thousands of times a second."""
    return CalendarEvent(
        event.id,
        event.title,
        day,
        event.start,
        event.minutes,
        event.location,
        event.description,
        event.repeats,
        event.people,
    )


def fixture(draw: Draw) -> CalendarData:
    """What is in the app before a task is set up."""
    today = shifted(_FIRST_DAY, draw.random.randrange(365))
    return CalendarData(bystanders(draw, today))
