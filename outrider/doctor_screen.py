"""Whether a phone's screen can be seen and touched, read from what the phone answered: pure."""

from __future__ import annotations

import re

from device_runtime.adb_look import tree_fault
from device_runtime.adb_screenshot import Screenshot, read_screenshot
from device_runtime.adb_state import ScreenState, read_state
from device_runtime.errors import HierarchyError, PhoneFaultError
from device_runtime.phone_questions import (
    ACCESSIBILITY,
    ACTIVITIES,
    DISPLAYS,
    FILE,
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
from device_runtime.ui_tree import parse
from outrider.findings import Finding, advice, fault, fine
from sync.vocabulary import ScreenMark

_SECURE_KEYGUARD = re.compile(r"\bsecure=true")
_COVERING = {
    ScreenMark.NOT_RESPONDING: "an app does not respond: close its dialog on the phone",
    ScreenMark.CRASH: "an app has stopped: close its dialog on the phone",
    ScreenMark.PERMISSION: "an app asks for a permission: answer its dialog on the phone",
}
_PHYSICAL = re.compile(r"^Display (\d+)", re.MULTILINE)
_VIEWPORT = re.compile(r"DisplayViewport\{type=INTERNAL, valid=true, isActive=true")
_OVERRIDE = re.compile(r"Override size: (\d+x\d+)")
_PHYSICAL_SIZE = re.compile(r"Physical size: (\d+x\d+)")
_UI_AUTOMATION = re.compile(r"Ui Automation\[(?!\s*\])|UiAutomationService.*already registered")
_TREE_FAULTS = {
    "busy": (
        "another program holds UiAutomation",
        "end the other one (uiautomator2, Appium): only one can read the screen at a time",
    ),
    "not_idle": (
        "the screen never rests",
        "leave the video or animation, and set the three animation scales to 0 (--fix)",
    ),
    "null_root": (
        "no window has a tree",
        "unlock the phone and open an app; if it stays, restart the phone",
    ),
    "killed": ("the dumper is killed", "close apps to free memory, then try again"),
}


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


def _state(answers: Answers) -> ScreenState:
    """What the driver reads from the same texts."""
    return read_state("\n".join(_text(answers, each) for each in (WINDOWS, ACTIVITIES, POWER)))


def _screen(answers: Answers) -> Finding:
    match _state(answers).is_awake:
        case None:
            return fine("screen", "unknown")
        case True:
            return fine("screen", "on")
        case False:
            hint = "wake the phone (--fix does), and let it stay awake on power"
            return fault("screen", "off or dozing", hint)


def _keyguard(answers: Answers) -> Finding:
    if not _state(answers).is_locked:
        return fine("lock screen", "not shown")
    if _SECURE_KEYGUARD.search(_text(answers, WINDOWS)):
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
    if WINDOWS not in answers:
        return fine("front window", "unknown")
    state = _state(answers)
    for mark, hint in _COVERING.items():
        if mark in state.marks:
            return advice("front window", state.window or state.package, hint)
    if not state.window:
        return advice("front window", "no window has the focus", "open an app or the home screen")
    return fine("front window", state.package or state.window)


def _tree(answers: Answers) -> Finding:
    answer = answers.get(TREE)
    if answer is None:
        return fault("tree", "the dump broke the protocol", "try again; restart the phone")
    if f"dumped to: {FILE}" not in answer.text or answer.file is None:
        reason = tree_fault(answer.text, str(answer.exit_code)).reason
        if reason == "crashed":
            said = " ".join(answer.text.split())[:80] or f"code {answer.exit_code}"
            return fault("tree", f"no dump: {said}", _after_failed_dump(answers))
        return fault("tree", *_TREE_FAULTS[reason])
    try:
        hierarchy = parse(answer.file)
    except HierarchyError as error:
        return fault("tree", f"damaged: {error}"[:100], "try again; it may change while it is read")
    if not hierarchy.roots:
        return fault("tree", "empty", "restart the app in front; games and videos have no tree")
    nodes = answer.file.count(b"<node")
    return fine("tree", f"{nodes} nodes, {answer.elapsed_ms:.0f} ms")


def _after_failed_dump(answers: Answers) -> str:
    if _UI_AUTOMATION.search(_text(answers, ACCESSIBILITY)):
        return _TREE_FAULTS["busy"][1]
    return "try again; restart the phone if it stays"


def _screenshot(answers: Answers) -> Finding:
    answer = answers.get(SCREENSHOT)
    if answer is None:
        return fine("screenshot", "not kept")
    try:
        picture = read_screenshot(answer.stdout)
    except PhoneFaultError as error:
        found = str(error).partition(";")[0]
        return fault("screenshot", found, "check the cable; restart the phone if it stays")
    state = _state(answers)
    if state.is_secure or (state.is_awake is not False and _is_black(picture)):
        return advice(
            "screenshot",
            "black: the window in front forbids it" if state.is_secure else "of one colour",
            "leave the app in front, which forbids screenshots: only its tree can be used",
        )
    if picture.printed:
        return advice(
            "screenshot",
            f"with text before it: {picture.printed[:40]}",
            "harmless; it comes from phones with several displays",
        )
    return fine("screenshot", f"{len(picture.png) // 1024} KiB, {answer.elapsed_ms:.0f} ms")


def _is_black(picture: Screenshot) -> bool:
    """Whether the picture shows nothing; False where that cannot be told."""
    try:
        return picture.is_blank()
    except (ImportError, PhoneFaultError):  # no Pillow, or a picture it refuses
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
