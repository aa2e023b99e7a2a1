"""Android's commands on a clone: what they print, and what they do to the clone's own state."""

from __future__ import annotations

import asyncio
import io
import json
import re
import zipfile
from base64 import b64decode, b64encode

import pytest

from apps_mock.adb_faults import FaultKind
from apps_mock.adb_profile import Delays, DisplayProfile, Latency, PhoneProfile
from apps_mock.android_facts import settings_of
from apps_mock.effects import clipboard_of, copied
from apps_mock.phone_state import Overlay, is_locked
from device_runtime.ui_tree import parse
from tests.shell_bench import ShellBench

SETTINGS = "org.outrider.clones.settings"
CONTACTS = "org.outrider.clones.contacts"
LAUNCHER = "org.outrider.clones.launcher"
ADB_KEYBOARD = "com.android.adbkeyboard/.AdbIME"


@pytest.fixture
def bench():
    return ShellBench()


def apk(package="com.example.app", manifest=None):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        text = manifest or f'<manifest package="{package}"/>'
        archive.writestr("AndroidManifest.xml", text)
    return data.getvalue()


# --- settings ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "key", "off", "on"),
    [
        ("svc wifi {}able", ("global", "wifi_on"), "dis", "en"),
        ("svc bluetooth {}able", ("global", "bluetooth_on"), "dis", "en"),
        ("cmd connectivity airplane-mode {}able", ("global", "airplane_mode_on"), "dis", "en"),
        ("settings put global low_power {}", ("global", "low_power"), "0", "1"),
    ],
)
def test_switches_of_the_phone_are_the_clones_own(bench, command, key, off, on):
    for word, value in ((on, "1"), (off, "0"), (on, "1")):
        bench.out(command.format(word))

        assert settings_of(bench.phone.state)[key] == value
        assert bench.out(f"settings get {key[0]} {key[1]}") == f"{value}\n"


def test_night_mode_and_brightness_are_put_into_the_clone(bench):
    assert bench.out("cmd uimode night yes") == "Night mode: yes\n"
    bench.out("settings put system screen_brightness 255")

    held = settings_of(bench.phone.state)
    assert held["secure", "ui_night_mode"] == "2"
    assert held["system", "screen_brightness"] == "255"


def test_what_harnesses_put_changes_nothing_of_the_clone(bench):
    before = bench.phone.state

    bench.out("settings put system accelerometer_rotation 0; settings put global no_such_thing 7")

    assert bench.phone.state is before
    assert bench.out("settings get global no_such_thing") == "7\n"
    assert bench.out("settings delete global no_such_thing") == "Deleted 1 rows\n"
    assert bench.out("settings get global no_such_thing") == "null\n"


# --- content ----------------------------------------------------------------------------------


def test_contact_is_inserted_queried_and_deleted(bench):
    uri = "content://com.android.contacts/contacts"

    bench.out(f"content insert --uri {uri} --bind display_name:s:'Ada L' --bind number:s:5551234")

    row = bench.out(
        f"content query --uri {uri} --projection data1 --where \"display_name='Ada L'\""
    )
    assert row == "Row: 0 data1=5551234\n"
    bench.out(f"content delete --uri {uri} --where \"display_name='Ada L'\"")
    assert "No result found." in bench.out(
        f"content query --uri {uri} --where \"display_name='Ada L'\""
    )


def test_received_message_and_event_reach_the_clones_apps(bench):
    bench.out("content insert --uri content://sms/inbox --bind address:s:555 --bind body:s:hello")
    bench.out(
        "content insert --uri content://com.android.calendar/events --bind title:s:Lunch "
        "--bind dtstart:l:1735732800000 --bind dtend:l:1735736400000"
    )

    assert "body=hello" in bench.out("content query --uri content://sms/inbox")
    shown = bench.out("content query --uri content://com.android.calendar/events")
    assert "title=Lunch, dtstart=1735732800000, dtend=1735736400000" in shown
    before = bench.out("content query --uri content://sms | wc -l")
    bench.out("content delete --uri content://sms/inbox --where \"body='hello'\"")
    assert int(before) - int(bench.out("content query --uri content://sms | wc -l")) == 1


