"""Tasks over several apps that have a calendar among them: read here, write there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from apps_mock.apps import clock, contacts, messages, notes
from apps_mock.apps.calendar_events import DEFAULT_MINUTES, CalendarEvent, summary
from apps_mock.entities import Draw
from apps_mock.plans import Entry, Fill, Press, Stage
from apps_mock.records import fresh_id
from apps_mock.suites.calendar_scenes import (
    Scene,
    adding,
    argument_of,
    day_ahead,
    editing,
    new_event,
    way_by_search,
)
from apps_mock.suites.notes_plans import (
    new_note,
    some_text_note,
    to_new_note,
    to_note,
    with_text,
)
from apps_mock.templates import Instance, Template
from apps_mock.wanted import Change
from apps_mock.widgets import Event

_CLIPBOARD = (("system", "clipboard"),)
"""What may differ where a text can be copied as well as typed."""


def _looked_up(event: CalendarEvent) -> Stage:
    """The event's page is looked at."""
    return Stage("calendar", way_by_search(event), page=("event", argument_of(event)))


def _alarm(draw: Draw) -> Instance:
    """An alarm goes off when an event starts."""
    today, day = day_ahead(draw)
    scene = Scene(draw, today)
    event = scene.put(scene.new(day))
    return Instance(
        words={"title": event.title},
        data=clock.fixture(draw),
        others={"calendar": scene.data},
        stages=(_looked_up(event),),
        plan={
            ("home", ""): Press(Event("go", "add")),
            ("add", ""): Fill((Entry("time", event.start),), Event("save")),
        },
        changes=(Change("alarms", None, (("time", event.start), ("label", ""), ("on", True))),),
        now=scene.now,
    )


def _note_of_location(draw: Draw) -> Instance:
    """A new note says where an event takes place."""
    today, day = day_ahead(draw)
    scene = Scene(draw, today)
    event = scene.put(scene.new(day, location=scene.location()))
    data, name = notes.fixture(draw), notes.title(draw)
    return Instance(
        words={"title": event.title, "note": name},
        data=data,
        others={"calendar": scene.data},
        stages=(_looked_up(event),),
        plan=to_new_note(name, Entry("text", event.location)),
        changes=(new_note(name, event.location, scene.now),),
        free=_CLIPBOARD,
        now=scene.now,
    )


def _from_note(draw: Draw) -> Instance:
    """A note says on which day, at which time and where an event takes place."""
    today, day = day_ahead(draw)
    scene = Scene(draw, today)
    event = scene.new(day, minutes=DEFAULT_MINUTES, location=scene.location())
    data, note = some_text_note(draw)
    return Instance(
        words={"title": event.title, "note": note.title},
        data=scene.data,
        others={"notes": with_text(data, note, f"{day} {event.start} {event.location}")},
        stages=(Stage("notes", to_note(note), page=("note", note.id)),),
        plan=adding(event, today),
        changes=(new_event(event),),
        now=scene.now,
    )


def _phone_of_contact(draw: Draw) -> Instance:
    """Somebody's phone number is written into an event's description."""
    today, day = day_ahead(draw)
    scene = Scene(draw, today)
    event = scene.put(scene.new(day))
    book = contacts.fixture(draw)
    person = draw.random.choice(book.contacts)
    wanted = replace(event, description=person.phone)
    return Instance(
        words={"title": event.title, "name": person.name},
        data=scene.data,
        others={"contacts": book},
        stages=(
            Stage(
                "contacts",
                {("home", ""): Press(Event("go", "contact", person.id))},
                page=("contact", person.id),
            ),
        ),
        plan=editing(way_by_search(event), event, wanted),
        changes=(Change("events", event.id, (("description", person.phone),)),),
        free=_CLIPBOARD,
        now=scene.now,
    )


def _from_message(draw: Draw) -> Instance:
    """Somebody wrote on which day and at which time an event takes place."""
    today, day = day_ahead(draw)
    scene = Scene(draw, today)
    event = scene.new(day, minutes=DEFAULT_MINUTES)
    book = contacts.fixture(draw)
    person, *others = draw.random.sample(book.contacts, 3)
    talks = _talks(draw, (person, *others), today)
    text = f"{event.title} {day} {event.start}"
    told = messages.Message(
        fresh_id(talks.messages, "m"), person.phone, text, sent=False, at=f"{today}T06:30"
    )
    return Instance(
        words={"title": event.title, "name": person.name},
        data=scene.data,
        others={
            "contacts": book,
            "messages": replace(talks, messages=(*talks.messages, told)),
        },
        stages=(
            Stage(
                "messages",
                {("home", ""): Press(Event("go", "thread", person.phone))},
                page=("thread", person.phone),
            ),
        ),
        plan=adding(event, today),
        changes=(new_event(event),),
        now=scene.now,
    )


