"""The messages app: conversations, what was sent and received in them, writing and forwarding.

This module holds its data and what happens; `messages_view` shows it. The table is in the order of
time: what comes later stands further down.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from apps_mock.app import AppState, Copy, Open, Page, Say
from apps_mock.apps.contacts import Contact
from apps_mock.entities import Draw, split_of
from apps_mock.errors import TaskDrawError
from apps_mock.records import changed, find, fresh_id
from apps_mock.widgets import Event
from sync.vocabulary import Split


@dataclass(frozen=True, slots=True)
class Message:
    """A text that was sent or received.

    Attributes:
        number: phone number of the other side.
        at: day and time, as `2025-03-14T09:41`.
        read: whether the phone's owner has seen it.
    """

    id: str
    number: str
    text: str
    sent: bool
    at: str
    read: bool = True


@dataclass(frozen=True, slots=True)
class MessagesData:
    """Everything that was written."""

    messages: tuple[Message, ...] = ()


def fixture(draw: Draw) -> MessagesData:
    """Conversations with a few numbers."""
    numbers = [draw.phone() for _ in range(draw.random.randrange(4, 7))]
    return conversations(draw, numbers, before="2025-01-01T00:00")


def conversations(draw: Draw, numbers: Iterable[str], *, before: str) -> MessagesData:
    """One to four messages with each number, the last of all before a moment."""
    random = draw.random
    talks = [(number, random.randrange(1, 5)) for number in numbers]
    order = [number for number, count in talks for _ in range(count)]
    random.shuffle(order)
    moment = datetime.fromisoformat(before)
    moments = []
    for _ in order:
        moment -= timedelta(minutes=random.randrange(3, 900))
        moments.append(moment.isoformat(timespec="minutes"))
    return MessagesData(
        tuple(
            Message(f"m{index}", number, wording_of(draw), random.random() < 0.4, at)
            for index, (number, at) in enumerate(zip(order, reversed(moments), strict=True))
        )
    )


_DOINGS = tuple(
    "bring buy send call find fetch water feed sell order rent mend wash pack book open close move "
    "paint check clean count print return".split()
)
_THINGS = tuple(
    "soup bread flowers tickets boxes keys lamps chairs letters books apples shoes drums cups maps "
    "ladders blankets candles bottles cards towels plates stamps tyres".split()
)
_MOMENTS = tuple("today tomorrow tonight later first twice again now soon early".split())


def wording_of(draw: Draw) -> str:
    """What somebody writes: a few words that belong to the split as a whole."""
    choose = draw.random.choice
    for _ in range(200):
        thing = choose(_THINGS)
        if draw.split is Split.TRAIN:
            thing = draw.of(_THINGS, pseudo=True).lower()
        text = f"{choose(_DOINGS)} {thing} {choose(_MOMENTS)}"
        if split_of(text) is draw.split:
            return text
    raise TaskDrawError(f"the {draw.split} split has too few messages; add some")


def conversation(data: MessagesData, number: str) -> list[Message]:
    """What was written with a number, in its order."""
    return [message for message in data.messages if message.number == number]


def numbers_of(data: MessagesData) -> list[str]:
    """The numbers that there are conversations with, the latest first."""
    return list(dict.fromkeys(message.number for message in reversed(data.messages)))


def people(state: AppState[MessagesData]) -> tuple[Contact, ...]:
    """The phone's book."""
    book = state.provided.others.get("contacts")
    contacts: tuple[Contact, ...] = book.contacts if book is not None else ()
    return contacts


def name_of(number: str, contacts: Iterable[Contact]) -> str:
    """Who a number belongs to, or the number itself."""
    return next((contact.name for contact in contacts if contact.phone == number), number)


def update(state: AppState[MessagesData], event: Event) -> AppState[MessagesData]:
    """The state after an event."""
    match event.name:
        case "send":
            return _sent_new(state)
        case "reply":
            return _replied(state, event.value)
        case "pick":
            below = state.popped()
            return below.with_page(below.page.with_draft("to", event.value))
        case "shared":
            return state.pushed(Page("compose", "", (("text", event.value),)))
        case "save_number":
            return state.emitting(Open("contacts", "add", event.value))
        case _:
            return _message_updated(state, event)


def _message_updated(state: AppState[MessagesData], event: Event) -> AppState[MessagesData]:
    """What can be done with one message or one conversation."""
    data, message = state.data, find(state.data.messages, event.value)
    match event.name:
        case "forward" if message is not None:
            return state.pushed(Page("compose", "", (("text", message.text),)))
        case "resend" if message is not None:
            return _with_sent(state, message.number, message.text).popped()
        case "copy" if message is not None:
            return state.emitting(Copy(message.text))
        case "delete" if message is not None:
            left = tuple(each for each in data.messages if each.id != message.id)
            return state.with_data(MessagesData(left)).popped(2)
        case "delete_talk":
            left = tuple(each for each in data.messages if each.number != event.value)
            return state.with_data(MessagesData(left)).popped(2)
        case "read":
            return state.with_data(_read(data, event.value))
        case _:
            return state


def _read(data: MessagesData, number: str) -> MessagesData:
    messages = data.messages
    for message in conversation(data, number):
        if not message.read:
            messages = changed(messages, message.id, read=True)
    return replace(data, messages=messages)


def _with_sent(state: AppState[MessagesData], number: str, text: str) -> AppState[MessagesData]:
    provided, messages = state.provided, state.data.messages
    at = f"{provided.today}T{provided.time}"
    message = Message(fresh_id(messages, "m"), number, text, sent=True, at=at)
    return state.with_data(MessagesData((*messages, message)))


def _sent_new(state: AppState[MessagesData]) -> AppState[MessagesData]:
    page = state.page
    to, text = page.draft("to").strip(), page.draft("text").strip()
    known = {contact.name.casefold(): contact.phone for contact in people(state)}
    number = known.get(to.casefold(), to)
    if not text or not number.removeprefix("+").isdecimal():
        return state.emitting(Say("No recipient")) if text else state
    return _with_sent(state, number, text).popped().pushed(Page("thread", number))


def _replied(state: AppState[MessagesData], number: str) -> AppState[MessagesData]:
    text = state.page.draft("reply").strip()
    if not text:
        return state
    return _with_sent(state, number, text).with_page(Page("thread", number))
