"""Tasks over messages and other apps: what stands in one is needed in the other."""

from __future__ import annotations

from dataclasses import replace

from apps_mock.apps import clock, files, settings
from apps_mock.apps.contacts import Contact
from apps_mock.apps.settings import DEVICE_NAME
from apps_mock.apps.system import CLIP
from apps_mock.catalogue import Term
from apps_mock.entities import CITIES, DEVICE_NAMES, Draw
from apps_mock.plans import Entry, Fill, Hold, Plan, Press, Stage
from apps_mock.suites.contacts import new_contact
from apps_mock.suites.messages_scenes import (
    Scene,
    picking,
    recipient,
    scene,
    to_message,
    to_thread,
)
from apps_mock.suites.messages_twins import composing
from apps_mock.templates import Instance, Template
from apps_mock.wanted import Change
from apps_mock.widgets import Event

_CLIPBOARD = (("system", "clipboard"),)


def _send_number(draw: Draw) -> Instance:
    """The number is copied in the phone's book and pasted into the message."""
    now = scene(draw)
    receiver = draw.random.choice(now.friends)
    person = draw.random.choice(now.others)
    copied = Change("clipboard", CLIP, (("text", person.phone),), app="system")
    stage = Stage(
        "contacts",
        {
            ("home", ""): Press(Event("go", "contact", person.id)),
            ("contact", person.id): Hold(Event("copy_text", person.phone)),
        },
        changes=(copied,),
    )
    text = Entry("text", person.phone, paste=True)
    return Instance(
        words={"receiver": receiver.name, "name": person.name},
        data=now.data,
        others={"contacts": now.book},
        stages=(stage,),
        plan={**composing(recipient(receiver.phone), text), **picking(receiver.phone)},
        changes=(now.new_message(receiver.phone, person.phone),),
        free=_CLIPBOARD,
        now=now.now,
    )


def _send_alarm(draw: Draw) -> Instance:
    """The alarm with a label is looked up, its time is written."""
    now, data = scene(draw), clock.fixture(draw)
    receiver = draw.random.choice(now.friends)
    alarm = draw.random.choice(data.alarms)
    stage = Stage(
        "clock", {("home", ""): Press(Event("edit_alarm", alarm.id))}, page=("edit", alarm.id)
    )
    plan = composing(Entry("text", alarm.time), recipient(receiver.phone))
    return Instance(
        words={"name": receiver.name, "label": alarm.label},
        data=now.data,
        others={"contacts": now.book, "clock": data},
        stages=(stage,),
        plan={**plan, **picking(receiver.phone)},
        changes=(now.new_message(receiver.phone, alarm.time),),
        free=_CLIPBOARD,
        now=now.now,
    )


def _share_file(draw: Draw) -> Instance:
    """A file's name goes through the share sheet into a new message."""
    now, data = scene(draw), files.fixture_of(draw, 4)
    number = draw.phone()
    file = draw.random.choice(data.files)
    stage = Stage(
        "files",
        {
            ("home", ""): Press(Event("go", "folder", file.folder)),
            ("folder", file.folder): Press(Event("go", "file", file.id)),
            ("file", file.id): Press(Event("share", file.id)),
        },
        page=("compose", ""),
        page_app="messages",
    )
    return Instance(
        words={"number": number, "file": file.name, "folder": Term(file.folder)},
        data=now.data,
        others={"contacts": now.book, "files": data},
        stages=(stage,),
        plan={
            ("compose", ""): Fill((Entry("text", file.name), Entry("to", number)), Event("send")),
        },
        changes=(now.new_message(number, file.name),),
        now=now.now,
    )


def _save_stranger(draw: Draw) -> Instance:
    """A number without a name that wrote becomes a contact."""
    now, name = scene(draw), draw.name()
    number = draw.random.choice(now.strangers)
    now = now.with_message(number, name.split()[0])
    stage = Stage(
        "messages",
        {**to_thread(number), ("thread", number): Press(Event("save_number", number))},
        page=("add", number),
        page_app="contacts",
    )
    return Instance(
        words={"name": name, "number": number},
        data=now.book,
        others={"messages": now.data},
        stages=(stage,),
        plan={
            ("add", number): Fill(
                (Entry("name", name), Entry("phone", number, default=number)), Event("save")
            )
        },
        changes=(Change("contacts", None, new_contact(name, number)),),
        now=now.now,
    )


def _written(draw: Draw, text: str) -> tuple[Scene, Contact]:
    """A scene in which somebody has just written a text."""
    now = scene(draw)
    person = draw.random.choice(now.friends)
    return now.with_message(person.phone, text), person


def _read_first(now: Scene, person: Contact, app_plan: Plan, *, copied: bool = False) -> Instance:
    """What a person wrote last is looked at, or copied, and then used in another app."""
    message = now.last_of(person.phone)
    plan, opened = to_message(message), ("message", message.id)
    changes: tuple[Change, ...] = ()
    if copied:
        plan[opened] = Hold(Event("copy_text", message.text))
        changes = (Change("clipboard", CLIP, (("text", message.text),), app="system"),)
    return Instance(
        words={"name": person.name},
        data=None,
        others={"messages": now.data, "contacts": now.book},
        stages=(Stage("messages", plan, page=None if copied else opened, changes=changes),),
        plan=app_plan,
        free=_CLIPBOARD,
        now=now.now,
    )


