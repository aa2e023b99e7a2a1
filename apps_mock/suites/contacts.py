"""Tasks in the contacts app."""

from __future__ import annotations

from dataclasses import replace

from apps_mock.apps.contacts import (
    DEFAULT_LABEL,
    LABELS,
    Contact,
    ContactsData,
    fixture,
    fixture_of,
)
from apps_mock.catalogue import Term
from apps_mock.entities import Draw
from apps_mock.plans import Entry, Fill, GiveAnswer, GiveUp, Press
from apps_mock.records import changed
from apps_mock.templates import Instance, Template
from apps_mock.wanted import Answer, Change, PageGoal
from apps_mock.widgets import Event


def new_contact(
    name: str, phone: str, label: str = DEFAULT_LABEL
) -> tuple[tuple[str, object], ...]:
    """What a contact that was just added holds."""
    return (("name", name), ("phone", phone), ("favourite", False), ("label", label))


def _someone(draw: Draw) -> tuple[ContactsData, Contact]:
    data = fixture(draw)
    return data, draw.random.choice(data.contacts)


def _open(draw: Draw) -> Instance:
    data, contact = _someone(draw)
    return Instance(
        words={"name": contact.name},
        data=data,
        plan={("home", ""): Press(Event("go", "contact", contact.id))},
        page=PageGoal("contact", contact.id),
    )


def _open_in_long_list(draw: Draw) -> Instance:
    """The list is longer than the screen: mostly the contact has to be scrolled to."""
    data = fixture_of(draw, draw.random.randrange(18, 22))
    contact = draw.random.choice(data.contacts)
    return Instance(
        words={"name": contact.name},
        data=data,
        plan={("home", ""): Press(Event("go", "contact", contact.id))},
        page=PageGoal("contact", contact.id),
    )


def _search(draw: Draw) -> Instance:
    data = fixture_of(draw, draw.random.randrange(10, 15))
    contact = draw.random.choice(data.contacts)
    return Instance(
        words={"name": contact.name},
        data=data,
        plan={
            ("home", ""): Fill((Entry("search", contact.name),), Event("go", "contact", contact.id))
        },
        page=PageGoal("contact", contact.id),
    )


def _favourite(draw: Draw) -> Instance:
    data, contact = _someone(draw)
    data = replace(data, contacts=changed(data.contacts, contact.id, favourite=False))
    return Instance(
        words={"name": contact.name},
        data=data,
        plan={
            ("home", ""): Press(Event("go", "contact", contact.id)),
            ("contact", contact.id): Press(Event("toggle", contact.id, "favourite")),
        },
        changes=(Change("contacts", contact.id, (("favourite", True),)),),
    )


def _delete(draw: Draw) -> Instance:
    data, contact = _someone(draw)
    return Instance(
        words={"name": contact.name},
        data=data,
        plan={
            ("home", ""): Press(Event("go", "contact", contact.id)),
            ("contact", contact.id): Press(Event("go", "delete", contact.id)),
            ("delete", contact.id): Press(Event("delete", contact.id)),
        },
        changes=(Change("contacts", contact.id, removed=True),),
    )


def _edit_phone(draw: Draw) -> Instance:
    data, contact = _someone(draw)
    phone = draw.phone()
    return Instance(
        words={"name": contact.name, "phone": phone},
        data=data,
        plan={
            ("home", ""): Press(Event("go", "contact", contact.id)),
            ("contact", contact.id): Press(Event("edit_contact", contact.id)),
            ("edit", contact.id): Fill(
                (Entry("name", contact.name), Entry("phone", phone)), Event("save")
            ),
        },
        changes=(Change("contacts", contact.id, (("phone", phone),)),),
    )


def _add(draw: Draw) -> Instance:
    data = fixture(draw)
    name, phone = draw.name(), draw.phone()
    return Instance(
        words={"name": name, "phone": phone},
        data=data,
        plan={
            ("home", ""): Press(Event("go", "add")),
            ("add", ""): Fill((Entry("name", name), Entry("phone", phone)), Event("save")),
        },
        changes=(Change("contacts", None, new_contact(name, phone)),),
    )


def _draft(draw: Draw) -> Instance:
    """A new contact that is filled in and not saved."""
    data, name, phone = fixture(draw), draw.name(), draw.phone()
    label = draw.random.choice([each for each in LABELS if each != DEFAULT_LABEL])
    first, last = name.split()
    drafts = (("name", name), ("phone", phone), ("label", label))
    return Instance(
        words={"first": first, "last": last, "phone": phone, "label": Term(label)},
        data=data,
        plan={
            ("home", ""): Press(Event("go", "add")),
            ("add", ""): Fill(
                (
                    Entry("name", name),
                    Entry("phone", phone),
                    Entry("label", label, Event("set", "label", label), default=DEFAULT_LABEL),
                )
            ),
        },
        page=PageGoal("add", "", drafts),
    )


