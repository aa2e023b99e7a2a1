"""Whether a phone's screen can be seen and touched, read from what the phone answered: pure."""

from __future__ import annotations

import io
import re

from device_runtime.errors import HierarchyError, PhoneFaultError
from device_runtime.phone_questions import (
    ACCESSIBILITY,
    ACTIVITIES,
    DISPLAYS,
    KEY,
    PHYSICAL_DISPLAYS,
    POWER,
    SCREENSHOT,
    SIZE,
    TREE,
    WINDOWS,
    Answer,
    Answers,
)
from outrider.findings import Finding, advice, fault, fine

_WAKEFULNESS = re.compile(r"mWakefulness=(\w+)")
_PANEL = re.compile(r"Display Power: state=(\w+)")
_KEYGUARD = re.compile(
    r"(?:mDreamingLockscreen|mShowingLockscreen|isKeyguardShowing|mKeyguardShowing"
    r"|keyguardShowing)=true"
)
_DELEGATE = re.compile(r"KeyguardServiceDelegate\s+showing=(\w+)")
_SECURE_KEYGUARD = re.compile(r"\bsecure=true")
_FOCUS = re.compile(r"mCurrentFocus=(.+)")
_COVERING = {
    "Application Not Responding": "an app does not respond: close its dialog on the phone",
    "Application Error": "an app has stopped: close its dialog on the phone",
    "permissioncontroller": "an app asks for a permission: answer its dialog on the phone",
    "GrantPermissions": "an app asks for a permission: answer its dialog on the phone",
}
_PHYSICAL = re.compile(r"^Display (\d+)", re.MULTILINE)
_VIEWPORT = re.compile(r"DisplayViewport\{type=INTERNAL, valid=true, isActive=true")
_OVERRIDE = re.compile(r"Override size: (\d+x\d+)")
_PHYSICAL_SIZE = re.compile(r"Physical size: (\d+x\d+)")
_UI_AUTOMATION = re.compile(r"Ui Automation\[(?!\s*\])|UiAutomationService.*already registered")
_SAID_BY_DUMPER = (
    (
        re.compile(r"already registered|UiAutomationService|UiAutomation not connected"),
        "another program holds UiAutomation",
        "end the other one (uiautomator2, Appium): only one can read the screen at a time",
    ),
    (
        re.compile(r"could not get idle state", re.IGNORECASE),
        "the screen never rests",
        "leave the video or animation, and set the three animation scales to 0 (--fix)",
    ),
    (
        re.compile(r"null root node", re.IGNORECASE),
        "no window has a tree",
        "unlock the phone and open an app; if it stays, restart the phone",
    ),
    (
        re.compile(r"killed", re.IGNORECASE),
        "the dumper is killed",
        "close apps to free memory, then try again",
    ),
)


def screen_findings(answers: Answers) -> list[Finding]:
    """What can be wrong between the phone's screen and what the runtime sees and touches."""
    return [
        _screen(answers),
        _keyguard(answers),
        _input(answers),
        _front(answers),
        _tree(answers),
        _screenshot(answers),
        _displays(answers),
        _size(answers),
    ]


def _text(answers: Answers, command: str) -> str:
    return answers.get(command, Answer()).text


def is_awake(answers: Answers) -> bool | None:
    """Whether the screen is on; None where the phone does not say."""
    state = _WAKEFULNESS.search(_text(answers, POWER))
    return None if state is None else state[1] == "Awake"


def _screen(answers: Answers) -> Finding:
    power = _text(answers, POWER)
    state, panel = _WAKEFULNESS.search(power), _PANEL.search(power)
    if state is None:
        return fine("screen", "unknown")
    shown = state[1].lower() + (f", panel {panel[1].lower()}" if panel else "")
    if state[1] == "Awake":
        return fine("screen", shown)
    return fault("screen", shown, "wake the phone (--fix does), and let it stay awake on power")


def _keyguard(answers: Answers) -> Finding:
    windows = _text(answers, WINDOWS)
    text = windows + _text(answers, ACTIVITIES)
    delegate = _DELEGATE.search(windows)
    is_shown = _KEYGUARD.search(text) or (delegate is not None and delegate[1] == "true")
    if not is_shown:
        return fine("lock screen", "not shown")
    if _SECURE_KEYGUARD.search(windows):
        return fault(
            "lock screen",
            "shown, with PIN, pattern or password",
            "unlock the phone by hand, and set its screen lock to None while it works alone",
        )
    return fault("lock screen", "shown", "unlock the phone (--fix tries), set screen lock to None")


