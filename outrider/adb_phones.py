"""Phones that the user's own adb server lists, as commands reach them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from outrider.errors import MisuseError

if TYPE_CHECKING:
    from device_runtime.adb import AdbClient
    from device_runtime.adb_phone import AdbPhone
    from device_runtime.ports import ScreenReader

ADB_PORT: Final = 5037
"""Where an adb server listens by itself."""


def listed_client(serial: str, port: int) -> AdbClient:
    """A client of the adb server at `port`, which lists the phone as ready.

    Raises: MisuseError: the server does not list it, or not as ready.
    """
    from device_runtime.adb import AdbClient

    client = AdbClient(port)
    devices = client.devices()
    if devices.get(serial) != "device":
        state = devices.get(serial, "unknown")
        raise MisuseError(
            f"phone {serial!r} is {state} to the adb server at port {port}; "
            f"it lists {', '.join(devices) or 'none'}"
        )
    return client


def adb_phone(serial: str, port: int, reader: ScreenReader | None = None) -> AdbPhone:
    """A phone that the adb server at `port` lists as ready.

    Args:
        reader: reads the screens whose tree cannot be had.

    Raises: MisuseError: the server does not list it, or not as ready.
    """
    from device_runtime.adb_phone import AdbPhone

    return AdbPhone(listed_client(serial, port), serial, reader=reader)
