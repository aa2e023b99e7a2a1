"""Each fault of the mock phone's wire does what it is called, once, and is on record."""

from __future__ import annotations

import asyncio
import re

import pytest

from apps_mock.adb_behind import CloneBehind
from apps_mock.adb_builtins import ShellExit
from apps_mock.adb_device import MockDevice
from apps_mock.adb_faults import FaultKind, WireFaults
from apps_mock.adb_server import MockAdbDaemon
from apps_mock.adb_shell import Shell
from apps_mock.phone import MockPhone
from device_runtime.errors import HierarchyError
from device_runtime.ui_tree import parse
from tests.adb_peer import Peer

DUMP = "uiautomator dump /sdcard/d.xml && cat /sdcard/d.xml"
IEND = b"IEND\xaeB`\x82"


class Bench:
    """A clone's shell in process, with faults."""

    def __init__(self):
        self.phone = MockPhone()
        self.phone.load("contacts_search", 1)
        self.faults = WireFaults(seed=7)
        self.behind = CloneBehind(MockDevice(self.phone, faults=self.faults))

    def run(self, line):
        written = {1: bytearray(), 2: bytearray()}

        async def write(descriptor, data):
            written[descriptor] += data

        async def read():
            return b""

        async def whole():
            shell = Shell(
                self.behind.commands, self.behind.files, write_output=write, read_chunk=read
            )
            try:
                return await shell.run(line)
            except ShellExit as end:
                return end.code

        return asyncio.run(whole()), bytes(written[1]), bytes(written[2])

    def struck(self):
        return [each.kind for each in self.faults.injected]


@pytest.fixture
def bench():
    return Bench()


@pytest.mark.parametrize(
    ("kind", "code", "text"),
    [
        (FaultKind.NO_IDLE, 0, b"ERROR: could not get idle state."),
        (FaultKind.NULL_ROOT, 0, b"ERROR: null root node returned by UiTestAutomationBridge."),
        (FaultKind.DUMP_KILLED, 137, b"Killed"),
    ],
)
def test_dump_is_refused_once_and_writes_no_file(bench, kind, code, text):
    bench.faults.inject(kind)

    ended, out, error = bench.run("uiautomator dump /sdcard/d.xml")

    assert (ended, text in error, out) == (code, True, b"")
    assert bench.run("ls /sdcard/d.xml")[0] == 1
    assert bench.run(DUMP)[0] == 0
    assert bench.struck() == [kind]


def test_stale_dump_is_the_screen_of_before_under_the_new_name(bench):
    before = bench.run(DUMP)[1]
    bench.run("am start -n org.outrider.clones.contacts/.HomeActivity")
    bench.faults.inject(FaultKind.STALE_FILE)

    assert bench.run(DUMP)[1] == before
    assert bench.run(DUMP)[1] != before


@pytest.mark.parametrize("kind", [FaultKind.BAD_XML, FaultKind.CUT_XML, FaultKind.EMPTY_TREE])
def test_damaged_dump_is_no_ordinary_screen(bench, kind):
    sound = parse(bench.run(DUMP)[1].partition(b"\n")[2])
    bench.faults.inject(kind)

    code, out, _ = bench.run(DUMP)

    assert code == 0
    try:
        damaged = parse(out.partition(b"\n")[2])
    except HierarchyError:
        assert kind is FaultKind.CUT_XML
    else:
        assert damaged.notes or damaged.roots != sound.roots
    assert parse(bench.run(DUMP)[1].partition(b"\n")[2]).roots == sound.roots


def test_truncated_picture_lacks_its_end(bench):
    whole = bench.run("screencap -p")[1]
    bench.faults.inject(FaultKind.TRUNCATED_PNG)
    bench.faults.inject(FaultKind.TRUNCATED_PNG, amount=100)

    first, second = bench.run("screencap -p")[1], bench.run("screencap -p")[1]

    assert whole.endswith(IEND)
    assert whole.startswith(first)
    assert IEND not in first
    assert second == whole[:100]


def test_secure_window_is_black_and_says_so(bench):
    bench.faults.inject(FaultKind.SECURE, times=None)

    black = bench.run("screencap -p")[1]
    windows = bench.run("dumpsys window")[1]

    assert black.endswith(IEND)
    assert len(black) < 20_000
    assert re.search(rb"fl=[A-Z_ ]* SECURE", windows)
    bench.faults.clear()
    assert b"SECURE" not in bench.run("dumpsys window")[1]


def test_warning_stands_before_the_picture_on_standard_output(bench):
    whole = bench.run("screencap -p")[1]
    bench.faults.inject(FaultKind.WARNING_PREFIX)

    out = bench.run("screencap -p")[1]

    assert out.endswith(whole)
    assert out.startswith(b"[Warning] Multiple displays")


def test_no_window_has_the_focus(bench):
    bench.faults.inject(FaultKind.NO_FOCUS)

    assert b"mCurrentFocus=null" in bench.run("dumpsys window windows")[1]
    assert b"mCurrentFocus=Window{" in bench.run("dumpsys window windows")[1]


