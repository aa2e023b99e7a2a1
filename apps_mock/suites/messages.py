"""Tasks in the messages app."""

from __future__ import annotations

from dataclasses import replace

from apps_mock.apps.messages import MessagesData, conversation, wording_of
from apps_mock.entities import Draw
from apps_mock.plans import Entry, GiveAnswer, GiveUp, Plan, Press
from apps_mock.records import changed
from apps_mock.suites import messages_cross, messages_twins
from apps_mock.suites.messages_scenes import (
    Scene,
    picking,
    recipient,
    scene,
    to_message,
    to_thread,
)
from apps_mock.suites.messages_twins import composing, forwarding
from apps_mock.templates import Instance, Template
from apps_mock.wanted import Answer, Change
from apps_mock.widgets import Event


def _about(now: Scene, name: str, plan: Plan, changes: tuple[Change, ...]) -> Instance:
    return Instance(
        words={"name": name},
        data=now.data,
        others={"contacts": now.book},
        plan=plan,
        changes=changes,
        now=now.now,
    )


def _compose(draw: Draw) -> Instance:
    now, text = scene(draw), wording_of(draw)
    person = draw.random.choice(now.others)
    plan = composing(recipient(person.phone), Entry("text", text))
    changes = (now.new_message(person.phone, text),)
    instance = _about(now, person.name, {**plan, **picking(person.phone)}, changes)
    return replace(instance, words={"name": person.name, "text": text})


def _forward(draw: Draw) -> Instance:
    now, number = scene(draw), draw.phone()
    friend = draw.random.choice(now.friends)
    now = now.with_message(friend.phone, wording_of(draw))
    text = now.last_of(friend.phone).text
    plan = forwarding(now, friend.phone, Entry("to", number))
    instance = _about(now, friend.name, plan, (now.new_message(number, text),))
    return replace(instance, words={"name": friend.name, "number": number})


def _delete_talk(draw: Draw) -> Instance:
    now = scene(draw)
    friend = draw.random.choice(now.friends)
    number = friend.phone
    plan: Plan = {
        **to_thread(number),
        ("thread", number): Press(Event("go", "delete_talk", number)),
        ("delete_talk", number): Press(Event("delete_talk", number)),
    }
    gone = tuple(
        Change("messages", message.id, removed=True) for message in conversation(now.data, number)
    )
    return _about(now, friend.name, plan, gone)


def _delete_message(draw: Draw) -> Instance:
    now, text = scene(draw), wording_of(draw)
    friend = draw.random.choice(now.friends)
    now = now.with_message(friend.phone, text)
    message = now.last_of(friend.phone)
    plan: Plan = {
        **to_message(message),
        ("message", message.id): Press(Event("go", "delete", message.id)),
        ("delete", message.id): Press(Event("delete", message.id)),
    }
    instance = _about(now, friend.name, plan, (Change("messages", message.id, removed=True),))
    return replace(instance, words={"name": friend.name, "text": text})


def _mark_read(draw: Draw) -> Instance:
    now = scene(draw)
    friend = draw.random.choice(now.friends)
    now = now.with_message(friend.phone, wording_of(draw))
    now = now.with_message(friend.phone, wording_of(draw))
    unread = [message.id for message in conversation(now.data, friend.phone)[-2:]]
    messages = now.data.messages
    for message_id in unread:
        messages = changed(messages, message_id, read=False)
    now = replace(now, data=MessagesData(messages))
    plan: Plan = {
        **to_thread(friend.phone),
        ("thread", friend.phone): Press(Event("read", friend.phone)),
    }
    changes = tuple(Change("messages", each, (("read", True),)) for each in unread)
    return _about(now, friend.name, plan, changes)


def _asked(draw: Draw, answer_of: str) -> Instance:
    """A question about a conversation, whose page answers it."""
    now = scene(draw)
    friend = draw.random.choice(now.friends)
    now = now.with_message(friend.phone, wording_of(draw))
    received = [each for each in conversation(now.data, friend.phone) if not each.sent]
    plan = to_thread(friend.phone)
    if answer_of == "last":
        answer = Answer("name", received[-1].text)
        plan["thread", friend.phone] = GiveAnswer()
    else:
        answer = Answer("number", str(len(received)))
        plan["thread", friend.phone] = Press(Event("go", "about", friend.phone))
        plan["about", friend.phone] = GiveAnswer()
    return replace(_about(now, friend.name, plan, ()), answer=answer)


