"""The ADB client on links that break, hang or answer nonsense: never a short success."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import contextmanager

import pytest

from device_runtime.adb import AdbClient, quote
from device_runtime.errors import PhoneFaultError, PhoneLostError

HANG = object()


@contextmanager
def server(*answers):
    """A server that gives each request of one connection its answer, then closes (or hangs)."""
    listener = socket.create_server(("127.0.0.1", 0))
    release = threading.Event()

    def serve():
        connection, _ = listener.accept()
        with connection:
            for answer in answers:
                if answer is HANG:
                    release.wait(10)
                    return
                length = int(connection.recv(4, socket.MSG_WAITALL), 16)
                connection.recv(length, socket.MSG_WAITALL)
                connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield AdbClient(listener.getsockname()[1], timeout_s=0.3)
    finally:
        release.set()
        thread.join()
        listener.close()


def frame(kind, data):
    return struct.pack("<BI", kind, len(data)) + data


def test_shell_result_has_output_errors_and_code():
    answer = b"OKAY" + frame(1, b"out") + frame(2, b"err") + frame(1, b"put") + frame(3, b"\x05")

    with server(b"OKAY", answer) as client:
        result = client.shell("serial", "command")

    assert (result.stdout, result.stderr, result.exit_code) == (b"output", b"err", 5)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"OK",
        b"OKAY",
        b"OKAY" + frame(1, b"half of the outp"),
        b"OKAY" + frame(1, b"cut inside a packet")[:-4],
        b"OKAY" + frame(3, b"\x00")[:-1],
    ],
)
def test_shell_whose_link_ends_before_the_exit_code_is_a_lost_phone(answer):
    with server(b"OKAY", answer) as client, pytest.raises(PhoneLostError, match="ended"):
        client.shell("serial", "command")


@pytest.mark.parametrize("before", [(), (b"OKAY",), (b"OKAY", b"OKAY" + frame(1, b"some"))])
def test_silence_ends_at_the_deadline(before):
    with server(*before, HANG) as client, pytest.raises(PhoneLostError, match="in time"):
        client.shell("serial", "command")


def test_refusal_is_told_with_the_servers_words():
    with server(b"FAIL000edevice offline") as client, pytest.raises(PhoneLostError) as lost:
        client.shell("serial", "command")

    assert "device offline" in str(lost.value)


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400", b"OKAYzzzz"])
def test_server_that_is_no_adb_server_is_a_fault(answer):
    with server(answer) as client, pytest.raises(PhoneFaultError):
        client.host("version")


def test_unknown_shell_packet_is_a_fault():
    with server(b"OKAY", b"OKAY" + frame(9, b"x")) as client, pytest.raises(PhoneFaultError):
        client.shell("serial", "command")


def test_missing_server_is_a_lost_phone():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    with pytest.raises(PhoneLostError, match="no adb server"):
        AdbClient(port).devices()


def test_raw_output_is_everything_until_the_end():
    with server(b"OKAY", b"OKAY" + b"\x00\xff" * 40_000) as client:
        assert client.execute("serial", "command") == b"\x00\xff" * 40_000


def test_quoting_keeps_a_word_together():
    assert quote("it's $HOME") == "'it'\"'\"'s $HOME'"
