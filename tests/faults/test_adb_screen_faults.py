"""What the mock phone's screen can do wrong, seen through a real adb server by the driver."""

from __future__ import annotations

import pytest

from apps_mock.adb_clone import AdbClone
from apps_mock.adb_faults import FaultKind
from apps_mock.adb_profile import DisplayProfile, PhoneProfile
from device_runtime.adb_phone import AdbPhoneSettings
from device_runtime.errors import InputDeniedError, TreeUnavailableError
from sync.vocabulary import (
    Assignment,
    AssignmentId,
    Key,
    ScreenMark,
    open_app,
    press,
    tap,
    tap_element,
    type_text,
)

pytestmark = pytest.mark.integration
SETTINGS = AdbPhoneSettings(settle_s=0.0, retry_pause_s=0.01, screenshots=True)
TASK = Assignment(AssignmentId("a"), template="contacts_search", seed=1)
GOAL = Assignment(AssignmentId("a"), goal="find Anna")


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    clone = AdbClone(tmp_path_factory.mktemp("adb"), settings=SETTINGS)
    clone.start()
    yield clone
    clone.close()


@pytest.fixture
def clone(started):
    started.daemon.faults.clear()
    started.reset(TASK)
    yield started
    started.daemon.faults.clear()


@pytest.fixture
def phone(clone):
    """The driver alone: the clone's dialogs are no errors to it."""
    return clone.driver


@pytest.mark.parametrize(
    "kind",
    [
        FaultKind.NO_IDLE,
        FaultKind.NULL_ROOT,
        FaultKind.STALE_FILE,
        FaultKind.DUMP_KILLED,
        FaultKind.BAD_XML,
        FaultKind.CUT_XML,
        FaultKind.EMPTY_TREE,
        FaultKind.TRUNCATED_PNG,
        FaultKind.WARNING_PREFIX,
        FaultKind.NO_FOCUS,
    ],
)
def test_what_goes_wrong_once_changes_nothing_of_what_is_seen(clone, phone, kind):
    before = phone.observe()
    clone.daemon.faults.inject(kind)

    seen = phone.observe()

    assert [struck.kind for struck in clone.daemon.faults.injected][-1] is kind
    assert {element.label for element in before.elements} <= {
        element.label for element in seen.elements
    }
    assert (seen.package, seen.activity) == (before.package, before.activity)
    assert phone.frame.png.endswith(b"IEND\xaeB`\x82")


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (FaultKind.NO_IDLE, "not_idle"),
        (FaultKind.NULL_ROOT, "null_root"),
        (FaultKind.DUMP_KILLED, "killed"),
        (FaultKind.CUT_XML, "damaged"),
        (FaultKind.EMPTY_TREE, "empty"),
    ],
)
def test_tree_that_cannot_be_had_is_said_with_its_reason(clone, phone, kind, reason):
    clone.daemon.faults.inject(kind, times=None)

    with pytest.raises(TreeUnavailableError) as fault:
        phone.observe()

    assert fault.value.reason == reason


@pytest.mark.parametrize(
    ("kind", "marks"),
    [
        (FaultKind.SECURE, (ScreenMark.SECURE, ScreenMark.BLANK)),
        (FaultKind.PERMISSION, (ScreenMark.PERMISSION,)),
        (FaultKind.CRASH, (ScreenMark.CRASH,)),
        (FaultKind.ANR, (ScreenMark.NOT_RESPONDING,)),
        (FaultKind.KEYGUARD, (ScreenMark.KEYGUARD,)),
        (FaultKind.POP_UP, ()),
    ],
)
def test_what_lies_over_the_screen_is_marked(clone, phone, kind, marks):
    clone.daemon.faults.inject(kind, times=None if kind is FaultKind.SECURE else 1)

    seen = phone.observe()

    assert seen.marks == marks
    assert seen.elements


@pytest.mark.parametrize("kind", [FaultKind.KEYGUARD, FaultKind.SCREEN_OFF])
def test_reset_wakes_and_unlocks(clone, phone, kind):
    clone.daemon.faults.inject(kind)
    phone.screenshot()

    phone.reset(GOAL)

    assert ScreenMark.KEYGUARD not in phone.observe().marks


def test_forbidden_touches_are_found_at_the_reset(clone, phone):
    clone.daemon.faults.inject(FaultKind.INJECT_DENIED, times=None)

    with pytest.raises(InputDeniedError):
        phone.reset(GOAL)


def focus_a_field(phone):
    phone.act(open_app("Contacts"))
    seen = phone.observe()
    field = next(n for n, element in enumerate(seen.elements) if element.editable)
    phone.act(tap_element(seen, field))
    return phone.observe()


def field_text(phone):
    return next(each.text for each in phone.observe().elements if each.editable and each.focused)


@pytest.mark.parametrize("kind", [FaultKind.LOST_TEXT, FaultKind.SWAPPED_TEXT])
def test_text_that_arrived_wrong_is_typed_once_more(clone, phone, kind):
    focus_a_field(phone)
    clone.daemon.faults.inject(kind, amount=3 if kind is FaultKind.LOST_TEXT else None)

    assert phone.act(type_text("Annabelle Berg")).valid

    assert field_text(phone) == "Annabelle Berg"
    assert clone.daemon.faults.injected[-1].kind is kind


def test_back_closes_the_keyboard_first_and_then_the_page(phone):
    page = focus_a_field(phone)
    assert page.keyboard_shown

    phone.act(press(Key.BACK))
    without = phone.observe()
    phone.act(press(Key.BACK))

    assert not without.keyboard_shown
    assert without.package == page.package
    assert phone.observe() != without


@pytest.mark.parametrize(
    ("display", "size", "rotation"),
    [
        (DisplayProfile.OVERRIDE, None, 0),
        (DisplayProfile.ROTATED, "turned", 1),
        (DisplayProfile.TWO, None, 0),
    ],
)
def test_touches_hit_what_they_mean_on_displays_of_every_kind(
    tmp_path, phone, display, size, rotation
):
    plain = phone.observe()
    other = AdbClone(tmp_path / "adb", settings=SETTINGS, profile=PhoneProfile(display=display))
    other.start()
    try:
        other.reset(TASK)
        seen = other.driver.observe()
        wanted = (plain.width_px, plain.height_px)
        assert (seen.width_px, seen.height_px) == (wanted[::-1] if size else wanted)
        assert seen.rotation == rotation

        index = [element.label for element in seen.elements].index("Contacts")
        other.driver.act(tap_element(seen, index))

        assert other.driver.observe().package.endswith("contacts")
    finally:
        other.close()


def test_phone_from_before_shell_v2_is_driven_too(tmp_path):
    old = AdbClone(tmp_path / "adb", settings=SETTINGS, profile=PhoneProfile(api=23))
    old.start()
    try:
        old.reset(TASK)
        focus_a_field(old.driver)

        assert old.driver.act(type_text("it's 100%s $HOME")).valid
        assert field_text(old.driver) == "it's 100%s $HOME"
        assert old.driver.act(tap(0.5, 0.5)).valid
    finally:
        old.close()
