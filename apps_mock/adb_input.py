"""The `input` command of the mock phone: taps, swipes, keys and text, with Android's arguments."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from apps_mock.adb_calls import Call
from apps_mock.adb_device import MockDevice
from apps_mock.adb_faults import FaultKind
from apps_mock.effects import clipboard_of

SOURCES: Final = frozenset(
    "touchscreen keyboard mouse stylus touchpad touchnavigation dpad gamepad trackball joystick "
    "rotaryencoder".split()
)
KEYCODES: Final[dict[str, int]] = {
    "UNKNOWN": 0, "SOFT_LEFT": 1, "SOFT_RIGHT": 2, "HOME": 3, "BACK": 4, "CALL": 5, "ENDCALL": 6,
    **{str(digit): 7 + digit for digit in range(10)},
    "STAR": 17, "POUND": 18, "DPAD_UP": 19, "DPAD_DOWN": 20, "DPAD_LEFT": 21, "DPAD_RIGHT": 22,
    "DPAD_CENTER": 23, "VOLUME_UP": 24, "VOLUME_DOWN": 25, "POWER": 26, "CAMERA": 27, "CLEAR": 28,
    **{letter: 29 + index for index, letter in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZ")},
    "COMMA": 55, "PERIOD": 56, "ALT_LEFT": 57, "SHIFT_LEFT": 59, "SHIFT_RIGHT": 60, "TAB": 61,
    "SPACE": 62, "EXPLORER": 64, "ENVELOPE": 65, "ENTER": 66, "DEL": 67, "GRAVE": 68, "MINUS": 69,
    "EQUALS": 70, "LEFT_BRACKET": 71, "RIGHT_BRACKET": 72, "BACKSLASH": 73, "SEMICOLON": 74,
    "APOSTROPHE": 75, "SLASH": 76, "AT": 77, "PLUS": 81, "MENU": 82, "NOTIFICATION": 83,
    "SEARCH": 84, "MEDIA_PLAY_PAUSE": 85, "PAGE_UP": 92, "PAGE_DOWN": 93, "ESCAPE": 111,
    "FORWARD_DEL": 112, "CTRL_LEFT": 113, "MOVE_HOME": 122, "MOVE_END": 123, "NUMPAD_ENTER": 160,
    "VOLUME_MUTE": 164, "APP_SWITCH": 187, "ASSIST": 219, "BRIGHTNESS_DOWN": 220,
    "BRIGHTNESS_UP": 221, "SLEEP": 223, "WAKEUP": 224, "SOFT_SLEEP": 276, "CUT": 277, "COPY": 278,
    "PASTE": 279,
}  # fmt: skip
"""Android's key names without `KEYCODE_`."""

LARGEST_KEYCODE: Final = 320
SWIPE_MS: Final = 300
DRAG_MS: Final = 1000
INJECT_DENIED: Final = (
    "java.lang.SecurityException: Injecting input events requires the caller (or the source of the "
    "instrumentation, if any) to have the INJECT_EVENTS permission."
)
UNTYPABLE: Final = (
    "java.lang.NullPointerException: Attempt to get length of null array\n"
    "\tat com.android.commands.input.Input.sendText(Input.java)"
)
_BAD_USE: Final = 255
_SIGNS: Final = {
    55: ",", 56: ".", 62: " ", 68: "`", 69: "-", 70: "=", 71: "[", 72: "]", 73: "\\", 74: ";",
    75: "'", 76: "/", 77: "@", 81: "+", 17: "*", 18: "#",
}  # fmt: skip
_POWER, _ENTER, _MENU, _SLEEP, _WAKEUP, _PASTE = 26, 66, 82, 223, 224, 279
_NUMPAD_ENTER: Final = 160


class UntypableError(ValueError):
    """Text that no key of the phone types."""


