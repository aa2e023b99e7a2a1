"""Whether a phone is in a state to work for hours, read from what the phone answered: pure."""

from __future__ import annotations

import re

from device_runtime.phone_questions import (
    BATTERY,
    DATE,
    HEAT,
    KEYBOARDS,
    STORAGE,
    Answer,
    Answers,
    properties_of,
    settings_of,
)
from device_runtime.recording import Recording
from outrider.findings import Finding, advice, fault, fine

OLDEST_SDK = 24
"""Android 7: its adb daemon is the first that tells how a command ended."""
MOST_SKEW_S = 60.0
LEAST_BATTERY = 20
MOST_CELSIUS = 45.0
SEVERE_HEAT = 3
LEAST_FREE_KIB = 512 * 1024
LEAST_USABLE_KIB = 64 * 1024
SHORTEST_TIMEOUT_MS = 600_000
ANIMATIONS = ("window_animation_scale", "transition_animation_scale", "animator_duration_scale")

_CHARGES = re.compile(r"(?:AC|USB|Wireless|Dock) powered: true")
_NUMBER = r"^\s*{}: (-?\d+)"


def state_findings(recording: Recording) -> list[Finding]:
    """What can be wrong with the state that a phone is in."""
    answers = recording.answers
    return [
        _boot(answers),
        _android(answers),
        _user(answers),
        _clock(recording),
        _battery(answers),
        _heat(answers),
        _storage(answers),
        _battery_saver(answers),
        _animations(answers),
        _stays_awake(answers),
        _rotation(answers),
        _notifications(answers),
        _keyboard(answers),
        _talkback(answers),
        _locale(answers),
    ]


def _boot(answers: Answers) -> Finding:
    known = properties_of(answers)
    booted = known.get("sys.boot_completed", known.get("dev.bootcomplete", ""))
    if booted != "1" or known.get("init.svc.bootanim") == "running":
        return fault("boot", "not finished", "wait until the home screen shows, then try again")
    return fine("boot", "finished")


def _android(answers: Answers) -> Finding:
    known = properties_of(answers)
    release, sdk = known.get("ro.build.version.release", "?"), known.get("ro.build.version.sdk", "")
    model = " ".join(
        known[name] for name in ("ro.product.manufacturer", "ro.product.model") if name in known
    )
    found = f"{release} (API {sdk or '?'}){f', {model}' if model else ''}"
    if sdk.isdigit() and int(sdk) < OLDEST_SDK:
        return advice(
            "android",
            found,
            "Android 7 or newer tells how commands end; on this one a lost link can go unnoticed",
        )
    return fine("android", found)


def _user(answers: Answers) -> Finding:
    user = answers.get("am get-current-user", Answer()).stdout.decode(errors="replace").strip()
    if user.isdigit() and user != "0":
        return advice("user", f"user {user}", "switch to the phone's main user")
    return fine("user", "main" if user == "0" else "unknown")


def _clock(recording: Recording) -> Finding:
    answer = recording.answers.get(DATE, Answer())
    said = answer.stdout.decode(errors="replace").strip()
    if not said.isdigit():
        return fine("clock", "unknown")
    skew_s = int(said) - (recording.made_at_ms + answer.elapsed_ms / 2) / 1000
    if abs(skew_s) > MOST_SKEW_S:
        return advice(
            "clock",
            f"{abs(skew_s):.0f} s {'ahead of' if skew_s > 0 else 'behind'} this machine's",
            "switch on automatic date and time on the phone; check this machine's clock, too",
        )
    return fine("clock", f"within {max(1.0, abs(skew_s)):.0f} s")


def _number(answers: Answers, command: str, name: str) -> int | None:
    text = answers.get(command, Answer()).text
    match = re.search(_NUMBER.format(re.escape(name)), text, re.MULTILINE)
    return int(match[1]) if match else None


def _battery(answers: Answers) -> Finding:
    level = _number(answers, BATTERY, "level")
    if level is None:
        return fine("battery", "unknown")
    charges = bool(_CHARGES.search(answers[BATTERY].text))
    found = f"{level}%, {'on power' if charges else 'not on power'}"
    if level < LEAST_BATTERY and not charges:
        return advice("battery", found, "put the phone on power before it works for long")
    return fine("battery", found)


