"""Whatever a stranger sends the mock phone, it answers, refuses or lets go; nothing else breaks."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps_mock.adb_apk import NotAnApkError, read_apk
from apps_mock.adb_arithmetic import value_of
from apps_mock.adb_auth import public_key
from apps_mock.adb_awk import Awk
from apps_mock.adb_behind import CloneBehind
from apps_mock.adb_device import MockDevice
from apps_mock.adb_http import serve_http
from apps_mock.adb_packets import read_packet
from apps_mock.adb_sed import Sed
from apps_mock.adb_syntax import parse
from apps_mock.errors import AdbProtocolError, CommandUsageError, ShellSyntaxError
from apps_mock.phone import MockPhone
from apps_mock.process_shell import ProcessShell
from sync.clock import ManualClock

PIECES = st.sampled_from(
    "if then else fi for x in do done while case esac [[ ]] { } ( ) ; && || | ! a b $x ${x} $(a) "
    "`a` $((1)) 'q' \"r\" > < >> 2>&1 ;; \\ # & = \n".split(" ")
)
SHELL_TEXT = st.lists(PIECES | st.text(max_size=3), max_size=25).map(" ".join)
COMMANDS = (
    "am cmd content dumpsys getprop ime input monkey pm screencap settings svc uiautomator wm "
    "ls cat rm stat find grep awk sed tr cut sort uniq xargs head tail base64 printf date cp mv "
    "ps pidof service app_process test expr seq"
).split()
ARGUMENTS = st.lists(
    st.sampled_from(
        "-a -d -n -p -S -e -c -- - dump list packages start force-stop broadcast get put delete "
        "global size 1 0 -1 99999999999 tap text swipe keyevent /sdcard /nope query --uri "
        "content://sms --where --bind x:s:y install 5 enable set {print} s/a/b/ [ ]".split()
    )
    | st.text(max_size=8),
    max_size=6,
)


@pytest.fixture(scope="module")
def shell():
    phone = MockPhone()
    phone.load("contacts_search", 1)
    return ProcessShell(phone, clock=ManualClock())


@given(SHELL_TEXT)
def test_any_line_is_a_program_or_a_syntax_error(line):
    try:
        parse(line)
    except ShellSyntaxError as refusal:
        assert "\n" not in str(refusal).replace("'\\n'", "")  # noqa: PT017 - both are right


@given(st.sampled_from(COMMANDS), ARGUMENTS)
def test_any_arguments_end_with_an_exit_code(shell, command, words):
    quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)

    result = shell.shell(f"echo abc | {command} {quoted}")

    assert 0 <= result.exit_code <= 255


@given(st.text(max_size=40))
def test_any_expression_has_a_value_or_is_refused(text):
    with contextlib.suppress(ShellSyntaxError):
        assert -(1 << 63) <= value_of(text, {"x": text}) < 1 << 63


@given(st.text("spdqg/\\&1,$!;abc 2", max_size=20), st.lists(st.binary(max_size=6), max_size=4))
def test_any_sed_script_edits_or_is_refused(script, lines):
    with contextlib.suppress(CommandUsageError):
        Sed(script, is_quiet=False, is_extended=False).edited(lines)


@given(
    st.text('{}print $NF12,"/a~!=&|;()', max_size=24), st.lists(st.binary(max_size=6), max_size=4)
)
def test_any_awk_program_prints_or_is_refused(program, lines):
    with contextlib.suppress(CommandUsageError):
        Awk(program, separator=" ", variables={}).output(lines)


@given(st.binary(max_size=200) | st.binary(max_size=200).map(lambda tail: b"PK\x03\x04" + tail))
def test_any_bytes_are_an_apk_or_none(data):
    with contextlib.suppress(NotAnApkError):
        read_apk(data)


@given(st.binary(max_size=300) | st.binary(max_size=300).map(lambda d: b"\x03\x00\x08\x00" + d))
def test_any_manifest_gives_a_package(manifest):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("AndroidManifest.xml", manifest)

    assert "." in read_apk(data.getvalue()).package


@given(st.binary(max_size=900))
def test_any_line_is_a_public_key_or_breaks_the_protocol(line):
    with pytest.raises(AdbProtocolError):
        public_key(line)


@given(st.binary(max_size=120))
def test_any_bytes_are_packets_or_end_the_link(data):
    async def read():
        reader = asyncio.StreamReader()
        reader.feed_data(data)
        reader.feed_eof()
        while True:
            await read_packet(reader)

    with pytest.raises((AdbProtocolError, asyncio.IncompleteReadError)):
        asyncio.run(read())


class Stream:
    def __init__(self, data):
        self.pieces = [data[start : start + 5] for start in range(0, len(data), 5)]
        self.written = b""

    async def read(self):
        return self.pieces.pop(0) if self.pieces else b""

    async def write(self, data):
        self.written += data


@given(st.binary(max_size=80) | st.binary(max_size=60).map(lambda d: b"POST / HTTP/1.1\r\n" + d))
def test_any_bytes_to_the_http_server_are_answered_or_end_the_stream(data):
    async def answer(_request):
        raise AdbProtocolError("asked")

    with contextlib.suppress(AdbProtocolError):
        asyncio.run(serve_http(Stream(data), answer))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def server():
    phone = MockPhone()
    phone.load("contacts_search", 1)
    device = MockDevice(phone)
    device.listening.add(9008)
    return CloneBehind(device).port_service(9008)


@given(
    st.sampled_from(
        "click swipe swipePoints injectInputEvent pressKey pressKeyCode objInfo exist count "
        "getText setText setClipboard waitForExists setOrientation dumpWindowHierarchy".split()
    )
    | st.text(max_size=6),
    JSON,
)
def test_any_call_of_the_uiautomator_server_has_a_result_or_an_error(server, method, params):
    if isinstance(params, list) and len(params) > 1:
        params = [params[0], *[0 if isinstance(each, int) else each for each in params[1:]]]
    body = json.dumps({"method": method, "params": params}).encode()
    head = f"POST /jsonrpc/0 HTTP/1.1\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    stream = Stream(head.encode() + body)

    asyncio.run(server(stream))

    answer = json.loads(stream.written.partition(b"\r\n\r\n")[2])
    assert ("result" in answer) != ("error" in answer)
