"""The view hierarchy of a phone's screen as the phone wrote it, damaged or not.

For people and programs that want to see what a phone says; the agent looks through `AdbPhone`,
which takes nothing for a dump that is not proven whole.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

from device_runtime.adb import AdbClient
from device_runtime.adb_shell import AdbShell
from device_runtime.errors import PhoneFaultError


def take_dump(
    client: AdbClient,
    serial: str,
    *,
    timeout_s: float = 20.0,
    new_name: Callable[[], str] = lambda: secrets.token_hex(8),
) -> bytes:
    """The bytes of a fresh dump; where the phone wrote none, what it said instead.

    Raises:
        PhoneFaultError: only a part of the answer came.
        PhoneLostError: the phone cannot be reached.
    """
    name = new_name()
    path, marker = f"/data/local/tmp/outrider-{name}.xml", f"--{name}--"
    answer = (
        AdbShell(client, serial)
        .shell(
            f"rm -f {path}; uiautomator dump {path} 2>&1; echo {marker}; cat {path} 2>/dev/null; "
            f"echo {marker}; rm -f {path}",
            timeout_s=timeout_s,
        )
        .stdout
    )
    parts = answer.split(marker.encode())
    if len(parts) != 3:
        raise PhoneFaultError(f"{serial} sent only a part of its screen's tree; try again")
    said, dump, _ = (part.strip(b"\r\n") for part in parts)
    return dump or said
