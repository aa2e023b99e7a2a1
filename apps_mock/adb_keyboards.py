"""The mock phone's keyboards: which are installed, which is chosen, and what broadcasts type.

Beside the phone's own there are keyboards that type what an `am broadcast` tells them, since
`input text` knows printable ASCII only. They type only while one of them is chosen.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Final

from apps_mock.adb_calls import Call
from apps_mock.adb_faults import FaultKind, WireFaults
from apps_mock.adb_ports import ClonePhone
from apps_mock.phone_state import hide_keyboard

OWN: Final = "com.android.inputmethod.latin/.LatinIME"
ADB_KEYBOARDS: Final = (
    "com.android.adbkeyboard/.AdbIME",
    "com.github.uiautomator/.AdbKeyboard",
    "com.mobilerun.portal/.input.MobilerunKeyboardIME",
)
_KEYCODE_ENTER, _KEYCODE_DELETE = 66, 67
_MOST_DELETED: Final = 10_000
_CLEARING: Final = frozenset({"ADB_CLEAR_TEXT", "ADB_KEYBOARD_CLEAR_TEXT", "ADB_KEYBOARD_SET_TEXT"})
_ENTERING: Final = frozenset(
    {"ADB_EDITOR_CODE", "ADB_KEYBOARD_EDITOR_CODE", "ADB_KEYBOARD_SMART_ENTER"}
)
_HEARD: Final = _CLEARING | _ENTERING | {
    "ADB_INPUT_TEXT", "ADB_INPUT_B64", "ADB_INPUT_CHARS", "ADB_INPUT_CODE",
    "ADB_KEYBOARD_INPUT_TEXT", "ADB_KEYBOARD_HIDE",
}  # fmt: skip
_PACKAGE_OF: Final = {name: name.partition("/")[0] for name in (OWN, *ADB_KEYBOARDS)}


class Keyboards:
    """The keyboards of one phone."""

    def __init__(self, faults: WireFaults) -> None:
        self._faults = faults
        self._enabled = [OWN]
        self.current = OWN

    @property
    def installed(self) -> tuple[str, ...]:
        """What could be enabled."""
        if self._faults.is_armed(FaultKind.IME_MISSING):
            return (OWN,)
        return (OWN, *ADB_KEYBOARDS)

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages that the installed keyboards came in."""
        return tuple(_PACKAGE_OF[name] for name in self.installed)

    async def command(self, call: Call) -> int:
        """`ime list|enable|disable|set|reset`."""
        match call.arguments:
            case ("list", *words):
                return self._list(call, words)
            case ("enable", *_, name):
                return self._enable(call, name)
            case ("disable", *_, name):
                self._enabled = [each for each in self._enabled if each != _full(name)] or [OWN]
                call.out(f"Input method {_full(name)}: now disabled for user #0\n")
                self.current = self.current if self.current in self._enabled else OWN
                return 0
            case ("set", *_, name):
                return self._set(call, name)
            case ("reset",):
                self._enabled, self.current = [OWN], OWN
                call.out("Reset current and enabled IMEs for user #0\n")
                return 0
        return call.fail("expected list, enable, disable, set or reset", 255)

    def choose(self, name: str) -> None:
        """Take another keyboard, as a setting says; one that is not there changes nothing."""
        if name in self.installed:
            self.current = name

    def broadcast(self, phone: ClonePhone, action: str, extras: Mapping[str, str]) -> bool:
        """What a chosen keyboard does on a broadcast; False where none of them listens to it.

        Raises: ValueError: what should be base64 is none.
        """
        if self.current not in ADB_KEYBOARDS:
            return False
        if action in _CLEARING:
            phone.press(_KEYCODE_DELETE, times=_MOST_DELETED)
        if action in _ENTERING:
            phone.press(_KEYCODE_ENTER)
        if action == "ADB_INPUT_CODE":
            phone.press(int(extras.get("code", "0")))
        if action == "ADB_KEYBOARD_HIDE":
            _hide(phone)
        text = _typed(action, extras)
        if text:
            phone.type_text(text)
        return action in _HEARD

    def _list(self, call: Call, words: list[str]) -> int:
        shown = self.installed if "-a" in words else self._shown()
        for name in shown:
            call.out(f"{name}\n" if "-s" in words else f"mId={name} mSettingsActivityName=null\n")
        return 0

    def _shown(self) -> list[str]:
        return [name for name in self._enabled if name in self.installed]

    def _enable(self, call: Call, given: str) -> int:
        name = _full(given)
        if name not in self.installed:
            call.out(f"Unknown input method {name} cannot be enabled for user #0\n")
            return 255
        is_new = name not in self._enabled
        self._enabled += [name] if is_new else []
        call.out(f"Input method {name}: {'now' if is_new else 'already'} enabled for user #0\n")
        return 0

    def _set(self, call: Call, given: str) -> int:
        name = _full(given)
        if name not in self._shown():
            call.out(f"Unknown input method {name} cannot be selected for user #0\n")
            return 255
        self.current = name
        call.out(f"Input method {name} selected for user #0\n")
        return 0


def _full(name: str) -> str:
    """A keyboard's id with its class in short, as the phone writes it."""
    package, _, activity = name.partition("/")
    return f"{package}/{activity.removeprefix(package)}" if activity else name


def _typed(action: str, extras: Mapping[str, str]) -> str:
    """The text that a broadcast wants typed."""
    match action:
        case "ADB_INPUT_TEXT":
            return extras.get("msg", "")
        case "ADB_INPUT_CHARS":
            return _characters(extras.get("chars", ""))
        case "ADB_INPUT_B64":
            return decoded(extras.get("msg", ""))
        case "ADB_KEYBOARD_INPUT_TEXT" | "ADB_KEYBOARD_SET_TEXT":
            return decoded(extras.get("text", ""))
        case _:
            return ""


def _hide(phone: ClonePhone) -> None:
    state = phone.loaded_state()
    if state is not None:
        phone.restore(hide_keyboard(state))


def _characters(codes: str) -> str:
    """The text of character codes with commas between them.

    Raises: ValueError: a code that there is not.
    """
    text = "".join(chr(int(code)) for code in codes.split(",") if code)
    return text.encode(errors="replace").decode()


def decoded(text: str) -> str:
    """The text that is written in base64.

    Raises: ValueError: it is none.
    """
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise ValueError(f"no base64 of UTF-8: {error}") from error
