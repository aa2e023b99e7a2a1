"""`wm` on the mock phone: its display's size, density and turn, and its lock screen."""

from __future__ import annotations

import re
from typing import Final

from apps_mock.adb_calls import Call
from apps_mock.adb_device import MockDevice
from apps_mock.adb_display import Displays, Size
from apps_mock.adb_settings import SettingsCommand
from apps_mock.adb_system import density_of

_SMALLEST, _LARGEST = 200, 5000
_ROTATION: Final = ("system", "user_rotation")


class WindowCommand:
    """`wm size|density|dismiss-keyguard|user-rotation`.

    Another density is shown as it was put; the clone is drawn in its own.
    """

    def __init__(self, device: MockDevice, settings: SettingsCommand) -> None:
        self._device = device
        self._settings = settings
        self._density: str | None = None

    async def __call__(self, call: Call) -> int:
        """Run one command of the window manager."""
        verb, *words = call.arguments or ("",)
        with self._device.in_use():
            displays = self._device.displays
            match verb, words:
                case "size", []:
                    _say_size(call, displays)
                case "size", ["reset"]:
                    displays.set_override(None)
                case "size", [text] if (size := _size_of(text)) is not None:
                    displays.set_override(size)
                case "density", _:
                    return self._run_density(call, words)
                case "dismiss-keyguard", []:
                    if displays.is_awake:
                        self._device.dismiss_keyguard()
                case "user-rotation" | "set-user-rotation", _:
                    return self._rotate(call, words)
                case _:
                    text = "only size, density, dismiss-keyguard and user-rotation are supported"
                    return call.fail(text, 255)
        return 0

    def _run_density(self, call: Call, words: list[str]) -> int:
        match words:
            case []:
                call.out(f"Physical density: {density_of(self._device.phone)}\n")
                if self._density is not None:
                    call.out(f"Override density: {self._density}\n")
            case ["reset"]:
                self._density = None
            case [text] if re.fullmatch(r"[1-9]\d{1,2}", text):
                self._density = text
            case _:
                return call.fail("expected a density between 10 and 999, or reset", 255)
        return 0

    def _rotate(self, call: Call, words: list[str]) -> int:
        match words:
            case []:
                call.out(f"lock {self._device.displays.rotation}\n")
            case ["lock", "0" | "1" | "2" | "3" as turn]:
                self._settings.put(_ROTATION, turn)
            case ["free"]:
                self._settings.put(_ROTATION, "0")
            case _:
                return call.fail("expected free, or lock with 0, 1, 2 or 3", 255)
        return 0


def _say_size(call: Call, displays: Displays) -> None:
    physical, override = displays.physical, displays.override
    call.out(f"Physical size: {physical[0]}x{physical[1]}\n")
    if override is not None:
        call.out(f"Override size: {override[0]}x{override[1]}\n")


def _size_of(text: str) -> Size | None:
    """A size that a screen can have; None where it is none."""
    match = re.fullmatch(r"(\d{3,4})x(\d{3,4})", text)
    if match is None:
        return None
    width, height = int(match[1]), int(match[2])
    is_possible = min(width, height) >= _SMALLEST and max(width, height) <= _LARGEST
    return (width, height) if is_possible else None
