"""What real phones' screens do to a driver: entries 1 to 7 and 17 to 37 of the failure catalogue.

The number in a test's name is the entry's; docs/phones.md lists them all.
"""

from __future__ import annotations

import io

import pytest
from PIL import Image

from device_runtime.adb_screenshot import read_screenshot
from device_runtime.errors import (
    InputDeniedError,
    PhoneFaultError,
    PhoneLockedError,
    TreeUnavailableError,
)
from device_runtime.ui_tree import Node, to_xml
from sync.vocabulary import (
    ActionKind,
    Assignment,
    AssignmentId,
    Element,
    Key,
    ScreenMark,
    press,
    tap,
    tap_element,
)
from tests.scripted_phone import (
    EMPTY_DUMP,
    FACTS,
    FOCUS,
    ScriptedClient,
    look,
    phone_on,
    png,
    said,
    screen,
)

WARNING = b"[Warning] Multiple displays were found, but no display id was specified!\n"
PANELS = (
    'Display 4619827259835644672 (HWC display 0): port=0 pnpId=GGL displayName="inner"\n'
    'Display 4619827551948147201 (HWC display 1): port=1 pnpId=GGL displayName="outer"\n'
)
VIEWPORT = "  mViewports=[DisplayViewport{{type=INTERNAL, valid=true, isActive=true, displayId=0, uniqueId='local:{}', physicalPort=0, orientation=0}}]\n"  # noqa: E501 - as phones print it
INNER, OUTER = "4619827259835644672", "4619827551948147201"
AWAKE = "1\n  mWakefulness=Awake\n"
GOAL = Assignment(AssignmentId("a"), goal="call Anna")


def two_panels(on: str = INNER) -> str:
    return FACTS + PANELS + VIEWPORT.format(on)


class Reader:
    """Finds the same elements in every picture."""

    def __init__(self, *elements):
        self.elements = elements
        self.asked = []

    def read(self, png, **known):
        self.asked.append((png, known))
        return self.elements


def test_01_text_before_the_picture_is_cut_off_and_kept_as_a_warning():
    client = ScriptedClient(look(picture=WARNING + png()), facts=two_panels())
    phone = phone_on(client, screenshots=True)

    phone.observe()

    assert phone.frame.png == png()
    assert "Multiple displays" in phone.info().extra["warnings"]


def test_01_after_the_warning_the_panel_of_the_display_is_named():
    client = ScriptedClient(look(picture=WARNING + png()), look(), facts=two_panels())
    phone = phone_on(client, screenshots=True)

    phone.observe()
    phone.observe()

    assert f"screencap -p -d {INNER}" in client.commands[-1]


def test_01_black_panel_makes_the_phone_say_again_which_panel_is_on():
    black, lit = look(picture=png(dot=False)), look(picture=png())
    client = ScriptedClient(black, lit, facts=two_panels(INNER))
    phone = phone_on(client, screenshots=True)
    phone.info()
    client.facts = two_panels(OUTER)

    seen = phone.observe()

    assert f"-d {OUTER}" in client.commands[-1]
    assert ScreenMark.BLANK not in seen.marks


def test_01_panels_are_asked_for_again_where_the_named_one_gives_no_picture():
    client = ScriptedClient(
        look(picture=b"Failed to take a screenshot"), look(), facts=two_panels()
    )
    phone = phone_on(client, screenshots=True)
    phone.info()
    client.facts = two_panels(OUTER)

    phone.observe()

    assert f"-d {INNER}" in client.commands[0]
    assert f"-d {OUTER}" in client.commands[1]


def test_01_panels_are_asked_for_again_where_the_phone_was_folded():
    inner = "  Display: mDisplayId=0\n    init=1600x1400 420dpi cur=1600x1400\n" + FOCUS
    outer = inner.replace("1600x1400", "720x1600")
    looks = [look(state=inner, picture=png(1600, 1400)), look(state=outer, picture=png(720, 1600))]
    client = ScriptedClient(*looks, facts=two_panels())
    phone = phone_on(client, screenshots=True)
    phone.info()
    phone.observe()
    client.facts = two_panels(OUTER)

    folded = phone.observe()
    phone.observe()

    assert (folded.width_px, folded.height_px) == (720, 1600)
    assert f"-d {OUTER}" in client.commands[-1]