@pytest.mark.parametrize(
    "line",
    [
        "content query --uri content://nobody/has/this",
        "content insert --uri content://sms --bind body:s:x",
        "content insert --uri content://sms --bind wrong",
        "content query --uri content://sms --where 'body like x'",
        "content query --uri content://sms --where \"no_column='x'\"",
        "content fly",
    ],
)
def test_content_that_cannot_be_is_an_error(bench, line):
    before = bench.phone.state

    assert bench.run(line)[0] in {1, 2}
    assert bench.phone.state is before


# --- apps -------------------------------------------------------------------------------------


def test_apps_are_started_stopped_and_listed_as_tasks(bench):
    said = bench.out(f"am start -W -n {SETTINGS}/.HomeActivity")

    assert "Status: ok" in said
    assert f"Activity: {SETTINGS}/.HomeActivity" in said
    assert bench.phone.foreground()[0] == SETTINGS
    assert re.search(
        rf"taskId=1: {SETTINGS}/\.HomeActivity .*visible=true", bench.out("am stack list")
    )
    assert bench.out(f"pidof {SETTINGS}").strip().isdigit()
    bench.out(f"am force-stop {SETTINGS}")
    assert bench.phone.foreground()[0] == LAUNCHER


@pytest.mark.parametrize(
    ("line", "package"),
    [
        ("am start -a android.intent.action.MAIN -c android.intent.category.HOME", LAUNCHER),
        ("am start -a android.settings.WIFI_SETTINGS", SETTINGS),
        ("am start -a android.intent.action.VIEW -d https://example.org", "browser"),
        ("am start -a android.intent.action.DIAL -d tel:123", CONTACTS),
        (f"monkey -p {CONTACTS} -c android.intent.category.LAUNCHER 1", CONTACTS),
    ],
)
def test_intents_bring_the_app_that_takes_them_to_the_front(bench, line, package):
    assert bench.run(line)[0] == 0
    assert bench.phone.foreground()[0].endswith(package)


@pytest.mark.parametrize(
    ("line", "code", "text"),
    [
        ("am start -n no.app/.Main", 1, "Error: Activity class {no.app/.Main} does not exist."),
        ("am start -a some.action", 1, "Error: Activity not started, unable to resolve Intent"),
        ("am start -n", 255, "Argument expected after '-n'"),
        ("monkey -p no.app 1", 252, "No activities found to run, monkey aborted."),
        ("am start-foreground-service -n no.app/.S", 0, "Error: Not found; no service started."),
    ],
)
def test_what_cannot_be_started_says_so(bench, line, code, text):
    ended, out, error = bench.run(line)

    assert ended == code
    assert text in out + error


def test_resolving_an_app_gives_its_component_in_the_second_line(bench):
    lines = bench.out(f"cmd package resolve-activity --brief {SETTINGS}").splitlines()

    assert lines[1] == f"{SETTINGS}/.HomeActivity"


# --- packages ---------------------------------------------------------------------------------


def test_streamed_apk_is_installed_listed_and_removed(bench):
    data = apk()

    assert bench.out(f"cmd package install -r -S {len(data)}", data) == "Success\n"

    assert bench.out("pm list packages -3 com.example") == "package:com.example.app\n"
    path = bench.out("pm path com.example.app").strip().removeprefix("package:")
    assert bench.out("pm list packages -f com.example") == f"package:{path}=com.example.app\n"
    assert "versionName=1.0" in bench.out("dumpsys package com.example.app")
    assert bench.out("pm uninstall com.example.app") == "Success\n"
    assert bench.out("pm list packages com.example") == ""
    assert bench.run("pm path com.example.app")[0] == 1


def test_pushed_apk_is_installed_from_its_file(bench):
    bench.behind.files.write("/data/local/tmp/a.apk", apk())

    assert bench.out("pm install -r -t /data/local/tmp/a.apk") == "Success\n"
    assert "com.example.app" in bench.out("pm list packages")


