"""Typing over ADB: printable ASCII by `input text`, the rest by a way that the phone already has.

`input text` breaks on anything but printable ASCII, in a different way on each phone, so nothing
else is ever given to it. Two ways need no installation by us: the shell's clipboard command, which
some makers' phones have, followed by the paste key; and a keyboard app for adb that the owner has
already installed. Where neither is there, the action is refused with `unsupported_text` before
anything is sent.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import Final

import structlog

from device_runtime.adb import quote
from device_runtime.adb_link import AdbLink, require_done
from device_runtime.errors import InvalidActionError, PhoneFaultError, PhoneLostError
from sync.clock import Clock

KEYCODE_PASTE: Final = 279
KEYBOARDS: Final[dict[str, tuple[str, str]]] = {
    "com.android.adbkeyboard/.AdbIME": ("ADB_INPUT_B64", "msg"),
    "com.github.uiautomator/.AdbKeyboard": ("ADB_KEYBOARD_INPUT_TEXT", "text"),
}
"""Keyboards that type what a broadcast tells them, with the broadcast's action and extra."""
CLIPBOARD_VERBS: Final = ("set-primary-clip", "set-text", "set")

_UNTYPABLE = re.compile(r"[^\x20-\x7e]")
_NO_KEYBOARD: Final = frozenset({"", "null"})
_log = structlog.get_logger()


def is_plain(text: str) -> bool:
    """Whether `input text` types all of it."""
    return _UNTYPABLE.search(text) is None


def typed_commands(text: str, at_once: int = 64) -> list[str]:
    """`input text` commands for plain text; a literal "%s" is split, since it would mean a space.

    Args:
        at_once: most characters in one command; keyboards reorder what comes faster than they work.

    Raises: InvalidActionError: it holds anything but printable ASCII.
    """
    if not is_plain(text):
        raise InvalidActionError("unsupported_text: `input text` types printable ASCII only")
    pieces = [
        part[at : at + at_once]
        for part in re.split(r"(?<=%)(?=s)", text)
        for at in range(0, len(part), at_once)
    ]
    return [f"input text {quote(piece.replace(' ', '%s'))}" for piece in pieces]


@dataclass(frozen=True, slots=True)
class TextWays:
    """What a phone has for text beyond ASCII.

    Attributes:
        keyboard: an installed keyboard of `KEYBOARDS`; empty where there is none.
        was_enabled: whether the owner had switched that keyboard on.
        clipboard_verb: the clipboard command's word for setting it; empty where there is none.
    """

    keyboard: str = ""
    was_enabled: bool = False
    clipboard_verb: str = ""


class TextEntry:
    """Types text beyond ASCII into the focused field of one phone.

    Args:
        pause_s: how long a keyboard that was switched to is given to find the field.
    """

    def __init__(self, link: AdbLink, clock: Clock, *, pause_s: float) -> None:
        self._link = link
        self._clock = clock
        self._pause_s = pause_s
        self._ways: TextWays | None = None
        self._owners_keyboard = ""

    def require(self, text: str) -> None:
        """Nothing where the phone can type `text`; changes nothing on it.

        Raises: InvalidActionError: it cannot; nothing was sent.
        """
        if is_plain(text):
            return
        ways = self._known_ways()
        if not (ways.keyboard or ways.clipboard_verb):
            raise InvalidActionError(
                "unsupported_text: adb alone types printable ASCII; for other characters install "
                "a keyboard for adb on the phone, such as com.android.adbkeyboard"
            )

    def enter(self, text: str) -> None:
        """Type text that `input text` cannot, once.

        Raises: InvalidActionError: the phone has no way, or its keyboard could not be switched.
        """
        self.require(text)
        ways = self._known_ways()
        if ways.keyboard:
            self._by_keyboard(text, ways.keyboard)
        else:
            self._by_clipboard(text, ways.clipboard_verb)

    def restore(self) -> None:
        """Give the owner's keyboard back. Idempotent; tried again later where the phone is gone."""
        if not self._owners_keyboard:
            return
        command = f"ime set {quote(self._owners_keyboard)}"
        ways = self._known_ways()
        if ways.keyboard and not ways.was_enabled:
            command += f"; ime disable {quote(ways.keyboard)}"
        self._link.ask(command)
        self._owners_keyboard = ""

    def give_back(self) -> None:
        """Like `restore`, on a phone that may be gone: then it is said and tried again later."""
        try:
            self.restore()
        except (PhoneLostError, PhoneFaultError) as error:
            _log.warning("keyboard_not_restored", serial=self._link.serial, reason=str(error))

    def _known_ways(self) -> TextWays:
        if self._ways is None:
            answer = self._link.ask(
                "ime list -s -a; echo --; ime list -s; echo --; cmd clipboard help 2>&1; echo"
            )
            self._ways = read_ways(answer.stdout.decode(errors="replace"))
        return self._ways

    def _by_keyboard(self, text: str, keyboard: str) -> None:
        action, extra = KEYBOARDS[keyboard]
        before = self._current_keyboard()
        if before != keyboard:
            self._owners_keyboard = "" if before in _NO_KEYBOARD else before
            self._link.ask(f"ime enable {quote(keyboard)}; ime set {quote(keyboard)}")
            self._clock.sleep(self._pause_s)
        try:
            if self._current_keyboard() != keyboard:
                raise InvalidActionError(
                    f"unsupported_text: the phone does not switch to the keyboard {keyboard}"
                )
            encoded = base64.b64encode(text.encode()).decode()
            require_done(
                self._link.serial,
                self._link.send(f"am broadcast -a {action} --es {extra} {encoded}"),
            )
            self._clock.sleep(self._pause_s / 4)
        finally:
            self.give_back()

    def _by_clipboard(self, text: str, verb: str) -> None:
        kind = "text/plain " if verb == "set-primary-clip" else ""
        require_done(self._link.serial, self._link.ask(f"cmd clipboard {verb} {kind}{quote(text)}"))
        require_done(self._link.serial, self._link.send(f"input keyevent {KEYCODE_PASTE}"))

    def _current_keyboard(self) -> str:
        answer = self._link.ask("settings get secure default_input_method")
        return answer.stdout.decode(errors="replace").strip()


def read_ways(answer: str) -> TextWays:
    """What an answer about keyboards and the clipboard means; what it does not say is not there."""
    parts = [part.strip() for part in answer.split("--\n", 2)]
    installed, enabled, clipboard = [*parts, "", "", ""][:3]
    keyboard = next((name for name in KEYBOARDS if name in installed.split()), "")
    words = re.findall(r"[\w-]+", clipboard)
    is_there = "No shell command implementation" not in clipboard and "help" in words
    verb = next((verb for verb in CLIPBOARD_VERBS if verb in words), "") if is_there else ""
    return TextWays(keyboard, keyboard in enabled.split(), verb)


def same_letters(expected: str, shown: str) -> bool:
    """Whether a field shows what was typed and no more.

    Formatting that a field adds by itself (spaces, brackets, dashes) and letter case do not count.
    """
    return _letters(expected) == _letters(shown)


def holds_letters(expected: str, shown: str) -> bool:
    """Whether a field shows what was typed, among other things."""
    return _letters(expected) in _letters(shown)


def _letters(text: str) -> str:
    """What is compared: letters and digits, or all of it where there are none."""
    return "".join(filter(str.isalnum, text.casefold())) or text.strip()
