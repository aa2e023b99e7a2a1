"""The daemon's side of the wire: a hand-written peer, and what real programs see of the phone."""

from __future__ import annotations

import struct
import subprocess

import pytest

from apps_mock.adb_ports import Answer
from apps_mock.adb_server import MockAdbDaemon
from apps_mock.errors import DaemonError
from apps_mock.phone import MockPhone
from device_runtime.adb_server_process import AdbServerProcess, find_adb
from tests.adb_peer import VERSION, Peer


@pytest.fixture
def phone():
    phone = MockPhone()
    phone.load("contacts_search", 1)
    return phone


@pytest.fixture
def daemon(phone):
    daemon = MockAdbDaemon(phone)
    daemon.start()
    yield daemon
    daemon.stop()


@pytest.fixture
def peer(daemon):
    with Peer(daemon.port) as peer:
        yield peer


def test_banner_names_the_phone_and_what_it_can_do(peer):
    command, version, _, banner, total = peer.greet()

    assert (command, version) == (b"CNXN", VERSION)
    assert banner.startswith(b"device::ro.product.name=clone;ro.product.model=Clone 1;")
    assert b"features=shell_v2," in banner
    assert total == sum(banner)


def test_peer_of_the_old_version_gets_sums(peer):
    peer.greet(version=0x01000000)

    assert peer.open(b"shell:echo x")[0] == b"OKAY"
    _, _, _, data, total = peer.receive()

    assert (data, total) == (b"x\n", sum(b"x\n"))


def test_only_one_packet_is_on_its_way_until_it_is_acknowledged(peer):
    peer.greet(max_payload=4096)
    _, remote, local, *_ = peer.open(b"exec:uiautomator dump /dev/tty")
    peer.receive()
    peer.socket.settimeout(0.2)

    with pytest.raises(TimeoutError):
        peer.receive()

    peer.socket.settimeout(5)
    peer.send(b"OKAY", local, remote)
    assert peer.receive()[0] == b"WRTE"


@pytest.mark.parametrize("max_payload", [16, 4096, 0x100000])
def test_no_packet_is_larger_than_the_peer_takes(peer, phone, max_payload):
    peer.greet(max_payload=max_payload)

    payloads = peer.everything(b"exec:uiautomator dump /sdcard/d.xml; cat /sdcard/d.xml")

    assert max(map(len, payloads)) <= max_payload
    assert b"".join(payloads).endswith(phone.tree_xml())


def test_framed_shell_ends_with_its_exit_code(peer):
    peer.greet()

    packets = b"".join(peer.everything(b"shell,v2,raw:echo a; nope; exit 3"))

    kinds = []
    while packets:
        kind, length = struct.unpack_from("<BI", packets)
        kinds.append((kind, packets[5 : 5 + length]))
        packets = packets[5 + length :]
    assert [kind for kind, _ in kinds] == [1, 2, 3]
    assert kinds[0][1] == b"a\n"
    assert kinds[2][1] == b"\x03"


def test_unknown_service_is_refused(peer):
    peer.greet()

    assert peer.open(b"jdwp:1")[:3] == (b"CLSE", 0, 7)


def test_close_is_answered_by_a_close_and_ends_the_command(peer):
    peer.greet()
    _, remote, local, *_ = peer.open(b"shell:sleep 1000")

    peer.send(b"CLSE", local, remote)

    assert peer.receive()[:3] == (b"CLSE", remote, local)
    assert peer.everything(b"shell:echo still here") == [b"still here\n"]


def test_input_that_nobody_reads_is_acknowledged(peer):
    peer.greet()
    _, remote, local, *_ = peer.open(b"shell,v2,raw:sleep 1000")

    peer.send(b"WRTE", local, remote, struct.pack("<BI", 4, 0))

    assert peer.receive()[:3] == (b"OKAY", remote, local)


def test_streams_run_side_by_side(peer):
    peer.greet()
    peer.open(b"shell:sleep 1000", local_id=1)

    assert peer.everything(b"shell:echo fast") == [b"fast\n"]


