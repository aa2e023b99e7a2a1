"""`outrider do "GOAL"`: one goal on one phone, now, step by step before somebody's eyes.

Ctrl-C stops within one step and leaves the phone at its home screen; a second one ends the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.acting import actor_of, installed_actor
from outrider.adb_phones import ADB_PORT
from outrider.do_play import Seat, Thumb, play, show_first
from outrider.errors import MisuseError
from outrider.options import Json, Quantisation, QuantisationChoice
from outrider.output import Output
from sync.vocabulary import Split

if TYPE_CHECKING:
    from device_runtime.adb import AdbClient
    from device_runtime.conditions import Conditions
    from device_runtime.ports import Phone, Verifier
    from device_runtime.probes import ProbeSet, Shell
    from outrider.owned_phone import OwnerRules
    from sync.vocabulary import Assignment

STEP_BUDGET = 30


class PhoneKind(StrEnum):
    """Phones that need no serial."""

    MOCK = "mock"


@dataclass(frozen=True, slots=True)
class _Opened:
    """A phone that can be played on.

    Attributes:
        judge: judges from the phone's own state; None where nobody can.
        shell: what probes ask.
        read_conditions: battery, network and owner of the phone.
        is_clone: it is brought into a start state; a person's phone is left as it is.
    """

    phone: Phone
    judge: Verifier | None
    shell: Shell
    read_conditions: Callable[[], Conditions]
    is_clone: bool


def do(
    goal: Annotated[
        str, typer.Argument(metavar="GOAL", help="What to do; not needed with --task or --probe.")
    ] = "",
    *,
    serial: Annotated[
        str | None, typer.Option("--serial", help="A phone that the adb server lists.")
    ] = None,
    phone: Annotated[
        PhoneKind, typer.Option("--phone", help="The phone where no serial is named.")
    ] = PhoneKind.MOCK,
    adb_port: Annotated[int, typer.Option("--adb-port", help="Port of the adb server.")] = ADB_PORT,
    task: Annotated[
        str, typer.Option("--task", help="A template's task on the mock phone, with its verdict.")
    ] = "",
    seed: Annotated[int, typer.Option("--seed", min=0, help="Which task, or mock phone.")] = 0,
    split: Annotated[Split, typer.Option("--split", help="Where they are drawn from.")] = (
        Split.TEST
    ),
    probe: Annotated[
        list[Path] | None,
        typer.Option("--probe", help="Probe file that judges the end; more than one may be."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the first action and do nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Agree to whatever is asked.")] = False,
    thumb: Annotated[
        Thumb | None, typer.Option("--thumb", help="Your verdict; else it is asked at a terminal.")
    ] = None,
    rules: Annotated[
        Path | None, typer.Option("--rules", help="A guard.toml in place of the phone's own.")
    ] = None,
    bundle: Annotated[
        Path | None, typer.Option("--bundle", help="Act with this release's file.")
    ] = None,
    policy: Annotated[
        str | None, typer.Option("--policy", help="Act with a policy, as in outrider eval.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Act with the release of a phone here, and log.")
    ] = None,
    device: Annotated[str, typer.Option("--id", help="That phone's name.")] = "phone-1",
    base: Annotated[
        Path | None, typer.Option("--base", help="Folder of a base; the shipped one if not set.")
    ] = None,
    quantisation: Quantisation = QuantisationChoice.FP32,
    steps: Annotated[
        int | None, typer.Option("--steps", min=1, help="Most actions; the task's own, or 30.")
    ] = None,
    json: Json = False,
) -> None:
    """Pursue one goal on one phone and show each step; what is sensitive is asked first."""
    del phone  # the mock phone is the only one without a serial
    from device_runtime.errors import UnknownTaskError

    out = Output(json_lines=json)
    probes = _probes(probe or [])
    assignment = _assignment(
        goal.strip() or _goal_of(probes, task),
        task=task,
        seed=seed,
        split=split,
        steps=steps,
        on_clone=serial is None,
    )
    _require_about(probes, assignment.goal)
    folder = None if data is None else _phone_folder(data, device)
    if folder is not None and not task:
        assignment = replace(assignment, temperature=_temperature(folder))
    owner = _owner_rules(rules, folder)
    with _opened(serial, adb_port) as opened:
        actor = (
            installed_actor(
                folder, base=base, cache=data / "base", quantisation=quantisation.graphs
            )
            if policy is None and bundle is None and data is not None and folder is not None
            else actor_of(policy, bundle=bundle, base=base, quantisation=quantisation.graphs)
        )
        seat = Seat(
            phone=opened.phone,
            verifier=_verifier(opened, probes),
            actor=actor,
            device_id=device,
            folder=folder,
            rules=owner,
            read_conditions=opened.read_conditions,
        )
        assignment = replace(assignment, actor=actor.name)
        try:
            if dry_run:
                show_first(seat, assignment, out, prepares=opened.is_clone)
            else:
                play(seat, assignment, out, agrees=yes, given=thumb)
        except UnknownTaskError as error:
            raise MisuseError(str(error)) from error


def _assignment(
    goal: str, *, task: str, seed: int, split: Split, steps: int | None, on_clone: bool
) -> Assignment:
    """What is played: a goal in words, or a template's task.

    Raises: MisuseError: neither or both, no such task, or a task on a phone that is no clone.
    """
    from apps_mock.evaluation import look_of
    from apps_mock.tasks import template_of
    from device_runtime.errors import UnknownTaskError
    from sync.vocabulary import Assignment, AssignmentId, Purpose, new_uuid7

    if bool(goal) == bool(task):
        raise MisuseError('say what to do: outrider do "GOAL", or --task T without a goal')
    if task and not on_clone:
        raise MisuseError("--task needs the mock phone: leave --serial out, or say a goal")
    try:
        template = template_of(task) if task else None
    except UnknownTaskError as error:
        raise MisuseError(str(error)) from error
    return Assignment(
        id=AssignmentId(f"do.{new_uuid7()}"),
        template=task,
        suite="" if template is None else template.app,
        goal=goal,
        seed=seed,
        split=split,
        look=look_of(task, split, seed),
        purpose=Purpose.EVALUATE,
        temperature=0.0,
        step_budget=steps or (STEP_BUDGET if template is None else template.step_budget),
    )


def _temperature(folder: Path) -> float:
    """How much a phone explores on its own behalf: what was set from afar, or not at all."""
    from device_runtime.remote_settings import RemoteSettings
    from sync.clock import SystemClock

    return RemoteSettings(folder, clock=SystemClock()).number("temperature")


def _phone_folder(data: Path, device: str) -> Path:
    from outrider.phone_folders import phone_folders

    found = {folder.name: folder for folder in phone_folders(data)}
    if device not in found:
        raise MisuseError(f"{data} holds no phone {device!r}; it holds {', '.join(found)}")
    return found[device]


def _probes(files: list[Path]) -> list[ProbeSet]:
    """The probes in files.

    Raises: MisuseError: one cannot be understood.
    """
    from device_runtime.errors import SettingsError
    from device_runtime.probe_files import read_probes

    try:
        return [read_probes(file) for file in files]
    except SettingsError as error:
        raise MisuseError(str(error)) from error


def _goal_of(probes: list[ProbeSet], task: str) -> str:
    """The goal that probes are about, where nobody says another."""
    return "" if task else next((each.goal for each in probes if each.goal), "")


def _require_about(probes: list[ProbeSet], goal: str) -> None:
    """Nothing where each set of probes is about the goal.

    Raises: MisuseError: one is about another.
    """
    for each in probes:
        if goal and not each.is_about(goal):
            raise MisuseError(
                f"the probes of {each.name} are about {each.goal!r}, not {goal!r}: leave one out"
            )


def _owner_rules(named: Path | None, folder: Path | None) -> OwnerRules:
    """The rules of a person's phone, on the mock phone too: what is rehearsed is what is done.

    Raises: MisuseError: a file holds something that is no rule.
    """
    from device_runtime.errors import SettingsError
    from outrider.owned_phone import GUARD_FILE, owner_rules

    try:
        return owner_rules(named, None if folder is None else folder / GUARD_FILE)
    except SettingsError as error:
        raise MisuseError(str(error)) from error


def _verifier(opened: _Opened, probes: list[ProbeSet]) -> Verifier | None:
    """Who judges: probes where there are some, else the clone from its state."""
    from device_runtime.probes import ProbeVerifier

    return ProbeVerifier(probes, opened.shell) if probes else opened.judge


@contextmanager
def _opened(serial: str | None, adb_port: int) -> Iterator[_Opened]:
    """The phone, let go of at the end.

    Raises: MisuseError: there is no adb server, or no such phone that is ready.
    """
    if serial is None:
        from apps_mock.own_goals import OwnGoalPhone
        from apps_mock.process_shell import ProcessShell
        from device_runtime.conditions import MAINS

        clone = OwnGoalPhone()
        with closing(clone):
            yield _Opened(clone, clone, ProcessShell(clone), lambda: MAINS, is_clone=True)
        return
    from device_runtime.adb import AdbClient
    from device_runtime.adb_phone import AdbPhone
    from device_runtime.adb_shell import AdbShell
    from device_runtime.probes import ANSWER_TIMEOUT_S
    from outrider.owned_phone import conditions_of

    client = AdbClient(adb_port)
    _require_ready(client, adb_port, serial)
    shell = AdbShell(client, serial, timeout_s=ANSWER_TIMEOUT_S)
    with closing(AdbPhone(client, serial)) as phone:
        yield _Opened(phone, None, shell, lambda: conditions_of(shell), is_clone=False)


def _require_ready(client: AdbClient, adb_port: int, serial: str) -> None:
    """Nothing where the phone can be asked.

    Raises: MisuseError: what is in the way, and what to do about it.
    """
    from outrider.doctor_link import reach

    reached = reach(client, adb_port, serial=serial, program_version=None)
    for finding in reached.findings:
        if not finding.ok:
            raise MisuseError(f"{finding.check}: {finding.found}; {finding.hint}")
