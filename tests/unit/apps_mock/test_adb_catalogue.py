"""The commands that other people's programs send, and the part of each answer that they parse."""

from __future__ import annotations

import re
import struct

import pytest

from apps_mock.adb_profile import PhoneProfile
from tests.shell_bench import ShellBench

SETTINGS = "org.outrider.clones.settings"
FRONT = r"org\.outrider\.clones\.\w+/"

ANSWERS = {
    "getprop ro.product.model": r"\S.*\n",
    "getprop ro.build.version.sdk": r"34\n",
    "getprop ro.secure; getprop ro.debuggable": r"1\n0\n",
    "getprop qemu.sf.lcd_density": r"\n",
    "getprop sys.boot_completed": r"1\n",
    "wm size": r"Physical size: \d+x\d+\n",
    "wm density": r"Physical density: \d+\n",
    "dumpsys display": r"(?s).*orientation=\d.*deviceWidth=\d+, deviceHeight=\d+.*",
    "dumpsys input": r"(?s).*SurfaceOrientation: \d.*",
    "dumpsys window windows": r"(?s).*mCurrentFocus=Window\{\w+ u0 " + FRONT + ".*",
    "dumpsys window | grep mCurrentFocus | awk -F '/' '{print $1}' | awk '{print $NF}'": (
        r"org\.outrider\.clones\.launcher\n"
    ),
    "dumpsys activity activities": r"(?s).*ResumedActivity: ActivityRecord\{\w+ u0 .*",
    "dumpsys activity top": r"(?s).*ACTIVITY \S+/\S+ \w+ pid=\d+\n",
    "am stack list": r"(?s).*taskId=\d+: .*visible=true topActivity=ComponentInfo\{.*",
    "dumpsys power": r"(?s).*mHoldingDisplaySuspendBlocker=true.*",
    "dumpsys battery": r"(?s).*level: \d+\n.*",
    f"dumpsys package {SETTINGS}": r"(?s).*versionCode=\d+.*versionName=.*",
    "dumpsys SurfaceFlinger --display-id": r"Display \d+ \(HWC display 0\).*\n",
    "input tap 100 200; input touchscreen swipe 9 900 9 300 300; input draganddrop 1 2 3 4 500": "",
    "input motionevent DOWN 9 9; input motionevent MOVE 9 99; input motionevent UP 9 99": "",
    "input -d 0 tap 9 9; input keyevent --longpress 26; input keyevent KEYCODE_HOME": "",
    "input text hello%sworld": "",
    "am broadcast -a ADB_INPUT_TEXT --es msg hi": r"(?s).*Broadcast completed: result=0.*",
    "ime list -s -a": r"\S+/\S+\n(?s:.*)",
    "settings get secure default_input_method": r"\S+/\S+\n",
    "settings get secure never_set": r"null\n",
    "screencap -p /sdcard/s.png && ls /sdcard/s.png && rm /sdcard/s.png": r"/sdcard/s\.png\n",
    "screencap -p | head -c 4 | tail -c 3": "PNG",
    "uiautomator dump /sdcard/ui.xml": r"UI hierchary dumped to: /sdcard/ui\.xml\n",
    "uiautomator dump /sdcard/u >/dev/null 2>&1 && cat /sdcard/u": r"(?s)<\?xml.*</hierarchy>\s*",
    "am start -W -S -n com.android.settings/.Settings": (
        r"(?s)Starting: Intent \{.*Status: ok\n.*Activity: .*TotalTime: \d+\n.*"
    ),
    "am start -a android.intent.action.MAIN -c android.intent.category.HOME": r"Starting: .*\n",
    "am start -a android.intent.action.VIEW -d https://example.com": r"Starting: .*\n",
    f"am force-stop {SETTINGS}": "",
    "monkey -p com.android.settings -c android.intent.category.LAUNCHER 1": (
        r"(?s)Events injected: 1\n.*"
    ),
    "cmd package resolve-activity --brief com.android.settings": (
        r"[^\n]*\ncom\.android\.settings/\.Settings\n"
    ),
    "pm list packages": r"(?s)(package:[\w.]+\n)*package:com\.android\.settings\n.*",
    "pm list packages -3 -f": r"(package:/\S+=[\w.]+\n)+",
    "pm path com.android.settings": r"package:/\S+\.apk\n",
    f"pm clear {SETTINGS}": r"Success\n",
    f"pm grant {SETTINGS} android.permission.CAMERA": "",
    "settings put system screen_brightness 120; settings get system screen_brightness": r"\d+\n",
    "content query --uri content://settings/secure --where \"name='android_id'\"": (
        r"Row: 0 _id=\d+, name=android_id, value=\w+\n"
    ),
    "content query --uri content://contacts/phones/": r"(Row: \d+ .*display_name=.*number=.*\n)+",
    "content query --uri content://sms/inbox": r"(Row: \d+ .*address=.*body=.*\n)+",
    "content query --uri content://call_log/calls": r"No result found\.\n",
    "toybox md5sum /sdcard/none || true": "",
    "ps -A": r"(?s)USER .*system_server.*",
    "top -b -n 1 -m 3": r"(?s).*PID USER .*\n(.*\n){3}",
    "logcat -d": r"-+ beginning of main\n",
    "svc wifi enable; svc power stayon true": "",
    "pidof system_server": r"\d+\n",
    "id; whoami": r"uid=2000\(shell\).*\nshell\n",
}
"""Command and what it must answer, with exit code 0: research of eleven clients and two servers."""

