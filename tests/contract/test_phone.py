"""What every phone promises its agent: the clone in process, and the same clone over real ADB."""

from __future__ import annotations

import struct
from random import Random

import pytest

from apps_mock.adb_clone import AdbClone
from apps_mock.catalogue import LOCALES
from apps_mock.look import draw_look, look_number
from apps_mock.phone import MockPhone
from apps_mock.phone_state import Overlay
from device_runtime.errors import UnknownTaskError
from device_runtime.screen_reading import ScreenReader
from device_runtime.screen_reading_phone import ReadingPhone
from sync.policy_io import encode
from sync.vocabulary import (
    Action,
    ActionKind,
    Assignment,
    AssignmentId,
    Direction,
    EndReason,
    Episode,
    Key,
    Observation,
    Split,
    Step,
    answer,
    ask_user,
    finish,
    new_uuid7,
    open_app,
    press,
    scroll,
    tap_element,
    type_text,
    wait,
)

TEMPLATES = ("settings_switch", "contacts_search", "clock_add_labelled", "tickets_find_class")


def assignment_of(template="contacts_search", seed=1, look=1):
    return Assignment(AssignmentId("a"), template=template, seed=seed, split=Split.TRAIN, look=look)


@pytest.fixture(scope="module")
def adb_clone(tmp_path_factory):
    clone = AdbClone(tmp_path_factory.mktemp("adb"))
    clone.start()
    yield clone
    clone.close()


class ReadingClone(ReadingPhone):
    """A clone whose pictures may be read, with its own judge."""

    def __init__(self) -> None:
        clone = MockPhone()
        super().__init__(clone, ScreenReader())
        self.judge = clone.judge


@pytest.fixture(params=["mock", "reading", pytest.param("adb", marks=pytest.mark.integration)])
def phone(request):
    made = {"mock": MockPhone, "reading": ReadingClone}
    make = made.get(request.param, lambda: request.getfixturevalue("adb_clone"))
    phone = make()
    phone.reset(assignment_of())
    return phone


def index_of(observation: Observation, label: str) -> int:
    return [element.label for element in observation.elements].index(label)


def open_contacts(phone) -> Observation:
    phone.act(open_app("Contacts"))
    return phone.observe()


def focus_the_field(phone) -> Observation:
    observation = open_contacts(phone)
    field = next(n for n, element in enumerate(observation.elements) if element.editable)
    phone.act(tap_element(observation, field))
    return phone.observe()


def field_text(phone) -> str:
    return next(each.text for each in phone.observe().elements if each.editable and each.focused)


def test_reset_returns_the_goal_and_the_suite(phone):
    outcome = phone.reset(assignment_of())

    assert outcome.goal
    assert outcome.suite_version


def test_reset_brings_the_same_start_state_back(phone):
    before = phone.observe()
    open_contacts(phone)

    phone.reset(assignment_of())

    assert phone.observe() == before


@pytest.mark.parametrize(
    "assignment",
    [assignment_of("no_such_template"), Assignment(AssignmentId("a"), goal="do something")],
)
def test_reset_refuses_what_it_cannot_play(phone, assignment):
    with pytest.raises(UnknownTaskError) as refusal:
        phone.reset(assignment)

    assert refusal.value.reason == "unknown_task"


def test_looking_changes_nothing(phone):
    assert phone.observe() == phone.observe()


def test_observation_is_in_reading_order_and_on_the_screen(phone):
    observation = open_contacts(phone)

    places = [element.bounds[1::-1] for element in observation.elements]
    assert places == sorted(places)
    assert all(right > 0 and bottom > 0 for *_, right, bottom in
               (element.bounds for element in observation.elements))  # fmt: skip
    info = phone.info()
    assert (observation.width_px, observation.height_px) == (info.width_px, info.height_px)


def test_tap_opens_what_it_hits_and_home_leads_back(phone):
    home = phone.observe()

    assert phone.act(tap_element(home, index_of(home, "Contacts"))).valid
    opened = phone.observe()
    phone.act(press(Key.HOME))

    assert opened.package != home.package
    assert opened.activity.startswith(opened.package)
    assert phone.observe().elements == home.elements


def test_app_is_opened_by_label_and_by_package(phone):
    opened = open_contacts(phone)
    phone.act(press(Key.HOME))

    assert phone.act(open_app(opened.package)).valid
    assert phone.observe().package == opened.package


@pytest.mark.parametrize("name", ["No Such App", "org.no.such.app"])
def test_app_that_is_not_there_is_an_invalid_action(phone, name):
    before = phone.observe()

    outcome = phone.act(open_app(name))

    assert not outcome.valid
    assert repr(name) in outcome.detail
    assert phone.observe() == before


def test_focused_field_shows_the_keyboard(phone):
    assert not open_contacts(phone).keyboard_shown
    assert focus_the_field(phone).keyboard_shown


