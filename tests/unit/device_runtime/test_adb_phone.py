"""The ADB driver on phones that answer badly; what it does on a good one is in the contract."""

from __future__ import annotations

import pytest

from device_runtime.adb_phone import AdbPhone, AdbPhoneSettings
from device_runtime.adb_screenshot import complete_png
from device_runtime.errors import (
    InputDeniedError,
    PhoneFaultError,
    PhoneLostError,
    UnknownTaskError,
)
from device_runtime.gestures import KEYCODES
from sync.clock import ManualClock
from sync.vocabulary import (
    Action,
    ActionKind,
    Assignment,
    AssignmentId,
    Direction,
    Key,
    answer,
    ask_user,
    finish,
    open_app,
    press,
    scroll,
    tap,
    type_text,
    wait,
)
from tests.scripted_phone import FOCUS, SERIAL, ScriptedClient, look, phone_on, png, said, screen


def tap_element_of(kind):
    """A touch on the only element of the usual screen."""
    return Action(kind, x=5 / 720, y=5 / 1600, element=0)


def test_observation_is_read_from_one_command():
    client = ScriptedClient()

    observation = phone_on(client).observe()

    assert len(client.commands) == 1
    assert [element.text for element in observation.elements] == ["hello"]
    assert (observation.width_px, observation.height_px) == (720, 1600)
    assert (observation.package, observation.activity) == ("org.app", "org.app.Main")
    assert not observation.keyboard_shown


def test_each_look_uses_a_name_of_its_own_and_removes_it():
    client = ScriptedClient()
    phone = phone_on(client)

    phone.observe()
    phone.observe()

    first, second = client.commands
    assert first.startswith("rm -f /data/local/tmp/outrider-name0.xml;")
    assert second.startswith("rm -f /data/local/tmp/outrider-name1.xml;")


def test_landscape_swaps_width_and_height():
    observation = phone_on(ScriptedClient(look(screen(rotation=1)))).observe()

    assert (observation.width_px, observation.height_px, observation.rotation) == (1600, 720, 1)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("mCurrentFocus=null\nmFocusedApp=ActivityRecord{1 u0 org.app/.Main t3}\n", "org.app"),
        ("mCurrentFocus=null\nmCurrentFocus=Window{1 u0 org.b/org.b.C}\n", "org.b"),
        ("mCurrentFocus=Window{1 u0 StatusBar}\n", "com.android.systemui"),
        ("", ""),
    ],
)
def test_foreground_is_the_first_focus_that_names_an_app(state, expected):
    assert phone_on(ScriptedClient(look(state=state))).observe().package == expected


def test_keyboard_is_read_from_the_input_method():
    state = FOCUS + "  mShowRequested=true mInputShown=true\n"

    assert phone_on(ScriptedClient(look(state=state))).observe().keyboard_shown


def test_failed_dump_is_tried_again():
    client = ScriptedClient(look(said="ERROR: could not get idle state."), look())

    assert phone_on(client).observe().elements


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (look(said="ERROR: null root node returned by UiTestAutomationBridge."), "null root"),
        (look(said=""), "no word"),
        (look(said="UI hierchary dumped to: /sdcard/window_dump.xml"), "could not dump"),
        (look(screen()[:-20]), "damaged dump"),
        (look(cut=9), "of its parts"),
    ],
)
def test_look_without_proof_that_it_is_whole_is_a_fault(answer, reason):
    client = ScriptedClient(answer)

    with pytest.raises(PhoneFaultError, match=reason):
        phone_on(client).observe()

    assert len(client.commands) == 3


def lost_once(answer, error):
    """An answer that comes at the second time of asking."""
    asked = []

    def answered(command):
        asked.append(command)
        if len(asked) == 1:
            raise error
        return answer(command)

    return answered


def test_phone_that_was_lost_in_a_look_is_looked_at_again():
    client = ScriptedClient(lost_once(look(), PhoneLostError("cut")))

    assert phone_on(client).observe().elements


def test_phone_that_stays_away_is_lost_after_one_wait():
    client = ScriptedClient(lost_once(look(), PhoneLostError("cut")))
    client.state = "offline"

    with pytest.raises(PhoneLostError, match="offline"):
        phone_on(client).observe()

    assert len(client.commands) == 1


def test_look_after_an_action_waits_until_two_looks_agree():
    looks = [look(screen(text)) for text in ("start", "half", "done", "done")]
    client = ScriptedClient(*looks)
    phone = phone_on(client, settle_s=5.0)
    phone.observe()

    phone.act(tap(0.5, 0.5))

    assert phone.observe().elements[0].text == "done"


def test_look_that_never_settles_ends_at_the_deadline():
    counter = iter(range(10_000))

    def changing(command):
        return look(screen(str(next(counter))))(command)

    phone = phone_on(ScriptedClient(changing), settle_s=1.0, settle_poll_s=0.1)
    phone.observe()
    phone.act(tap(0.5, 0.5))

    assert int(phone.observe().elements[0].text) <= 12


def commands_of(action, text="hello"):
    client = ScriptedClient(look(screen(text)))
    phone = phone_on(client)
    phone.observe()
    client.commands.clear()
    outcome = phone.act(action)
    return outcome, client.commands


def test_typing_is_one_command_with_keys_and_quoted_text():
    _, commands = commands_of(type_text("it's 5%s"))

    assert commands[0].split(" && ") == [
        "input keyevent 123",
        "input keyevent 67 67 67 67 67",
        "input text 'it'\"'\"'s%s5%'",
        "input text s",
    ]
    assert len(commands) == 1


def test_long_field_is_cleared_in_several_key_commands():
    _, commands = commands_of(type_text(""), text="x" * 90)

    assert commands[0].count(" 67") == 90
    assert commands[0].count("input keyevent") == 4


