"""The contacts app: a list with a search field, details, adding, editing, deleting, favourites."""

from __future__ import annotations

from dataclasses import dataclass, replace

from apps_mock.app import App, AppState, Page
from apps_mock.entities import Draw
from apps_mock.look import Look
from apps_mock.records import changed, find, fresh_id, without
from apps_mock.widgets import Button, Chip, Chips, Event, Field, Row, Screen, Text, Widget

LABELS = ("Mobile", "Home", "Work")
"""Whose phone a number is; what is written here stands on the screen in every look."""
DEFAULT_LABEL = "Mobile"


@dataclass(frozen=True, slots=True)
class Contact:
    """A person in the phone's book."""

    id: str
    name: str
    phone: str
    favourite: bool = False
    label: str = DEFAULT_LABEL


@dataclass(frozen=True, slots=True)
class ContactsData:
    """The phone's book."""

    contacts: tuple[Contact, ...]


def fixture(draw: Draw) -> ContactsData:
    """A few people."""
    return fixture_of(draw, draw.random.randrange(4, 9))


def fixture_of(draw: Draw, count: int) -> ContactsData:
    """As many people as that."""
    return ContactsData(
        tuple(
            Contact(
                f"c{index}",
                draw.name(),
                draw.phone(),
                draw.random.random() < 0.2,
                draw.random.choice(LABELS),
            )
            for index in range(count)
        )
    )


def update(state: AppState[ContactsData], event: Event) -> AppState[ContactsData]:
    """The state after an event."""
    contacts = state.data.contacts
    page = state.page
    match event.name:
        case "edit_contact":
            contact = find(contacts, event.value)
            drafts = (("name", contact.name), ("phone", contact.phone)) if contact else ()
            return state.pushed(Page("edit", event.value, drafts))
        case "save":
            return _saved(state, page)
        case "delete":
            return state.with_data(ContactsData(without(contacts, event.value))).popped(2)
        case _:
            return state


def _saved(state: AppState[ContactsData], page: Page) -> AppState[ContactsData]:
    name, phone = page.draft("name").strip(), _phone(page).strip()
    if not name:
        return state
    contacts = state.data.contacts
    if page.name == "edit":
        old = find(contacts, page.argument)
        label = page.draft("label", old.label if old else DEFAULT_LABEL)
        known = changed(contacts, page.argument, name=name, phone=phone, label=label)
        return state.with_data(replace(state.data, contacts=known)).popped()
    label = page.draft("label", DEFAULT_LABEL)
    contact = Contact(fresh_id(contacts, "c"), name, phone, label=label)
    added = state.with_data(replace(state.data, contacts=(*contacts, contact))).popped()
    return added.pushed(Page("contact", contact.id))


def _phone(page: Page) -> str:
    """The number that a form holds; another app may have opened it with one."""
    return page.draft("phone", page.argument if page.name == "add" else "")


def view(state: AppState[ContactsData], look: Look) -> Screen:
    """What the page on top shows."""
    page = state.page
    match page.name:
        case "home":
            return _list_view(state, look)
        case "contact":
            return _contact_view(state.data, page, look)
        case "delete":
            contact = find(state.data.contacts, page.argument)
            name = contact.name if contact else ""
            return Screen(
                f"{look.word('delete')} {name}",
                (Text(look.say("This cannot be undone")),),
                (
                    Button(look.word("keep"), Event("back")),
                    Button(look.word("yes"), Event("delete", page.argument), primary=True),
                ),
                dialog=True,
            )
        case _:
            return _form_view(state.data, page, look)


def _form_view(data: ContactsData, page: Page, look: Look) -> Screen:
    known = find(data.contacts, page.argument)
    label = page.draft("label", known.label if known else DEFAULT_LABEL)
    return Screen(
        look.word("edit" if page.name == "edit" else "add"),
        (
            Field("name", look.word("name"), page.draft("name")),
            Field("phone", look.word("phone"), _phone(page)),
            Chips(
                tuple(
                    Chip(look.say(name), name == label, Event("set", "label", name))
                    for name in LABELS
                )
            ),
        ),
        (Button(look.word("save"), Event("save"), primary=True),),
    )


def _list_view(state: AppState[ContactsData], look: Look) -> Screen:
    wanted = state.page.draft("search")
    found = [
        contact
        for contact in state.data.contacts
        if wanted.strip().casefold() in contact.name.casefold()
    ]
    rows: list[Widget] = [Field("search", look.word("search_contacts"), wanted)]
    rows.extend(
        Row(contact.name, on_tap=Event("go", "contact", contact.id))
        for contact in look.ordered(found, lambda contact: contact.name)
    )
    if not found:
        rows.append(Text(look.say("No contacts found")))
    rows.extend(Text(line) for line in look.noise("contacts"))
    return Screen(
        look.say("Contacts"),
        tuple(rows),
        (Button(look.word("add"), Event("go", "add"), primary=True),),
        back=False,
    )


def _contact_view(data: ContactsData, page: Page, look: Look) -> Screen:
    contact = find(data.contacts, page.argument)
    if contact is None:
        return Screen(look.say("Contacts"), (Text(look.say("This contact is gone")),))
    return Screen(
        contact.name,
        (
            Text(contact.phone or look.say("No phone number"), copyable=bool(contact.phone)),
            Text(look.say(contact.label)),
            Row(
                look.word("favourite"),
                checked=contact.favourite,
                on_toggle=Event("toggle", contact.id, "favourite"),
            ),
            *(Text(line) for line in look.noise("contact")),
        ),
        (
            Button(look.word("edit"), Event("edit_contact", contact.id)),
            Button(look.word("delete"), Event("go", "delete", contact.id)),
        ),
    )


APP: App[ContactsData] = App(
    name="contacts",
    label="Contacts",
    package="org.outrider.clones.contacts",
    update=update,
    view=view,
)
