"""The mock phone's shell and its commands, on a phone that only records what was done to it."""

from __future__ import annotations

import asyncio

import pytest

from apps_mock.adb_builtins import ShellExit
from apps_mock.adb_commands import CloneCommands
from apps_mock.adb_device import MockDevice
from apps_mock.adb_shell import Shell
from device_runtime.ports import PhoneInfo
from device_runtime.ui_tree import Node, to_xml
from sync.clock import ManualClock

NOW_S = 1_700_000_000
PNG = b"PNG..."


class RecordingPhone:
    """A phone that remembers its inputs."""

    keyboard_shown = False

    def __init__(self):
        self.inputs = []

    def info(self):
        return PhoneInfo("fake", "Fake 1", "14", 1080, 2400)

    def touch(self, x_px, y_px, *, duration_ms=0):
        self.inputs.append(("touch", x_px, y_px, duration_ms))

    def swipe(self, x1, y1, x2, y2, *, duration_ms=300):
        self.inputs.append(("swipe", x1, y1, x2, y2, duration_ms))

    def type_text(self, text):
        self.inputs.append(("text", text))

    def press(self, keycode, *, times=1):
        self.inputs.append(("key", keycode))

    def open_app(self, name):
        return name == "org.clock"

    def tree_xml(self):
        return to_xml((Node("android.view.View", (0, 0, 1, 1), text="hello"),))

    def foreground(self):
        return "org.clock", "org.clock.Main"

    def loaded_state(self):
        return None

    def restore(self, state):
        raise AssertionError("nothing is loaded")

    def resize(self, width_px, height_px):
        raise AssertionError("nothing turns it")

    def screenshot(self):
        return PNG


class Terminal:
    """One shell over a recording phone; `type` runs a line and returns what it printed."""

    def __init__(self, typed=b""):
        self.phone = RecordingPhone()
        clock = ManualClock(NOW_S * 1000)
        device = MockDevice(self.phone, clock=clock, packages=["org.clock", "org.mail"])
        self.device = device
        self.files = device.files
        commands = CloneCommands(device).table
        self.written = []

        async def write(descriptor, data):
            self.written.append((descriptor, data))

        pieces = [typed]

        async def read():
            return pieces.pop() if pieces else b""

        self.shell = Shell(commands, self.files, write_output=write, read_chunk=read)

    def type(self, line):
        """Exit code, standard output, standard error."""
        self.written.clear()
        code = asyncio.run(self.shell.run(line))
        out = b"".join(data for descriptor, data in self.written if descriptor == 1)
        error = b"".join(data for descriptor, data in self.written if descriptor == 2)
        return code, out.decode(), error.decode()


@pytest.fixture
def terminal():
    return Terminal()


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("echo a  b", "a b\n"),
        ("echo 'a  b' \"c $HOME\" d\\ e", "a  b c / d e\n"),
        ('echo "it\'s" \'say "x"\'', 'it\'s say "x"\n'),
        ("echo one; echo two", "one\ntwo\n"),
        ("true && echo yes || echo no", "yes\n"),
        ("false && echo yes || echo no", "no\n"),
        ("false; echo $?", "1\n"),
        ("X=5; echo $X ${X}x", "5 5x\n"),
        ("X=5 echo x", "x\n"),
        ("echo a # b", "a\n"),
        ("echo a#b", "a#b\n"),
        ("echo one | cat | wc -c", "4\n"),
        ("echo a b 2>&1 | grep -c a", "1\n"),
        ("echo hidden > /dev/null; echo shown", "shown\n"),
        ("nope 2>/dev/null || echo missing", "missing\n"),
        ("nope 2>&1 | grep -o inaccessible", "inaccessible\n"),
        ("printf 'a%s\\n' b", "ab\n"),
        ("echo 'b\na' | head -n 1", "b\n"),
        ("echo 'b\na' | tail -1", "a\n"),
        ("echo 'mFocus=x' | grep -E 'mFocus|other'", "mFocus=x\n"),
        ("date +%s", f"{NOW_S}\n"),
        ("[ -d /sdcard ] && echo folder", "folder\n"),
        ("test a = b || echo differs", "differs\n"),
        ("echo a\necho b", "a\nb\n"),
        ("sleep 0 && echo rested", "rested\n"),
    ],
)
def test_line_prints_what_a_phones_shell_prints(terminal, line, printed):
    code, out, error = terminal.type(line)

    assert (code, out, error) == (0, printed, "")


