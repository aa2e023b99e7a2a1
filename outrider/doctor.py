"""`outrider doctor`: what stands between this machine and a working phone, and what to do about it.

    machine → adb program → adb server → phone → its answers → findings → (fix, undo, record)

Collecting is here and in `device_runtime.phone_questions`; judging is pure (`doctor_screen`,
`doctor_state`). Nothing is ever changed without `--fix`, and no adb server is started or ended.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.adb_phones import ADB_PORT
from outrider.errors import CommandError, MisuseError
from outrider.findings import Finding, Level, advices, faults, shown
from outrider.options import Json
from outrider.output import Output

if TYPE_CHECKING:
    from device_runtime.adb import AdbClient
    from device_runtime.recording import Recording
    from outrider.doctor_fixes import Change

ROUNDS = 5


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is to be done with the phone beside looking at it."""

    rounds: int
    record: Path | None
    hide: tuple[str, ...]
    fix: bool
    undo: bool
    dry_run: bool

    def __post_init__(self) -> None:
        if self.fix and self.undo:
            raise MisuseError("--fix and --undo are opposites: name one of them")
        if self.dry_run and not (self.fix or self.undo):
            raise MisuseError("--dry-run goes with --fix or --undo")
        if self.record is not None and not self.record.resolve().parent.is_dir():
            raise MisuseError(f"{self.record.parent} is no folder: name a file in one")

    @property
    def needs_phone(self) -> bool:
        """Whether there is nothing to do without a phone."""
        return self.record is not None or self.fix or self.undo


@dataclass(frozen=True, slots=True)
class _Seen:
    """A phone that answered: what it said, and what that means."""

    recording: Recording
    findings: list[Finding]


def doctor(
    *,
    data: Annotated[
        Path, typer.Option("--data", help="Folder whose disk must have room.")
    ] = Path(),
    serial: Annotated[
        str | None, typer.Option("--serial", help="The phone to look at, where there are several.")
    ] = None,
    adb_port: Annotated[
        int | None,
        typer.Option("--adb-port", min=1, max=65535, help="Port of the adb server; else 5037."),
    ] = None,
    rounds: Annotated[
        int, typer.Option("--rounds", min=0, help="How often each round trip is measured.")
    ] = ROUNDS,
    record: Annotated[
        Path | None, typer.Option("--record", help="Write the phone's answers, redacted, here.")
    ] = None,
    hide: Annotated[
        list[str] | None, typer.Option("--hide", help="A text to hide in the recording as well.")
    ] = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Say what would be changed on the phone, and change it.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --fix or --undo: only say it.")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take back what --fix changed.")] = False,
    json: Json = False,
) -> None:
    """Check this machine, the adb server and a phone, and say what to do about each finding."""
    from outrider.doctor_machine import machine_findings

    wanted = _Wanted(rounds, record, tuple(hide or ()), fix, undo, dry_run)
    out = Output(json_lines=json)
    findings = machine_findings(data)
    _show(findings, out, title="This machine")
    client, reached, chosen = _reach(adb_port or ADB_PORT, serial, findings)
    if chosen is None and not (serial or adb_port or wanted.needs_phone):
        reached = [_as_advice(one) for one in reached]
    _show(reached, out, title="The way to the phone")
    findings += reached
    facts: dict[str, object] = {}
    if chosen is not None:
        findings += _examine(client, chosen, wanted, out, facts)
    _conclude(findings, out, serial=chosen, facts=facts)


def _examine(
    client: AdbClient, serial: str, wanted: _Wanted, out: Output, facts: dict[str, object]
) -> list[Finding]:
    """Look at the phone, and do with it what was asked for; adds what came of that to `facts`."""
    seen = _look(client, serial)
    if wanted.undo:
        facts["undone"] = _undo(client, serial, out, dry_run=wanted.dry_run)
    elif wanted.fix:
        facts["changed"] = _fix(client, serial, seen, out, dry_run=wanted.dry_run)
    if (wanted.fix or wanted.undo) and not wanted.dry_run:
        seen = _look(client, serial)
    _show(seen.findings, out, title=f"Phone {serial}")
    if wanted.rounds and not faults(seen.findings):
        _measure(client, serial, wanted.rounds, out)
    if wanted.record is not None:
        facts["recorded"] = _record(seen.recording, wanted.record, words=[serial, *wanted.hide])
    return seen.findings


