"""Whether this machine reaches a phone: the adb server, the phones that it lists, their state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from device_runtime.errors import PhoneFaultError, PhoneLostError
from outrider.findings import Finding, fault, fine

if TYPE_CHECKING:
    from device_runtime.adb import AdbClient

ANSWER_S = 3.0
"""A server that does not answer for so long is wedged: it answers within milliseconds."""

_STATES = {
    "unauthorized": "unlock the phone and tap Allow in its USB debugging dialog; where none "
    "shows, revoke USB debugging authorisations in its developer options and plug it in again",
    "authorizing": "keep the phone unlocked and try again in a few seconds",
    "connecting": "try again in a few seconds",
    "offline": "unplug it and plug it in again; over Wi-Fi: adb disconnect and adb connect anew",
    "recovery": "restart the phone into Android",
    "sideload": "restart the phone into Android",
    "rescue": "restart the phone into Android",
    "bootloader": "restart the phone into Android: fastboot reboot",
}
_NO_PERMISSION = (
    "this user may not open the USB device: add it to the group plugdev, install the package "
    "android-sdk-platform-tools-common, and plug the phone in again"
)
_NO_PHONE = (
    "plug a phone in that has USB debugging switched on in its developer options; a cable that "
    "only charges shows nothing; over Wi-Fi: adb pair, then adb connect"
)


@dataclass(frozen=True, slots=True)
class Reached:
    """What was found on the way to a phone; `serial` where one can be asked further."""

    findings: list[Finding]
    serial: str | None = None


def reach(
    client: AdbClient, port: int, *, serial: str | None, program_version: int | None
) -> Reached:
    """Find the phone to ask: the one that is named, or else the only one there is."""
    server = _server(client, port, program_version)
    if not server.ok and not server.found.startswith("version"):
        return Reached([server])
    try:
        devices = client.devices()
    except (PhoneLostError, PhoneFaultError) as error:
        return Reached([server, _wedged(port, str(error))])
    phone = phone_finding(devices, serial)
    chosen = serial or (next(iter(devices)) if len(devices) == 1 else None)
    return Reached([server, phone], chosen if phone.ok else None)


def phone_finding(devices: Mapping[str, str], serial: str | None) -> Finding:
    """Which phone is meant, and whether it is ready.

    Args:
        devices: state by serial, as the adb server lists them.
        serial: the phone that was named, if any.
    """
    listed = ", ".join(f"{name} {state}" for name, state in devices.items())
    if not devices:
        return fault("phone", "the adb server lists none", _NO_PHONE)
    if serial is None and len(devices) > 1:
        return fault("phone", f"several: {listed}", "name one with --serial")
    name = serial or next(iter(devices))
    state = devices.get(name)
    if state is None:
        wireless = f"; if it is a phone on Wi-Fi: adb connect {name}" if ":" in name else ""
        return fault("phone", f"{name} is not listed; there is {listed}", f"plug it in{wireless}")
    if state == "device":
        return fine("phone", name)
    if state.startswith("no permissions"):
        return fault("phone", f"{name} may not be opened", _NO_PERMISSION)
    hint = _STATES.get(state, "restart the phone, then plug it in again")
    return fault("phone", f"{name} is {state}", hint)


def link_lost(serial: str, said: str) -> Finding:
    """A phone that is listed and does not answer."""
    return fault(
        "link", f"{serial}: {said}"[:160], "try another cable or port; over Wi-Fi connect anew"
    )


def _server(client: AdbClient, port: int, program_version: int | None) -> Finding:
    try:
        version = int(client.host("version", timeout_s=ANSWER_S), 16)
    except PhoneLostError as error:
        if isinstance(error.__cause__, ConnectionRefusedError):
            return fault(
                "adb server", f"none at port {port}", "run adb start-server, or name --adb-port"
            )
        return _wedged(port, str(error))
    except (PhoneFaultError, ValueError):
        return fault(
            "adb server", f"what answers at port {port} is none", "name its port with --adb-port"
        )
    if program_version is not None and version != program_version:
        return fault(
            "adb server",
            f"version {version}, the adb program here is {program_version}: they end each other",
            "keep one adb program on this machine, then run adb kill-server once",
        )
    return fine("adb server", f"version {version} at port {port}")


def _wedged(port: int, said: str) -> Finding:
    return fault(
        "adb server",
        f"does not answer at port {port} ({said})",
        "run adb kill-server, end it by hand if it hangs, and start it again",
    )
