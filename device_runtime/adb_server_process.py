"""A private adb server as a child process; the user's own server is never used, asked or ended.

Its keys live in a folder of ours, and it looks for no phone by itself (no USB scan, no emulator
ports, no mDNS) unless USB phones are wanted. It ends when we end it, by its process id; one that
a killed run left behind in the same folder is ended before the next one starts.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path
from typing import Final

from device_runtime.adb import AdbClient
from device_runtime.errors import PhoneLostError, SettingsError
from sync.clock import Clock, SystemClock

START_TIMEOUT_S: Final = 10.0
STOP_TIMEOUT_S: Final = 5.0
POLL_S: Final = 0.02
_ATTEMPTS: Final = 3


class AdbServerProcess:
    """One adb server on a port of its own.

    Args:
        folder: where its keys and its log go; made where it is missing.
        with_usb: whether it looks for phones on USB.
        binary: the adb program; by default the one in adbutils' wheel, then the one on PATH.
    """

    def __init__(
        self,
        folder: Path,
        *,
        with_usb: bool = False,
        binary: Path | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._folder = folder
        self._with_usb = with_usb
        self._binary = binary
        self._clock = clock or SystemClock()
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    @property
    def pid(self) -> int | None:
        """The server's process id while it runs."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start the server; returns once it answers.

        Raises:
            SettingsError: there is no adb program, or the folder cannot be written.
            PhoneLostError: it ended or did not answer in time.
        """
        if self._process is not None:
            raise RuntimeError("the adb server was already started")
        binary = self._binary or find_adb()
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SettingsError(f"cannot use {self._folder} for the adb server: {error}") from error
        self._end_orphan()
        for _ in range(_ATTEMPTS):
            self.port = _free_port()
            self._spawn(binary)
            if self._answers():
                return
            self.stop()
        raise PhoneLostError(f"the adb server did not start; see {self._folder / 'adb-server.log'}")

    def client(self, *, timeout_s: float = 20.0) -> AdbClient:
        """A client of this server."""
        return AdbClient(self.port, timeout_s=timeout_s, clock=self._clock)

    def stop(self) -> None:
        """End the server and wait for it. Idempotent."""
        process, self._process = self._process, None
        if process is None:
            return
        self._pid_file.unlink(missing_ok=True)
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _spawn(self, binary: Path) -> None:
        environment = {
            **os.environ,
            "HOME": str(self._folder),
            "ADB_EMU": "0",
            "ADB_MDNS": "0",
            "ADB_USB": "1" if self._with_usb else "0",
        }
        with (self._folder / "adb-server.log").open("ab") as log:
            try:
                self._process = subprocess.Popen(
                    [str(binary), "-P", str(self.port), "nodaemon", "server"],
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    process_group=0,  # Ctrl-C in our terminal is ours to handle; `stop` ends it
                )
            except OSError as error:
                raise SettingsError(f"cannot run {binary} as adb: {error}") from error

        self._pid_file.write_text(f"{self._process.pid} {self.port}")

    @property
    def _pid_file(self) -> Path:
        return self._folder / "adb-server.pid"

    def _end_orphan(self) -> None:
        """End the server of an earlier run in this folder that was killed before it could."""
        try:
            pid, port = self._pid_file.read_text().split()
            command = Path(f"/proc/{int(pid)}/cmdline").read_text().rstrip("\0").split("\0")
            if command[1:] == ["-P", port, "nodaemon", "server"]:
                os.kill(int(pid), signal.SIGTERM)
        except (OSError, ValueError):
            return

    def _answers(self) -> bool:
        """Wait until the server answers; False where it ended or stayed silent."""
        deadline_s = self._clock.monotonic_s() + START_TIMEOUT_S
        while self._process is not None and self._process.poll() is None:
            try:
                self.client(timeout_s=1.0).host("version")
            except PhoneLostError:
                if self._clock.monotonic_s() >= deadline_s:
                    return False
                self._clock.sleep(POLL_S)
            else:
                return True
        return False


def find_adb() -> Path:
    """The adb program that adbutils ships, or else the one on PATH.

    Raises: SettingsError: there is neither.
    """
    spec = importlib.util.find_spec("adbutils")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        bundled = Path(folder) / "binaries" / "adb"
        if bundled.is_file():
            return bundled
    found = shutil.which("adb")
    if found is None:
        raise SettingsError("there is no adb program; install adbutils, or adb on PATH")
    return Path(found)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