class InputCommand:
    """`input [SOURCE] [-d DISPLAY] tap|swipe|draganddrop|motionevent|keyevent|text …`."""

    def __init__(self, device: MockDevice) -> None:
        self._device = device
        self._phone = device.phone
        self._path: list[tuple[int, int]] = []

    async def __call__(self, call: Call) -> int:
        """Inject the event; silent where it went well, as on a phone."""
        words = list(call.arguments)
        if words and words[0] in SOURCES:
            words.pop(0)
        if words and words[0] == "-d":
            del words[:2]
        name, *arguments = words or [""]
        players: dict[str, Callable[[list[str], Call], None]] = {
            "tap": self._tap, "swipe": self._swipe, "draganddrop": self._drag,
            "motionevent": self._motion, "keyevent": self._keys, "text": self._text,
            "press": _nothing, "roll": _nothing, "keycombination": self._combination,
        }  # fmt: skip
        player = players.get(name)
        if player is None:
            return _refuse(call, f"Error: Unknown command: {name}")
        try:
            with self._device.in_use():
                if self._device.faults.strikes(FaultKind.INJECT_DENIED, call.shown):
                    call.error(INJECT_DENIED)
                    return 255
                self._device.meet_windows(call.shown)
                player(arguments, call)
        except UntypableError:
            call.error(UNTYPABLE)
            return _BAD_USE
        except ValueError as error:
            return _refuse(call, f"Error: Invalid arguments for command: {name} ({error})")
        return 0

    @property
    def _is_awake(self) -> bool:
        return self._device.displays.is_awake

    def _tap(self, arguments: list[str], call: Call) -> None:
        (x, y), _ = _numbers(arguments, 2)
        if self._is_awake and not self._device.faults.strikes(FaultKind.LOST_TAP, call.shown):
            self._phone.touch(x, y)

    def _swipe(self, arguments: list[str], _call: Call) -> None:
        (x1, y1, x2, y2), duration_ms = _numbers(arguments, 4)
        self._move((x1, y1), (x2, y2), SWIPE_MS if duration_ms is None else duration_ms)

    def _drag(self, arguments: list[str], _call: Call) -> None:
        (x1, y1, x2, y2), duration_ms = _numbers(arguments, 4)
        self._move((x1, y1), (x2, y2), DRAG_MS if duration_ms is None else duration_ms)

    def _motion(self, arguments: list[str], _call: Call) -> None:
        kind, *position = arguments or [""]
        match kind.upper():
            case "CANCEL":
                self._path.clear()
            case "DOWN":
                self._path = [_point(position)]
            case "MOVE" if self._path:
                self._path = [self._path[0], _point(position)]
            case "UP":
                end = _point(position)
                start = self._path[0] if self._path else end
                self._path.clear()
                self._move(start, end, 0 if start == end else SWIPE_MS)
            case "MOVE":
                _point(position)
            case _:
                raise ValueError(f"unknown motion {kind!r}")

    def _move(self, start: tuple[int, int], end: tuple[int, int], duration_ms: int) -> None:
        if not self._is_awake:
            return
        if start == end:
            self._phone.touch(*start, duration_ms=duration_ms)
        else:
            self._phone.swipe(*start, *end, duration_ms=duration_ms)

    def _keys(self, arguments: list[str], _call: Call) -> None:
        names = [each for each in arguments if not each.startswith("--")]
        if not names:
            raise ValueError("expected a key")
        for keycode in [keycode_of(name) for name in names]:
            self.press(keycode)

    def _combination(self, arguments: list[str], _call: Call) -> None:
        names = [each for each in arguments if not each.startswith("-")]
        if len(names) < 2:
            raise ValueError("expected at least two keys")
        for name in names:
            keycode_of(name)

    def press(self, keycode: int) -> None:
        """One key: those of the phone itself here, the others on the clone.

        The caller holds the phone's lock.
        """
        device = self._device
        if keycode == _WAKEUP or (keycode == _POWER and not self._is_awake):
            device.wake()
        elif keycode in {_POWER, _SLEEP}:
            device.sleep()
        elif not self._is_awake:
            return
        elif keycode == _MENU:
            device.dismiss_keyguard()
        elif keycode == _PASTE:
            state = self._phone.loaded_state()
            self._phone.type_text("" if state is None else clipboard_of(state))
        elif keycode in _SIGNS or 7 <= keycode <= 16 or 29 <= keycode <= 54:
            self._phone.type_text(_typed(keycode))
        elif keycode:
            self._phone.press(_ENTER if keycode == _NUMPAD_ENTER else keycode)

    def _text(self, arguments: list[str], call: Call) -> None:
        if not arguments:
            raise ValueError("expected a text")
        text = re.sub(r"%s", " ", arguments[0])
        if not text.isascii() or not text.isprintable():
            raise UntypableError
        if self._is_awake:
            self._phone.type_text(self._spoilt(text, call))

    def _spoilt(self, text: str, call: Call) -> str:
        """The text as faults let it arrive."""
        faults = self._device.faults
        if len(text) > 1:
            struck = faults.strikes(FaultKind.LOST_TEXT, call.shown)
            if struck:
                kept = len(text) // 2 if struck.amount is None else struck.amount
                return text[:kept]
            if faults.strikes(FaultKind.SWAPPED_TEXT, call.shown):
                at = faults.number(0, len(text) - 2)
                return text[:at] + text[at + 1] + text[at] + text[at + 2 :]
        return text


def _nothing(_arguments: list[str], _call: Call) -> None:
    """A trackball's moves, which no app of the phone takes."""


def _typed(keycode: int) -> str:
    """The character of a key that types one."""
    if 7 <= keycode <= 16:
        return str(keycode - 7)
    return _SIGNS.get(keycode) or "abcdefghijklmnopqrstuvwxyz"[keycode - 29]


def keycode_of(name: str) -> int:
    """A key by its number (also hexadecimal) or its name; 0 is the key that means nothing.

    Raises: ValueError: there is no such key.
    """
    known = KEYCODES.get(name.upper().removeprefix("KEYCODE_"), -1)
    if re.fullmatch(r"\d{1,4}|0x[0-9a-fA-F]{1,4}", name):
        known = int(name, 0) if name.startswith("0x") else int(name)
    if not 0 <= known <= LARGEST_KEYCODE:
        raise ValueError(f"unknown key {name!r}")
    return known


def _point(position: list[str]) -> tuple[int, int]:
    (x, y), _ = _numbers(position, 2)
    return x, y


def _numbers(arguments: list[str], count: int) -> tuple[list[int], int | None]:
    """`count` coordinates, and the duration after them where one is given.

    Raises: ValueError: too many or too few of them, or no numbers.
    """
    if not count <= len(arguments) <= count + 1:
        raise ValueError(f"expected {count} numbers, got {len(arguments)}")
    if not all(re.fullmatch(r"-?\d{1,6}(\.\d{0,9})?", each) for each in arguments):
        raise ValueError(f"expected numbers, got {' '.join(arguments)[:80]}")
    values = [int(float(each)) for each in arguments]
    return values[:count], values[count] if len(values) > count else None


def _refuse(call: Call, text: str) -> int:
    call.error(text)
    call.error("Usage: input [<source>] [-d DISPLAY_ID] <command> [<arg>...]")
    return _BAD_USE
