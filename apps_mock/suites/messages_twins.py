"""AndroidWorld's tasks about text messages."""

from __future__ import annotations

from apps_mock.apps.messages import wording_of
from apps_mock.apps.system import CLIP, Clip, SystemData
from apps_mock.entities import CITIES, Draw
from apps_mock.plans import Entry, Fill, Plan, Press
from apps_mock.suites.messages_scenes import (
    Scene,
    picking,
    recipient,
    scene,
    to_message,
    to_thread,
)
from apps_mock.templates import Instance, Template
from apps_mock.widgets import Event


def composing(*entries: Entry) -> Plan:
    """Writing a new message."""
    return {
        ("home", ""): Press(Event("go", "compose")),
        ("compose", ""): Fill(entries, Event("send")),
    }


def replying(number: str, text: str) -> Plan:
    """Answering in a conversation."""
    return {
        **to_thread(number),
        ("thread", number): Fill((Entry("reply", text),), Event("reply", number)),
    }


def _send(draw: Draw) -> Instance:
    now, number, text = scene(draw), draw.phone(), wording_of(draw)
    return Instance(
        words={"number": number, "text": text},
        data=now.data,
        others={"contacts": now.book},
        plan=composing(Entry("to", number), Entry("text", text)),
        changes=(now.new_message(number, text),),
        now=now.now,
    )


def _reply_to(now: Scene, number: str, text: str) -> Instance:
    return Instance(
        words={"number": number, "text": text},
        data=now.data,
        others={"contacts": now.book},
        plan=replying(number, text),
        changes=(now.new_message(number, text),),
        now=now.now,
    )


def _reply(draw: Draw) -> Instance:
    now = scene(draw)
    return _reply_to(now, draw.random.choice(now.strangers), wording_of(draw))


def _reply_most_recent(draw: Draw) -> Instance:
    now = scene(draw)
    number = draw.random.choice((*now.strangers, *(friend.phone for friend in now.friends)))
    now = now.with_message(number, wording_of(draw))
    return _reply_to(now, number, wording_of(draw))


def _resend(draw: Draw) -> Instance:
    now, text = scene(draw), wording_of(draw)
    friend = draw.random.choice(now.friends)
    now = now.with_message(friend.phone, text, sent=True)
    message = now.last_of(friend.phone)
    return Instance(
        words={"name": friend.name},
        data=now.data,
        others={"contacts": now.book},
        plan={**to_message(message), ("message", message.id): Press(Event("resend", message.id))},
        changes=(now.new_message(friend.phone, text),),
        now=now.now,
    )


def _send_clipboard(draw: Draw) -> Instance:
    now, number, text = scene(draw), draw.phone(), wording_of(draw)
    return Instance(
        words={"number": number},
        data=now.data,
        others={"contacts": now.book, "system": SystemData(clipboard=(Clip(CLIP, text),))},
        plan=composing(Entry("to", number), Entry("text", text, paste=True)),
        changes=(now.new_message(number, text),),
        now=now.now,
    )


def forwarding(now: Scene, sender: str, to: Entry) -> Plan:
    """Passing on the last message of a conversation."""
    message = now.last_of(sender)
    return {
        **to_message(message),
        ("message", message.id): Press(Event("forward", message.id)),
        ("compose", ""): Fill((Entry("text", message.text), to), Event("send")),
    }


def _send_address(draw: Draw) -> Instance:
    now = scene(draw)
    sender, receiver = draw.random.sample(now.friends, 2)
    address = f"{draw.of(CITIES, pseudo=True)} street {draw.random.randrange(2, 99)}"
    now = now.with_message(sender.phone, address)
    return Instance(
        words={"receiver": receiver.name, "sender": sender.name},
        data=now.data,
        others={"contacts": now.book},
        plan={
            **forwarding(now, sender.phone, recipient(receiver.phone)),
            **picking(receiver.phone),
        },
        changes=(now.new_message(receiver.phone, address),),
        free=(("system", "clipboard"),),
        now=now.now,
    )


TEMPLATES: tuple[Template, ...] = (
    Template(
        name="SimpleSmsSend",
        app="messages",
        oracle_steps=8,
        phrasings=(
            "Send to the number {number} the message {text}",
            "Write to {number} in messages and say {text}",
        ),
        held_out=("Let {number} know by message {text}",),
        set_up=_send,
        suite="androidworld",
    ),
    Template(
        name="SimpleSmsReply",
        app="messages",
        oracle_steps=7,
        phrasings=(
            "Reply to the messages of {number} with {text}",
            "In the conversation with {number} answer {text}",
        ),
        held_out=("What {number} wrote deserves the answer {text}",),
        set_up=_reply,
        tags=("scrolls",),
        suite="androidworld",
    ),
    Template(
        name="SimpleSmsReplyMostRecent",
        app="messages",
        oracle_steps=7,
        phrasings=(
            "Reply to the latest message that I got with {text}",
            "Whoever wrote to me last gets the reply {text}",
        ),
        held_out=("Answer the newest conversation with {text}",),
        set_up=_reply_most_recent,
        tags=("scrolls",),
        suite="androidworld",
    ),
    Template(
        name="SimpleSmsResend",
        app="messages",
        oracle_steps=5,
        phrasings=(
            "Send my last message to {name} once more",
            "The message that I sent to {name} did not arrive so resend it",
        ),
        held_out=("Repeat towards {name} what I wrote a moment ago",),
        set_up=_resend,
        suite="androidworld",
    ),
    Template(
        name="SimpleSmsSendClipboardContent",
        app="messages",
        oracle_steps=8,
        phrasings=(
            "Send what is on the clipboard as a message to {number}",
            "Write to {number} and paste the clipboard as the message",
        ),
        held_out=("The clipboard holds what {number} should read in a message",),
        set_up=_send_clipboard,
        suite="androidworld",
    ),
    Template(
        name="SimpleSmsSendReceivedAddress",
        app="messages",
        oracle_steps=8,
        phrasings=(
            "Send {receiver} the address that I just got from {sender}",
            "Pass the address in the last message of {sender} on to {receiver}",
        ),
        held_out=("Let {receiver} have the address which {sender} wrote to me",),
        set_up=_send_address,
        suite="androidworld",
    ),
)