def test_01_other_panel_is_tried_where_the_phone_names_none():
    black, lit = look(picture=png(dot=False)), look(picture=png())
    client = ScriptedClient(black, lit, facts=FACTS + PANELS)
    phone = phone_on(client, screenshots=True)
    phone.info()

    phone.observe()

    panels = [word for line in client.commands for word in line.split() if word in {INNER, OUTER}]
    assert panels == [INNER, OUTER]


@pytest.mark.parametrize("picture", [b"", b"\x89PNG\r\n\x1a\n", png()[:-5], b"error: no display"])
def test_02_picture_that_is_none_is_a_fault_and_no_observation(picture):
    phone = phone_on(ScriptedClient(look(picture=picture)), screenshots=True)

    with pytest.raises(PhoneFaultError):
        phone.observe()


def test_03_touches_take_the_displays_number_and_pictures_its_panels_id():
    client = ScriptedClient(facts=FACTS + PANELS + VIEWPORT.format(INNER).replace("Id=0", "Id=2"))
    phone = phone_on(client, screenshots=True, display=2)
    phone.info()
    phone.observe()

    phone.act(tap(0.5, 0.5))

    assert f"screencap -p -d {INNER}" in client.commands[0]
    assert client.commands[-1] == "input -d 2 tap 360 800"
    assert phone.info().extra["displays"] == f"2={INNER}"


def test_04_picture_that_went_through_a_terminal_is_refused_and_never_repaired():
    mangled = png().replace(b"\n", b"\r\n")

    with pytest.raises(PhoneFaultError, match="no PNG"):
        read_screenshot(mangled)


def test_04_line_feeds_inside_a_modern_picture_are_left_alone():
    picture = png(width=10, height=13)  # the height's last byte is a carriage return

    assert read_screenshot(picture).png == picture


SECURE = FOCUS + (
    "  Window #3 Window{1a2b3c u10 org.app/.Main}:\n"
    "    mAttrs={(0,0)(fillxfill) sim={adjust=resize} ty=BASE_APPLICATION wanim=0x10302f8\n"
    "      fl=LAYOUT_IN_SCREEN SECURE HARDWARE_ACCELERATED\n      pfl=NO_MOVE_ANIMATION}\n"
)


@pytest.mark.parametrize("flags", ["LAYOUT_IN_SCREEN SECURE HARDWARE_ACCELERATED", "#81812100"])
def test_05_black_picture_of_a_secure_window_is_marked_and_the_tree_is_kept(flags):
    state = SECURE.replace("LAYOUT_IN_SCREEN SECURE HARDWARE_ACCELERATED", flags)
    client = ScriptedClient(look(state=state, picture=png(dot=False)))

    seen = phone_on(client, screenshots=True).observe()

    assert seen.marks == (ScreenMark.SECURE, ScreenMark.BLANK)
    assert seen.elements


def test_05_secure_window_behind_the_focused_one_marks_nothing():
    state = SECURE.replace("Window #3 Window{1a2b3c", "Window #3 Window{fffff")

    assert phone_on(ScriptedClient(look(state=state))).observe().marks == ()


def test_05_black_picture_without_a_secure_window_is_marked_too():
    client = ScriptedClient(look(picture=png(dot=False)))

    assert phone_on(client, screenshots=True).observe().marks == (ScreenMark.BLANK,)


def test_06_picture_stays_the_phones_own_png_bytes():
    picture = png(720, 1600)
    phone = phone_on(ScriptedClient(look(picture=picture), image=picture), screenshots=True)

    phone.observe()

    assert phone.frame.png == phone.screenshot() == picture


def test_07_picture_comes_as_a_stream_and_the_dump_lies_where_the_shell_may_write():
    client = ScriptedClient(image=png())
    phone = phone_on(client, screenshots=True)

    phone.observe()
    phone.screenshot()

    first, second = client.commands
    assert "screencap -p 2>" in first
    assert second == "screencap -p"
    assert first.startswith("rm -f /data/local/tmp/")


NOT_IDLE = look(b"", said="ERROR: could not get idle state.")


def test_17_screen_that_never_rests_is_a_typed_fault_and_no_empty_screen():
    client = ScriptedClient(NOT_IDLE)

    with pytest.raises(TreeUnavailableError) as fault:
        phone_on(client).observe()

    assert fault.value.reason == "not_idle"
    assert len(client.commands) == 2