@pytest.mark.parametrize(
    ("kind", "overlay"),
    [
        (FaultKind.ANR, "hung"),
        (FaultKind.CRASH, "crash"),
        (FaultKind.PERMISSION, "permission"),
        (FaultKind.POP_UP, "popup"),
        (FaultKind.HEADS_UP, "popup"),
        (FaultKind.KEYGUARD, "lock"),
        (FaultKind.SCREEN_OFF, "lock"),
    ],
)
def test_window_comes_before_the_next_look_or_touch(bench, kind, overlay):
    bench.faults.inject(kind)
    bench.run("getprop ro.serialno; wm size")
    assert bench.phone.state.overlay is None

    bench.run("input tap 90 340")

    assert bench.phone.state.overlay.kind == overlay
    assert bench.struck() == [kind]


def test_heads_up_notification_is_in_the_shade_too(bench):
    bench.faults.inject(FaultKind.HEADS_UP)
    bench.run("screencap -p")

    assert b"android.title=String (New message)" in bench.run("dumpsys notification")[1]


def test_denied_injection_says_so_and_does_nothing(bench):
    bench.faults.inject(FaultKind.INJECT_DENIED, times=None)
    before = bench.phone.state

    code, _, error = bench.run("input tap 90 340")

    assert (code, b"INJECT_EVENTS" in error) == (255, True)
    assert bench.phone.state is before


def test_lost_tap_is_silent(bench):
    bench.faults.inject(FaultKind.LOST_TAP)
    before = bench.phone.state

    assert bench.run("input tap 90 340") == (0, b"", b"")
    assert bench.phone.state is before
    assert bench.struck() == [FaultKind.LOST_TAP]


@pytest.mark.parametrize(
    ("kind", "amount", "arrives"),
    [
        (FaultKind.LOST_TEXT, 3, {"abc"}),
        (FaultKind.LOST_TEXT, None, {"abc"}),
        (FaultKind.SWAPPED_TEXT, None, {"bacdef", "acbdef", "abdcef", "abcedf", "abcdfe"}),
    ],
)
def test_spoilt_text_arrives_in_part_or_out_of_order(bench, monkeypatch, kind, amount, arrives):
    typed = []
    monkeypatch.setattr(bench.phone, "type_text", typed.append)
    bench.faults.inject(kind, amount=amount)

    assert bench.run("input text abcdef")[0] == 0

    assert typed[0] in arrives


# --- the link ---------------------------------------------------------------------------------


@pytest.fixture
def daemon():
    phone = MockPhone()
    phone.load("contacts_search", 1)
    daemon = MockAdbDaemon(phone, faults=WireFaults(seed=3))
    daemon.start()
    yield daemon
    daemon.stop()


@pytest.fixture
def peer(daemon):
    with Peer(daemon.port) as peer:
        peer.greet()
        yield peer


def received(peer, service):
    """What comes of a service until its link ends."""
    _, remote, local, *_ = peer.open(service)
    data = b""
    try:
        while True:
            command, _, _, more, _ = peer.receive()
            assert command == b"WRTE"
            data += more
            peer.send(b"OKAY", local, remote)
    except (EOFError, ConnectionError):
        return data


def test_link_is_cut_at_the_byte_that_was_named(peer, daemon):
    daemon.faults.inject(FaultKind.DROP, amount=11)

    assert received(peer, b"exec:echo 0123456789abcdef") == b"0123456789a"
    assert daemon.faults.injected[0].amount == 11


def test_link_is_cut_behind_a_command_that_says_nothing(peer, daemon):
    daemon.faults.inject(FaultKind.DROP)

    assert received(peer, b"exec:true") == b""
    assert [each.kind for each in daemon.faults.injected] == [FaultKind.DROP]


def test_cut_that_an_answer_never_reaches_stays_armed(peer, daemon):
    daemon.faults.inject(FaultKind.DROP, amount=5000)

    assert peer.everything(b"exec:echo short") == [b"short\n"]
    assert daemon.faults.injected == ()
    assert len(received(peer, b"exec:seq 9999")) == 5000


def test_hanging_command_is_not_run_and_a_mute_one_is(peer, daemon):
    daemon.faults.inject(FaultKind.HANG)
    daemon.faults.inject(FaultKind.MUTE)
    peer.open(b"exec:echo a > /sdcard/hung", local_id=1)
    peer.open(b"exec:echo a > /sdcard/mute; echo b", local_id=2)

    assert peer.everything(b"exec:ls /sdcard") == [b"Download\nPictures\nmute\n"]
    kinds = [each.kind for each in daemon.faults.injected]
    assert kinds == [FaultKind.HANG, FaultKind.MUTE]


def test_phone_that_went_offline_answers_after_a_while(peer, daemon):
    daemon.faults.inject(FaultKind.OFFLINE, amount=400)
    assert received(peer, b"exec:echo a") == b""

    with Peer(daemon.port) as again:
        again.send(b"CNXN", 0x01000001, 4096, b"host::\0")
        again.socket.settimeout(0.1)
        with pytest.raises(TimeoutError):
            again.receive()
        again.socket.settimeout(5)
        assert again.receive()[0] == b"CNXN"


def test_faults_are_switched_while_the_daemon_runs(peer, daemon):
    assert peer.everything(b"exec:uiautomator dump >/dev/null; echo $?") == [b"0\n"]
    daemon.faults.inject(FaultKind.DUMP_KILLED, times=None)
    killed = b"".join(peer.everything(b"exec:uiautomator dump 2>/dev/null; echo $?"))
    daemon.faults.clear()

    assert killed == b"137\n"
    assert b"dumped to" in peer.everything(b"exec:uiautomator dump")[0]
