"""What the doctor reads from a phone's answers: each thing that can be wrong, and its mending."""

import dataclasses
import struct
import zlib

import pytest

from device_runtime import phone_questions as asked
from device_runtime.phone_questions import Answer
from device_runtime.recording import Recording
from outrider.doctor_fixes import UNDO_FILE, apply, planned, to_restore, undo
from outrider.doctor_screen import screen_findings
from outrider.doctor_state import state_findings
from outrider.errors import CommandError
from outrider.findings import Level
from outrider.round_trips import round_trip

NOW_S = 1_800_000_000
DUMPED = b"UI hierchary dumped to: FILE\n"


def png(*greys):
    """A picture of 200 x 400 pixels whose rows are of these greys in turn."""

    def chunk(kind, data):
        crc = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc)

    head = struct.pack(">IIBBBBB", 200, 400, 8, 0, 0, 0, 0)
    rows = b"".join(b"\0" + bytes([greys[row % len(greys)]] * 200) for row in range(400))
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


TREE = (
    b"<?xml version='1.0' encoding='UTF-8' standalone='yes' ?><hierarchy rotation=\"0\">"
    b'<node index="0" text="Home" class="android.widget.TextView" package="p" '
    b'bounds="[0,0][100,100]" /></hierarchy>'
)
WELL = {
    asked.DATE: f"{NOW_S}\n",
    asked.PROPERTIES: "[sys.boot_completed]: [1]\n[init.svc.bootanim]: [stopped]\n"
    "[ro.build.version.release]: [14]\n[ro.build.version.sdk]: [34]\n"
    "[ro.product.model]: [Pixel 8]\n[persist.sys.locale]: [en-GB]\n",
    asked.SIZE: "Physical size: 1080x2400\n",
    asked.SETTINGS["global"]: "animator_duration_scale=0\ntransition_animation_scale=0.0\n"
    "window_animation_scale=0\nlow_power=0\nstay_on_while_plugged_in=7\nzen_mode=1\n",
    asked.SETTINGS["secure"]: "default_input_method=com.keys/.Keys\n",
    asked.SETTINGS["system"]: "accelerometer_rotation=0\nscreen_off_timeout=60000\n",
    asked.POWER: "  mWakefulness=Awake\nDisplay Power: state=ON\n",
    asked.BATTERY: "  AC powered: false\n  USB powered: true\n  level: 15\n  temperature: 310\n",
    asked.HEAT: "IsStatusOverride: false\nThermal Status: 0\n",
    asked.WINDOWS: "  mCurrentFocus=Window{1 u0 com.a/com.a.Main}\n  mDreamingLockscreen=false\n"
    "  KeyguardServiceDelegate\n    showing=false\n    secure=true\n",
    asked.ACTIVITIES: "  KeyguardController:\n    mKeyguardShowing=false\n",
    asked.DISPLAYS: "mViewports=[DisplayViewport{type=INTERNAL, valid=true, isActive=true, d=0}]",
    asked.PHYSICAL_DISPLAYS: 'Display 4619827259835644672 (HWC display 0): port=0 name=""\n',
    asked.ACCESSIBILITY: "User state[ Ui Automation[]\n",
    asked.KEYBOARDS: "com.keys/com.keys.Keys\n",
    asked.STORAGE: "Filesystem 1K-blocks Used Available Use% Mounted on\n"
    "/dev/block/dm-5 113000000 90000000 23000000 80% /data/user/0\n",
    "am get-current-user": "0\n",
    asked.KEY: "",
}


def answers(**changes):
    """A phone that is well, but for `changes`: constants of `phone_questions` to answers."""
    said = {command: Answer(text.encode()) for command, text in WELL.items()}
    said[asked.TREE] = Answer(DUMPED, file=TREE, elapsed_ms=900.0)
    said[asked.SCREENSHOT] = Answer(png(90, 20), elapsed_ms=400.0)
    for name, answer in changes.items():
        command = asked.SETTINGS.get(name.lower()) or getattr(asked, name)
        said[command] = Answer(answer.encode()) if isinstance(answer, str) else answer
    return said


