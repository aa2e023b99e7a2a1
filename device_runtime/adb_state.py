"""What a phone says of its windows, displays, keyboard and power, read from the text of `dumpsys`.

Pure functions of text. Versions and makers of Android word these lines differently, print several
for one question or none: what is not said is unknown (None or empty), never guessed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from sync.vocabulary import ScreenMark

WINDOW_LINES: Final = (
    "mDisplayId=|init=|mCurrentFocus|mFocusedApp|mRotation|mCurrentRotation|Window #|fl=|"
    "mDreamingLockscreen|mShowingLockscreen|isStatusBarKeyguard|mKeyguardShowing|"
    "KeyguardServiceDelegate|showing=|topResumedActivity|mResumedActivity"
)
"""Which lines of `dumpsys window` are read, as an extended regular expression."""
ACTIVITY_LINES: Final = "topResumedActivity|mResumedActivity|ResumedActivity:|Display #"
POWER_LINES: Final = "mWakefulness=|Display Power"
KEYBOARD_LINES: Final = "mInputShown"

SYSTEM_UI: Final = "com.android.systemui"
ANDROID: Final = "android"
"""Whose the system's own dialogs are."""
_SECURE_FLAG: Final = 0x2000
_CRASHED: Final = "Application Error"
_HUNG: Final = "Application Not Responding"
_DIALOG_TITLES: Final = (_CRASHED, _HUNG)
_PERMISSION_DIALOGS: Final = (
    ("permissioncontroller", "GrantPermissionsActivity"),
    ("packageinstaller", "GrantPermissionsActivity"),
    ("systemui", "PermissionActivity"),
)
"""How package and activity of a dialog end that asks for a permission; the last is the clones'."""
_DISPLAY = re.compile(r"^\s*Display(?:: mDisplayId=|Content#| #)(\d{1,9})")
_SIZE_OF: Final = {
    name: re.compile(rf"\b{name}=([1-9]\d{{0,4}})x([1-9]\d{{0,4}})\b")
    for name in ("init", "base", "cur")
}
_FOCUS = re.compile(r"(mCurrentFocus|mFocusedApp|topResumedActivity|m?ResumedActivity)[=:]\s*(.*)")
_RECORD = re.compile(r"\w+\{(\w+) (?:u\d+ )?(.*?)\}?\s*$")
_COMPONENT = re.compile(r"([A-Za-z][\w.]*)/([\w.$]+)")
_WINDOW = re.compile(r"^\s*Window #\d+ Window\{(\w+) ")
_FLAGS = re.compile(r"(?<![A-Za-z])fl=(?:#([0-9a-fA-F]+)|([A-Z0-9_ |]+))")
_ROTATION = re.compile(r"\bm(?:Current)?Rotation=(?:ROTATION_)?(\d{1,3})\b")
_KEYGUARD = re.compile(
    r"\b(?:mDreamingLockscreen|mShowingLockscreen|isStatusBarKeyguard|mKeyguardShowing)=(\w+)"
)
_WAKEFULNESS = re.compile(r"\bmWakefulness=(\w+)")
_POWER_STATE = re.compile(r"Display Power: state=(\w+)")
_SYSTEM_WINDOWS: Final = {
    "NotificationShade": SYSTEM_UI,
    "StatusBar": SYSTEM_UI,
    "Keyguard": SYSTEM_UI,
}


@dataclass(frozen=True, slots=True)
class ScreenState:
    """What is known of one display beside its view hierarchy.

    Attributes:
        package, activity: what is in the foreground; empty where unknown.
        window: title of the focused window, such as a system dialog's; empty where unknown.
        size: current width and height as the display is turned; None where not said.
        natural_size: the same in the phone's natural position, an override included.
        rotation: quarter turns; None where not said.
        is_secure: the focused window forbids capture.
        is_awake: None where not said.
    """

    package: str = ""
    activity: str = ""
    window: str = ""
    size: tuple[int, int] | None = None
    natural_size: tuple[int, int] | None = None
    rotation: int | None = None
    is_secure: bool = False
    is_locked: bool = False
    is_awake: bool | None = None
    keyboard_shown: bool = False

    @property
    def marks(self) -> tuple[ScreenMark, ...]:
        """What an observation is marked with, as far as windows tell."""
        found = []
        if self.is_secure:
            found.append(ScreenMark.SECURE)
        if _is_permission_dialog(self.package, self.activity):
            found.append(ScreenMark.PERMISSION)
        if self.window.startswith(_CRASHED):
            found.append(ScreenMark.CRASH)
        if self.window.startswith(_HUNG):
            found.append(ScreenMark.NOT_RESPONDING)
        if self.is_locked:
            found.append(ScreenMark.KEYGUARD)
        return tuple(found)


