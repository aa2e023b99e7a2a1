"""Conversations that tasks begin with: people of the phone's book, strangers, what they wrote."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from apps_mock.apps.contacts import Contact, ContactsData, fixture_of
from apps_mock.apps.messages import Message, MessagesData, conversation, conversations
from apps_mock.entities import Draw
from apps_mock.plans import Entry, Plan, Press
from apps_mock.wanted import Change
from apps_mock.widgets import Event

_FIRST_DAY = datetime(2025, 1, 2)  # noqa: DTZ001 - a phone's clock tells local time
_MINUTES_A_YEAR = 360 * 24 * 60


@dataclass(frozen=True, slots=True)
class Scene:
    """A phone's book and its conversations.

    Attributes:
        friends: people of the book with conversations.
        others: people of the book without any.
        strangers: numbers with conversations that the book does not have.
        now: the phone's day and time, later than all messages.
    """

    data: MessagesData
    book: ContactsData
    friends: tuple[Contact, ...]
    others: tuple[Contact, ...]
    strangers: tuple[str, ...]
    now: str

    def with_message(self, number: str, text: str, *, sent: bool = False) -> Scene:
        """The scene after one more message, the last of all."""
        moment = datetime.fromisoformat(self.now) - timedelta(minutes=1)
        message = Message(
            f"m{len(self.data.messages)}", number, text, sent, moment.isoformat(timespec="minutes")
        )
        return replace(self, data=MessagesData((*self.data.messages, message)))

    def last_of(self, number: str) -> Message:
        """The last message of a conversation."""
        return conversation(self.data, number)[-1]

    def new_message(self, number: str, text: str) -> Change:
        """That a text is sent."""
        values = {"number": number, "text": text, "sent": True, "at": self.now, "read": True}
        return Change("messages", None, tuple(values.items()))


def scene(draw: Draw) -> Scene:
    """Three people and two strangers who wrote, two people who did not."""
    book = fixture_of(draw, 5)
    people = list(book.contacts)
    draw.random.shuffle(people)
    friends, others = tuple(people[:3]), tuple(people[3:])
    strangers = (draw.phone(), draw.phone())
    moment = _FIRST_DAY + timedelta(minutes=draw.random.randrange(_MINUTES_A_YEAR))
    now = moment.isoformat(timespec="minutes")
    earlier = (moment - timedelta(minutes=2)).isoformat(timespec="minutes")
    numbers = [*(friend.phone for friend in friends), *strangers]
    data = conversations(draw, numbers, before=earlier)
    return Scene(data, book, friends, others, strangers, now)


def to_thread(number: str) -> Plan:
    """The way into a conversation."""
    return {("home", ""): Press(Event("go", "thread", number))}


def to_message(message: Message) -> Plan:
    """The way to one message."""
    plan = to_thread(message.number)
    plan["thread", message.number] = Press(Event("go", "message", message.id))
    return plan


def recipient(number: str) -> Entry:
    """A recipient who is chosen from the phone's book."""
    return Entry("to", number, Event("go", "pick"))


def picking(number: str) -> Plan:
    """Choosing a recipient from the phone's book."""
    return {("pick", ""): Press(Event("pick", number))}