def _number(draw: Draw) -> Instance:
    data, contact = _someone(draw)
    return Instance(
        words={"name": contact.name},
        data=data,
        plan={
            ("home", ""): Press(Event("go", "contact", contact.id)),
            ("contact", contact.id): GiveAnswer(),
        },
        answer=Answer("name", contact.phone),
    )


def _delete_missing(draw: Draw) -> Instance:
    """Delete somebody who is not in the book."""
    data, name = fixture(draw), draw.name()
    return Instance(
        words={"name": name},
        data=data,
        plan={("home", ""): GiveUp()},
        infeasible=True,
    )


TEMPLATES: tuple[Template, ...] = (
    Template(
        name="contacts_open",
        app="contacts",
        oracle_steps=3,
        phrasings=(
            "Open the contact {name}",
            "Show me {name} in my contacts",
            "Go to contacts and open {name}",
        ),
        held_out=("Bring up what I know of {name} in contacts",),
        set_up=_open,
    ),
    Template(
        name="contacts_scroll",
        app="contacts",
        oracle_steps=5,
        phrasings=(
            "Look up {name} in the long list of contacts",
            "Scroll through my contacts and open {name}",
            "Open contacts and scroll to {name} and open it",
        ),
        held_out=("Somewhere down my many contacts is {name} so bring it up",),
        set_up=_open_in_long_list,
        tags=("scrolls",),
    ),
    Template(
        name="contacts_search",
        app="contacts",
        oracle_steps=5,
        phrasings=(
            "Search my contacts for {name} and open it",
            "Type {name} into the search field of contacts and open the result",
            "Search for {name} in contacts and show the details",
        ),
        held_out=("Use the search of contacts to bring up {name}",),
        set_up=_search,
    ),
    Template(
        name="contacts_favourite",
        app="contacts",
        oracle_steps=4,
        phrasings=(
            "Make the contact {name} a favourite",
            "Mark {name} as favourite in contacts",
            "Open contacts and turn on favourite for {name}",
        ),
        held_out=("I often call {name} so make this contact a favourite",),
        set_up=_favourite,
    ),
    Template(
        name="contacts_delete",
        app="contacts",
        oracle_steps=5,
        phrasings=(
            "Delete the contact {name}",
            "Remove {name} from my contacts",
            "Open contacts and delete {name}",
        ),
        held_out=("I no longer know {name} so take the contact away",),
        set_up=_delete,
    ),
    Template(
        name="contacts_edit_phone",
        app="contacts",
        oracle_steps=7,
        phrasings=(
            "Change the phone number of the contact {name} to {phone}",
            "Set {phone} as the phone number of {name} in contacts",
            "In contacts edit {name} so that the phone is {phone}",
        ),
        held_out=("The new number of {name} is {phone} so correct it in contacts",),
        set_up=_edit_phone,
    ),
    Template(
        name="contacts_add",
        app="contacts",
        oracle_steps=8,
        phrasings=(
            "Add a contact named {name} with phone {phone}",
            "Create the contact {name} with the phone number {phone}",
            "In contacts add {name} whose phone number is {phone}",
        ),
        held_out=("Keep {phone} as the number of a new contact named {name}",),
        set_up=_add,
    ),
    Template(
        name="ContactsAddContact",
        app="contacts",
        oracle_steps=8,
        phrasings=(
            "Make a new contact of {name} with the number {phone}",
            "The phone number of {name} is {phone} so add this person to the contacts",
        ),
        held_out=("Save {name} and the number {phone} in my contacts",),
        set_up=_add,
        suite="androidworld",
    ),
    Template(
        name="ContactsNewContactDraft",
        app="contacts",
        oracle_steps=8,
        phrasings=(
            "Fill in a new contact {first} {last} with the {label} phone {phone} without saving it",
            "Prepare the contact {first} {last} with the {label} phone {phone} but do not save",
        ),
        held_out=(
            "Without saving enter {first} {last} and the {label} number {phone} as a contact",
        ),
        set_up=_draft,
        suite="androidworld",
    ),
    Template(
        name="contacts_number",
        app="contacts",
        oracle_steps=3,
        phrasings=(
            "What is the phone number of {name}",
            "Tell me the number of {name} from my contacts",
        ),
        held_out=("Under which number can I reach {name}",),
        set_up=_number,
        tags=("answer",),
    ),
    Template(
        name="contacts_delete_missing",
        app="contacts",
        oracle_steps=2,
        phrasings=(
            "Delete the contact {name}",
            "Remove {name} from my contacts",
        ),
        held_out=("Take {name} out of my contacts",),
        set_up=_delete_missing,
        tags=("infeasible",),
    ),
)