@pytest.mark.parametrize("text", ["grüße", "日本", "\U0001f600"])
def test_text_that_adb_cannot_type_is_invalid_and_nothing_is_sent(text):
    client = ScriptedClient()
    phone = phone_on(client)
    phone.observe()

    outcome = phone.act(type_text(text))

    assert not outcome.valid
    assert outcome.detail.startswith("unsupported_text")
    assert client.acted == []


def test_app_is_started_by_the_package_of_its_label():
    _, commands = commands_of(open_app("clock"))

    assert commands == ["monkey -p org.clock -c android.intent.category.LAUNCHER 1"]


def test_wait_sends_nothing_and_lets_time_pass():
    clock = ManualClock()
    client = ScriptedClient()
    phone = AdbPhone(client, SERIAL, settings=AdbPhoneSettings(settle_s=0.0), clock=clock)
    phone.observe()
    before = clock.monotonic_s()

    phone.act(wait(700))

    assert clock.monotonic_s() - before == pytest.approx(0.7)
    assert len(client.commands) == 1


def test_denied_injection_says_what_to_allow():
    client = ScriptedClient()
    client.answers["input"] = said(error="SecurityException: needs INJECT_EVENTS", code=255)
    phone = phone_on(client)

    with pytest.raises(InputDeniedError, match="developer options"):
        phone.act(press(Key.BACK))


def test_failed_action_is_a_fault_and_is_not_repeated():
    client = ScriptedClient()
    client.answers["input"] = said(error="Killed", code=137)
    phone = phone_on(client)
    phone.observe()

    with pytest.raises(PhoneFaultError, match="137"):
        phone.act(tap(0.5, 0.5))

    assert len(client.commands) == 2


def test_real_phone_plays_goals_but_no_templates():
    client = ScriptedClient()
    client.answers["getprop sys.boot"] = said("1\nmWakefulness=Awake\n")
    phone = phone_on(client)

    assert phone.reset(Assignment(AssignmentId("a"), goal="call Anna")).goal == "call Anna"
    with pytest.raises(UnknownTaskError):
        phone.reset(Assignment(AssignmentId("a"), template="settings_switch"))


def at_home():
    return look(state="  mCurrentFocus=Window{1 u0 org.launcher/.Home}\n")


READY = said("1\n  mWakefulness=Awake\n")
GOAL = Assignment(AssignmentId("a"), goal="call Anna")


def test_reset_ends_the_apps_that_the_episode_before_had_in_front():
    shade = look(state="  mCurrentFocus=Window{1 u0 NotificationShade}\n")
    client = ScriptedClient(at_home(), look(), shade)
    client.answers["getprop sys.boot"] = READY
    phone = phone_on(client)
    phone.reset(GOAL)
    for _ in range(3):
        phone.observe()

    phone.reset(GOAL)

    assert client.acted == [
        "input keyevent 3",
        "am force-stop org.app",
        "input keyevent 3",
    ]


def test_reset_leaves_apps_alone_where_it_must_not_end_them():
    client = ScriptedClient(at_home(), look())
    client.answers["getprop sys.boot"] = READY
    phone = phone_on(client, stops_apps=False)
    phone.observe()
    phone.observe()

    phone.reset(GOAL)

    assert client.acted == ["input keyevent 3"]


def test_reset_deletes_data_of_named_packages_only():
    client = ScriptedClient()
    client.answers["getprop sys.boot"] = READY

    phone_on(client, clears=("org.notes",)).reset(GOAL)

    assert client.acted == ["pm clear org.notes", "input keyevent 3"]


ELEMENT = 0
ACTIONS = [
    (tap(0.5, 0.5), ["input tap 360 800"]),
    (tap_element_of(ActionKind.LONG_PRESS), ["input swipe 5 5 5 5 800"]),
    (tap_element_of(ActionKind.DOUBLE_TAP), ["input tap 5 5 && sleep 0.06 && input tap 5 5"]),
    (Action(ActionKind.SWIPE, x=0, y=0, x2=1, y2=1), ["input swipe 0 0 719 1599 300"]),
    (Action(ActionKind.DRAG, x=0, y=0, x2=1, y2=1), ["input swipe 0 0 719 1599 1000"]),
    (scroll(Direction.DOWN, ELEMENT), ["input swipe 5 8 5 2 300"]),
    (type_text("new"), ["input keyevent 123 && input keyevent 67 67 67 67 67 && input text new"]),
    *[(press(key), [f"input keyevent {KEYCODES[key]}"]) for key in Key],
    (open_app("Clock"), ["monkey -p org.clock -c android.intent.category.LAUNCHER 1"]),
    (wait(5), []),
    (answer("42"), []),
    (ask_user("Really?"), []),
    (finish(), []),
]


@pytest.mark.parametrize(("action", "expected"), ACTIONS, ids=lambda value: str(value)[:40])
def test_every_action_is_at_most_one_command_line(action, expected):
    outcome, commands = commands_of(action)

    assert outcome.valid
    assert commands == expected


def test_every_kind_of_action_is_tried():
    assert {action.kind for action, _ in ACTIONS} == set(ActionKind)


def test_screenshot_loses_what_the_phone_printed_around_it():
    image = png()

    assert complete_png(b"[Warning] Multiple displays\n" + image + b"\n") == image
    assert phone_on(ScriptedClient(image=image)).screenshot() == image


@pytest.mark.parametrize("size", range(0, len(png()), 5))
def test_screenshot_that_was_cut_off_is_a_fault(size):
    with pytest.raises(PhoneFaultError):
        complete_png(png()[:size])


def test_screenshot_with_mended_line_ends_is_a_fault():
    with pytest.raises(PhoneFaultError, match="no PNG"):
        complete_png(png().replace(b"\n", b"\r\n"))