@pytest.mark.parametrize(
    "packet",
    [
        (b"STLS", 0x01000000, 0),
        (b"AUTH", 2, 0, b"x" * 256),
        (b"SYNC", 1, 0),
        (b"WHAT", 1, 0),
    ],
)
def test_peer_that_breaks_the_protocol_is_let_go(peer, packet):
    peer.greet()

    peer.send(*packet)

    assert peer.is_gone()


def test_packet_with_a_wrong_magic_ends_the_link(peer):
    peer.greet()

    peer.send(b"OPEN", 1, 0, b"shell:id\0", magic=b"\0\0\0\0")

    assert peer.is_gone()


def test_nothing_is_served_before_the_handshake(peer):
    peer.send(b"OPEN", 1, 0, b"shell:id\0")

    assert peer.is_gone()


def test_daemon_stops_with_commands_running_and_peers_connected(phone):
    daemon = MockAdbDaemon(phone)
    daemon.start()
    with Peer(daemon.port) as peer:
        peer.greet()
        peer.open(b"shell:sleep 1000")

        daemon.stop()

        assert peer.is_gone()
    with pytest.raises(OSError, match="refused"):
        Peer(daemon.port)


def test_port_in_use_is_told_in_one_line(daemon, phone):
    with pytest.raises(DaemonError, match="choose another port") as failure:
        MockAdbDaemon(phone, port=daemon.port).start()

    assert str(daemon.port) in str(failure.value)


@pytest.fixture
def adb(daemon, tmp_path):
    """`adb` on the phone, through a server of its own; arguments in, finished process out."""
    server = AdbServerProcess(tmp_path / "server")
    server.start()

    def run(*arguments):
        command = [str(find_adb()), "-P", str(server.port), *arguments]
        return subprocess.run(
            command, capture_output=True, timeout=30, check=False, stdin=subprocess.DEVNULL
        )

    assert b"connected to" in run("connect", daemon.serial).stdout
    server.client().connect(daemon.serial)
    yield run
    server.stop()


def test_adb_lists_the_phone_with_its_model(adb, daemon):
    listed = adb("devices", "-l").stdout.decode()

    assert f"{daemon.serial} " in listed
    assert "device product:clone model:Clone_1" in listed