def _count(draw: Draw) -> Instance:
    return _asked(draw, "count")


def _last(draw: Draw) -> Instance:
    return _asked(draw, "last")


def _sender(draw: Draw) -> Instance:
    now, text = scene(draw), wording_of(draw)
    friend = draw.random.choice(now.friends)
    now = now.with_message(friend.phone, text)
    return replace(
        _about(now, friend.name, {("home", ""): GiveAnswer()}, ()),
        words={"text": text},
        answer=Answer("name", friend.name),
    )


def _delete_missing(draw: Draw) -> Instance:
    """Delete a conversation that there is not."""
    now, name = scene(draw), draw.name()
    return replace(_about(now, name, {("home", ""): GiveUp()}, ()), infeasible=True)


TEMPLATES: tuple[Template, ...] = (
    *messages_twins.TEMPLATES,
    Template(
        name="messages_compose",
        app="messages",
        oracle_steps=8,
        phrasings=(
            "Send {name} the message {text}",
            "Write to {name} in messages and say {text}",
            "In messages choose the contact {name} and send {text}",
        ),
        held_out=("Let {name} know by message {text}",),
        set_up=_compose,
    ),
    Template(
        name="messages_forward",
        app="messages",
        oracle_steps=8,
        phrasings=(
            "Forward the last message of {name} to {number}",
            "What {name} wrote last should be passed on to {number}",
        ),
        held_out=("Let {number} have the newest message of {name}",),
        set_up=_forward,
    ),
    Template(
        name="messages_delete_talk",
        app="messages",
        oracle_steps=6,
        phrasings=(
            "Delete the conversation with {name}",
            "Remove all messages of {name} and me",
            "In messages delete everything that {name} and I wrote",
        ),
        held_out=("Nobody should read what {name} and I wrote so delete the chat",),
        set_up=_delete_talk,
    ),
    Template(
        name="messages_delete_message",
        app="messages",
        oracle_steps=6,
        phrasings=(
            "Delete the message {text} of {name}",
            "From the conversation with {name} delete only the message {text}",
        ),
        held_out=("Of all that {name} wrote only {text} has to go",),
        set_up=_delete_message,
    ),
    Template(
        name="messages_mark_read",
        app="messages",
        oracle_steps=5,
        phrasings=(
            "Mark the messages of {name} as read",
            "Set the conversation with {name} to read",
        ),
        held_out=("I know what {name} wrote so it need not show as new",),
        set_up=_mark_read,
    ),
    Template(
        name="messages_count",
        app="messages",
        oracle_steps=5,
        phrasings=(
            "How many messages did {name} send me",
            "Count the messages that I received from {name} and tell me the number",
        ),
        held_out=("Tell me how often {name} wrote to me",),
        set_up=_count,
        tags=("answer",),
    ),
    Template(
        name="messages_last",
        app="messages",
        oracle_steps=3,
        phrasings=(
            "What did {name} write to me last",
            "Tell me the text of the last message from {name}",
        ),
        held_out=("Read me the newest words of {name}",),
        set_up=_last,
        tags=("answer",),
    ),
    Template(
        name="messages_sender",
        app="messages",
        oracle_steps=2,
        phrasings=(
            "Who sent me the message {text}",
            "Tell me the name of the person who wrote {text} to me",
        ),
        held_out=("From whom is the message {text}",),
        set_up=_sender,
        tags=("answer",),
    ),
    Template(
        name="messages_delete_missing",
        app="messages",
        oracle_steps=2,
        phrasings=(
            "Delete the conversation with {name}",
            "Remove all messages of {name} and me",
        ),
        held_out=("The chat with {name} should disappear",),
        set_up=_delete_missing,
        tags=("infeasible",),
    ),
    *messages_cross.TEMPLATES,
)
