"""A mock phone on the ADB wire: `adb connect` sees a phone, its shell drives one clone.

The daemon runs an event loop in a thread of its own. Whoever else uses the clone (a reset, a judge)
does so under `lock`, so that no command sees a phone that is half reset. It listens on the loopback
address only, at a port of the machine's choice unless one is named, away from the ports that any
adb server scans for emulators.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from apps_mock.adb_auth import KnownKeys
from apps_mock.adb_behind import Behind, CloneBehind, RecordingBehind
from apps_mock.adb_device import MockDevice
from apps_mock.adb_faults import WireFaults
from apps_mock.adb_link_faults import OfflinePeriod, over_bad_link
from apps_mock.adb_ports import ClonePhone, RecordedPhone
from apps_mock.adb_profile import PhoneProfile
from apps_mock.adb_services import Services
from apps_mock.adb_streams import Service
from apps_mock.adb_wire import Connection
from apps_mock.errors import DaemonError
from sync.clock import Clock, SystemClock

HOST: Final = "127.0.0.1"
EMULATOR_PORTS: Final = range(5555, 5586)
START_TIMEOUT_S: Final = 10.0
RESTART_MS: Final = 300
LOGGED: Final = 10_000
"""How many services the log remembers."""

_Connected = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

__all__ = ["ClonePhone", "MockAdbDaemon"]


class MockAdbDaemon:
    """The daemon over one clone, or over the recording of a phone.

    Args:
        phone: what the commands drive, or what answers them.
        port: where to listen; 0 lets the machine choose.
        packages: the apps that may be on the phone; by default all clones.
        clock: the phone's time.
        profile: what kind of phone it is on the wire.
        faults: what goes wrong, also while the daemon runs; nothing by default.

    Attributes:
        lock: whoever else uses the clone holds it meanwhile.
        faults: the faults, to arm, to clear and to read afterwards.
        services: the services that were opened, the latest last, as they were asked for.
    """

    def __init__(
        self,
        phone: ClonePhone | RecordedPhone,
        *,
        port: int = 0,
        packages: Sequence[str] | None = None,
        clock: Clock | None = None,
        profile: PhoneProfile | None = None,
        faults: WireFaults | None = None,
    ) -> None:
        self.lock = threading.RLock()
        self.profile = profile or PhoneProfile()
        self.faults = faults or WireFaults(seed=self.profile.seed)
        self.services: deque[str] = deque(maxlen=LOGGED)
        clock = clock or SystemClock()
        self._behind: Behind
        if isinstance(phone, RecordedPhone):
            self._behind = RecordingBehind(phone, now_s=lambda: clock.wall_ms() // 1000)
        else:
            device = MockDevice(
                phone,
                lock=self.lock,
                clock=clock,
                profile=self.profile,
                faults=self.faults,
                packages=packages,
            )
            self._behind = CloneBehind(device)
        self._services = Services(self._behind, is_old=self.profile.is_old, restarted=self._restart)
        self._port = port
        self._keys = KnownKeys(self.profile.auth)
        self._offline = OfflinePeriod()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._started = threading.Event()
        self._failure: OSError | None = None

    @property
    def port(self) -> int:
        """Where the daemon listens."""
        return self._port

    @property
    def serial(self) -> str:
        """What `adb connect` takes and `adb -s` names afterwards."""
        return f"{HOST}:{self._port}"

    @property
    def unknown_commands(self) -> Counter[str]:
        """Commands that the phone does not have, and how often each was asked for."""
        return self._behind.unknown

    def start(self) -> None:
        """Listen; returns once connections are accepted.

        Raises: DaemonError: the port is in use, reserved for emulators, or cannot be listened on.
        """
        if self._thread is not None:
            raise RuntimeError("the daemon was already started")
        self._thread = threading.Thread(target=self._run, name="mock-adbd", daemon=True)
        self._thread.start()
        if not self._started.wait(START_TIMEOUT_S):
            raise DaemonError("the mock adb daemon did not start in time; try again")
        if self._failure is not None:
            self._thread.join()
            self._thread = None
            reason = os.strerror(self._failure.errno or 0)
            raise DaemonError(
                f"cannot listen on {self.serial} ({reason}); choose another port"
            ) from self._failure

    def stop(self) -> None:
        """End all connections and the thread. Idempotent."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        if self._loop is not None and self._stopping is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
        thread.join(START_TIMEOUT_S)

    def _restart(self) -> None:
        """The phone restarts: nobody reaches it for a while."""
        self._offline.begin(RESTART_MS)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        connections: dict[Connection, asyncio.Event] = {}

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection = self._connection(reader, writer)
            ended = connections[connection] = asyncio.Event()
            try:
                await self._offline.passed()
                await connection.run()
            finally:
                del connections[connection]
                ended.set()

        try:
            server = await self._listen(connected)
        except OSError as error:
            self._failure = error
            self._started.set()
            return
        self._port = server.sockets[0].getsockname()[1]
        self._started.set()
        await self._stopping.wait()
        server.close()
        for connection, ended in list(connections.items()):
            connection.drop()
            await ended.wait()

    async def _listen(self, connected: _Connected) -> asyncio.Server:
        """A listening server, away from the emulators' ports where the machine chooses."""
        while True:
            server = await asyncio.start_server(connected, HOST, self._port)
            if self._port or server.sockets[0].getsockname()[1] not in EMULATOR_PORTS:
                return server
            server.close()

    def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Connection:
        names = ("ro.product.name", "ro.product.model", "ro.product.device")
        known = self._behind.properties()
        facts = "".join(f"{name}={known.get(name, '')};" for name in names)
        features = f"features={','.join(self.profile.features)}" if self.profile.features else ""
        return Connection(
            reader,
            writer,
            banner=f"device::{facts}{features}".encode(),
            keys=self._keys,
            find_service=self._service,
        )

    def _service(self, name: str, connection: Connection) -> Service | None:
        self.services.append(name)
        service = self._services.find(name, connection)
        if service is None:
            return None
        return over_bad_link(
            service, name, faults=self.faults, link=connection, offline=self._offline
        )
