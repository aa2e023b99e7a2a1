"""What the calendar app shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date
from itertools import groupby

from apps_mock.app import AppState, Page
from apps_mock.apps.calendar_events import (
    DAILY,
    DEFAULT_MINUTES,
    DEFAULT_START,
    MINUTE_CHOICES,
    MONTHLY,
    WEEKLY,
    CalendarData,
    CalendarEvent,
    Occurrence,
    by_time,
    end_of,
    grid_of,
    listed,
    occurrences,
    shifted,
    shifted_month,
)
from apps_mock.catalogue import month_text
from apps_mock.look import Look, wording
from apps_mock.records import find
from apps_mock.widgets import (
    Button,
    Chip,
    Chips,
    Event,
    Field,
    Option,
    Picker,
    Row,
    Screen,
    Text,
    Widget,
)

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
REPETITIONS = {
    "": "Does not repeat",
    DAILY: "Every day",
    WEEKLY: "Every week",
    MONTHLY: "Every month",
}
AGENDA_DAYS = 14
"""How far the list of coming events looks ahead."""

_AGENDA = wording("Agenda", "Coming events", held_out=("Schedule",))
_SEARCH = wording("Search events", "Find an event", held_out=("Look for an event",))
_EARLIER = wording("Previous month", "Earlier", held_out=("Month before",))
_LATER = wording("Next month", "Later", held_out=("Month after",))
_DAY_BEFORE = wording("Previous day", "Day before")
_DAY_AFTER = wording("Next day", "Day after")
_TITLE = wording("Title", "Event title", held_out=("What",))
_DATE = wording("Date", "Day", held_out=("On",))
_START = wording("Starts at", "Start time", held_out=("Begins at",))
_DURATION = wording("Duration", "Lasts", held_out=("How long",))
_REPEAT = wording("Repeat", "Repetition", held_out=("How often",))
_LOCATION = wording("Event location", "Place", held_out=("Where",))
_PEOPLE = wording("People", "Guests", held_out=("With whom",))
_DESCRIPTION = wording("Description", "Event notes", held_out=("More about it",))
_SHARE = wording("Share", "Share event")
_ONLY = wording("Only this day", "This day", held_out=("Just this day",))
_ALL = wording("All days", "Whole series", held_out=("Every day of it",))


def view(state: AppState[CalendarData], look: Look) -> Screen:
    """What the page on top shows."""
    return _VIEWS[state.page.name](state, state.page, look)


def weekday_of(iso: str) -> str:
    """The day of the week, in English."""
    return WEEKDAYS[date.fromisoformat(iso).weekday()]


def _day_title(iso: str, look: Look) -> str:
    weekday = look.say(weekday_of(iso))
    return look.say("{weekday} {day}").format(weekday=weekday, day=look.day(iso))


def _home(state: AppState[CalendarData], page: Page, look: Look) -> Screen:
    today = state.provided.today
    grid = _month(state, page, look)
    rows = _rows(occurrences(state.data.events, today, today))
    body = (
        *grid.body,
        Text(f"{look.say('Today')}, {_day_title(today, look)}", heading=True),
        *(rows or (Text(look.say("No events today")),)),
        *(Text(line) for line in look.noise("calendar")),
    )
    places = (
        Button(look.word(_AGENDA), Event("go", "agenda")),
        Button(look.word(_SEARCH), Event("go", "search")),
    )
    return grid._replace(body=body, places=places, back=False)


def _month(state: AppState[CalendarData], page: Page, look: Look) -> Screen:
    """A grid of weeks; days with events are marked."""
    month = page.argument or state.provided.today[:7]
    weeks = grid_of(month)
    start, last = weeks[0], shifted(weeks[-1], 6)
    busy = {each.day for each in occurrences(state.data.events, start, last)}
    turn = Chips(
        (
            Chip(
                look.word(_EARLIER), selected=False, on_tap=Event("month", shifted_month(month, -1))
            ),
            Chip(look.word(_LATER), selected=False, on_tap=Event("month", shifted_month(month, 1))),
        )
    )
    lines = tuple(_week(week, busy, state.provided.today) for week in weeks)
    title = month_text(int(month[:4]), int(month[5:]), look.locale)
    return Screen(title, (turn, *lines), (_add("", look),))


def _week(first: str, busy: set[str], today: str) -> Chips:
    days = [shifted(first, offset) for offset in range(7)]
    return Chips(
        tuple(
            Chip(
                f"{int(day[8:])} •" if day in busy else str(int(day[8:])),
                day == today,
                Event("day", day),
            )
            for day in days
        )
    )


def _add(day: str, look: Look) -> Button:
    return Button(look.word("add"), Event("go", "add", day), primary=True)


def _rows(found: Iterable[Occurrence]) -> tuple[Row, ...]:
    return tuple(
        Row(
            each.event.title,
            f"{each.event.start} – {end_of(each.event)}",
            on_tap=Event("go", "event", each.argument),
        )
        for each in found
    )


def _day(state: AppState[CalendarData], page: Page, look: Look) -> Screen:
    day = page.argument
    turn = Chips(
        (
            Chip(look.word(_DAY_BEFORE), selected=False, on_tap=Event("day", shifted(day, -1))),
            Chip(look.word(_DAY_AFTER), selected=False, on_tap=Event("day", shifted(day, 1))),
        )
    )
    rows = _rows(occurrences(state.data.events, day, day))
    body = (
        turn,
        *(rows or (Text(look.say("No events on this day")),)),
        *(Text(line) for line in look.noise("calendar day")),
    )
    return Screen(_day_title(day, look), body, (_add(day, look),))


def _agenda(state: AppState[CalendarData], _page: Page, look: Look) -> Screen:
    today, time = state.provided.today, state.provided.time
    found = [
        each
        for each in occurrences(state.data.events, today, shifted(today, AGENDA_DAYS))
        if (each.day, each.event.start) >= (today, time)
    ]
    body: list[Widget] = []
    for day, group in groupby(found, lambda each: each.day):
        body.append(Text(_day_title(day, look), heading=True))
        body.extend(_rows(group))
    if not found:
        body.append(Text(look.say("No coming events")))
    body.extend(Text(line) for line in look.noise("agenda"))
    return Screen(look.word(_AGENDA), tuple(body), (_add("", look),))


def _search(state: AppState[CalendarData], page: Page, look: Look) -> Screen:
    wanted = page.draft("search")
    sought = wanted.strip().casefold()
    field = Field("search", look.word(_SEARCH), wanted, search=True)
    if not sought:
        return Screen(look.word(_SEARCH), (field, Text(look.say("Type what you look for"))))
    found = sorted(
        (
            listed(event, state.provided.today)
            for event in state.data.events
            if any(sought in text.casefold() for text in _searched(event))
        ),
        key=by_time,
    )
    rows = tuple(
        Row(each.event.title, _when(each, look), on_tap=Event("go", "event", each.argument))
        for each in found
    )
    return Screen(look.word(_SEARCH), (field, *(rows or (Text(look.say("No events found")),))))


def _searched(event: CalendarEvent) -> tuple[str, ...]:
    return event.title, event.location, event.people


def _when(each: Occurrence, look: Look) -> str:
    parts = [look.day(each.day), each.event.start]
    if each.event.repeats:
        parts.append(look.say(REPETITIONS[each.event.repeats]))
    return ", ".join(parts)


def _event(state: AppState[CalendarData], page: Page, look: Look) -> Screen:
    event_id, _, day = page.argument.partition("|")
    event = find(state.data.events, event_id)
    if event is None:
        return Screen(look.say("Calendar"), (Text(look.say("This event is gone")),))
    argument = f"{event_id}|{day or event.day}"
    return Screen(
        event.title,
        (
            Text(_day_title(day or event.day, look)),
            Text(f"{event.start} – {end_of(event)}"),
            Text(_minutes(event.minutes, look)),
            *_details(event, look),
            *(Text(line) for line in look.noise("event")),
        ),
        (
            Button(look.word("edit"), Event("edit_event", argument)),
            Button(look.word("delete"), Event("go", "delete", argument)),
        ),
        overflow=(Button(look.word(_SHARE), Event("share", argument)),),
    )


def _details(event: CalendarEvent, look: Look) -> Iterable[Widget]:
    """What is known of an event, each with its name above it."""
    if event.repeats:
        yield Text(look.word(_REPEAT), heading=True)
        yield Text(look.say(REPETITIONS[event.repeats]))
    texts = (
        (_LOCATION, event.location),
        (_PEOPLE, event.people),
        (_DESCRIPTION, event.description),
    )
    for label, text in texts:
        if text:
            yield Text(look.word(label), heading=True)
            yield Text(text, copyable=True)


def _minutes(count: int, look: Look) -> str:
    return look.say("{count} minutes").format(count=count)


def _delete(state: AppState[CalendarData], page: Page, look: Look) -> Screen:
    event = find(state.data.events, page.argument.partition("|")[0])
    title = event.title if event else ""
    repeats = event is not None and bool(event.repeats)
    keep = Button(look.word("keep"), Event("back"))
    everything = Event("delete", page.argument.partition("|")[0])
    only = (Button(look.word(_ONLY), Event("skip", page.argument)),) if repeats else ()
    confirm = Button(look.word(_ALL if repeats else "yes"), everything, primary=True)
    text = "This event repeats" if repeats else "This cannot be undone"
    return Screen(
        f"{look.word('delete')} {title}",
        (Text(look.say(text)),),
        (keep, *only, confirm),
        dialog=True,
    )


def _form(state: AppState[CalendarData], page: Page, look: Look) -> Screen:
    day = page.argument if page.name == "add" and page.argument else state.provided.today
    repetitions = tuple(Option(value, look.say(text)) for value, text in REPETITIONS.items())
    return Screen(
        look.word("edit" if page.name == "edit" else "add"),
        (
            Field("title", look.word(_TITLE), page.draft("title")),
            Picker("day", look.word(_DATE), page.draft("day", day), "date"),
            Picker("start", look.word(_START), page.draft("start", DEFAULT_START), "time"),
            Picker(
                "minutes",
                look.word(_DURATION),
                page.draft("minutes", str(DEFAULT_MINUTES)),
                options=tuple(
                    Option(str(count), _minutes(count, look)) for count in MINUTE_CHOICES
                ),
            ),
            Picker("repeats", look.word(_REPEAT), page.draft("repeats"), options=repetitions),
            Field("location", look.word(_LOCATION), page.draft("location")),
            Field("people", look.word(_PEOPLE), page.draft("people")),
            Field("description", look.word(_DESCRIPTION), page.draft("description"), lines=3),
        ),
        (Button(look.word("save"), Event("save"), primary=True),),
    )


_VIEWS: dict[str, Callable[[AppState[CalendarData], Page, Look], Screen]] = {
    "home": _home,
    "month": _month,
    "day": _day,
    "agenda": _agenda,
    "search": _search,
    "event": _event,
    "delete": _delete,
    "add": _form,
    "edit": _form,
}
