"""What the messages app shows."""

from __future__ import annotations

from collections.abc import Callable

from apps_mock.app import App, AppState, Page
from apps_mock.apps.messages import (
    Message,
    MessagesData,
    conversation,
    name_of,
    numbers_of,
    people,
    update,
)
from apps_mock.look import Look, wording
from apps_mock.records import find
from apps_mock.widgets import Button, Event, Field, Row, Screen, Text, Widget

COMPOSE = wording("New message", "Compose", "Start chat", held_out=("Write a message",))
SEND = wording("Send", "Send message", held_out=("Send it",))
TO = wording("To", "Recipient", held_out=("Send to",))
TEXT = wording("Message", "Text message", held_out=("Your words",))
REPLY = wording("Reply", "Write a reply", held_out=("Your reply",))
CHOOSE = wording("Choose a contact", "From contacts", held_out=("Pick a person",))
FORWARD = wording("Forward", "Forward message", held_out=("Pass on message",))
RESEND = wording("Resend", "Send again", held_out=("Repeat sending",))
COPY_TEXT = wording("Copy text", "Copy message", held_out=("Copy words",))
MARK_READ = wording("Mark as read", "Mark all as read", held_out=("Set to read",))
DELETE_TALK = wording("Delete conversation", "Delete chat", held_out=("Erase conversation",))
SAVE_NUMBER = wording("Add to contacts", "Save number", held_out=("Keep this number",))
ABOUT = wording("Conversation details", "About this chat", held_out=("Facts of this chat",))
SEARCH = wording("Search conversations", "Find a conversation", held_out=("Look for a chat",))

State = AppState[MessagesData]


def view(state: State, look: Look) -> Screen:
    """What the page on top shows."""
    return _VIEWS[state.page.name](state, state.page, look)


def _home(state: State, page: Page, look: Look) -> Screen:
    contacts = people(state)
    wanted = page.draft("search").strip().casefold()
    rows: list[Widget] = [Field("search", look.word(SEARCH), page.draft("search"), search=True)]
    for number in numbers_of(state.data):
        name = name_of(number, contacts)
        if wanted in name.casefold():
            rows.append(_talk(state.data, number, name, look))
    if len(rows) == 1:
        rows.append(Text(look.say("No conversations")))
    rows.extend(Text(line) for line in look.noise("messages"))
    return Screen(
        look.say("Messages"),
        tuple(rows),
        (Button(look.word(COMPOSE), Event("go", "compose"), primary=True),),
        back=False,
    )


def _talk(data: MessagesData, number: str, name: str, look: Look) -> Row:
    messages = conversation(data, number)
    unread = sum(not message.read for message in messages)
    badge = look.say("{count} new").format(count=unread) if unread else ""
    event = Event("go", "thread", number)
    return Row(name, messages[-1].text, on_tap=event, badge=badge, icon="person")


def _thread(state: State, page: Page, look: Look) -> Screen:
    number = page.argument
    contacts = people(state)
    known = any(contact.phone == number for contact in contacts)
    messages = conversation(state.data, number)
    rows: list[Widget] = [_message_row(message, look) for message in messages]
    if not rows:
        rows.append(Text(look.say("No messages yet")))
    rows.append(Field("reply", look.word(REPLY), page.draft("reply")))
    more = [
        Button(look.word(ABOUT), Event("go", "about", number)),
        Button(look.word(DELETE_TALK), Event("go", "delete_talk", number)),
    ]
    if not all(message.read for message in messages):
        more.insert(0, Button(look.word(MARK_READ), Event("read", number)))
    if not known:
        more.append(Button(look.word(SAVE_NUMBER), Event("save_number", number)))
    return Screen(
        name_of(number, contacts),
        tuple(rows),
        (Button(look.word(SEND), Event("reply", number), primary=True),),
        overflow=tuple(more),
    )


def _about(state: State, page: Page, look: Look) -> Screen:
    messages = conversation(state.data, page.argument)
    sent = sum(message.sent for message in messages)
    return Screen(
        look.word(ABOUT),
        (
            Text(name_of(page.argument, people(state))),
            Text(page.argument, copyable=True),
            Text(look.say("Received: {count}").format(count=len(messages) - sent)),
            Text(look.say("Sent: {count}").format(count=sent)),
        ),
    )


def _message_row(message: Message, look: Look) -> Row:
    side = look.say("You" if message.sent else "Received")
    when = f"{side}, {look.day(message.at[:10])}, {message.at[11:]}"
    badge = "" if message.read else look.say("New")
    return Row(message.text, when, on_tap=Event("go", "message", message.id), badge=badge)


def _message(state: State, page: Page, look: Look) -> Screen:
    message = find(state.data.messages, page.argument)
    if message is None:
        return Screen(look.say("Messages"), (Text(look.say("This message is gone")),))
    side = "To {name}" if message.sent else "From {name}"
    actions = [
        Button(look.word(FORWARD), Event("forward", message.id)),
        Button(look.word("delete"), Event("go", "delete", message.id)),
    ]
    if message.sent:
        actions.insert(0, Button(look.word(RESEND), Event("resend", message.id)))
    return Screen(
        look.say("Details"),
        (
            Text(message.text, copyable=True),
            Text(look.say(side).format(name=name_of(message.number, people(state)))),
            Text(f"{look.day(message.at[:10])}, {message.at[11:]}"),
        ),
        tuple(actions),
        overflow=(Button(look.word(COPY_TEXT), Event("copy", message.id)),),
    )


def _compose(_state: State, page: Page, look: Look) -> Screen:
    return Screen(
        look.word(COMPOSE),
        (
            Field("to", look.word(TO), page.draft("to")),
            Row(look.word(CHOOSE), on_tap=Event("go", "pick")),
            Field("text", look.word(TEXT), page.draft("text")),
        ),
        (Button(look.word(SEND), Event("send"), primary=True),),
    )


def _pick(state: State, _page: Page, look: Look) -> Screen:
    contacts = look.ordered(people(state), lambda contact: contact.name)
    rows: list[Widget] = [
        Row(contact.name, contact.phone, on_tap=Event("pick", contact.phone))
        for contact in contacts
        if contact.phone
    ]
    if not rows:
        rows.append(Text(look.say("No contacts found")))
    return Screen(look.word(CHOOSE), tuple(rows))


def _delete(_state: State, page: Page, look: Look) -> Screen:
    return _sure(look.word("delete"), Event("delete", page.argument), look)


def _delete_talk(_state: State, page: Page, look: Look) -> Screen:
    return _sure(look.word(DELETE_TALK), Event("delete_talk", page.argument), look)


def _sure(title: str, event: Event, look: Look) -> Screen:
    return Screen(
        title,
        (Text(look.say("This cannot be undone")),),
        (
            Button(look.word("keep"), Event("back")),
            Button(look.word("yes"), event, primary=True),
        ),
        dialog=True,
    )


_VIEWS: dict[str, Callable[[State, Page, Look], Screen]] = {
    "home": _home,
    "thread": _thread,
    "about": _about,
    "message": _message,
    "compose": _compose,
    "pick": _pick,
    "delete": _delete,
    "delete_talk": _delete_talk,
}

APP: App[MessagesData] = App(
    name="messages",
    label="Messages",
    package="org.outrider.clones.messages",
    update=update,
    view=view,
    uses=("contacts",),
    takes_shares="shared",
)
