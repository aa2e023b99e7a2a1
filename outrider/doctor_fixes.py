"""What `outrider doctor --fix` changes on a phone, and how `--undo` takes it back.

Before anything is changed, what was there goes into a file on the phone itself, so that any machine
can undo it later, also after a fix that was cut off in the middle. The file is read back as
something that a stranger wrote: only settings that a fix changes are restored, to plain values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from device_runtime.phone_questions import Answers, settings_of
from outrider.doctor_state import ANIMATIONS
from outrider.errors import CommandError
from outrider.findings import Finding

if TYPE_CHECKING:
    from device_runtime.adb_shell import AdbShell

UNDO_FILE: Final = "/data/local/tmp/outrider-undo"
WAKE: Final = "input keyevent 224"
DISMISS: Final = "wm dismiss-keyguard"
_DND = ("notification", "dnd")

_WANTED: Final[dict[str, tuple[tuple[str, str, str], ...]]] = {
    "animations": tuple(("global", name, "0") for name in ANIMATIONS),
    "battery saver": (("global", "low_power", "0"),),
    "stays awake": (("global", "stay_on_while_plugged_in", "7"),),
    "rotation": (("system", "accelerometer_rotation", "0"),),
    "do not disturb": ((*_DND, "priority"),),
}
"""The settings that mend what a check finds."""

_MOMENTARY: Final = {"screen": WAKE, "lock screen": DISMISS}
"""Commands that mend what a check finds and leave nothing to undo."""

_RESTORABLE: Final = {(row[0], row[1]) for rows in _WANTED.values() for row in rows}
_VALUE = re.compile(r"[\w.+-]{1,32}")


@dataclass(frozen=True, slots=True)
class Change:
    """One thing to change on the phone.

    Attributes:
        check: the finding that it mends.
        setting: what changes, as `namespace name`; empty for a command with a passing effect.
        before, after: its values; `before` is "null" where it was never set.
        command: what the phone is told.
    """

    check: str
    setting: str
    before: str
    after: str
    command: str


def planned(findings: Iterable[Finding], answers: Answers) -> list[Change]:
    """What would mend the findings that can be mended from here; nothing has been done yet."""
    changes = []
    for finding in findings:
        if finding.ok:
            continue
        if finding.check in _MOMENTARY:
            changes.append(Change(finding.check, "", "", "", _MOMENTARY[finding.check]))
        for namespace, name, after in _WANTED.get(finding.check, ()):
            before = _before(answers, namespace, name)
            if before != after:
                command = _setting_command(namespace, name, after)
                setting = f"{namespace} {name}"
                changes.append(Change(finding.check, setting, before, after, command))
    return changes


def apply(shell: AdbShell, changes: Iterable[Change]) -> list[tuple[Change, str]]:
    """Carry the changes out; with each why it failed, empty where it did not.

    Raises: PhoneLostError: the phone cannot be reached any more.
    """
    done = []
    for change in changes:
        line = change.command
        if change.setting:
            note = f"echo '{change.setting} {change.before}' >> {UNDO_FILE}"
            line = f"{note} && {change.command}"
        result = shell.shell(line)
        said = " ".join((result.stderr + result.stdout).decode(errors="replace").split())[:120]
        done.append((change, "" if result.exit_code == 0 else said or f"code {result.exit_code}"))
    return done


def undo(shell: AdbShell) -> list[Change]:
    """Restore what `apply` changed on this phone, and forget it; what was restored.

    Raises:
        PhoneLostError: the phone cannot be reached any more.
        CommandError: the phone refused; what to restore is still remembered.
    """
    changes = to_restore(shell)
    for change in changes:
        result = shell.shell(change.command)
        if result.exit_code != 0:
            said = " ".join((result.stderr + result.stdout).decode(errors="replace").split())
            raise CommandError(f"{shell.serial} did not take {change.command!r} ({said[:100]})")
    shell.shell(f"rm -f {UNDO_FILE}")
    return changes


def to_restore(shell: AdbShell) -> list[Change]:
    """What `undo` would restore.

    Raises: PhoneLostError: the phone cannot be reached any more.
    """
    kept = shell.shell(f"cat {UNDO_FILE}")
    return _restored(kept.stdout.decode(errors="replace")) if kept.exit_code == 0 else []


def _restored(text: str) -> list[Change]:
    """What to restore: the first note on a setting is the one from before all fixes."""
    found: dict[tuple[str, str], str] = {}
    for line in text.splitlines():
        words = line.split(" ")
        is_known = len(words) == 3 and (words[0], words[1]) in _RESTORABLE
        if is_known and _VALUE.fullmatch(words[2]):
            found.setdefault((words[0], words[1]), words[2])
    return [
        Change("undo", f"{namespace} {name}", "", before, _setting_command(namespace, name, before))
        for (namespace, name), before in found.items()
    ]


def _before(answers: Answers, namespace: str, name: str) -> str:
    if (namespace, name) == _DND:
        return "off"
    value = settings_of(answers, namespace).get(name, "null")
    return value if _VALUE.fullmatch(value) else "null"


def _setting_command(namespace: str, name: str, value: str) -> str:
    if (namespace, name) == _DND:
        return f"cmd notification set_dnd {value}"
    if value == "null":
        return f"settings delete {namespace} {name}"
    return f"settings put {namespace} {name} {value}"