@pytest.mark.parametrize(
    "line",
    [
        "echo $(id; sleep 9 &)",
        "echo `if`",
        "if true; then echo; done",
        "(echo a",
        "sleep 9 &",
        "echo {a,b}",
        "echo ~",
        "echo ${X@Q}",
        "f() { echo a; }",
        "select x in a; do echo; done",
        "echo 'open",
        'echo "open',
        "echo a |",
        "&& echo",
        "echo a >",
        "cat <<END",
        "cat <<<word",
        "echo a; ; echo b",
    ],
)
def test_what_the_shell_does_not_have_is_refused_before_anything_runs(terminal, line):
    code, out, error = terminal.type(f"input tap 1 1; {line}" if "&& echo" not in line else line)

    assert code == 2
    assert out == ""
    assert "syntax error" in error
    assert terminal.phone.inputs == []


def test_unknown_command_ends_with_127(terminal):
    code, _, error = terminal.type("nope -x")

    assert (code, error) == (127, "/system/bin/sh: nope: inaccessible or not found\n")


def test_output_and_errors_keep_program_order(terminal):
    terminal.type("echo a; nope; echo b")

    assert [descriptor for descriptor, _ in terminal.written] == [1, 2, 1]


def test_exit_ends_the_line_with_its_code(terminal):
    with pytest.raises(ShellExit) as end:
        terminal.type("echo a; exit 7; echo b")

    assert end.value.code == 7
    assert terminal.written == [(1, b"a\n")]


def test_cat_reads_what_is_typed():
    assert Terminal(b"typed").type("cat") == (0, "typed", "")


def test_files_are_written_appended_listed_and_removed(terminal):
    terminal.type("echo one > /sdcard/a.txt; echo two >> /storage/emulated/0/a.txt")

    assert terminal.type("cat /sdcard/a.txt") == (0, "one\ntwo\n", "")
    assert terminal.type("ls /sdcard/*.txt") == (0, "/sdcard/a.txt\n", "")
    assert terminal.type("rm /sdcard/a.txt && ls /sdcard") == (0, "Download\nPictures\n", "")
    code, _, error = terminal.type("cat /sdcard/a.txt")
    assert (code, error) == (1, "cat: /sdcard/a.txt: No such file or directory\n")


@pytest.mark.parametrize("path", ["/system/x", "/x", "/sdcard/no/such/x", "/sdcard"])
def test_file_outside_the_writable_folders_is_refused(terminal, path):
    code, _, error = terminal.type(f"echo a > {path}")

    assert code == 1
    assert "can't open" in error


@pytest.mark.parametrize(
    ("line", "played"),
    [
        ("input tap 10 20", [("touch", 10, 20, 0)]),
        ("input touchscreen -d 0 tap 10.6 20", [("touch", 10, 20, 0)]),
        ("input swipe 1 2 3 4", [("swipe", 1, 2, 3, 4, 300)]),
        ("input touchscreen swipe 1 2 3 4 500", [("swipe", 1, 2, 3, 4, 500)]),
        ("input swipe 5 5 5 5 900", [("touch", 5, 5, 900)]),
        ("input draganddrop 1 2 3 4", [("swipe", 1, 2, 3, 4, 1000)]),
        ("input text 'a%sb'", [("text", "a b")]),
        ("input text it\\'s", [("text", "it's")]),
        ("input keyevent 4 KEYCODE_HOME enter", [("key", 4), ("key", 3), ("key", 66)]),
        ("input keyevent --longpress 24", [("key", 24)]),
        ("input keyevent KEYCODE_A 8 62", [("text", "a"), ("text", "1"), ("text", " ")]),
        ("input tap 1 1; input keyevent SLEEP; input tap 2 2", [("touch", 1, 1, 0)]),
        ("input keyevent POWER; input keyevent WAKEUP; input tap 2 2", [("touch", 2, 2, 0)]),
        ("input motionevent DOWN 1 2; input motionevent UP 1 2", [("touch", 1, 2, 0)]),
        ("input motionevent DOWN 1 2; input motionevent UP 9 9", [("swipe", 1, 2, 9, 9, 300)]),
        ("am start -a android.intent.action.MAIN -c android.intent.category.HOME", [("key", 3)]),
    ],
)
def test_input_commands_reach_the_phone(terminal, line, played):
    code, _, error = terminal.type(line)

    assert (code, error) == (0, "")
    assert terminal.phone.inputs == played


@pytest.mark.parametrize(
    "line",
    [
        "input",
        "input tap 1",
        "input tap a b",
        "input tap 1 2 3 4",
        "input keyevent",
        "input keyevent NO_SUCH_KEY",
        "input keyevent 99999",
        "input text",
        "input tap 1e9 2",
        "input fly 1 2",
    ],
)
def test_bad_input_command_says_so_and_does_nothing(terminal, line):
    code, _, error = terminal.type(line)

    assert code == 255
    assert error.startswith("Error: ")
    assert terminal.phone.inputs == []


