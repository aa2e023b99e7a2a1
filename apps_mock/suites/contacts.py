"""Tasks in the contacts app."""

from __future__ import annotations

from dataclasses import replace

from apps_mock.apps.contacts import Contact, ContactsData, fixture, fixture_of
from apps_mock.entities import Draw
from apps_mock.plans import Entry, Fill, Press
from apps_mock.records import changed
from apps_mock.templates import Instance, Template
from apps_mock.wanted import Change, PageGoal
from apps_mock.widgets import Event


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
        changes=(
            Change("contacts", None, (("name", name), ("phone", phone), ("favourite", False))),
        ),
    )


TEMPLATES = (
    Template(
        name="contacts_open",
        app="contacts",
        oracle_steps=3,
        phrasings=(
            "Open the contact {name}",
            "Show me {name} in my contacts",
            "Go to contacts and open {name}",
        ),
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
        set_up=_add,
    ),
)