def test_17_screen_that_never_rests_is_read_from_its_picture_where_somebody_can():
    found = Element("text", (1, 2, 3, 4), text="Play")
    client = ScriptedClient(NOT_IDLE, image=png(720, 1600))
    client.answers["dumpsys window"] = said(FOCUS)
    reader = Reader(found)

    seen = phone_on(client, reader=reader).observe()

    assert seen.elements == (found,)
    assert seen.marks == (ScreenMark.NO_TREE,)
    assert seen.package == "org.app"
    known = {"package": "org.app", "touched": None, "keyboard_shown": False}
    assert reader.asked == [(png(720, 1600), known)]


def test_17_what_is_read_from_a_larger_picture_lies_where_touches_go():
    found = Element("text", (100, 200, 300, 400), text="Play")
    client = ScriptedClient(look(), NOT_IDLE, image=png(1440, 3200))
    client.answers["dumpsys window"] = said(FOCUS)
    reader = Reader(found)
    phone = phone_on(client, reader=reader)
    phone.observe()
    phone.act(tap(0.5, 0.25))

    (element,) = phone.observe().elements

    assert element.bounds == (50, 100, 150, 200)
    assert reader.asked[0][1]["touched"] == (720, 800)


def test_18_null_root_is_a_typed_fault():
    client = ScriptedClient(look(b"", said="ERROR: null root node returned by UiTestAutomation"))

    with pytest.raises(TreeUnavailableError) as fault:
        phone_on(client).observe()

    assert fault.value.reason == "null_root"


def test_18_dump_that_was_there_before_is_never_read():
    client = ScriptedClient(look(screen("stale"), said="ERROR: null root node returned"))
    phone = phone_on(client)

    with pytest.raises(TreeUnavailableError):
        phone.observe()

    names = {command.split()[2] for command in client.commands}
    assert len(names) == 3
    assert all(command.startswith("rm -f ") for command in client.commands)


def test_19_dumper_that_crashes_now_and_then_is_run_again_a_few_times():
    crashed = look(b"", said="", code=1)

    assert phone_on(ScriptedClient(crashed, crashed, look())).observe().elements
    with pytest.raises(TreeUnavailableError, match="no word"):
        phone_on(ScriptedClient(crashed)).observe()


@pytest.mark.parametrize(("words", "code"), [("Killed", 137), ("", 137), ("Killed", 0)])
def test_20_killed_dumper_is_run_again_then_a_typed_fault(words, code):
    client = ScriptedClient(look(b"", said=words, code=code))

    with pytest.raises(TreeUnavailableError) as fault:
        phone_on(client).observe()

    assert fault.value.reason == "killed"
    assert len(client.commands) == 3


@pytest.mark.parametrize(
    "dump",
    [
        screen("ok") + b"\nKilled\n",
        screen("o\x01k".replace("\x01", "&#1;")),
        screen("ok").replace(b"ok", b"&#xd83d;&#xde00;"),
        screen("ok").replace(b"ok", b"&#xd83c;"),
        screen("ok").replace(b"ok", b"\xed\xa0\xbd"),
    ],
)
def test_21_junk_after_the_tree_and_impossible_characters_do_no_harm(dump):
    (element,) = phone_on(ScriptedClient(look(dump))).observe().elements

    element.text.encode()


def test_21_tree_without_its_end_is_refused():
    with pytest.raises(TreeUnavailableError) as fault:
        phone_on(ScriptedClient(look(screen()[:-12]))).observe()

    assert fault.value.reason == "damaged"


def test_22_other_program_that_holds_the_tree_is_named_and_not_asked_again():
    words = "java.lang.IllegalStateException: UiAutomationService already registered!"
    client = ScriptedClient(look(b"", said=words, code=1))

    with pytest.raises(TreeUnavailableError, match="another program") as fault:
        phone_on(client).observe()

    assert fault.value.reason == "busy"
    assert len(client.commands) == 1


def test_23_tree_and_windows_of_different_moments_are_looked_at_again():
    turned = look(screen(rotation=1), state=FOCUS + "  mRotation=ROTATION_0\n")
    client = ScriptedClient(turned, look(screen(rotation=1), state=FOCUS + "  mRotation=1\n"))

    assert phone_on(client).observe().rotation == 1
    assert len(client.commands) == 2


def test_23_windows_are_believed_where_the_tree_never_agrees():
    turned = look(screen(rotation=0), state=LANDSCAPE)
    client = ScriptedClient(turned)

    seen = phone_on(client).observe()

    assert (seen.rotation, seen.width_px, seen.height_px) == (1, 1600, 720)
    assert len(client.commands) == 3