@pytest.mark.parametrize(
    "text",
    [
        "Anna Berg",
        "100%s of 5%%",
        'it\'s "x" & y; $HOME `id` \\ (z)',
        "-5 * [a]?~#",
        "grüße, 世界 \U0001f600",
    ],
)
def test_typed_text_arrives_as_it_is_and_replaces_what_was_there(phone, text):
    focus_the_field(phone)
    phone.act(type_text("before"))

    assert phone.act(type_text(text)).valid

    assert field_text(phone) == text


def test_typing_without_clearing_appends(phone):
    focus_the_field(phone)
    phone.act(type_text("ab"))

    phone.act(type_text("cd", clear=False))

    assert field_text(phone) == "abcd"


@pytest.mark.parametrize(
    "action",
    [
        type_text("nobody listens"),
        scroll(Direction.DOWN, 99),
    ],
)
def test_action_without_meaning_here_is_invalid_and_changes_nothing(phone, action):
    before = phone.observe()

    outcome = phone.act(action)

    assert not outcome.valid
    assert outcome.detail
    assert phone.observe() == before


@pytest.mark.parametrize("action", [finish(), answer("42"), ask_user("Really?"), wait(1)])
def test_action_that_touches_nothing_is_valid_and_changes_nothing(phone, action):
    before = phone.observe()

    assert phone.act(action).valid
    assert phone.observe() == before


def test_screenshot_is_a_whole_png_of_the_screens_size(phone):
    image = phone.screenshot()

    assert image.startswith(b"\x89PNG\r\n\x1a\n")
    assert image.endswith(b"IEND\xaeB`\x82")
    info = phone.info()
    assert struct.unpack(">II", image[16:24]) == (info.width_px, info.height_px)


@pytest.mark.parametrize("look", range(6))
def test_info_agrees_with_the_screen_of_each_look(phone, look):
    phone.reset(assignment_of(look=look))
    info, drawn = phone.info(), draw_look(Split.TRAIN, look)

    assert (info.width_px, info.height_px) == (drawn.width_px, drawn.height_px)
    assert (info.model, info.android_version) == ("Clone 1", "14")
    assert phone.info() == info


def test_only_the_episode_that_was_played_is_judged(phone):
    own, other = assignment_of(), assignment_of("settings_switch")
    step = Step(0, phone.observe(), finish())

    verdicts = [
        phone.judge(
            Episode(
                id=new_uuid7(),
                assignment=assignment,
                device_id="phone",
                goal="",
                steps=(step,),
                end_reason=EndReason.FINISH,
            )
        )
        for assignment in (own, other)
    ]

    assert verdicts[0] is not None
    assert not verdicts[0].success
    assert verdicts[1] is None


def any_action(observation: Observation, random: Random) -> Action:
    """Something that a phone can be asked to do on this screen, or cannot."""
    index = random.randrange(len(observation.elements)) if observation.elements else None
    choices = [
        press(random.choice(list(Key))),
        scroll(random.choice(list(Direction))),
        open_app(random.choice(["Contacts", "Settings", "Einstellungen", "設定", "Nothing"])),
        type_text(random.choice(["Ada", "a b%s", "it's"]), clear=random.random() < 0.5),
    ]
    if index is not None:
        taps = [tap_element(observation, index)] * 6
        more = [
            tap_element(observation, index, ActionKind.LONG_PRESS),
            tap_element(observation, index, ActionKind.DOUBLE_TAP),
            scroll(random.choice(list(Direction)), index),
        ]
        choices = [*choices, *taps, *more]
    return random.choice(choices)


@pytest.mark.integration
@pytest.mark.parametrize(
    "overlay",
    [
        Overlay("lock"),
        Overlay("permission", "settings/notifications"),
        Overlay("crash", "settings"),
        Overlay("hung", "settings"),
    ],
    ids=lambda overlay: overlay.kind,
)
def test_dialogs_of_the_system_look_and_are_marked_the_same_on_both_phones(adb_clone, overlay):
    in_process = MockPhone()
    for clone in (in_process, adb_clone):
        clone.reset(assignment_of())
    in_process.show(overlay)
    with adb_clone.daemon.lock:
        adb_clone.phone.show(overlay)

    near, far = in_process.observe(), adb_clone.observe()

    assert far.elements == near.elements
    assert (far.package, far.marks) == (near.package, near.marks)
    assert len(near.marks) == 1
    assert encode(far, "goal").digest == encode(near, "goal").digest


@pytest.mark.integration
@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("template", TEMPLATES)
def test_same_actions_give_the_same_screens_and_digests_on_both_phones(adb_clone, template, locale):
    in_process, random = MockPhone(), Random(f"walk {template} {locale}")
    for number in range(2):
        look = look_number(locale, number)
        assignment = assignment_of(template, seed=number, look=look)
        goal = in_process.reset(assignment).goal
        assert adb_clone.reset(assignment).goal == goal
        for _ in range(20):
            near, far = in_process.observe(), adb_clone.observe()
            assert far == near
            assert encode(far, goal).digest == encode(near, goal).digest
            action = any_action(near, random)
            assert adb_clone.act(action) == in_process.act(action)
