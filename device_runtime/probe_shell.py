"""The shell of a phone behind an adb server, as probes ask it."""

from __future__ import annotations

from device_runtime.adb import FRAMED_SHELL, AdbClient, ShellResult

PROBE_TIMEOUT_S = 15.0


class AdbShell:
    """Runs command lines on one phone; implements `device_runtime.probes.Shell`."""

    def __init__(
        self, client: AdbClient, serial: str, *, timeout_s: float = PROBE_TIMEOUT_S
    ) -> None:
        self._client = client
        self._serial = serial
        self._timeout_s = timeout_s
        self._is_framed: bool | None = None

    def shell(self, command: str) -> ShellResult:
        """Output and exit code of `command`, complete; see `Shell` for its errors."""
        if self._is_framed is None:
            self._is_framed = FRAMED_SHELL in self._client.features(self._serial)
        return self._client.shell(
            self._serial, command, timeout_s=self._timeout_s, framed=self._is_framed
        )
