"""A phone that answers as it is told, for answers that no mock phone gives."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable

from device_runtime.adb import ShellResult
from device_runtime.adb_phone import AdbPhone, AdbPhoneSettings
from device_runtime.ui_tree import Node, to_xml
from sync.clock import ManualClock

FACTS = "Phone X\n14\n34\nen-US\n\nPhysical size: 1080x2400\nOverride size: 720x1600\n"
FOCUS = "  mCurrentFocus=Window{1a2b3c u10 org.app/.Main}\n"
SERIAL = "phone"


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int = 72, height: int = 160, *, dot: bool = True) -> bytes:
    """A black picture, with a white dot in its middle or all black."""
    rows = [bytearray(1 + width) for _ in range(height)]
    if dot:
        rows[height // 2][1 + width // 2] = 255
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    body = zlib.compress(b"".join(rows))
    chunks = ((b"IHDR", header), (b"IDAT", body), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(kind, data) for kind, data in chunks)


def screen(text: str = "hello", rotation: int = 0, **field: object) -> bytes:
    """A dump of one focused text field."""
    facts = {"focused": True, **field}
    node = Node("android.widget.EditText", (0, 0, 10, 10), text=text, **facts)
    return to_xml((node,), rotation)


EMPTY_DUMP = b"<?xml version='1.0' ?><hierarchy rotation=\"0\" />"
Answer = Callable[[str], ShellResult]


def look(
    dump: bytes | None = None,
    *,
    state: str = FOCUS,
    said: str | None = None,
    code: int = 0,
    picture: bytes | None = None,
    cut: int = 0,
) -> Answer:
    """An answer to a look; `said` replaces the dump command's words, `cut` loses the end."""
    dump = screen() if dump is None else dump

    def answer(command: str) -> ShellResult:
        path = command.split()[2].rstrip(";")
        mark = command.split("echo ")[1].partition("$")[0].encode()
        words = f"UI hierchary dumped to: {path}" if said is None else said
        out = words.encode() + b"\n" + mark + str(code).encode() + b"\n"
        out += dump + b"\n" + mark + b"\n" + state.encode() + mark + b"\n"
        if "screencap" in command:
            out += (png() if picture is None else picture) + b"\n" + mark + b"\n"
        return ShellResult(out[: len(out) - cut], b"", 0)

    return answer


class ScriptedClient:
    """Answers looks one after the other, the last for ever; keeps every command.

    Attributes:
        answers: results by the beginning of a command, for what is no look.
    """

    def __init__(self, *looks: Answer, image: bytes = b"", facts: str = FACTS) -> None:
        self.looks = list(looks) or [look()]
        self.image = image
        self.facts = facts
        self.commands: list[str] = []
        self.answers: dict[str, ShellResult | Answer] = {}
        self.state = "device"
        self.facts_asked = 0

    @property
    def acted(self) -> list[str]:
        """Commands that change something on a phone."""
        words = ("input ", "am ", "monkey ", "pm clear")
        return [each for each in self.commands if each.startswith(words)]

    def features(self, serial: str) -> frozenset[str]:
        return frozenset({"shell_v2"})

    def devices(self) -> dict[str, str]:
        return {SERIAL: self.state}

    def host(self, service: str, *, timeout_s: float | None = None) -> str:
        return ""

    def disconnect(self, address: str) -> None:
        pass

    def shell(
        self, serial: str, command: str, *, timeout_s: float | None = None, framed: bool = True
    ) -> ShellResult:
        if command.startswith("getprop ro.product"):
            self.facts_asked += 1
            return ShellResult(self.facts.encode(), b"", 0)
        self.commands.append(command)
        for start, answer in self.answers.items():
            if command.startswith(start):
                return answer if isinstance(answer, ShellResult) else answer(command)
        if "uiautomator" not in command:
            return ShellResult(b"", b"", 0)
        chosen = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        return chosen(command)

    def execute(self, serial: str, command: str, *, timeout_s: float | None = None) -> bytes:
        self.commands.append(command)
        return self.image


def said(text: str = "", error: str = "", code: int = 0) -> ShellResult:
    """A result with that text."""
    return ShellResult(text.encode(), error.encode(), code)


def phone_on(client: ScriptedClient, *, reader=None, clock=None, **settings: object) -> AdbPhone:
    """A driver of the scripted phone that never waits for real."""
    settings = {"settle_s": 0.0, "verifies_text": False, "reconnect_s": 1.0, **settings}
    numbers = iter(range(100_000))
    return AdbPhone(
        client,
        SERIAL,
        settings=AdbPhoneSettings(**settings),
        apps={"Clock": "org.clock"},
        reader=reader,
        clock=clock or ManualClock(),
        new_name=lambda: f"name{next(numbers)}",
    )
