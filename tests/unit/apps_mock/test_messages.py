"""What the messages app does, beyond the paths that tasks take."""

from __future__ import annotations

from random import Random

import pytest

from apps_mock.apps.messages import conversation, numbers_of, wording_of
from apps_mock.entities import Draw, split_of
from apps_mock.suites.messages_scenes import scene
from apps_mock.widgets import Event
from sync.vocabulary import Split


def data_of(phone):
    return phone.state.app_state("messages").data


def texts(phone):
    return {element.text for element in phone.observe().elements}


@pytest.fixture
def phone(phone_with, send):
    """A phone with the messages app in front."""
    made = phone_with("messages_compose")
    send(made, Event("launch", "messages"))
    return made


def test_conversations_stand_with_the_latest_first_under_the_names_of_the_book(phone):
    data = data_of(phone)
    book = {
        contact.phone: contact.name for contact in phone.state.app_state("contacts").data.contacts
    }
    shown = [element.text for element in phone.observe().elements]

    numbers = numbers_of(data)
    assert numbers[0] == data.messages[-1].number
    places = [shown.index(book.get(number, number)) for number in numbers]
    assert places == sorted(places)


def test_a_reply_is_the_last_message_and_empties_the_field(phone, send, fill):
    number = numbers_of(data_of(phone))[-1]
    send(phone, Event("go", "thread", number))
    fill(phone, "reply", "on my way")

    send(phone, Event("reply", number))

    last = data_of(phone).messages[-1]
    assert (last.number, last.text, last.sent) == (number, "on my way", True)
    assert last.at == phone.state.now
    assert phone.state.front.page.draft("reply") == ""


@pytest.mark.parametrize("to", ["", "nobody"])
def test_nothing_is_sent_without_a_number_or_a_person_of_the_book(phone, send, fill, to):
    before = data_of(phone)
    send(phone, Event("go", "compose"))
    fill(phone, "to", to)
    fill(phone, "text", "hello")

    send(phone, Event("send"))

    assert data_of(phone) is before


def test_a_name_of_the_book_counts_as_its_number(phone, send, fill):
    person = phone.state.app_state("contacts").data.contacts[0]
    send(phone, Event("go", "compose"))
    fill(phone, "to", person.name.lower())
    fill(phone, "text", "hello")

    send(phone, Event("send"))

    assert data_of(phone).messages[-1].number == person.phone
    assert person.name in texts(phone)


def test_only_unread_conversations_offer_to_be_read(phone_with, send):
    phone = phone_with("messages_mark_read")
    unread = next(message.number for message in data_of(phone).messages if not message.read)
    send(phone, Event("launch", "messages"), Event("go", "thread", unread), Event("open", "menu"))
    send(phone, Event("read", unread), Event("open", "menu"))

    assert all(message.read for message in data_of(phone).messages)
    events = {target.event for target in phone.laid_out.targets}
    assert Event("read", unread) not in events
    assert Event("go", "delete_talk", unread) in events


def test_deleting_a_conversation_asks_first_and_takes_all_its_messages(phone, send):
    number = numbers_of(data_of(phone))[0]
    send(phone, Event("go", "thread", number), Event("open", "menu"))
    send(phone, Event("go", "delete_talk", number))
    assert conversation(data_of(phone), number)

    send(phone, Event("delete_talk", number))

    assert not conversation(data_of(phone), number)
    assert phone.state.front.page.name == "home"


def test_a_shared_text_becomes_a_new_message(phone_with, send):
    phone = phone_with("messages_share_file")
    file = phone.state.app_state("files").data.files[0]
    send(phone, Event("launch", "files"), Event("go", "folder", file.folder))
    send(phone, Event("go", "file", file.id), Event("open", "menu"), Event("share", file.id))
    send(phone, Event("share_to", "messages"))

    assert phone.state.foreground == "messages"
    assert phone.state.front.page.draft("text") == file.name


def test_a_stranger_is_saved_in_contacts_with_the_number_filled_in(phone_with, send, solve):
    phone = phone_with("contacts_save_stranger")
    before = len(phone.state.app_state("contacts").data.contacts)

    solve(phone)

    assert len(phone.state.app_state("contacts").data.contacts) == before + 1


@pytest.mark.parametrize("split", list(Split))
def test_what_people_write_belongs_to_the_split(split):
    draw = Draw(Random(3), split)

    assert {split_of(wording_of(draw)) for _ in range(50)} == {split}


def test_messages_of_a_scene_are_in_order_and_before_its_clock():
    for seed in range(20):
        now = scene(Draw(Random(seed), Split.TRAIN))
        moments = [message.at for message in now.data.messages]
        assert moments == sorted(moments)
        assert moments[-1] < now.now
