"""What the driver must be able to do on any phone, shown on one's own without harm."""

import struct

import pytest

from device_runtime.adb_screenshot import complete_png
from sync.history import same_screen
from sync.vocabulary import (
    Direction,
    Key,
    open_app,
    press,
    scroll,
    tap_element,
    type_text,
    wait,
)

pytestmark = pytest.mark.timeout(300)
TYPED = "battery 7"
SEARCH_WORDS = ("search", "suche", "buscar", "recherche", "検索", "بحث")


def searchable(observation):
    """Index of what opens or is the search of the settings app; None where there is none."""
    for index, element in enumerate(observation.elements):
        label = f"{element.label} {element.resource_id}".casefold()
        if element.editable or (element.clickable and any(word in label for word in SEARCH_WORDS)):
            return index
    return None


def page_row(observation):
    """Index of a row that opens a page and switches nothing; None where there is none."""
    for index, element in enumerate(observation.elements):
        left, top, right, bottom = element.bounds
        is_row = right - left > observation.width_px // 2 and top > observation.height_px // 4
        is_inside = bottom < observation.height_px * 9 // 10
        plain = not (element.checkable or element.editable or element.scrollable)
        if element.clickable and element.label and plain and is_row and is_inside:
            return index
    return None


def test_it_says_what_it_is(subject):
    info = subject.phone.info()
    assert info.serial == subject.phone.serial
    assert info.model
    assert info.android_version
    assert info.width_px > 0
    assert info.height_px > 0


def test_the_home_screen_is_seen_whole(subject):
    seen = subject.phone.observe()
    assert seen.elements
    assert seen.package
    for element in seen.elements:
        left, top, right, bottom = element.bounds
        assert left <= right
        assert top <= bottom


def test_the_picture_is_whole_and_of_the_screens_shape(subject):
    data = subject.phone.screenshot()
    seen = subject.phone.observe()
    assert complete_png(data) == data
    width, height = struct.unpack(">II", data[16:24])
    assert width / height == pytest.approx(seen.width_px / seen.height_px, rel=0.05)


def test_the_rotation_is_read_as_the_screen_is_turned(subject):
    seen, info = subject.phone.observe(), subject.phone.info()
    assert seen.rotation in range(4)
    is_turned = seen.rotation % 2 == 1
    assert (seen.width_px > seen.height_px) == (is_turned != (info.width_px > info.height_px))


def test_settings_are_opened_and_left_by_home(subject):
    home = subject.phone.observe().package
    assert subject.open(subject.settings_app).package == subject.settings_app
    assert subject.phone.act(press(Key.HOME)).valid
    assert subject.phone.observe().package == home


def test_a_row_is_tapped_and_left_by_back(subject):
    before = subject.open(subject.settings_app)
    index = page_row(before)
    if index is None:
        subject.may_lack("row that opens a page")
    assert subject.phone.act(tap_element(before, index)).valid
    page = subject.phone.observe()
    assert not same_screen(page, before)
    assert subject.phone.act(press(Key.BACK)).valid
    assert not same_screen(subject.phone.observe(), page)


def test_settings_scroll_down_and_up_again(subject):
    top = subject.open(subject.settings_app)
    if not any(element.scrollable for element in top.elements):
        subject.may_lack("list that is longer than its screen")
    assert subject.phone.act(scroll(Direction.DOWN)).valid
    assert not same_screen(subject.phone.observe(), top)
    assert subject.phone.act(scroll(Direction.UP)).valid
    assert subject.phone.observe().package == subject.settings_app


def test_text_arrives_in_the_search_field_as_it_was_typed(subject):
    seen = subject.open(subject.searched_app)
    index = searchable(seen)
    if index is None:
        subject.may_lack("search")
    assert subject.phone.act(tap_element(seen, index)).valid
    seen = subject.phone.observe()
    if not any(one.editable for one in seen.elements):
        subject.may_lack("search field")
    outcome = subject.phone.act(type_text(TYPED))
    assert outcome.valid, outcome.detail
    assert any(one.editable and one.text == TYPED for one in subject.phone.observe().elements)


def test_an_app_that_is_not_there_is_an_action_that_is_not_valid(subject):
    outcome = subject.phone.act(open_app("org.example.absent.app"))
    assert not outcome.valid
    assert outcome.detail


def test_waiting_changes_nothing(subject):
    before = subject.phone.observe()
    assert subject.phone.act(wait()).valid
    assert subject.phone.observe().package == before.package


def test_it_is_seen_again_after_its_link_was_cut(subject):
    before = subject.phone.observe()
    if ":" in subject.phone.serial:
        subject.client.disconnect(subject.phone.serial)
    else:
        subject.client.host_of(subject.phone.serial, "reconnect")
    after = subject.phone.observe()
    assert after.package == before.package
    assert subject.phone.link.reconnects >= (":" in subject.phone.serial)


def test_two_looks_at_rest_agree(subject):
    assert same_screen(subject.phone.observe(), subject.phone.observe())