def _share(draw: Draw) -> Instance:
    """An event goes through the share sheet into a message to somebody."""
    today, day = day_ahead(draw)
    scene = Scene(draw, today)
    event = scene.put(scene.new(day, location=scene.location()))
    book = contacts.fixture(draw)
    person, *others = draw.random.sample(book.contacts, 3)
    argument, text = argument_of(event), summary(event, day)
    shared = Stage(
        "calendar",
        {**way_by_search(event), ("event", argument): Press(Event("share", argument))},
        page=("compose", ""),
        page_app="messages",
    )
    return Instance(
        words={"title": event.title, "name": person.name},
        data=_talks(draw, others, today),
        others={"calendar": scene.data, "contacts": book},
        stages=(shared,),
        plan={
            ("compose", ""): Fill((Entry("text", text), Entry("to", person.name)), Event("send")),
        },
        changes=(_sent(person, text, scene),),
        now=scene.now,
    )


def _talks(draw: Draw, people: Sequence[contacts.Contact], today: str) -> messages.MessagesData:
    """What was written with these people before today's morning."""
    numbers = [person.phone for person in people]
    return messages.conversations(draw, numbers, before=f"{today}T06:00")


def _sent(person: contacts.Contact, text: str, scene: Scene) -> Change:
    """A message that shall have been sent now."""
    values = {"number": person.phone, "text": text, "sent": True, "at": scene.now, "read": True}
    return Change("messages", None, tuple(values.items()))


def _send_location(draw: Draw) -> Instance:
    """Somebody gets a message that says where an event takes place."""
    today, day = day_ahead(draw)
    scene = Scene(draw, today)
    event = scene.put(scene.new(day, location=scene.location()))
    book = contacts.fixture(draw)
    person, *others = draw.random.sample(book.contacts, 3)
    return Instance(
        words={"title": event.title, "name": person.name},
        data=_talks(draw, others, today),
        others={"calendar": scene.data, "contacts": book},
        stages=(_looked_up(event),),
        plan={
            ("home", ""): Press(Event("go", "compose")),
            ("compose", ""): Fill(
                (Entry("to", person.name), Entry("text", event.location)), Event("send")
            ),
        },
        changes=(_sent(person, event.location, scene),),
        free=_CLIPBOARD,
        now=scene.now,
    )


TEMPLATES = (
    Template(
        name="calendar_alarm",
        app="clock",
        oracle_steps=14,
        phrasings=(
            "Set an alarm for the time at which the event {title} starts",
            "Let the clock ring when {title} in my calendar begins",
        ),
        held_out=("I want to be woken at the start of {title} as my calendar has it",),
        set_up=_alarm,
        tags=("cross_app", "scrolls"),
    ),
    Template(
        name="calendar_note_location",
        app="notes",
        oracle_steps=17,
        phrasings=(
            "Write the location of the event {title} into a new note called {note}",
            "Make a note {note} that says where {title} in my calendar takes place",
        ),
        held_out=("Look up where {title} is and write it down as the note {note}",),
        set_up=_note_of_location,
        tags=("cross_app", "scrolls"),
    ),
    Template(
        name="calendar_from_note",
        app="calendar",
        oracle_steps=18,
        phrasings=(
            "Add the event {title} with day time and location from the note {note}",
            "Put {title} into my calendar when and where the note {note} says",
        ),
        held_out=("The note {note} says when and where {title} is so fill in my calendar",),
        set_up=_from_note,
        tags=("cross_app", "scrolls"),
    ),
    Template(
        name="calendar_phone",
        app="calendar",
        oracle_steps=16,
        phrasings=(
            "Write the phone number of {name} into the description of the event {title}",
            "Describe {title} in my calendar with the number of {name} from the contacts",
        ),
        held_out=("I must call {name} about {title} so note the number in the event",),
        set_up=_phone_of_contact,
        tags=("cross_app", "scrolls"),
    ),
    Template(
        name="calendar_from_message",
        app="calendar",
        oracle_steps=16,
        phrasings=(
            "Put {title} into the calendar as {name} wrote it to me in a message",
            "Add the event {title} with the day and time that {name} sent me",
        ),
        held_out=("{name} wrote when {title} is so fill in my calendar",),
        set_up=_from_message,
        tags=("cross_app", "scrolls"),
    ),
    Template(
        name="calendar_send_location",
        app="messages",
        oracle_steps=15,
        phrasings=(
            "Send {name} the location of the event {title} by message",
            "Write a message to {name} that says where {title} takes place",
        ),
        held_out=("Let {name} know by message where {title} is",),
        set_up=_send_location,
        tags=("cross_app", "scrolls"),
    ),
    Template(
        name="calendar_share",
        app="messages",
        oracle_steps=13,
        phrasings=(
            "Share the event {title} from the calendar with {name} by message",
            "Send {name} the whole event {title} from my calendar as a message",
        ),
        held_out=("Forward what my calendar has on {title} to {name} by message",),
        set_up=_share,
        tags=("cross_app", "scrolls"),
    ),
)
