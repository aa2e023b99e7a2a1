"""A broker of our own as a child process, speaking MQTT on 127.0.0.1: nats-server or Mosquitto.

One account per device, which may publish below its own upward topic and read its own downward
one, one for the service and one for the devices' owner; nothing is anonymous. Ports, accounts and
store live in one directory, so it comes back on the same port with the same passwords and with all
that it acknowledged.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

import structlog

from sync import topics
from sync.broker_accounts import OWNER, SERVICE, random_password
from sync.broker_address import MqttAddress
from sync.broker_server import POLL_S, STORE, BrokerServer
from sync.clock import Clock, SystemClock
from sync.errors import BrokerError
from sync.kept_accounts import KeptAccounts, local_address
from sync.local_ports import accepts, free_port, is_free, require_free
from sync.nats_server import NatsServer

__all__ = ["OWNER", "SERVICE", "BrokerProcess", "local_address"]

START_TIMEOUT_S: Final = 10.0
STOP_TIMEOUT_S: Final = 5.0
WATCH_S: Final = 0.1

_log = structlog.get_logger()


class _EndedError(BrokerError):
    """It ended by itself while it was started."""


class BrokerProcess:
    """One broker as a child, with its accounts; its methods may be called from any thread.

    Args:
        directory: state, configuration, log and store; readable by its owner only.
        fleet: whose topics the accounts may use.
        port: where MQTT listens; 0 keeps the port of the last time, or chooses a free one.
        server: which broker it is; a directory stays with the one that it began with.
        new_password: makes the secret of a new account.

    Raises: BrokerError: the directory belongs to another fleet, or its state cannot be read.
    """

    def __init__(
        self,
        directory: Path,
        *,
        fleet: str,
        port: int = 0,
        clock: Clock | None = None,
        server: BrokerServer | None = None,
        new_password: Callable[[], str] = random_password,
    ) -> None:
        if not 0 <= port <= 65535:
            raise BrokerError(f"port {port} does not exist: choose one from 1024 to 65535")
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._directory = directory.resolve()
        self._wanted_port = port
        self._clock = clock or SystemClock()
        self._lock = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._claim: IO[bytes] | None = None
        self._watcher: threading.Thread | None = None
        self._stopping = threading.Event()
        self._accounts = KeptAccounts(
            self._directory,
            fleet=topics.check_name(fleet, "fleet"),
            server=server or NatsServer(),
            clock=self._clock,
            new_password=new_password,
        )
        self._server = self._accounts.server
        with self._accounts.locked() as state:
            state.mqtt_port = port or state.mqtt_port or free_port()
        self._port = state.mqtt_port
        self._native_port = state.native_port

    @property
    def port(self) -> int:
        """Where MQTT listens; final once it was started."""
        return self._port

    @property
    def pid(self) -> int:
        """The child's process id.

        Raises: BrokerError: it was not started.
        """
        if self._process is None:
            raise BrokerError("the broker is not running: start it first")
        return self._process.pid

    @property
    def devices(self) -> tuple[str, ...]:
        """See BrokerAccounts."""
        return self._accounts.devices

    def start(self) -> None:
        """Start the child and wait until it accepts connections. Does nothing while it runs.

        Raises:
            PortInUseError: another program listens on the port.
            BrokerError: it did not come up; the text quotes its log.
        """
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                return
            self._stopping.clear()
            self._claim_directory()
            try:
                self._end_orphan()
                self._choose_ports()
                self._spawn()
            except BrokerError:
                self._release_directory()
                raise

    def watch(self, on_restart: Callable[[int], None] | None = None) -> None:
        """Start the child again, on the same port, whenever it ends without `stop`.

        `on_restart` is told the new pid, on the watching thread.
        """
        with self._lock:
            if self._watcher is None:
                self._watcher = threading.Thread(
                    target=self._watch, args=(on_restart,), name="broker-watch", daemon=True
                )
                self._watcher.start()

    def stop(self) -> None:
        """End the child and wait for it. Idempotent."""
        self._stopping.set()
        watcher, self._watcher = self._watcher, None
        if watcher is not None and watcher is not threading.current_thread():
            watcher.join(START_TIMEOUT_S + STOP_TIMEOUT_S)
        with self._lock:
            process, self._process = self._process, None
            if process is not None:
                process.terminate()
                try:
                    process.wait(STOP_TIMEOUT_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            self._release_directory()

    def add_devices(self, device_ids: Iterable[str]) -> None:
        """See BrokerAccounts."""
        self._accounts.add_devices(device_ids)

    def add_device(self, device_id: str) -> MqttAddress:
        """See BrokerAccounts."""
        return self._accounts.add_device(device_id)

    def set_password(self, device_id: str, password: str) -> MqttAddress:
        """See BrokerAccounts."""
        return self._accounts.set_password(device_id, password)

    def remove_device(self, device_id: str) -> None:
        """See BrokerAccounts."""
        self._accounts.remove_device(device_id)

    def address(self, name: str = SERVICE) -> MqttAddress:
        """See BrokerAccounts."""
        return self._accounts.address(name)

    def _save(self) -> None:
        with self._accounts.locked() as state:
            state.mqtt_port, state.native_port = self._port, self._native_port
            try:
                self._server.configure(self._directory, state)
            except OSError as error:
                raise BrokerError(
                    f"the broker did not come up: its files cannot be written ({error}), "
                    f"see {self._directory}"
                ) from error

    def _claim_directory(self) -> None:
        """Hold the directory until this process ends, however it ends."""
        if self._claim is not None:
            return
        claim = (self._directory / "lock").open("wb")
        try:
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            claim.close()
            raise BrokerError(
                f"{self._directory} is used by another running broker: stop it or choose another"
            ) from error
        self._claim = claim

    def _release_directory(self) -> None:
        claim, self._claim = self._claim, None
        if claim is not None:
            claim.close()

    def _end_orphan(self) -> None:
        """End the child of an earlier run that was killed before it could do so itself."""
        pid = self._accounts.orphan()
        if pid is None:
            return
        _log.info("orphaned_broker_ended", pid=pid)
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.kill(pid, number)
            deadline_s = self._clock.monotonic_s() + STOP_TIMEOUT_S
            while self._clock.monotonic_s() < deadline_s:
                if self._accounts.orphan() is None:
                    return
                self._clock.sleep(POLL_S)

    def _choose_ports(self) -> None:
        if self._wanted_port:
            require_free(self._wanted_port)
        elif not is_free(self._port):
            self._port = free_port()
        self._native_port = free_port()

    def _spawn(self) -> None:
        """Start the child; without what it kept, where that makes it end.

        Clients say again what was in a broker's store, but for an owner's order to a phone that is
        away, which then is to be given again: one that is only slow keeps its store.
        """
        self._save()
        try:
            self._launch()
        except _EndedError:
            kept = self._put_store_aside()
            if kept is None:
                raise
            try:
                self._save()
                self._launch()
            except BrokerError:  # it was not the store
                self._put_store_back(kept)
                raise
            _log.warning("broker_store_unreadable", kept_as=str(kept))

    def _launch(self) -> None:
        command = self._server.command(self._directory)
        with self._output.open("wb") as output:
            process = self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self._directory,
                start_new_session=True,  # an interrupt at the terminal is ours to handle
            )
        deadline_s = self._clock.monotonic_s() + START_TIMEOUT_S
        while not accepts(self._port):
            has_ended = process.poll() is not None
            if has_ended or self._clock.monotonic_s() > deadline_s:
                self._process = None
                process.kill()
                process.wait()
                kind = _EndedError if has_ended else BrokerError
                raise kind(f"the broker did not come up: {self._last_words()}")
            self._clock.sleep(POLL_S)

    def _put_store_aside(self) -> Path | None:
        """Rename the store, in the place of an earlier one; None where there is nothing in it."""
        store = self._directory / STORE
        if not (store.is_dir() and any(store.iterdir())):
            return None
        kept = store.with_name(f"{STORE}.unreadable")
        shutil.rmtree(kept, ignore_errors=True)
        store.rename(kept)
        return kept

    def _put_store_back(self, kept: Path) -> None:
        store = self._directory / STORE
        shutil.rmtree(store, ignore_errors=True)
        kept.rename(store)

    def _last_words(self) -> str:
        """Why it ended, as far as it said: what it could not log stands in its output."""
        words = ""
        for path in (self._log_file, self._output):
            with suppress(OSError):
                lines = path.read_text(errors="replace").strip().splitlines()
                if lines and (not words or "error" in lines[-1].lower()):
                    words = f"{lines[-1][:300]} (see {path})"
        return words or f"it wrote nothing to {self._log_file}"

    def _watch(self, on_restart: Callable[[int], None] | None) -> None:
        while not self._stopping.wait(WATCH_S):
            with self._lock:
                ended = self._process
                if ended is None or ended.poll() is None:
                    continue
                _log.warning("broker_ended", pid=ended.pid, code=ended.returncode)
                pid = self._revive()
                self._process = self._process or ended
            if pid is None:
                self._stopping.wait(1.0)
            elif on_restart is not None:
                on_restart(pid)

    def _revive(self) -> int | None:
        """Start the child again where it was; None where that failed and must be tried again."""
        try:
            require_free(self._port)
            self._native_port = free_port()
            self._spawn()
        except BrokerError as error:
            _log.warning("broker_restart_failed", error=str(error))
            return None
        return self.pid

    @property
    def _output(self) -> Path:
        return self._directory / "output.txt"

    @property
    def _log_file(self) -> Path:
        return self._directory / self._server.log_file