def findings(**changes):
    said = answers(**changes)
    found = [*screen_findings(said), *state_findings(Recording(NOW_S * 1000, said))]
    return {one.check: one for one in found}


def test_a_phone_that_is_well_has_nothing_to_mend():
    assert not [one for one in findings().values() if not one.ok]


FAULTS = [
    ("POWER", "mWakefulness=Asleep\nDisplay Power: state=OFF", "screen", "off or dozing", "--fix"),
    ("POWER", "mWakefulness=Dozing\n", "screen", "off or dozing", "wake"),
    ("WINDOWS", "mDreamingLockscreen=true\n", "lock screen", "shown", "unlock"),
    (
        "WINDOWS",
        "KeyguardServiceDelegate\n  showing=true\n  secure=true",
        "lock screen",
        "PIN",
        "None",
    ),
    ("ACTIVITIES", "KeyguardController:\n  mKeyguardShowing=true", "lock screen", "shown", "None"),
    (
        "KEY",
        Answer(b"", b"SecurityException: requires INJECT_EVENTS permission\n", 255),
        "touch",
        "INJECT_EVENTS",
        "Security settings",
    ),
    ("KEY", Answer(b"", b"Error", 1), "touch", "refused", "restart"),
    ("TREE", Answer(b"ERROR: could not get idle state.\n"), "tree", "never rests", "animation"),
    ("TREE", Answer(b"", b"ERROR: null root node returned", 0), "tree", "no window", "unlock"),
    ("TREE", Answer(b"Killed\n", b"", 137), "tree", "killed", "memory"),
    ("TREE", Answer(b"", b"UiAutomationService already registered!", 1), "tree", "holds", "Appium"),
    ("TREE", Answer(b"", b"", 1), "tree", "no dump", "again"),
    ("TREE", Answer(DUMPED, file=TREE[:-20]), "tree", "damaged", "again"),
    ("TREE", Answer(DUMPED, file=b"<hierarchy rotation='0'></hierarchy>"), "tree", "empty", "tree"),
    ("SCREENSHOT", Answer(png(9, 99)[:-8]), "screenshot", "cut off", "cable"),
    ("SCREENSHOT", Answer(b"no"), "screenshot", "no PNG", "cable"),
    ("PROPERTIES", "[sys.boot_completed]: []\n", "boot", "not finished", "wait"),
    ("STORAGE", "F 1K U A\n/d 100 99 1000 99% /data\n", "storage", "0.0 GiB", "delete"),
    ("SECURE", "default_input_method=\n", "keyboard", "none", "choose"),
    ("SECURE", "default_input_method=gone/.Keys\n", "keyboard", "not enabled", "another"),
    (
        "SECURE",
        "default_input_method=com.keys/.Keys\ntouch_exploration_enabled=1\n",
        "screen reader",
        "on",
        "TalkBack",
    ),
]
ADVICE = [
    ("SCREENSHOT", Answer(png(0)), "screenshot", "of one colour", "forbids"),
    (
        "SCREENSHOT",
        Answer(b"[Warning] Multiple displays\n" + png(9, 99)),
        "screenshot",
        "text",
        "harmless",
    ),
    ("WINDOWS", "mCurrentFocus=null\n", "front window", "no window", "open"),
    (
        "WINDOWS",
        "mCurrentFocus=Window{1 u0 Application Not Responding: com.a}\n",
        "front window",
        "Not Responding",
        "close",
    ),
    (
        "WINDOWS",
        "mCurrentFocus=Window{1 u0 com.x.permissioncontroller/com.x.GrantPermissionsActivity}\n",
        "front window",
        "permission",
        "answer",
    ),
    ("PHYSICAL_DISPLAYS", "Display 1 (HWC)\nDisplay 2 (HWC)\n", "displays", "2", "foldable"),
    ("SIZE", "Physical size: 1080x2400\nOverride size: 720x1600\n", "size", "720x1600", "reset"),
    (
        "PROPERTIES",
        WELL[asked.PROPERTIES].replace("[34]", "[23]"),
        "android",
        "API 23",
        "Android 7",
    ),
    ("DATE", f"{NOW_S + 300}\n", "clock", "300 s ahead", "automatic"),
    ("DATE", f"{NOW_S - 9000}\n", "clock", "behind", "automatic"),
    ("BATTERY", "  AC powered: false\n  level: 12\n", "battery", "12%", "power"),
    ("BATTERY", "  AC powered: true\n  level: 90\n  temperature: 470\n", "heat", "47.0", "cool"),
    ("HEAT", "Thermal Status: 4\n", "heat", "status 4", "cool"),
    ("STORAGE", "F 1K U A\n/d 100 99 200000 99% /data\n", "storage", "0.2 GiB", "delete"),
    ("GLOBAL", "low_power=1\n", "battery saver", "on", "--fix"),
    ("GLOBAL", "animator_duration_scale=1.0\nzen_mode=1\n", "animations", "3 of 3", "--fix"),
    ("GLOBAL", "stay_on_while_plugged_in=0\n", "stays awake", "60 s", "--fix"),
    ("GLOBAL", "zen_mode=0\n", "do not disturb", "off", "--fix"),
    ("SYSTEM", "accelerometer_rotation=1\n", "rotation", "turns", "--fix"),
]