ABSENT = {
    "getevent -lt": 127,
    "screenrecord /sdcard/a.mp4": 127,
    "sqlite3 /data/data/a.db .tables": 127,
    "emu sms send 1 hi": 127,
    "su -c id": 127,
    "uiautomator events": 2,
    "monkey -p com.android.settings -v 500": 2,
    "content call --uri content://settings/secure --method GET_secure": 2,
    "content query --uri content://com.mobilerun.portal/state_full": 1,
    "content query --uri content://media/external/file": 1,
    "cmd notification post tag text": 20,
    "top": 2,
}
"""What a mock phone does not have: each ends with this code (docs/phones.md says why)."""


@pytest.fixture
def bench():
    return ShellBench()


@pytest.mark.parametrize("line", ANSWERS)
def test_a_client_finds_in_the_answer_what_it_parses(bench, line):
    code, out, _ = bench.run(line)

    assert code == 0
    assert re.fullmatch(ANSWERS[line], out), out[-2000:]


@pytest.mark.parametrize("line", ABSENT)
def test_what_a_mock_phone_has_not_is_loud(bench, line):
    code, out, error = bench.run(line)

    assert code == ABSENT[line]
    assert out == ""
    assert error


# --- settings as rows -------------------------------------------------------------------------


def test_settings_are_the_same_through_both_commands(bench):
    uri = "content://settings/system"

    bench.out(f"content insert --uri {uri} --bind name:s:pointer_location --bind value:i:1")
    assert bench.out("settings get system pointer_location") == "1\n"
    bench.out(f"content update --uri {uri} --bind value:i:2 --where \"name='pointer_location'\"")
    assert bench.out(f"content query --uri {uri}/pointer_location --projection value") == (
        "Row: 0 value=2\n"
    )
    bench.out(f"content delete --uri {uri} --where 'name=\"pointer_location\"'")
    assert bench.out("settings get system pointer_location") == "null\n"


def test_a_row_of_settings_changes_the_clone(bench):
    bench.out(
        "content insert --uri content://settings/global --bind name:s:wifi_on --bind value:i:0"
    )

    assert "Wifi is disabled" in bench.out("cmd wifi status")


def test_rows_come_in_the_order_that_is_asked_for(bench):
    query = "content query --uri content://sms --projection date"

    newest = bench.out(f"{query} --sort 'date DESC LIMIT 2'")
    dates = [int(date) for date in re.findall(r"date=(\d+)", bench.out(query))]

    assert [int(date) for date in re.findall(r"date=(\d+)", newest)] == sorted(dates)[-1:-3:-1]
    assert bench.run(f"{query} --sort 'date; drop table'")[0] == 2
    assert bench.run(f"{query} --sort nothing")[0] == 1


# --- Android's own name of the settings -------------------------------------------------------


def test_the_settings_open_under_androids_own_name_and_end_under_it(bench):
    bench.out("monkey -p com.android.settings 1")
    assert bench.phone.foreground()[0] == SETTINGS

    bench.out("am force-stop com.android.settings")

    assert bench.phone.foreground()[0] != SETTINGS


# --- pictures without a format ----------------------------------------------------------------


@pytest.mark.parametrize(("api", "head"), [(23, "<3I"), (34, "<4I")])
def test_a_raw_picture_has_a_head_and_every_pixel(api, head):
    bench = ShellBench(PhoneProfile(api=api))

    code, raw, _ = bench.raw("screencap")

    width, height, form, *colours = struct.unpack_from(head, raw)
    assert (code, form, colours) == (0, 1, [1] * (api == 34))
    assert (width, height) == bench.device.displays.size
    assert len(raw) == struct.calcsize(head) + width * height * 4
