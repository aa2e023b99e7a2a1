from __future__ import annotations

import pytest

from apps_mock.phone import MockPhone
from apps_mock.tasks import SUITE_VERSION
from apps_mock.widgets import Event
from device_runtime.errors import UnknownTaskError
from device_runtime.ui_tree import elements_of, parse
from sync.vocabulary import (
    Assignment,
    AssignmentId,
    Direction,
    Key,
    Split,
    open_app,
    press,
    scroll,
    tap,
    type_text,
    wait,
)

LAUNCH = Event("launch", "contacts")
HOME, BACK, ENTER, DELETE, RECENTS = 3, 4, 66, 67, 187


def test_reset_is_the_assignments_task_and_idempotent():
    phone = MockPhone()
    assignment = Assignment(AssignmentId("a"), template="contacts_open", seed=3, split=Split.TEST)

    first = phone.reset(assignment)
    hash_after_reset = phone.state_hash()
    phone.touch(100, 200)
    again = phone.reset(assignment)

    assert first == again
    assert first.suite_version == SUITE_VERSION
    assert phone.state_hash() == hash_after_reset


@pytest.mark.parametrize("template", ["", "no_such_template"])
def test_a_template_that_does_not_exist_is_refused(template):
    with pytest.raises(UnknownTaskError):
        MockPhone().reset(Assignment(AssignmentId("a"), template=template))


def test_a_phone_without_a_task_says_what_to_do():
    with pytest.raises(RuntimeError, match="reset"):
        MockPhone().observe()


def test_observations_are_cached_until_something_changes(phone_with, send):
    phone = phone_with("contacts_open")
    seen, generation = phone.observe(), phone.generation

    phone.touch(1, 1)
    assert phone.observe() is seen
    assert phone.generation == generation

    send(phone, LAUNCH)
    assert phone.observe() is not seen
    assert phone.generation > generation


def test_home_leaves_an_app_as_it_is_and_back_on_its_first_page_ends_it(phone_with, send):
    phone = phone_with("contacts_open")
    send(phone, LAUNCH, Event("go", "add"))

    phone.press(HOME)
    send(phone, LAUNCH)
    assert phone.state.front.page.name == "add"

    phone.press(BACK)
    phone.press(BACK)
    assert phone.state.front is None
    send(phone, LAUNCH)
    assert [page.name for page in phone.state.front.stack] == ["home"]


def test_recents_lists_used_apps_latest_first(phone_with, send):
    phone = phone_with("contacts_open")
    send(phone, LAUNCH)
    phone.press(HOME)
    phone.open_app("Settings")

    phone.press(RECENTS)

    texts = [element.text for element in phone.observe().elements]
    assert [text for text in texts if text in {"Settings", "Contacts"}] == ["Settings", "Contacts"]


def test_typing_goes_to_the_focused_field_and_is_lost_without_one(phone_with, send, fill):
    phone = phone_with("contacts_open")
    send(phone, LAUNCH, Event("go", "add"))

    phone.type_text("lost")
    fill(phone, "name", "Ada")
    phone.press(DELETE)

    assert phone.state.front.page.drafts == (("name", "Ad"),)
    assert phone.keyboard_shown


def test_back_hides_the_keyboard_before_it_leaves_the_page(phone_with, send, fill):
    phone = phone_with("contacts_open")
    send(phone, LAUNCH, Event("go", "add"))
    fill(phone, "name", "Ada")

    phone.press(BACK)

    assert not phone.keyboard_shown
    assert phone.state.front.page.name == "add"
    phone.press(BACK)
    assert phone.state.front.page.name == "home"


def test_enter_goes_to_the_next_field_and_submits_in_the_last(phone_with, send, fill):
    phone = phone_with("contacts_open")
    send(phone, LAUNCH, Event("go", "add"))
    fill(phone, "name", "Ada Lang")

    phone.press(ENTER)
    assert phone.state.focus == "phone"
    phone.press(ENTER)

    assert phone.state.front.page.name == "contact"
    assert phone.state.app_state("contacts").data.contacts[-1].name == "Ada Lang"


def test_type_with_clear_replaces_what_a_field_holds(phone_with, send, fill):
    phone = phone_with("contacts_open")
    send(phone, LAUNCH, Event("go", "add"))
    fill(phone, "name", "wrong")

    assert phone.act(type_text("Ada Lang", clear=True)).valid

    assert phone.state.front.page.draft("name") == "Ada Lang"


def test_actions_that_mean_nothing_here_are_invalid_and_change_nothing(phone_with):
    phone = phone_with("contacts_open")
    before = phone.state

    assert not phone.act(type_text("x")).valid
    assert not phone.act(scroll(Direction.DOWN)).valid
    assert not phone.act(open_app("No such app")).valid
    assert phone.act(wait(10)).valid
    assert phone.state is before


def test_open_app_takes_label_or_package(phone_with):
    phone = phone_with("tickets_orders")

    assert phone.act(open_app("train tickets")).valid
    assert phone.foreground()[0] == "org.outrider.clones.tickets"
    assert phone.open_app("org.outrider.clones.settings")
    assert phone.foreground()[0] == "org.outrider.clones.settings"


def test_a_short_swipe_is_a_touch(phone_with):
    phone = phone_with("contacts_open")
    target = next(each for each in phone.laid_out.targets if each.event == LAUNCH)
    x, y = target.bounds[0] + 40, target.bounds[1] + 40

    phone.swipe(x, y, x + 5, y, duration_ms=600)

    assert phone.foreground()[0].endswith("contacts")


@pytest.mark.parametrize("key", [Key.MENU, Key.ENTER])
def test_keys_without_a_meaning_change_nothing(phone_with, key):
    phone = phone_with("contacts_open")
    before = phone.state

    assert phone.act(press(key)).valid

    assert phone.state is before


def test_the_dump_shows_what_the_observation_shows(phone_with, solve):
    phone = phone_with("tickets_book_voucher")
    solve(phone)

    hierarchy = parse(phone.tree_xml())

    assert hierarchy.notes == ()
    assert elements_of(hierarchy.roots, 1080, 2400) == phone.observe().elements


def test_restoring_a_snapshot_restores_everything(phone_with, solve):
    phone = phone_with("tickets_cancel")
    snapshot, fingerprint, tree = phone.state, phone.state_hash(), phone.tree_xml()
    solve(phone)
    assert phone.state_hash() != fingerprint

    phone.restore(snapshot)

    assert (phone.state_hash(), phone.tree_xml()) == (fingerprint, tree)


def test_a_tap_outside_every_place_is_valid_and_harmless(phone_with):
    phone = phone_with("contacts_open")
    before = phone.state

    assert phone.act(tap(0.99, 0.001)).valid

    assert phone.state is before
