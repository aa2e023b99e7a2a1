"""The `input` command of the mock phone: taps, swipes, keys and text, with Android's arguments."""

from __future__ import annotations

from threading import RLock
from typing import Final

from apps_mock.adb_calls import Call
from apps_mock.adb_ports import ClonePhone

SOURCES: Final = frozenset(
    {"touchscreen", "keyboard", "mouse", "stylus", "touchpad", "dpad", "gamepad", "trackball"}
)
KEYCODES: Final[dict[str, int]] = {
    "HOME": 3, "BACK": 4, "DPAD_UP": 19, "DPAD_DOWN": 20, "DPAD_LEFT": 21, "DPAD_RIGHT": 22,
    "DPAD_CENTER": 23, "VOLUME_UP": 24, "VOLUME_DOWN": 25, "POWER": 26, "TAB": 61, "SPACE": 62,
    "ENTER": 66, "DEL": 67, "MENU": 82, "SEARCH": 84, "ESCAPE": 111, "FORWARD_DEL": 112,
    "MOVE_HOME": 122, "MOVE_END": 123, "APP_SWITCH": 187, "SLEEP": 223, "WAKEUP": 224,
}  # fmt: skip
"""Android's key names without `KEYCODE_`."""

LARGEST_KEYCODE: Final = 320
UNKNOWN_KEY: Final = 0
"""The key that means nothing; phones take it, so it tells whether keys are taken at all."""
SWIPE_MS: Final = 300
DRAG_MS: Final = 1000
_BAD_USE: Final = 255


class InputCommand:
    """`input [SOURCE] [-d DISPLAY] tap|swipe|draganddrop|motionevent|keyevent|text …`."""

    def __init__(self, phone: ClonePhone, lock: RLock) -> None:
        self._phone = phone
        self._lock = lock
        self._finger: tuple[int, int] | None = None

    async def __call__(self, call: Call) -> int:
        """Inject the event; silent where it went well, as on a phone."""
        words = list(call.arguments)
        if words and words[0] in SOURCES:
            words.pop(0)
        if words and words[0] == "-d":
            del words[:2]
        name, *arguments = words or [""]
        players = {
            "tap": self._tap, "swipe": self._swipe, "draganddrop": self._drag,
            "motionevent": self._motion, "keyevent": self._keys, "text": self._text,
        }  # fmt: skip
        player = players.get(name)
        if player is None:
            return _refuse(call, f"Error: Unknown command: {name}")
        try:
            with self._lock:
                player(arguments)
        except ValueError as error:
            return _refuse(call, f"Error: Invalid arguments for command: {name} ({error})")
        return 0

    def _tap(self, arguments: list[str]) -> None:
        (x, y), _ = _numbers(arguments, 2)
        self._phone.touch(x, y)

    def _swipe(self, arguments: list[str]) -> None:
        (x1, y1, x2, y2), duration_ms = _numbers(arguments, 4)
        self._move((x1, y1), (x2, y2), SWIPE_MS if duration_ms is None else duration_ms)

    def _drag(self, arguments: list[str]) -> None:
        (x1, y1, x2, y2), duration_ms = _numbers(arguments, 4)
        self._move((x1, y1), (x2, y2), DRAG_MS if duration_ms is None else duration_ms)

    def _motion(self, arguments: list[str]) -> None:
        kind, *position = arguments or [""]
        (x, y), _ = _numbers(position, 2)
        match kind.upper():
            case "DOWN":
                self._finger = (x, y)
            case "UP" if self._finger:
                start, self._finger = self._finger, None
                self._move(start, (x, y), 0 if start == (x, y) else SWIPE_MS)
            case "MOVE" | "CANCEL" | "UP":
                pass
            case _:
                raise ValueError(f"unknown motion {kind!r}")

    def _move(self, start: tuple[int, int], end: tuple[int, int], duration_ms: int) -> None:
        if start == end:
            self._phone.touch(*start, duration_ms=duration_ms)
        else:
            self._phone.swipe(*start, *end, duration_ms=duration_ms)

    def _keys(self, arguments: list[str]) -> None:
        names = [each for each in arguments if not each.startswith("--")]
        if not names:
            raise ValueError("expected a key")
        for keycode in [_keycode(name) for name in names]:
            if keycode != UNKNOWN_KEY:
                self._phone.press(keycode)

    def _text(self, arguments: list[str]) -> None:
        if not arguments:
            raise ValueError("expected a text")
        text = arguments[0].replace("%s", " ")
        if not text.isascii():
            raise ValueError("the key character map has no such character")
        self._phone.type_text(text)


def _keycode(name: str) -> int:
    code = int(name) if name.isdigit() else KEYCODES.get(name.upper().removeprefix("KEYCODE_"), -1)
    if not UNKNOWN_KEY <= code <= LARGEST_KEYCODE:
        raise ValueError(f"unknown key {name!r}")
    return code


def _numbers(arguments: list[str], count: int) -> tuple[list[int], int | None]:
    """`count` coordinates, and the duration after them where one is given."""
    if not count <= len(arguments) <= count + 1:
        raise ValueError(f"expected {count} numbers, got {len(arguments)}")
    values = [int(float(each)) for each in arguments]
    return values[:count], values[count] if len(values) > count else None


def _refuse(call: Call, text: str) -> int:
    call.error(text)
    call.error("Usage: input [<source>] [-d DISPLAY_ID] <command> [<arg>...]")
    return _BAD_USE