def test_session_takes_several_apks_of_one_app(bench):
    data = apk()
    (number,) = re.findall(r"\[(\d+)\]", bench.out(f"pm install-create -S {len(data)}"))

    assert "streamed" in bench.out(f"pm install-write -S {len(data)} {number} base.apk -", data)
    assert bench.out(f"pm install-commit {number}") == "Success\n"
    assert "com.example.app" in bench.out("pm list packages")
    assert bench.run(f"pm install-commit {number}")[0] == 255


@pytest.mark.parametrize(
    ("data", "size", "text"),
    [
        (b"no apk", 6, "INSTALL_PARSE_FAILED_NOT_APK"),
        (b"PK\x03\x04 cut off", 12, "INSTALL_PARSE_FAILED_NOT_APK"),
        (apk(), 10**6, "INSTALL_FAILED_INVALID_APK"),
        (apk(), 10**11, "INSTALL_FAILED_INSUFFICIENT_STORAGE"),
        (apk(SETTINGS), None, "INSTALL_FAILED_UPDATE_INCOMPATIBLE"),
    ],
)
def test_apk_that_cannot_be_is_refused(bench, data, size, text):
    code, out, _ = bench.run(f"cmd package install -S {len(data) if size is None else size}", data)

    assert code == 1
    assert f"Failure [{text}" in out


def test_apps_of_the_phone_itself_are_not_removed(bench):
    before = bench.phone.state

    code, out, _ = bench.run(f"pm uninstall {SETTINGS}")

    assert (code, out) == (1, "Failure [DELETE_FAILED_INTERNAL_ERROR]\n")
    assert bench.run("pm uninstall no.app")[1].startswith("Failure [not installed")
    assert bench.phone.state is before


def test_app_of_the_clones_store_is_removed_from_the_clone(bench):
    third = bench.out("pm list packages -3").split()
    sold = next(each for each in third if bench.run(f"pm uninstall {each[8:]}")[1] == "Success\n")

    assert sold not in bench.out("pm list packages").split()


def test_permissions_are_granted_to_apps_that_are_there(bench):
    assert bench.out(f"pm grant {CONTACTS} android.permission.CAMERA") == ""
    assert bench.run("pm grant no.app android.permission.CAMERA")[0] == 255
    assert bench.run(f"pm grant {CONTACTS} '; rm'")[0] == 255


# --- keyboards and text -----------------------------------------------------------------------


def test_chosen_keyboard_types_what_broadcasts_say(bench):
    bench.focus_a_field()
    said = bench.out(f"ime enable {ADB_KEYBOARD}; ime set {ADB_KEYBOARD}")
    assert f"Input method {ADB_KEYBOARD} selected" in said
    encoded = b64encode("grüße 😀".encode()).decode()

    bench.out("am broadcast -a ADB_INPUT_TEXT --es msg 'it is '")
    bench.out(f"am broadcast -a ADB_INPUT_B64 --es msg {encoded}")

    assert bench.field_text() == "it is grüße 😀"
    assert bench.out("settings get secure default_input_method") == f"{ADB_KEYBOARD}\n"
    bench.out("am broadcast -a ADB_CLEAR_TEXT")
    assert "it is" not in bench.field_text()


def test_broadcast_types_nothing_while_another_keyboard_is_chosen(bench):
    bench.focus_a_field()

    said = bench.out("am broadcast -a ADB_INPUT_TEXT --es msg hidden")

    assert "Broadcast completed: result=0" in said
    assert "hidden" not in bench.field_text()


def test_keyboard_that_is_not_there_cannot_be_chosen(bench):
    bench.faults.inject(FaultKind.IME_MISSING, times=None)

    assert ADB_KEYBOARD not in bench.out("ime list -s -a")
    code, out, _ = bench.run(f"ime enable {ADB_KEYBOARD}")
    assert (code, "Unknown input method" in out) == (255, True)
    assert bench.run("ime set no.such/.Keyboard")[0] == 255


def test_paste_key_types_the_clipboard(bench):
    bench.focus_a_field()
    bench.device.change(lambda state: copied(state, "zwölf"))

    bench.out("input keyevent PASTE")

    assert clipboard_of(bench.phone.state) == bench.field_text() == "zwölf"


# --- display ----------------------------------------------------------------------------------


