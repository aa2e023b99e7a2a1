"""The shell of one phone behind an adb server, whatever its adb daemon can do."""

from __future__ import annotations

from device_runtime.adb import FRAMED_SHELL, AdbClient, ShellResult


class AdbShell:
    """Runs command lines on one phone; implements `device_runtime.probes.Shell`.

    Args:
        timeout_s: deadline of a command that brings none; the client's where None.
    """

    def __init__(self, client: AdbClient, serial: str, *, timeout_s: float | None = None) -> None:
        self.serial = serial
        self._client = client
        self._timeout_s = timeout_s
        self._is_framed: bool | None = None

    def shell(self, command: str, *, timeout_s: float | None = None) -> ShellResult:
        """Output and exit code of `command`, complete; see `AdbClient.shell` for its errors."""
        if self._is_framed is None:
            self._is_framed = FRAMED_SHELL in self._client.features(self.serial)
        return self._client.shell(
            self.serial,
            command,
            timeout_s=timeout_s or self._timeout_s,
            framed=self._is_framed,
        )

    def forget(self) -> None:
        """Ask anew what the phone can do: another one may have come in its place."""
        self._is_framed = None