def _heat(answers: Answers) -> Finding:
    tenths = _number(answers, BATTERY, "temperature")
    status = _number(answers, HEAT, "Thermal Status")
    found = "unknown" if tenths is None else f"{tenths / 10:.1f} °C"
    if (tenths is not None and tenths / 10 >= MOST_CELSIUS) or (status or 0) >= SEVERE_HEAT:
        shown = f"{found}{f', thermal status {status}' if status else ''}"
        return advice("heat", shown, "let the phone cool down: hot phones become slow and stop")
    return fine("heat", found)


def _storage(answers: Answers) -> Finding:
    rows = answers.get(STORAGE, Answer()).stdout.decode(errors="replace").split("\n")
    columns = next((row.split() for row in reversed(rows) if row.strip()), [])
    if len(columns) < 5 or not columns[3].isdigit():
        return fine("storage", "unknown")
    free_kib = int(columns[3])
    found, hint = f"{free_kib / 1024**2:.1f} GiB free", "delete something on the phone"
    if free_kib < LEAST_USABLE_KIB:
        return fault("storage", found, f"{hint}: the tree cannot be written")
    return advice("storage", found, hint) if free_kib < LEAST_FREE_KIB else fine("storage", found)


def _battery_saver(answers: Answers) -> Finding:
    if settings_of(answers, "global").get("low_power") == "1":
        return advice(
            "battery saver", "on", "switch it off (--fix does): it slows and stops what runs"
        )
    return fine("battery saver", "off")


def _animations(answers: Answers) -> Finding:
    known = settings_of(answers, "global")
    moving = [name for name in ANIMATIONS if _scale(known.get(name)) != 0.0]
    if not moving:
        return fine("animations", "off")
    if not known:
        return fine("animations", "unknown")
    return advice(
        "animations",
        f"{len(moving)} of 3 scales are on",
        "set the three animation scales to off in developer options (--fix does)",
    )


def _scale(value: str | None) -> float:
    """An animation scale; a phone that holds none animates as it was made."""
    try:
        return float(value or "1")
    except ValueError:
        return 1.0


def _stays_awake(answers: Answers) -> Finding:
    on_power = settings_of(answers, "global").get("stay_on_while_plugged_in", "")
    timeout = settings_of(answers, "system").get("screen_off_timeout", "")
    if on_power.isdigit() and int(on_power):
        return fine("stays awake", "on power")
    if not timeout.isdigit() or int(timeout) >= SHORTEST_TIMEOUT_MS:
        return fine("stays awake", f"{int(timeout) // 1000} s" if timeout.isdigit() else "unknown")
    return advice(
        "stays awake",
        f"the screen goes off after {int(timeout) // 1000} s",
        'switch on "Stay awake" in developer options (--fix does)',
    )


def _rotation(answers: Answers) -> Finding:
    if settings_of(answers, "system").get("accelerometer_rotation") == "1":
        return advice("rotation", "turns by itself", "lock it (--fix does): a turn ends plans")
    return fine("rotation", "locked")


def _notifications(answers: Answers) -> Finding:
    if settings_of(answers, "global").get("zen_mode") == "0":
        return advice(
            "do not disturb",
            "off",
            "switch it on (--fix does): a notification that pops up takes the tap",
        )
    return fine("do not disturb", "on or unknown")


def _keyboard(answers: Answers) -> Finding:
    chosen = settings_of(answers, "secure").get("default_input_method", "")
    enabled = answers.get(KEYBOARDS, Answer()).stdout.decode(errors="replace").split()
    if chosen in {"", "null"}:
        hint = "choose a keyboard in the phone's settings: nothing can be typed"
        return fault("keyboard", "none is chosen", hint) if enabled else fine("keyboard", "unknown")
    if enabled and not any(_same_component(chosen, each) for each in enabled):
        return fault("keyboard", f"{chosen} is not enabled", "choose another keyboard")
    return fine("keyboard", chosen)


def _same_component(one: str, other: str) -> bool:
    """Whether two names are of one component, written in full or with a leading dot."""

    def whole(name: str) -> str:
        package, _, part = name.partition("/")
        return f"{package}/{package}{part}" if part.startswith(".") else name

    return whole(one) == whole(other)


def _talkback(answers: Answers) -> Finding:
    if settings_of(answers, "secure").get("touch_exploration_enabled") == "1":
        return fault(
            "screen reader", "on", "switch TalkBack off: with it a tap selects and does not press"
        )
    return fine("screen reader", "off")


def _locale(answers: Answers) -> Finding:
    known = properties_of(answers)
    names = ("persist.sys.locale", "ro.product.locale")
    locale = next((known[name] for name in names if known.get(name)), "")
    first = settings_of(answers, "system").get("system_locales", "").partition(",")[0]
    return fine("language", first or locale or "unknown")