def test_turned_phone_says_so_everywhere_and_takes_touches_where_things_show(bench):
    width, height = bench.device.displays.size

    bench.out("settings put system user_rotation 1")

    assert bench.out("wm size") == f"Physical size: {width}x{height}\n"
    assert "SurfaceOrientation: 1" in bench.out("dumpsys input")
    assert "orientation=1" in bench.out("dumpsys display")
    assert f"cur={height}x{width}" in bench.out("dumpsys window")
    tree = parse(bench.raw("uiautomator dump /dev/tty")[1])
    assert tree.rotation == 1
    assert tree.roots[0].bounds == (0, 0, height, width)
    labels = {"Contacts", "Settings", "Calendar", "Notes", "Clock", "Files", "Messages"}
    app = next(each for each in bench.phone.observe().elements if each.label in labels)
    bench.tap(app.bounds)
    assert bench.phone.foreground()[0].endswith(app.label.lower())
    bench.out("settings put system user_rotation 0")
    assert bench.phone.info().width_px == width


def test_override_of_the_size_is_where_touches_are(bench):
    physical = bench.out("wm size")

    bench.out("wm size 640x1136")

    assert bench.out("wm size") == f"{physical}Override size: 640x1136\n"
    assert bench.phone.info().width_px == 640
    bench.out("wm size reset")
    assert bench.out("wm size") == physical


def test_override_profile_has_a_larger_panel():
    bench = ShellBench(PhoneProfile(display=DisplayProfile.OVERRIDE))
    info = bench.phone.info()

    assert bench.out("wm size").splitlines()[1] == (
        f"Override size: {info.width_px}x{info.height_px}"
    )
    assert "base=" in bench.out("dumpsys window")


def test_phone_with_two_displays_warns_and_shows_on_one():
    bench = ShellBench(PhoneProfile(display=DisplayProfile.TWO))
    listed = re.findall(
        r"^Display (\d+) \(HWC", bench.out("dumpsys SurfaceFlinger --display-id"), re.MULTILINE
    )

    unchosen, outer, inner = (
        bench.raw(f"screencap -p{choice}")[1]
        for choice in ("", *(f" -d {each}" for each in listed))
    )

    assert unchosen.endswith(outer)
    assert unchosen.startswith(b"[Warning] Multiple displays were found")
    assert outer.startswith(b"\x89PNG")
    assert len(inner) < len(outer)
    assert bench.run("screencap -p -d 77")[0] == 1


def test_sleeping_phone_is_black_deaf_and_locked_until_it_is_woken(bench):
    bench.out("input keyevent SLEEP")

    assert "mWakefulness=Asleep" in bench.out("dumpsys power")
    assert "null root node" in bench.run("uiautomator dump")[2]
    assert len(bench.raw("screencap -p")[1]) < 20_000
    bench.out("input tap 300 300; input keyevent WAKEUP")
    assert is_locked(bench.phone.state)
    assert "mDreamingLockscreen=true" in bench.out("dumpsys window")
    bench.out("wm dismiss-keyguard")
    assert not is_locked(bench.phone.state)
    assert "mWakefulness=Awake" in bench.out("dumpsys power")


@pytest.mark.parametrize(
    ("kind", "title"),
    [("hung", "Application Not Responding"), ("crash", "Application Error")],
)
def test_dialogs_of_the_system_have_their_titles_in_the_focus(bench, kind, title):
    bench.phone.show(Overlay(kind, "settings"))

    focus = bench.out("dumpsys window windows | grep mCurrentFocus")

    assert f"u0 {title}: {SETTINGS}}}" in focus


def test_density_that_was_put_is_shown_until_it_is_reset(bench):
    physical = bench.out("wm density")

    assert bench.out("wm density 320; wm density") == f"{physical}Override density: 320\n"
    assert bench.out("wm density reset; wm density") == physical
    assert bench.run("wm density 5")[0] == 255


# --- properties and the rest ------------------------------------------------------------------