def test_23_picture_belongs_to_a_tree_that_was_the_same_before_and_after_it():
    looks = [look(screen(text), picture=png(72, 160 + 0)) for text in ("a", "b", "b", "b")]
    client = ScriptedClient(*looks)
    phone = phone_on(client, screenshots=True, settle_s=5.0)
    phone.forget()

    phone.observe()

    kinds = ["screencap" in command for command in client.commands]
    assert kinds == [True, False, True, False]
    assert phone.frame is not None


def test_24_inverted_and_empty_bounds_are_no_elements():
    nodes = (
        Node("android.widget.Button", (0, 500, 100, 400), text="clipped", clickable=True),
        Node("android.widget.Button", (100, 0, 0, 100), text="mirrored", clickable=True),
        Node("android.widget.Button", (0, 0, 0, 0), text="nowhere", clickable=True),
        Node("android.widget.Button", (0, 0, 100, 100), text="there", clickable=True),
    )

    seen = phone_on(ScriptedClient(look(to_xml(nodes)))).observe()

    assert [element.text for element in seen.elements] == ["there"]


def test_26_empty_tree_of_a_screen_that_shows_something_is_a_fault():
    client = ScriptedClient(look(EMPTY_DUMP), image=png())

    with pytest.raises(TreeUnavailableError) as fault:
        phone_on(client).observe()

    assert fault.value.reason == "empty"


def test_26_empty_tree_of_a_screen_that_shows_nothing_is_an_empty_screen_and_says_so():
    client = ScriptedClient(look(EMPTY_DUMP), image=png(dot=False))

    seen = phone_on(client).observe()

    assert seen.elements == ()
    assert seen.marks == (ScreenMark.BLANK,)


def test_26_empty_tree_is_read_from_the_picture_where_somebody_can():
    found = Element("text", (0, 0, 9, 9), text="Play")
    client = ScriptedClient(look(EMPTY_DUMP), image=png(720, 1600))

    seen = phone_on(client, reader=Reader(found)).observe()

    assert (seen.elements, seen.marks) == ((found,), (ScreenMark.NO_TREE,))


def test_27_touches_use_the_override_size_also_where_the_picture_is_the_panels():
    client = ScriptedClient(look(picture=png(1080, 2400)))
    phone = phone_on(client, screenshots=True)

    seen = phone.observe()
    phone.act(tap(0.5, 0.5))

    assert (seen.width_px, seen.height_px) == (720, 1600)
    assert client.acted == ["input tap 360 800"]


def test_27_override_that_the_windows_name_is_the_size():
    state = "  Display: mDisplayId=0\n    init=1080x2400 420dpi base=720x1600 280dpi cur=720x1600\n"

    seen = phone_on(ScriptedClient(look(state=state + FOCUS))).observe()

    assert (seen.width_px, seen.height_px) == (720, 1600)


def test_27_size_is_asked_again_where_the_picture_has_another_shape():
    client = ScriptedClient(look(picture=png(1600, 1200)))
    phone = phone_on(client, screenshots=True)
    phone.info()
    client.facts = FACTS.replace("720x1600", "1600x1200")

    seen = phone.observe()

    assert (seen.width_px, seen.height_px) == (1600, 1200)


def test_27_picture_that_never_fits_the_screen_is_a_fault():
    with pytest.raises(PhoneFaultError, match="picture of 500x500"):
        phone_on(ScriptedClient(look(picture=png(500, 500))), screenshots=True).observe()


LANDSCAPE = (
    "  Display: mDisplayId=0\n    init=720x1600 280dpi cur=1600x720 app=1600x660\n"
    "  mRotation=ROTATION_90\n" + FOCUS
)


def test_28_rotation_is_read_with_every_look_and_touches_are_upright():
    client = ScriptedClient(look(), look(screen(rotation=1), state=LANDSCAPE))
    phone = phone_on(client)

    first, second = phone.observe(), phone.observe()
    phone.act(tap(1.0, 0.5))

    assert (first.rotation, first.width_px) == (0, 720)
    assert (second.rotation, second.width_px, second.height_px) == (1, 1600, 720)
    assert client.acted == ["input tap 1599 360"]