def _alarm_of_message(draw: Draw) -> Instance:
    time = draw.time()
    now, person = _written(draw, time)
    plan: Plan = {
        ("home", ""): Press(Event("go", "add")),
        ("add", ""): Fill((Entry("time", time),), Event("save")),
    }
    values = (("time", time), ("label", ""), ("on", True))
    return replace(
        _read_first(now, person, plan),
        data=clock.fixture(draw),
        changes=(Change("alarms", None, values),),
    )


def _device_name_of_message(draw: Draw) -> Instance:
    data, name = settings.fixture(draw), draw.of(DEVICE_NAMES, pseudo=True)
    now, person = _written(draw, name)
    plan: Plan = {
        ("home", ""): Press(Event("go", "System")),
        ("System", ""): Press(Event("go", "rename", DEVICE_NAME)),
        ("rename", DEVICE_NAME): Fill((Entry("name", name, paste=True),), Event("save_name")),
    }
    return replace(
        _read_first(now, person, plan, copied=True),
        data=data,
        changes=(Change("choices", DEVICE_NAME, (("value", name),)),),
    )


def _contact_of_message(draw: Draw) -> Instance:
    """Somebody wrote the number of a person who is not in the phone's book yet."""
    phone, other = draw.phone(), draw.name()
    now, person = _written(draw, phone)
    plan: Plan = {
        ("home", ""): Press(Event("go", "add")),
        ("add", ""): Fill((Entry("phone", phone), Entry("name", other)), Event("save")),
    }
    return replace(
        _read_first(now, person, plan),
        words={"name": person.name, "other": other},
        data=now.book,
        others={"messages": now.data},
        changes=(Change("contacts", None, new_contact(other, phone)),),
    )


def _folder_of_message(draw: Draw) -> Instance:
    name = draw.of(CITIES, pseudo=True)
    now, person = _written(draw, name)
    plan: Plan = {
        ("home", ""): Press(Event("go", "new_folder")),
        ("new_folder", ""): Fill((Entry("name", name),), Event("save_folder")),
    }
    return replace(
        _read_first(now, person, plan),
        data=files.fixture_of(draw, 4),
        changes=(Change("folders", None, (("name", name),)),),
    )


TEMPLATES: tuple[Template, ...] = (
    Template(
        name="messages_send_number",
        app="messages",
        oracle_steps=12,
        phrasings=(
            "Send {receiver} the phone number of {name} from my contacts as a message",
            "Look up the number of {name} in contacts and send it to {receiver} in messages",
        ),
        held_out=("My friend {receiver} asks by message for the number of {name} so send it",),
        set_up=_send_number,
        tags=("cross_app",),
        suite="cross_app",
    ),
    Template(
        name="messages_send_alarm",
        app="messages",
        oracle_steps=11,
        phrasings=(
            "Send {name} a message with the time of my {label} alarm",
            "Look in the clock when {label} rings and send {name} that time",
        ),
        held_out=("When my alarm {label} rings is what {name} should read in a message",),
        set_up=_send_alarm,
        tags=("cross_app",),
        suite="cross_app",
    ),
    Template(
        name="messages_share_file",
        app="messages",
        oracle_steps=10,
        phrasings=(
            "Share the file {file} from the folder {folder} with {number} by message",
            "In files open {folder} and send {file} to {number} in messages",
        ),
        held_out=("Let {number} have {file} of {folder} by message",),
        set_up=_share_file,
        tags=("cross_app",),
        suite="cross_app",
    ),
    Template(
        name="contacts_save_stranger",
        app="contacts",
        oracle_steps=8,
        phrasings=(
            "The number {number} wrote to me so save it as the contact {name}",
            "From my messages add {number} to the contacts with the name {name}",
        ),
        held_out=("Behind {number} in my messages is {name} so keep that as a contact",),
        set_up=_save_stranger,
        tags=("cross_app",),
        suite="cross_app",
    ),
    Template(
        name="clock_alarm_of_message",
        app="clock",
        oracle_steps=10,
        phrasings=(
            "Set an alarm for the time that {name} sent me in the last message",
            "Read the last message of {name} and add an alarm for that time",
        ),
        held_out=("Let the phone ring when {name} wrote in the last message",),
        set_up=_alarm_of_message,
        tags=("cross_app",),
        suite="cross_app",
    ),
    Template(
        name="settings_device_name_of_message",
        app="settings",
        oracle_steps=12,
        phrasings=(
            "In the System settings use as Device name what {name} sent me last",
            "Read the last message of {name} and make it the Device name under System",
        ),
        held_out=("The Device name under System should be what {name} wrote last",),
        set_up=_device_name_of_message,
        tags=("cross_app",),
        suite="cross_app",
    ),
    Template(
        name="contacts_add_of_message",
        app="contacts",
        oracle_steps=12,
        phrasings=(
            "Add {other} to the contacts with the number from the last message of {name}",
            "The last message of {name} is the number of {other} so save it in contacts",
        ),
        held_out=("Keep {other} in contacts under the number which {name} wrote last",),
        set_up=_contact_of_message,
        tags=("cross_app",),
        suite="cross_app",
    ),
    Template(
        name="files_folder_of_message",
        app="files",
        oracle_steps=10,
        phrasings=(
            "In files make a folder with the name that {name} sent me last",
            "Read the last message of {name} and create a folder in files called like it",
        ),
        held_out=("The files need a folder named after the last message of {name}",),
        set_up=_folder_of_message,
        tags=("cross_app",),
        suite="cross_app",
    ),
)