def read_state(text: str, display: int = 0) -> ScreenState:
    """The state of a display, from the chosen lines of several `dumpsys` services.

    Args:
        text: lines of `dumpsys window`, `input_method`, `power` and, where the first names nobody,
            `activity activities`, in any order.
        display: the logical display.
    """
    reader = _Reader(display)
    for line in text.splitlines():
        reader.line(line)
    return reader.state(text)


class _Reader:
    """Goes through lines that depend on headings before them."""

    def __init__(self, display: int) -> None:
        self._wanted = display
        self._display: int | None = None
        self._focus: dict[str, str] = {}
        self._secure: set[str] = set()
        self._window = ""
        self._sizes: dict[str, tuple[int, int]] = {}
        self._rotation: int | None = None
        self._is_locked = False
        self._in_keyguard = False

    def line(self, line: str) -> None:
        if heading := _DISPLAY.match(line):
            self._display = int(heading[1])
        if window := _WINDOW.match(line):
            self._window, self._display = window[1], None
        self._read_keyguard(line)
        self._read_flags(line)
        if self._display not in {None, self._wanted}:
            return
        if "cur=" in line and not self._sizes:
            self._sizes = {
                name: (int(size[1]), int(size[2]))
                for name, pattern in _SIZE_OF.items()
                if (size := pattern.search(line))
            }
        if (turned := _ROTATION.search(line)) and self._rotation is None:
            self._rotation = _quarter_turns(int(turned[1]))
        if focus := _FOCUS.search(line):
            self._read_focus(focus[1], focus[2])

    def state(self, text: str) -> ScreenState:
        package, activity, window, handle = self._foreground()
        sizes = self._sizes
        return ScreenState(
            package=package,
            activity=activity,
            window=window,
            size=sizes.get("cur"),
            natural_size=sizes.get("base") or sizes.get("init"),
            rotation=self._rotation,
            is_secure=handle in self._secure,
            is_locked=self._is_locked,
            is_awake=_awake(text),
            keyboard_shown="mInputShown=true" in text,
        )

    def _read_focus(self, name: str, value: str) -> None:
        """Keep the first that is not null, by name; displays of their own headings come first."""
        if value and not value.startswith("null"):
            self._focus.setdefault(name, value)

    def _read_flags(self, line: str) -> None:
        flags = _FLAGS.search(line)
        if flags is None or not self._window:
            return
        number, names = flags.groups()
        if int(number, 16) & _SECURE_FLAG if number else "SECURE" in re.split(r"[ |]+", names):
            self._secure.add(self._window)

    def _read_keyguard(self, line: str) -> None:
        if "KeyguardServiceDelegate" in line:
            self._in_keyguard = True
        elif self._in_keyguard and (showing := re.search(r"\bshowing=(\w+)", line)):
            self._is_locked |= showing[1] == "true"
            self._in_keyguard = False
        if any(value == "true" for value in _KEYGUARD.findall(line)):
            self._is_locked = True

    def _foreground(self) -> tuple[str, str, str, str]:
        """Package, activity, the focused window's title and its handle."""
        window, handle = _title(self._focus.get("mCurrentFocus", ""))
        if window.startswith(_DIALOG_TITLES):
            return ANDROID, "", window, handle
        if window in _SYSTEM_WINDOWS:
            return _SYSTEM_WINDOWS[window], "", window, handle
        for name in _FOCUS_ORDER:
            found = _COMPONENT.search(_title(self._focus.get(name, ""))[0])
            if found is not None:
                return found[1], _full(found[1], found[2]), window, handle
        return "", "", window, handle


_FOCUS_ORDER: Final = (
    "mCurrentFocus",
    "topResumedActivity",
    "mResumedActivity",
    "ResumedActivity",
    "mFocusedApp",
)


def _title(value: str) -> tuple[str, str]:
    record = _RECORD.match(value.strip())
    return (record[2].split("}")[0], record[1]) if record else ("", "")


def _full(package: str, activity: str) -> str:
    return package + activity if activity.startswith(".") else activity


def _is_permission_dialog(package: str, activity: str) -> bool:
    return any(
        package.endswith(owner) and activity.endswith(name) for owner, name in _PERMISSION_DIALOGS
    )


def _quarter_turns(value: int) -> int:
    """ROTATION_90 and 1 both mean one."""
    return (value // 90 if value >= 90 else value) % 4


def _awake(text: str) -> bool | None:
    if said := _WAKEFULNESS.search(text):
        return said[1] == "Awake"
    if said := _POWER_STATE.search(text):
        return said[1] == "ON"
    return None