@pytest.mark.parametrize(
    ("line", "in_front", "inputs"),
    [
        ("cmd statusbar expand-notifications", "Main", [("swipe", 540, 1, 540, 1200, 300)]),
        ("cmd statusbar expand-settings", "Main", [("swipe", 540, 1, 540, 1200, 300)]),
        ("cmd statusbar expand-notifications", "ShadeActivity", []),
        ("cmd statusbar collapse", "ShadeActivity", [("key", 4)]),
        ("cmd statusbar collapse", "Main", []),
    ],
)
def test_the_status_bar_moves_the_shade_where_it_is_not_there_yet(
    terminal, monkeypatch, line, in_front, inputs
):
    monkeypatch.setattr(terminal.phone, "foreground", lambda: ("org.x", f"org.x.{in_front}"))

    code, _, _ = terminal.type(line)

    assert code == 0
    assert terminal.phone.inputs == inputs


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("uiautomator dump", "UI hierchary dumped to: /sdcard/window_dump.xml\n"),
        ("wm size", "Physical size: 1080x2400\n"),
        ("wm density", "Physical density: 420\n"),
        ("getprop ro.product.model", "Fake 1\n"),
        ("getprop no.such.key", "\n"),
        ("getprop no.such.key other", "other\n"),
        ("settings get global window_animation_scale", "0\n"),
        ("settings get global nothing", "null\n"),
        ("settings put system x 1; settings get system x", "1\n"),
        ("pm list packages -3", "package:org.clock\npackage:org.mail\n"),
        ("pm list packages -3 org.mail", "package:org.mail\n"),
        ("cmd package list packages org.clock", "package:org.clock\n"),
        (
            "am start -S -n org.clock/org.clock.Main",
            "Starting: Intent { cmp=org.clock/.Main }\n",
        ),
        ("monkey -p org.clock 1 | head -1", "Events injected: 1\n"),
        (
            "dumpsys window windows | grep mCurrentFocus",
            "  mCurrentFocus=Window{1c0de5e u0 org.clock/org.clock.Main}\n",
        ),
        ("dumpsys input_method | grep -o mInputShown=false", "mInputShown=false\n"),
        ("dumpsys display | grep -c orientation=0", "2\n"),
        ("dumpsys activity activities | grep -c org.clock", "3\n"),
    ],
)
def test_command_prints_what_clients_parse(terminal, line, printed):
    assert terminal.type(line) == (0, printed, "")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("am start -n org.no/.Main", 1),
        ("monkey -p org.no 1", 252),
        ("uiautomator events", 2),
        ("wm fly", 255),
        ("pm install /sdcard/none.apk", 1),
        ("am fly", 255),
    ],
)
def test_command_that_cannot_be_done_has_an_exit_code(terminal, line, expected):
    code, out, error = terminal.type(line)

    assert code == expected
    assert out + error


def test_text_beyond_ascii_breaks_the_input_command_as_on_a_phone(terminal):
    code, _, error = terminal.type("input text 'gr\u00fc\u00dfe'")

    assert code == 255
    assert "NullPointerException" in error
    assert terminal.phone.inputs == []


def test_starting_what_is_in_front_already_only_warns(terminal):
    code, _, error = terminal.type("am start -n org.clock/.Main")

    assert (code, error.startswith("Warning: Activity not started")) == (0, True)


def test_unknown_commands_are_counted(terminal):
    counted = []
    terminal.shell._missing = counted.append

    terminal.type("nope; nope; echo $(never)")

    assert counted == ["nope", "nope", "never"]


def test_dump_file_is_the_screen(terminal):
    terminal.type("uiautomator dump /data/local/tmp/x.xml")

    assert terminal.files.read("/data/local/tmp/x.xml") == terminal.phone.tree_xml()


def test_dump_to_the_terminal_comes_before_its_message(terminal):
    _, out, _ = terminal.type("uiautomator dump /dev/tty")

    dump = terminal.phone.tree_xml().decode()
    assert out == f"{dump}UI hierchary dumped to: /dev/tty\n"


def test_screenshot_goes_to_output_or_file(terminal):
    terminal.type("screencap -p")
    assert terminal.written == [(1, PNG)]

    terminal.type("screencap /sdcard/s.png")
    assert terminal.files.read("/sdcard/s.png") == PNG


def test_output_leaves_in_one_piece_unless_something_waits(terminal):
    terminal.type("echo a; echo b; sleep 0; echo c; cat; echo d")

    assert terminal.written == [(1, b"a\nb\n"), (1, b"c\n"), (1, b"d\n")]
