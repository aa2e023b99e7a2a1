"""How a phone's owner is put between its agent and its screen: rules, switch, questions, pace."""

from __future__ import annotations

import secrets
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final

from device_runtime.conditions import CONDITIONS_COMMAND, MAINS, Conditions, parse_conditions
from device_runtime.errors import SettingsError
from device_runtime.gate import Gate
from device_runtime.guard_rules import PERMISSIVE, GuardRules, owned_rules, read_rules
from device_runtime.owner import DeskRules
from device_runtime.phone_owner import PhoneOwner
from device_runtime.redaction import OWNED_REDACTION
from device_runtime.redaction_settings import read_redaction
from device_runtime.safety import Safety
from device_runtime.secret_patterns import RedactionRules
from device_runtime.settings import Settings
from device_runtime.stop import StopSwitch
from sync.clock import Clock, SystemClock

if TYPE_CHECKING:
    from device_runtime.adb_shell import AdbShell

GUARD_FILE: Final = "guard.toml"
"""In a phone's folder: its owner's rules, where no other file is named."""
_CONDITIONS_S: Final = 20.0


@dataclass(frozen=True, slots=True)
class OwnedPhone:
    """What stands between an agent and a phone."""

    safety: Safety
    gate: Gate
    owner: PhoneOwner


@dataclass(frozen=True, slots=True)
class OwnerRules:
    """The rules of one phone's owner, from the shipped set and the owner's file."""

    guard: GuardRules
    redaction: RedactionRules


def owner_rules(named: Path | None, *candidates: Path | None) -> OwnerRules:
    """The rules in the first file that has any; the shipped ones where none has.

    Args:
        named: a file that must be there and hold rules.
        candidates: files that may.
    Raises: SettingsError: a file holds something that is no rule.
    """
    if named is not None:
        return OwnerRules(read_rules(named), read_redaction(named))
    for file in candidates:
        if file is not None and (tables := _tables(file)):
            guard = read_rules(file) if "guard" in tables else owned_rules()
            return OwnerRules(guard, read_redaction(file))
    return OwnerRules(owned_rules(), OWNED_REDACTION)


def guarded_phone(
    settings: Settings,
    rules: OwnerRules,
    *,
    interrupt: Event,
    read_conditions: Callable[[], Conditions] = lambda: MAINS,
    clock: Clock | None = None,
) -> OwnedPhone:
    """A phone that somebody owns: every rule holds, and its owner can be asked and can stop it.

    Args:
        clock: judges when a permit to act runs out; the machine's own by default.
    """
    owner = _owner(settings, rules.guard.answer_within_s, interrupt, clock)
    gate = Gate(rules.guard, owner.switch, clock=SystemClock(), read_conditions=read_conditions)
    safety = Safety(rules.guard, rules.redaction, owner.desk, gate)
    return OwnedPhone(safety, gate, owner)


def free_phone(settings: Settings, clock: Clock | None = None) -> OwnedPhone:
    """Clones: everything is allowed, but whoever runs them can stop them like any other phone."""
    owner = _owner(settings, 1.0, Event(), clock)
    gate = Gate(PERMISSIVE, owner.switch, clock=SystemClock())
    return OwnedPhone(Safety(gate=gate), gate, owner)


def conditions_of(shell: AdbShell) -> Conditions:
    """What a phone over ADB says of its battery, its network and its owner."""
    answer = shell.shell(CONDITIONS_COMMAND, timeout_s=_CONDITIONS_S)
    return parse_conditions(answer.stdout.decode(errors="replace"))


def _owner(
    settings: Settings, timeout_s: float, interrupt: Event, clock: Clock | None
) -> PhoneOwner:
    switch = StopSwitch(
        settings.phone_dir,
        clock=clock or SystemClock(),
        interrupt=interrupt,
        permit_s=settings.permit_s,
    )
    return PhoneOwner(
        switch,
        DeskRules(timeout_s, settings.phone_dir),
        clock=SystemClock(),
        new_id=lambda: secrets.token_hex(3),
    )


def _tables(file: Path) -> set[str]:
    """Which of the owner's tables a file has; none where it is not there."""
    if not file.is_file():
        return set()
    try:
        return {"guard", "redaction"} & set(tomllib.loads(file.read_text("utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{file} cannot be read ({error}): mend it") from error
