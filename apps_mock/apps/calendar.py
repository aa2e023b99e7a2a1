"""The calendar app: a month, its days, coming events, a search, and a form for events."""

from __future__ import annotations

from dataclasses import replace

from apps_mock.app import App, AppState, Page, Say, Share
from apps_mock.apps.calendar_events import (
    DEFAULT_MINUTES,
    DEFAULT_START,
    CalendarData,
    CalendarEvent,
    fixture,
    summary,
)
from apps_mock.apps.calendar_view import view
from apps_mock.records import changed, find, fresh_id, without
from apps_mock.widgets import Event

__all__ = ["APP", "CalendarData", "CalendarEvent", "fixture", "update"]


def update(state: AppState[CalendarData], event: Event) -> AppState[CalendarData]:
    """The state after an event."""
    match event.name:
        case "month":
            return _month_shown(state, event.value)
        case "day":
            return _day_shown(state, event.value)
        case "edit_event":
            return _edited(state, event.value)
        case "save":
            return _saved(state)
        case "delete":
            events = without(state.data.events, event.value)
            return state.with_data(replace(state.data, events=events)).popped(2)
        case "skip":
            return _skipped(state, event.value)
        case "share":
            return _shared(state, event.value)
        case "take":
            return state.pushed(Page("add", "", (("title", event.value),)))
        case _:
            return state


def _month_shown(state: AppState[CalendarData], month: str) -> AppState[CalendarData]:
    """Another month instead of the one that shows; the first page shows the present one."""
    first = replace(state, stack=state.stack[:1])
    return first if state.provided.today.startswith(month) else first.pushed(Page("month", month))


def _day_shown(state: AppState[CalendarData], day: str) -> AppState[CalendarData]:
    """Another day instead of the one that shows."""
    below = state.popped() if state.page.name == "day" else state
    return below.pushed(Page("day", day))


def _edited(state: AppState[CalendarData], argument: str) -> AppState[CalendarData]:
    event = find(state.data.events, argument.partition("|")[0])
    if event is None:
        return state
    drafts = (
        ("title", event.title),
        ("day", event.day),
        ("start", event.start),
        ("minutes", str(event.minutes)),
        ("repeats", event.repeats),
        ("location", event.location),
        ("people", event.people),
        ("description", event.description),
    )
    return state.pushed(Page("edit", argument, drafts))


def _saved(state: AppState[CalendarData]) -> AppState[CalendarData]:
    page, events = state.page, state.data.events
    title = page.draft("title").strip()
    if not title:
        return state.emitting(Say("An event needs a title"))
    known = find(events, page.argument.partition("|")[0]) if page.name == "edit" else None
    event = CalendarEvent(
        id=known.id if known else fresh_id(events, "e"),
        title=title,
        day=page.draft("day", page.argument or state.provided.today),
        start=page.draft("start", DEFAULT_START),
        minutes=int(page.draft("minutes", str(DEFAULT_MINUTES))),
        location=page.draft("location").strip(),
        description=page.draft("description").strip(),
        repeats=page.draft("repeats"),
        people=page.draft("people").strip(),
        skipped=known.skipped if known else (),
    )
    if known is None:
        return state.with_data(replace(state.data, events=(*events, event))).popped()
    kept = tuple(event if each.id == known.id else each for each in events)
    return _back_on(state.with_data(replace(state.data, events=kept)), event)


def _back_on(state: AppState[CalendarData], event: CalendarEvent) -> AppState[CalendarData]:
    """The event's page below the form, which speaks of the day that the event has now."""
    below = state.popped()
    day = below.page.argument.partition("|")[2]
    if event.repeats and day > event.day:
        return below
    return below.with_page(replace(below.page, argument=f"{event.id}|{event.day}"))


def _skipped(state: AppState[CalendarData], argument: str) -> AppState[CalendarData]:
    """An event that repeats, without one of its days."""
    event_id, _, day = argument.partition("|")
    event = find(state.data.events, event_id)
    if event is None:
        return state
    days = tuple(sorted({*event.skipped, day}))
    events = changed(state.data.events, event_id, skipped=days)
    return state.with_data(replace(state.data, events=events)).popped(2)


def _shared(state: AppState[CalendarData], argument: str) -> AppState[CalendarData]:
    event_id, _, day = argument.partition("|")
    event = find(state.data.events, event_id)
    if event is None:
        return state
    return state.emitting(Share(summary(event, day)))


APP: App[CalendarData] = App(
    name="calendar",
    label="Calendar",
    package="org.outrider.clones.calendar",
    update=update,
    view=view,
    takes_shares="take",
)