@pytest.mark.parametrize(
    ("level", "name", "answer", "check", "found", "hint"),
    [(Level.FAULT, *row) for row in FAULTS] + [(Level.ADVICE, *row) for row in ADVICE],
)
def test_what_is_wrong_is_named_with_what_to_do(  # noqa: PLR0917 - one row of the tables above
    level, name, answer, check, found, hint
):
    one = findings(**{name: answer})[check]
    assert not one.ok
    assert one.level is level
    assert found in one.found
    assert hint in one.hint


def test_a_dump_that_failed_without_a_word_blames_another_client_that_is_there():
    one = findings(TREE=Answer(b"", b"", 1), ACCESSIBILITY="Ui Automation[eventTypes=ALL]")["tree"]
    assert "Appium" in one.hint


def test_a_black_screen_that_is_off_is_no_secure_window():
    found = findings(SCREENSHOT=Answer(png(0)), POWER="mWakefulness=Asleep\n")
    assert found["screenshot"].ok


def test_a_phone_that_says_nothing_raises_nothing():
    found = [*screen_findings({}), *state_findings(Recording(0, {}))]
    assert {one.check for one in found if not one.ok} == {"tree", "boot"}


@pytest.mark.parametrize("garbage", [b"", b"\xff\xfe\0", b"null\n", b"=====\n", b"Killed\n" * 50])
def test_nonsense_raises_nothing(garbage):
    said = dict.fromkeys(asked.QUESTIONS, Answer(garbage, garbage, 1, 0.0, garbage))
    assert screen_findings(said)
    assert state_findings(Recording(0, said))


MOVING = answers(
    GLOBAL="animator_duration_scale=1.0\nwindow_animation_scale=0.5\nlow_power=1\nzen_mode=0\n",
    SYSTEM="accelerometer_rotation=1\nscreen_off_timeout=30000\n",
    POWER="mWakefulness=Asleep\n",
)


class FakeShell:
    """A phone's settings and its one file behind its shell."""

    serial = "s"

    def __init__(self, settings, refuses=""):
        self.settings, self.refuses = dict(settings), refuses
        self.file, self.lines = None, []

    def shell(self, command):
        self.lines.append(command)
        if self.refuses and self.refuses in command:
            return result(b"", b"refused", 1)
        for part in command.split(" && "):
            self._run(part.split(" "), part)
        if command.startswith("cat"):
            return result(self.file or b"", b"", 0 if self.file is not None else 1)
        return result()

    def _run(self, words, line):
        match words:
            case ["echo", *_]:
                noted = line.removeprefix("echo '").partition("'")[0]
                self.file = (self.file or b"") + noted.encode() + b"\n"
            case ["settings", "put", _, name, value]:
                self.settings[name] = value
            case ["settings", "delete", _, name]:
                self.settings.pop(name, None)
            case ["cmd", "notification", "set_dnd", value]:
                self.settings["dnd"] = value
            case ["rm", *_]:
                self.file = None


