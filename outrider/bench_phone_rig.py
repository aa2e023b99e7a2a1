"""What `outrider bench phone` measures with: a phone of so many elements behind a real adb server.

The bare client is the least that can talk to an adb server: one connection, one command, read to
the exit packet. It has no deadline, no errors and no proof, so it is what a driver costs at least.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import socket
import struct
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

from apps_mock.phone import MockPhone
from device_runtime.ui_tree import Node, to_xml
from sync.vocabulary import tap_element

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection

    from device_runtime.adb_phone import AdbPhone
    from device_runtime.policy import OnnxPolicy
    from device_runtime.ports import ActOutcome, Decided, PhoneInfo, PolicyRequest, ResetOutcome
    from sync.vocabulary import Action, Assignment, Observation

TASK: Final = "settings_switch"
WORDS: Final = (
    "network display sound battery storage alarm timer ticket train station city class order date "
    "seat window map home light music photo video note page"
).split()
_FRAME = struct.Struct("<BI")
_EXIT: Final = 3
_KINDS: Final = ("Button", "TextView", "EditText", "Switch", "ImageView")


class CrowdedPhone(MockPhone):
    """A clone whose tree holds a made-up number of elements; touches change nothing of it."""

    def __init__(self, elements: int) -> None:
        super().__init__(serial="bench")
        self.load(TASK, 0)
        info = self.info()
        self._dump = to_xml((crowd(elements, info.width_px, info.height_px),))

    def tree_xml(self) -> bytes:
        """The same made-up screen, whatever the clone shows."""
        return self._dump


def crowd(count: int, width_px: int, height_px: int) -> Node:
    """A list of labelled widgets in rows of two, as tall as the screen."""
    random = Random(count)
    rows = (count + 1) // 2
    children = []
    for index in range(count):
        kind = random.choice(_KINDS)
        top, left = (index // 2) * height_px // rows, (index % 2) * width_px // 2
        bottom = max(top + 1, (index // 2 + 1) * height_px // rows)
        children.append(
            Node(
                f"android.widget.{kind}",
                (left, top, left + width_px // 2, bottom),
                text=" ".join(random.choices(WORDS, k=random.randint(1, 4))),
                resource_id=f"org.example.app:id/row_{index}",
                package="org.example.app",
                clickable=kind != "TextView",
            )
        )
    return Node("android.widget.FrameLayout", (0, 0, width_px, height_px), children=tuple(children))


@dataclass(frozen=True, slots=True)
class BareClient:
    """The least that runs a command on a phone."""

    port: int
    serial: str

    def shell(self, command: str) -> bytes:
        """All packets of a command's answer."""
        with socket.create_connection(("127.0.0.1", self.port)) as link:
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for request in (f"host:transport:{self.serial}", f"shell,v2,raw:{command}"):
                data = request.encode()
                link.sendall(f"{len(data):04x}".encode() + data)
                if link.recv(4, socket.MSG_WAITALL) != b"OKAY":
                    raise ConnectionError(f"the adb server refused {request[:40]!r}")
            answer = bytearray()
            while True:
                kind, length = _FRAME.unpack(link.recv(_FRAME.size, socket.MSG_WAITALL))
                data = link.recv(length, socket.MSG_WAITALL) if length else b""
                if kind == _EXIT:
                    return bytes(answer)
                answer += data


@dataclass(frozen=True, slots=True)
class Rig:
    """A driver and a bare client on the same phone behind the same adb server."""

    phone: AdbPhone
    bare: BareClient


@contextlib.contextmanager
def rig(elements: int, *, screenshots: bool = False) -> Iterator[Rig]:
    """A phone of so many elements, its daemon, a private adb server and the two clients.

    The daemon runs in a process of its own, as a phone does.
    """
    from device_runtime.adb_phone import AdbPhone, AdbPhoneSettings
    from device_runtime.adb_server_process import AdbServerProcess

    settings = AdbPhoneSettings(settle_s=0.0, screenshots=screenshots, stops_apps=False)
    with (
        tempfile.TemporaryDirectory(prefix="outrider-bench-") as folder,
        daemon(elements) as serial,
    ):
        server = AdbServerProcess(Path(folder))
        try:
            server.start()
            client = server.client()
            client.connect(serial)
            phone = AdbPhone(client, serial, settings=settings)
            yield Rig(phone, BareClient(server.port, serial))
            phone.close()
        finally:
            server.stop()


@contextlib.contextmanager
def daemon(elements: int) -> Iterator[str]:
    """The serial of a crowded phone that listens in another process until the block ends."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(elements, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        yield str(ours.recv())
    finally:
        ours.close()
        process.join()


def serve(elements: int, link: Connection) -> None:
    """Be a phone until the other end of the pipe is closed."""
    from apps_mock.adb_server import MockAdbDaemon

    phone = MockAdbDaemon(CrowdedPhone(elements))
    phone.start()
    link.send(phone.serial)
    with contextlib.suppress(EOFError):
        link.recv()
    phone.stop()


@dataclass(slots=True)
class Stopwatch:
    """Wall and thread CPU milliseconds of what was timed, one figure a call."""

    wall_ms: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)

    @contextlib.contextmanager
    def timing(self) -> Iterator[None]:
        """Time what runs inside."""
        wall, cpu = time.perf_counter(), time.thread_time()
        yield
        self.cpu_ms.append((time.thread_time() - cpu) * 1000)
        self.wall_ms.append((time.perf_counter() - wall) * 1000)


class TimedPhone:
    """A phone that times its looks and its actions apart from everything around them."""

    def __init__(self, phone: AdbPhone) -> None:
        self._phone = phone
        self.looks = Stopwatch()
        self.acts = Stopwatch()

    def reset(self, assignment: Assignment) -> ResetOutcome:
        """As the phone does."""
        return self._phone.reset(assignment)

    def observe(self) -> Observation:
        """As the phone does, timed."""
        with self.looks.timing():
            return self._phone.observe()

    def act(self, action: Action) -> ActOutcome:
        """As the phone does, timed."""
        with self.acts.timing():
            return self._phone.act(action)

    def screenshot(self) -> bytes:
        """As the phone does."""
        return self._phone.screenshot()

    def info(self) -> PhoneInfo:
        """As the phone does."""
        return self._phone.info()

    def close(self) -> None:
        """As the phone does."""
        self._phone.close()


class TapsAfterThinking:
    """The network decides in full; a tap on the first element is what is carried out.

    So every step costs what a decision costs, and no episode ends before its budget.
    """

    wants_encoding = True

    def __init__(self, policy: OnnxPolicy) -> None:
        self._policy = policy
        self.thoughts = Stopwatch()

    def decide(self, requests: Sequence[PolicyRequest]) -> list[Decided]:
        """The network's decisions, with the tap in place of their actions."""
        from dataclasses import replace

        with self.thoughts.timing():
            decided = self._policy.decide(requests)
        return [
            replace(one, action=tap_element(request.observation, 0))
            for one, request in zip(decided, requests, strict=True)
        ]