def test_adb_shell_taps_and_the_screen_changes(adb, daemon, phone):
    element = next(each for each in phone.observe().elements if each.label == "Contacts")
    left, top, right, bottom = element.bounds

    done = adb("shell", "input", "tap", str((left + right) // 2), str((top + bottom) // 2))

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    with daemon.lock:
        assert phone.foreground()[0].endswith("contacts")


def test_adb_dumps_the_screen_as_a_phone_does(adb, phone, tmp_path):
    dumped = adb("shell", "uiautomator", "dump")
    shown = adb("shell", "cat", "/sdcard/window_dump.xml")
    pulled = adb("pull", "/sdcard/window_dump.xml", str(tmp_path / "window_dump.xml"))

    assert dumped.stdout == b"UI hierchary dumped to: /sdcard/window_dump.xml\n"
    assert shown.stdout == phone.tree_xml()
    assert pulled.returncode == 0
    assert (tmp_path / "window_dump.xml").read_bytes() == phone.tree_xml()


def test_adb_exec_out_takes_a_screenshot(adb, phone):
    assert adb("exec-out", "screencap", "-p").stdout == phone.screenshot()


def test_adb_pushes_and_pulls_folders(adb, tmp_path):
    folder = tmp_path / "folder"
    (folder / "below").mkdir(parents=True)
    (folder / "a file ü.txt").write_bytes(b"x" * 200_000)
    (folder / "below" / "empty").write_bytes(b"")

    assert adb("push", str(folder), "/sdcard/Download/").returncode == 0
    assert adb("pull", "/sdcard/Download/folder", str(tmp_path / "back")).returncode == 0

    assert (tmp_path / "back" / "a file ü.txt").read_bytes() == b"x" * 200_000
    assert (tmp_path / "back" / "below" / "empty").read_bytes() == b""


def test_adb_pull_of_a_missing_file_fails(adb, tmp_path):
    assert adb("pull", "/sdcard/nothing.xml", str(tmp_path)).returncode == 1


def test_adb_push_outside_the_storage_fails(adb, tmp_path):
    (tmp_path / "f").write_bytes(b"x")

    assert adb("push", str(tmp_path / "f"), "/system/f").returncode == 1


@pytest.mark.parametrize(
    ("line", "code"), [("exit 5", 5), ("nope", 127), ("echo {a,b}", 2), ("true", 0)]
)
def test_adb_shell_ends_with_the_commands_code(adb, line, code):
    assert adb("shell", line).returncode == code


def test_adb_shell_reads_commands_from_its_input(adb, daemon, tmp_path):
    script = tmp_path / "script"
    script.write_text("echo one\necho two\nexit 4\n")
    with script.open("rb") as stdin:
        command = [str(find_adb()), "-P", adb("devices").args[2], "shell"]
        done = subprocess.run(command, stdin=stdin, capture_output=True, timeout=30, check=False)

    assert (done.stdout, done.returncode) == (b"one\ntwo\n", 4)


class Keyboard:
    """A terminal session over a hand-written peer."""

    def __init__(self, peer):
        self.peer = peer
        peer.greet()
        _, self.remote, self.local, *_ = peer.open(b"shell,v2,TERM=xterm,pty:")

    def press(self, keys):
        data = struct.pack("<BI", 0, len(keys)) + keys
        self.peer.send(b"WRTE", self.local, self.remote, data)

    def read_until(self, end):
        """What the screen shows up to `end`, or the exit code's packet."""
        shown = b""
        while not shown.endswith(end):
            command, _, _, data, _ = self.peer.receive()
            if command == b"WRTE":
                self.peer.send(b"OKAY", self.local, self.remote)
                shown += data[5:]
        return shown


def test_terminal_echoes_edits_and_runs_what_is_typed(peer):
    keyboard = Keyboard(peer)
    keyboard.read_until(b"$ ")

    keyboard.press(b"echo hix\x7f\r")

    assert keyboard.read_until(b"hi\r\nclone:/ $ ").startswith(b"echo hix\b \b\r\n")


def test_interrupt_at_the_terminal_ends_a_running_command(peer):
    keyboard = Keyboard(peer)
    keyboard.read_until(b"$ ")
    keyboard.press(b"sleep 1000\r")
    keyboard.read_until(b"\n")

    keyboard.press(b"\x03")
    keyboard.read_until(b"^C\r\nclone:/ $ ")
    keyboard.press(b"exit 5\r")

    assert keyboard.read_until(b"\x05").endswith(b"\x05")


def test_slow_reader_is_not_sent_more_than_it_acknowledged(peer, daemon):
    peer.greet(max_payload=4096)
    _, remote, local, *_ = peer.open(b"exec:seq 20000")
    data = peer.receive()[3]
    while len(data) < 100_000:
        peer.send(b"OKAY", local, remote)
        command, _, _, more, _ = peer.receive()
        if command == b"CLSE":
            break
        data += more

    assert data.startswith(b"1\n2\n")
    assert len(data) > 4096


def test_sender_that_does_not_wait_for_a_slow_service_is_let_go(peer):
    peer.greet()
    _, remote, local, *_ = peer.open(b"shell,v2,raw:sleep 1000")
    chunk = b"\0" * (1 << 20)

    def flood():
        for _ in range(40):
            peer.send(b"WRTE", local, remote, chunk)

    with pytest.raises((ConnectionError, TimeoutError)):
        flood()


def test_wrong_sum_ends_the_link(peer):
    peer.greet()

    peer.send(b"OPEN", 1, 0, b"shell:id\0", total=1)

    assert peer.is_gone()


@pytest.mark.parametrize(
    ("service", "text"),
    [
        (b"root:", b"adbd cannot run as root in production builds\n"),
        (b"unroot:", b"adbd not running as root\n"),
        (b"tcpip:5555", b"restarting in TCP mode port: 5555\n"),
        (b"tcpip:x", b"invalid port\n"),
        (b"remount:", b"remount failed: Operation not permitted\n"),
        (b"reverse:forward:tcp:1;tcp:2", b"OKAY"),
        (b"reverse:killforward:tcp:9", b"FAIL001alistener 'tcp:9' not found"),
        (b"reverse:list-forward", b"0000"),
    ],
)
def test_small_services_say_their_texts(peer, service, text):
    peer.greet()

    assert peer.everything(service) == [text]


def test_reverse_forwards_are_listed_until_they_are_removed(peer):
    peer.greet()
    peer.everything(b"reverse:forward:localabstract:x;tcp:7")

    assert peer.everything(b"reverse:list-forward") == [b"001dhost-1 localabstract:x tcp:7\n"]
    assert peer.everything(b"reverse:forward:norebind:localabstract:x;tcp:8")[0][:4] == b"FAIL"
    peer.everything(b"reverse:killforward-all")
    assert peer.everything(b"reverse:list-forward") == [b"0000"]


def test_restart_ends_the_link_and_the_phone_comes_back(peer, daemon):
    peer.greet()
    peer.open(b"reboot:")

    assert peer.is_gone_after_all()

    with Peer(daemon.port) as again:
        assert again.greet()[0] == b"CNXN"


def test_acknowledgements_that_were_not_agreed_on_are_refused(peer):
    peer.greet()
    peer.send(b"OPEN", 7, 0x2000000, b"shell:id\0")

    assert peer.receive()[:3] == (b"CLSE", 0, 7)


def test_port_of_the_phone_answers_while_its_program_runs(peer):
    peer.greet()
    assert peer.open(b"tcp:9008")[0] == b"CLSE"
    program = b"shell:CLASSPATH=/data/local/tmp/u2.jar app_process / com.wetest.uia2.Main -p 9008"
    _, remote, local, *_ = peer.open(program, local_id=9)
    peer.receive()

    command, server, *_ = peer.open(b"tcp:9008", local_id=11)
    assert command == b"OKAY"
    peer.send(b"WRTE", 11, server, b"GET /ping HTTP/1.1\r\nConnection: close\r\n\r\n")
    packets = [peer.receive() for _ in range(2)]
    assert packets[1][3].endswith(b"pong")
    peer.send(b"OKAY", 11, server)
    peer.send(b"CLSE", local, remote)
    while peer.receive()[:3] != (b"CLSE", remote, local):
        pass
    assert peer.open(b"tcp:9008", local_id=13)[0] == b"CLSE"


def test_services_and_unknown_commands_are_on_record(peer, daemon):
    peer.greet()
    peer.everything(b"shell:no_such_thing; echo a")

    assert daemon.services[-1] == "shell:no_such_thing; echo a"
    assert daemon.unknown_commands == {"no_such_thing": 1}


class Recorded:
    """A recording of a phone that knows three answers."""

    def properties(self):
        return {"ro.product.name": "real", "ro.product.model": "Real 1"}

    def answer(self, words):
        known = {
            ("wm", "size"): Answer(b"Physical size: 1x2\n"),
            ("date", "+%s"): Answer(b"42\n"),
            ("uiautomator", "dump", "/sdcard/a.xml"): Answer(b"dumped\n", b"loud\n", 3, b"<x/>"),
        }
        return known.get(tuple(words))


def test_recorded_phone_answers_as_it_did_and_keeps_the_mocks_own_tools():
    daemon = MockAdbDaemon(Recorded())
    daemon.start()
    try:
        with Peer(daemon.port) as peer:
            assert b"ro.product.model=Real 1;" in peer.greet()[3]
            line = b"shell:wm size | cut -d: -f2; date +%s; echo x; wm density; echo $?"
            said = b"".join(peer.everything(line))
            dump = b"".join(
                peer.everything(b"shell:uiautomator dump /sdcard/a.xml; cat /sdcard/a.xml")
            )
    finally:
        daemon.stop()

    assert said == b" 1x2\n42\nx\n/system/bin/sh: wm: inaccessible or not found\n127\n"
    assert dump == b"dumped\nloud\n<x/>"
    assert daemon.unknown_commands == {"wm": 1}