@dataclasses.dataclass
class Result:
    stdout: bytes = b""
    stderr: bytes = b""
    exit_code: int = 0


def result(stdout=b"", stderr=b"", exit_code=0):
    return Result(stdout, stderr, exit_code)


def changes_for(said):
    found = [*screen_findings(said), *state_findings(Recording(NOW_S * 1000, said))]
    return planned(found, said)


def test_nothing_is_planned_for_a_phone_that_is_well():
    assert not changes_for(answers())


def test_what_is_fixed_is_taken_back_to_the_very_values():
    before = {
        "animator_duration_scale": "1.0",
        "window_animation_scale": "0.5",
        "low_power": "1",
        "accelerometer_rotation": "1",
        "dnd": "off",
    }
    phone = FakeShell(before)

    done = apply(phone, changes_for(MOVING))

    assert not [why for _, why in done if why]
    assert "input keyevent 224" in phone.lines
    assert phone.settings == {
        "animator_duration_scale": "0",
        "window_animation_scale": "0",
        "transition_animation_scale": "0",
        "low_power": "0",
        "accelerometer_rotation": "0",
        "stay_on_while_plugged_in": "7",
        "dnd": "priority",
    }
    restored = undo(phone)
    assert len(restored) == 7
    assert phone.settings == before
    assert phone.file is None
    assert undo(phone) == []


def test_two_fixes_in_a_row_remember_what_was_there_first():
    phone = FakeShell({})
    apply(phone, changes_for(answers(GLOBAL="low_power=1\nanimator_duration_scale=0.5\n")))
    apply(phone, changes_for(answers(GLOBAL="low_power=1\nanimator_duration_scale=2\n")))
    undo(phone)
    assert phone.settings["animator_duration_scale"] == "0.5"


def test_what_was_there_is_noted_before_it_is_changed():
    phone = FakeShell({})
    apply(phone, changes_for(answers(GLOBAL="low_power=1\nzen_mode=1\n")))
    note, command = next(line for line in phone.lines if "low_power" in line).split(" && ")
    assert note == f"echo 'global low_power 1' >> {UNDO_FILE}"
    assert command == "settings put global low_power 0"


def test_a_change_that_the_phone_refuses_is_told():
    phone = FakeShell({}, refuses="set_dnd")
    done = apply(phone, changes_for(MOVING))
    assert [why for change, why in done if change.check == "do not disturb"] == ["refused"]


def test_an_undo_that_the_phone_refuses_keeps_its_notes():
    phone = FakeShell({"low_power": "1"})
    apply(phone, changes_for(answers(GLOBAL="low_power=1\nzen_mode=1\n")))
    phone.refuses = "settings put"
    with pytest.raises(CommandError, match="did not take"):
        undo(phone)
    assert phone.file is not None


@pytest.mark.parametrize(
    "line",
    [
        b"global adb_enabled 0",
        b"global low_power $(reboot)",
        b"global low_power 0 ; reboot",
        b"secure low_power 0",
        b"",
        b"\xff\xff",
    ],
)
def test_notes_that_no_fix_wrote_are_not_obeyed(line):
    phone = FakeShell({})
    phone.file = line + b"\n"
    assert to_restore(phone) == []


@pytest.mark.parametrize(
    ("times", "p50", "p95"),
    [([3.0], 3.0, 3.0), ([1.0, 9.0, 2.0], 2.0, 9.0), (list(range(1, 101)), 50.5, 95)],
)
def test_round_trips_are_told_by_median_and_95_of_100(times, p50, p95):
    told = round_trip("tap", times)
    assert (told.n, told.p50_ms, told.p95_ms) == (len(times), p50, p95)
