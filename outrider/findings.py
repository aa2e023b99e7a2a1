"""One thing that was looked at, and what to do where it is not well."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How much a finding matters.

    Attributes:
        FAULT: nothing works before it is mended.
        ADVICE: it works, and worse than it could.
    """

    FAULT = "fault"
    ADVICE = "advice"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        check: what was looked at.
        ok: whether it is well.
        found: what was found, as short as it can be said.
        hint: what to do; empty where it is well.
        level: how much it matters where it is not well.
    """

    check: str
    ok: bool
    found: str
    hint: str = ""
    level: Level = Level.FAULT

    def row(self) -> dict[str, object]:
        """The finding as commands print it; where all is well there is nothing to do."""
        level = "" if self.ok else self.level.value
        hint = "" if self.ok else self.hint
        return {
            "check": self.check,
            "ok": self.ok,
            "level": level,
            "found": self.found,
            "hint": hint,
        }


def shown(findings: list[Finding]) -> list[dict[str, object]]:
    """Findings as a table for a person."""
    return [
        {
            "check": one.check,
            "state": "ok" if one.ok else one.level.value,
            "found": one.found,
            "what to do": "" if one.ok else one.hint,
        }
        for one in findings
    ]


def fine(check: str, found: str) -> Finding:
    """Something that is well."""
    return Finding(check, ok=True, found=found)


def fault(check: str, found: str, hint: str) -> Finding:
    """Something without which nothing works."""
    return Finding(check, ok=False, found=found, hint=hint)


def advice(check: str, found: str, hint: str) -> Finding:
    """Something that makes things worse than they could be."""
    return Finding(check, ok=False, found=found, hint=hint, level=Level.ADVICE)


def faults(findings: list[Finding]) -> list[Finding]:
    """Those without which nothing works."""
    return [one for one in findings if not one.ok and one.level is Level.FAULT]


def advices(findings: list[Finding]) -> list[Finding]:
    """Those that could be better."""
    return [one for one in findings if not one.ok and one.level is Level.ADVICE]