def _reach(
    port: int, serial: str | None, found: list[Finding]
) -> tuple[AdbClient, list[Finding], str | None]:
    """A client of the adb server, what was found on the way, and the phone that can be asked."""
    from device_runtime.adb import AdbClient
    from outrider.doctor_link import reach
    from outrider.doctor_machine import protocol_of

    adb = next(one for one in found if one.check == "adb")
    client = AdbClient(port)
    reached = reach(client, port, serial=serial, program_version=protocol_of(adb))
    return client, reached.findings, reached.serial


def _look(client: AdbClient, serial: str) -> _Seen:
    """Ask the phone everything, and judge what it said."""
    from device_runtime.errors import PhoneFaultError, PhoneLostError
    from device_runtime.phone_questions import PhoneAsker
    from device_runtime.recording import Recording
    from outrider.doctor_link import link_lost
    from outrider.doctor_screen import screen_findings
    from outrider.doctor_state import state_findings
    from sync.clock import SystemClock

    made_at_ms = SystemClock().wall_ms()
    try:
        answers = PhoneAsker(client, serial).ask_all()
    except (PhoneLostError, PhoneFaultError) as error:
        return _Seen(Recording(made_at_ms, {}), [link_lost(serial, str(error))])
    recording = Recording(made_at_ms, answers)
    return _Seen(recording, [*screen_findings(answers), *state_findings(recording)])


def _fix(client: AdbClient, serial: str, seen: _Seen, out: Output, *, dry_run: bool) -> int:
    """Say what would mend the findings, and do it unless only that was asked for."""
    from device_runtime.adb_shell import AdbShell
    from outrider.doctor_fixes import apply, planned

    changes = planned(seen.findings, seen.recording.answers)
    out.rows("would_change", [asdict(one) for one in changes], title="What --fix changes")
    if dry_run:
        return 0
    done = apply(AdbShell(client, serial), changes)
    out.rows("changed", [_done_row(change, why) for change, why in done], title="Changed")
    return sum(not why for _, why in done)


def _undo(client: AdbClient, serial: str, out: Output, *, dry_run: bool) -> int:
    from device_runtime.adb_shell import AdbShell
    from outrider.doctor_fixes import to_restore, undo

    shell = AdbShell(client, serial)
    changes = to_restore(shell) if dry_run else undo(shell)
    name = "would_change" if dry_run else "changed"
    out.rows(name, [_done_row(change, "") for change in changes], title="Taken back")
    return 0 if dry_run else len(changes)


def _done_row(change: Change, why: str) -> dict[str, object]:
    return {**asdict(change), "failed": why}


def _measure(client: AdbClient, serial: str, rounds: int, out: Output) -> None:
    from device_runtime.phone_questions import PhoneAsker
    from outrider.round_trips import measure

    rows = [asdict(one) for one in measure(PhoneAsker(client, serial), rounds)]
    out.rows("round_trip", rows, title="Round trips")


def _record(recording: Recording, path: Path, *, words: list[str]) -> dict[str, object]:
    from device_runtime.recording import Recording, write_recording
    from device_runtime.recording_redaction import redacted

    safe = Recording(recording.made_at_ms, redacted(recording.answers, words=words))
    return {
        "file": str(path),
        "answers": len(safe.answers),
        "size_bytes": write_recording(safe, path),
    }


def _show(findings: list[Finding], out: Output, *, title: str) -> None:
    rows = [one.row() for one in findings] if out.json_lines else shown(findings)
    out.rows("check", rows, title=title)


def _as_advice(finding: Finding) -> Finding:
    """Nobody asked for a phone: that there is none is nothing to mend."""
    if finding.ok:
        return finding
    return Finding(
        finding.check, ok=False, found=finding.found, hint=finding.hint, level=Level.ADVICE
    )


def _conclude(
    findings: list[Finding], out: Output, *, serial: str | None, facts: dict[str, object]
) -> None:
    """The last line, and the exit code: only what stops the work is a failure."""
    missing = faults(findings)
    phone = (
        {}
        if serial is None
        else {
            "serial": serial,
            "advice": [one.check for one in advices(findings)],
            **facts,
        }
    )
    out.summary(
        ok=not missing,
        checks=len(findings),
        missing=[bad.check for bad in missing],
        **phone,
    )
    if missing:
        raise CommandError(f"{missing[0].check}: {missing[0].hint}")