def _input(answers: Answers) -> Finding:
    answer = answers.get(KEY)
    if answer is None:
        return fine("touch", "unknown")
    if "INJECT_EVENTS" in answer.text:
        return fault(
            "touch",
            "the phone forbids injected touches (INJECT_EVENTS)",
            'in developer options switch on "USB debugging (Security settings)" (Xiaomi) or '
            '"Disable permission monitoring" (OPPO, realme, OnePlus), then restart the phone',
        )
    if answer.exit_code != 0:
        said = " ".join(answer.text.split())[:80]
        return fault("touch", f"refused: {said or answer.exit_code}", "restart the phone")
    return fine("touch", "allowed")


def _front(answers: Answers) -> Finding:
    focuses = [found.strip() for found in _FOCUS.findall(_text(answers, WINDOWS))]
    if not focuses:
        return fine("front window", "unknown")
    focus = next((each for each in focuses if each != "null"), "")
    if not focus:
        return advice("front window", "no window has the focus", "open an app or the home screen")
    for mark, hint in _COVERING.items():
        if mark in focus:
            return advice("front window", mark, hint)
    return fine("front window", focus.rstrip("}").rpartition(" ")[2])


def _tree(answers: Answers) -> Finding:
    from device_runtime.ui_tree import parse

    answer = answers.get(TREE)
    if answer is None:
        return fault("tree", "the dump broke the protocol", "try again; restart the phone")
    text = answer.text
    for pattern, found, hint in _SAID_BY_DUMPER:
        if pattern.search(text):
            return fault("tree", found, hint)
    if answer.exit_code != 0 or not answer.file:
        said = " ".join(text.split())[:80] or f"code {answer.exit_code}"
        return fault("tree", f"no dump: {said}", _after_failed_dump(answers))
    try:
        hierarchy = parse(answer.file)
    except HierarchyError as error:
        return fault("tree", f"damaged: {error}"[:100], "try again; it may change while it is read")
    nodes = answer.file.count(b"<node")
    if not hierarchy.roots:
        return fault("tree", "empty", "restart the app in front; games and videos have no tree")
    return fine("tree", f"{nodes} nodes, {answer.elapsed_ms:.0f} ms")


def _after_failed_dump(answers: Answers) -> str:
    if _UI_AUTOMATION.search(_text(answers, ACCESSIBILITY)):
        return "another program holds UiAutomation: end it (uiautomator2, Appium), then try again"
    return "try again; restart the phone if it stays"


def _screenshot(answers: Answers) -> Finding:
    from device_runtime.adb_phone import complete_png

    answer = answers.get(SCREENSHOT)
    if answer is None:
        return fine("screenshot", "not kept")
    try:
        image = complete_png(answer.stdout)
    except PhoneFaultError as error:
        found = str(error).partition(";")[0]
        return fault("screenshot", found, "check the cable; restart the phone if it stays")
    if is_awake(answers) is not False and is_black(image):
        return advice(
            "screenshot",
            "black while the screen is on",
            "the app in front forbids screenshots (a secure window): only its tree can be used",
        )
    if len(image) < len(answer.stdout):
        return advice(
            "screenshot",
            "text stands before the image",
            "harmless; it comes from phones with several displays",
        )
    return fine("screenshot", f"{len(image) // 1024} KiB, {answer.elapsed_ms:.0f} ms")


def is_black(png: bytes) -> bool:
    """Whether every pixel of an image is black; False where Pillow is absent to tell."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ModuleNotFoundError:
        return False
    try:
        with Image.open(io.BytesIO(png)) as image:
            return image.convert("L").getextrema() == (0, 0)
    except (OSError, UnidentifiedImageError, ValueError):
        return False


def _displays(answers: Answers) -> Finding:
    physical = set(_PHYSICAL.findall(_text(answers, PHYSICAL_DISPLAYS)))
    count = max(len(physical), len(_VIEWPORT.findall(_text(answers, DISPLAYS))))
    if count > 1:
        return advice(
            "displays",
            f"{count} displays",
            "keep a foldable as it is while it works; the display that is on is observed",
        )
    return fine("displays", "1" if count else "unknown")


def _size(answers: Answers) -> Finding:
    text = _text(answers, SIZE)
    override, physical = _OVERRIDE.search(text), _PHYSICAL_SIZE.search(text)
    if override:
        return advice(
            "size",
            f"{override[1]} in place of {physical[1] if physical else 'another'}",
            "works as it is; adb shell wm size reset takes the override back",
        )
    return fine("size", physical[1] if physical else "unknown")