def test_28_picture_of_the_natural_position_is_turned_upright():
    natural = Image.new("RGB", (72, 160))
    natural.putpixel((71, 0), (255, 0, 0))  # upright: the left upper corner
    data = io.BytesIO()
    natural.save(data, "PNG")
    client = ScriptedClient(look(screen(rotation=1), state=LANDSCAPE, picture=data.getvalue()))
    phone = phone_on(client, screenshots=True)

    phone.observe()

    with Image.open(io.BytesIO(phone.frame.png)) as upright:
        assert upright.size == (160, 72)
        assert upright.getpixel((0, 0)) == (255, 0, 0)


def test_29_size_of_the_picture_changes_no_touch():
    touches = []
    for size in ((72, 160), (720, 1600), (1080, 2400)):
        client = ScriptedClient(look(picture=png(*size)))
        phone = phone_on(client, screenshots=True)
        phone.act(tap_element(phone.observe(), 0))
        touches += client.acted

    assert set(touches) == {"input tap 5 5"}


def test_30_screen_is_the_whole_display_with_its_bars():
    client = ScriptedClient(look(state=LANDSCAPE.replace("1600x720 app", "720x1600 app").replace(
        "ROTATION_90", "ROTATION_0")))  # fmt: skip
    phone = phone_on(client)

    seen = phone.observe()
    phone.act(tap(0.0, 1.0))

    assert (seen.width_px, seen.height_px) == (720, 1600)
    assert client.acted == ["input tap 0 1599"]


FRONT = {
    "null, then a name": "  mCurrentFocus=null\n" + FOCUS,
    "null and a focused app": "mCurrentFocus=null\n"
    "mFocusedApp=ActivityRecord{1 u0 org.app/.Main t3}\n",
    "another user": "mCurrentFocus=Window{1 u150 org.app/org.app.Main}\n",
    "no user": "mCurrentFocus=Window{1 org.app/org.app.Main}\n",
    "a resumed activity": "mCurrentFocus=null\n topResumedActivity=ActivityRecord{1 u0 org.app/.Main t1}\n",  # noqa: E501
    "a pop-up of the app": "mCurrentFocus=Window{1 u0 PopupWindow:5f3a}\n"
    "mFocusedApp=ActivityRecord{1 u0 org.app/.Main t3}\n",
    "another display first": "  Display: mDisplayId=2 (organized)\n"
    "  mCurrentFocus=Window{9 u0 org.other/.Main}\n  Display: mDisplayId=0 (organized)\n" + FOCUS,
}


@pytest.mark.parametrize("state", FRONT.values(), ids=FRONT)
def test_31_foreground_is_found_however_the_phone_says_it(state):
    seen = phone_on(ScriptedClient(look(state=state))).observe()

    assert (seen.package, seen.activity) == ("org.app", "org.app.Main")


@pytest.mark.parametrize(
    "name", ["topResumedActivity=", "  mResumedActivity: ", " ResumedActivity: "]
)
def test_31_activity_manager_is_asked_where_no_window_names_an_app(name):
    client = ScriptedClient(look(state="  mCurrentFocus=null\n  mFocusedApp=null\n"))
    client.answers["dumpsys activity"] = said(
        "Display #1 (activities):\n topResumedActivity=ActivityRecord{2 u0 org.other/.B t2}\n"
        f"Display #0 (activities):\n{name}ActivityRecord{{1 u10 org.app/.Main t1}}\n"
    )

    assert phone_on(client).observe().package == "org.app"


def test_31_foreground_may_stay_unknown():
    client = ScriptedClient(look(state="  mCurrentFocus=null\n"))

    seen = phone_on(client).observe()

    assert (seen.package, seen.activity) == ("", "")


DIALOGS = {
    ScreenMark.NOT_RESPONDING: "Application Not Responding: org.app",
    ScreenMark.CRASH: "Application Error: org.app",
    ScreenMark.PERMISSION: "com.google.android.permissioncontroller/"
    "com.android.permissioncontroller.permission.ui.GrantPermissionsActivity",
}


@pytest.mark.parametrize(("mark", "window"), DIALOGS.items(), ids=[*DIALOGS])
def test_32_dialogs_of_the_system_are_events_of_the_observation_after_the_act(mark, window):
    dialog = look(state=f"  mCurrentFocus=Window{{77 u0 {window}}}\n")
    client = ScriptedClient(look(), dialog)
    phone = phone_on(client)
    phone.observe()

    assert phone.act(tap(0.5, 0.5)).valid
    assert phone.observe().marks == (mark,)