@pytest.mark.parametrize("api", [23, 29, 34])
def test_profile_says_its_android_version(api):
    bench = ShellBench(PhoneProfile(api=api))

    assert bench.out("getprop ro.build.version.sdk") == f"{api}\n"
    assert bench.out("getprop | grep -c ro.build.version.sdk") == "1\n"


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("dumpsys battery", "level: 100"),
        ("dumpsys telephony.registry", "mCallState=0"),
        ("dumpsys activity top", f"ACTIVITY {LAUNCHER}/"),
        ("dumpsys activity recents", "Recent #0"),
        ("dumpsys wifi", "Wi-Fi is "),
        ("ps -A", LAUNCHER),
        ("logcat -d", "beginning of main"),
        ("df -h /data", "/data"),
        ("ip route", "wlan0"),
        ("cmd clipboard help || true", "No shell command implementation."),
        ("pm list users", "UserInfo{0"),
        ("am get-current-user", "0"),
    ],
)
def test_facts_are_printed_as_clients_read_them(bench, line, text):
    assert text in bench.out(line)


# --- the uiautomator server -------------------------------------------------------------------


class Stream:
    """One HTTP request in, its answer out."""

    def __init__(self, data):
        self.pieces = [data[start : start + 7] for start in range(0, len(data), 7)]
        self.written = b""

    async def read(self):
        return self.pieces.pop(0) if self.pieces else b""

    async def write(self, data):
        self.written += data


def ask(bench, method, *params):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    head = f"POST /jsonrpc/0 HTTP/1.1\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    stream = Stream(head.encode() + body)
    bench.device.listening.add(9008)
    asyncio.run(bench.behind.port_service(9008)(stream))
    return json.loads(stream.written.partition(b"\r\n\r\n")[2])


def test_server_answers_only_while_its_program_runs(bench):
    assert bench.behind.port_service(9008) is None
    bench.device.listening.add(9008)
    stream = Stream(b"GET /ping HTTP/1.1\r\n\r\n")

    asyncio.run(bench.behind.port_service(9008)(stream))

    assert stream.written.endswith(b"\r\n\r\npong")


def test_server_reads_and_touches_the_clone(bench):
    node = ask(bench, "objInfo", {"text": "Contacts"})["result"]
    bounds = node["bounds"]

    ask(bench, "click", bounds["left"] + 5, bounds["top"] + 5)

    assert bench.phone.foreground()[0] == CONTACTS
    assert ask(bench, "deviceInfo")["result"]["currentPackageName"] == CONTACTS
    assert ask(bench, "dumpWindowHierarchy", False, 50)["result"].startswith("<?xml")
    assert b64decode(ask(bench, "takeScreenshot", 1, 80)["result"]).startswith(b"\x89PNG")
    ask(bench, "pressKey", "home")
    assert bench.phone.foreground()[0] == LAUNCHER


def test_server_says_what_it_does_not_find_or_know(bench):
    assert "UiObjectNotFound" in ask(bench, "objInfo", {"text": "Nothing here"})["error"]["message"]
    assert ask(bench, "exist", {"text": "Nothing here"})["result"] is False
    assert ask(bench, "waitForExists", {"textContains": "ontact"}, 10)["result"] is True
    assert ask(bench, "fly")["error"]["code"] == -32601
    assert ask(bench, "click", "a")["error"]["code"] == -32602


# --- latency ----------------------------------------------------------------------------------


def test_kinds_of_phones_take_their_time_with_seeded_jitter():
    def taken(latency, command, seed=1):
        delays = Delays(latency, seed=seed)
        return [delays.next_s(command) for _ in range(20)]

    assert taken(Latency.INSTANT, "input") == [0.0] * 20
    assert all(0.15 <= each <= 0.3 for each in taken(Latency.PHONE, "input"))
    assert all(1.0 <= each <= 3.0 for each in taken(Latency.PHONE, "uiautomator"))
    assert taken(Latency.PHONE, "input") == taken(Latency.PHONE, "input")
    assert taken(Latency.PHONE, "input") != taken(Latency.PHONE, "input", seed=2)
    assert max(taken(Latency.EMULATOR, "input")) < min(taken(Latency.PHONE, "input"))
    assert taken(Latency.PHONE, "echo") == [0.0] * 20


def test_profile_of_an_android_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match="API level 30"):
        PhoneProfile(api=30)