def test_33_pop_up_notifications_are_off_while_a_quiet_phone_is_played_on_and_back_on_after():
    client = ScriptedClient()
    client.answers["getprop sys.boot"] = said(AWAKE)
    client.answers["settings get global window"] = said("1.0\n1.0\nnull\n1\n0\n")
    phone = phone_on(client, quiet=True)

    phone.reset(GOAL)
    phone.reset(GOAL)
    phone.close()

    puts = [command for command in client.commands if "heads_up" in command and "put" in command]
    assert "put global heads_up_notifications_enabled 0" in puts[0]
    assert "put global heads_up_notifications_enabled 1" in puts[1]
    assert "delete global animator_duration_scale" in puts[1]
    assert len(puts) == 2


def test_34_back_is_one_key_and_whether_the_keyboard_is_up_is_seen():
    shown = look(state=FOCUS + "  mShowRequested=true mInputShown=true\n")
    client = ScriptedClient(shown)
    phone = phone_on(client)

    seen = phone.observe()
    phone.act(press(Key.BACK))

    assert seen.keyboard_shown
    assert client.acted == ["input keyevent 4"]


def test_34_driver_presses_no_back_of_its_own():
    client = ScriptedClient()
    client.answers["getprop sys.boot"] = said(AWAKE)
    phone = phone_on(client)

    phone.reset(GOAL)
    phone.act(tap_element(phone.observe(), 0, ActionKind.LONG_PRESS))
    phone.close()

    assert not [command for command in client.acted if "keyevent 4" in command]


LOCKED = "1\n mDreamingLockscreen=true\n mWakefulness=Asleep\n"
GUARDED = "1\n  KeyguardServiceDelegate\n    showing=true\n    showingAndNotOccluded=true\n mWakefulness=Awake\n"  # noqa: E501


def test_35_sleeping_phone_is_woken_and_its_lock_screen_dismissed():
    client = ScriptedClient()
    states = iter([LOCKED, AWAKE])
    client.answers["getprop sys.boot"] = lambda _: said(next(states))

    phone_on(client).reset(GOAL)

    assert client.acted == ["input keyevent 224; wm dismiss-keyguard", "input keyevent 3"]


@pytest.mark.parametrize("state", [LOCKED.replace("Asleep", "Awake"), GUARDED])
def test_35_lock_screen_with_a_pin_is_refused_with_advice_and_nothing_is_typed(state):
    client = ScriptedClient()
    client.answers["getprop sys.boot"] = said(state)

    with pytest.raises(PhoneLockedError, match="PIN"):
        phone_on(client).reset(GOAL)

    assert not [command for command in client.acted if "text" in command or " tap " in command]


def test_35_phone_that_fell_asleep_is_woken_before_it_is_looked_at_again():
    asleep = look(state=FOCUS + "  mWakefulness=Dozing\n")
    client = ScriptedClient(asleep, look())

    assert phone_on(client).observe().elements
    assert client.acted == ["input keyevent 224"]


def test_35_lock_screen_is_an_event_of_the_observation():
    locked = look(state=FOCUS + "  mDreamingLockscreen=true mDreamingSleepToken=null\n")

    assert phone_on(ScriptedClient(locked)).observe().marks == (ScreenMark.KEYGUARD,)


DENIED = (
    "java.lang.SecurityException: Injecting input events requires the INJECT_EVENTS permission."
)


@pytest.mark.parametrize("code", [0, 255])
def test_36_phone_that_forbids_touches_is_told_apart_with_advice(code):
    client = ScriptedClient()
    client.answers["input"] = said(error=DENIED, code=code)
    phone = phone_on(client)
    phone.observe()

    with pytest.raises(InputDeniedError, match="Security settings"):
        phone.act(tap(0.5, 0.5))

    assert len(client.acted) == 1


def test_36_phone_that_forbids_keys_is_found_at_the_reset():
    client = ScriptedClient()
    client.answers["getprop sys.boot"] = said(AWAKE)
    client.answers["input keyevent 3"] = said(error=DENIED)

    with pytest.raises(InputDeniedError):
        phone_on(client).reset(GOAL)


def test_37_language_is_part_of_what_a_phone_is():
    german = ScriptedClient(facts=FACTS.replace("en-US\n\n", "\nde-DE\n"))

    assert phone_on(ScriptedClient()).info().extra["locale"] == "en-US"
    assert phone_on(german).info().extra["locale"] == "de-DE"


def test_what_a_phone_is_costs_one_command_once():
    client = ScriptedClient()
    phone = phone_on(client)

    first = phone.info()

    assert phone.info() == first
    assert client.facts_asked == 1
    assert client.commands == []
