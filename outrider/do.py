"""`outrider do "GOAL"`: one goal on one phone, now, step by step before somebody's eyes."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.acting import RELEASE, Actor, actor_of, installed_actor
from outrider.errors import CommandError, MisuseError
from outrider.options import Json
from outrider.output import Output
from sync.step_text import described
from sync.vocabulary import Action, EndReason, Split, Step

if TYPE_CHECKING:
    from device_runtime.ports import Phone, Verifier
    from device_runtime.safety import Safety
    from device_runtime.seats import Played
    from sync.vocabulary import Assignment

ADB_PORT = 5037
STEP_BUDGET = 30


class PhoneKind(StrEnum):
    """Phones that need no serial."""

    MOCK = "mock"


@dataclass(frozen=True, slots=True)
class _Seat:
    """The phone that is played on, who acts, and where it is logged (None: nowhere)."""

    phone: Phone
    verifier: Verifier | None
    actor: Actor
    device_id: str
    folder: Path | None


def do(
    goal: Annotated[
        str, typer.Argument(metavar="GOAL", help="What to do; not needed with --task.")
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
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the first action and do nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Agree to whatever is asked.")] = False,
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
    steps: Annotated[
        int | None, typer.Option("--steps", min=1, help="Most actions; the task's own, or 30.")
    ] = None,
    json: Json = False,
) -> None:
    """Pursue one goal on one phone and show each step; what is sensitive is asked first."""
    del phone  # the mock phone is the only one without a serial
    from device_runtime.errors import UnknownTaskError

    out = Output(json_lines=json)
    assignment = _assignment(
        goal, task=task, seed=seed, split=split, steps=steps, on_clone=serial is None
    )
    folder = None if data is None else _phone_folder(data, device)
    opened, verifier = _phone(serial, adb_port)
    with closing(opened):
        actor = _actor(policy, bundle=bundle, base=base, data=data, folder=folder)
        assignment = replace(assignment, actor=actor.name)
        seat = _Seat(opened, verifier, actor, device, folder)
        try:
            if dry_run:
                _show_first(seat, assignment, out, prepares=serial is None)
            else:
                _finish(_play(seat, assignment, _safety(out, agrees=yes), out), seat, out)
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

    if bool(goal.strip()) == bool(task):
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
        goal=goal.strip(),
        seed=seed,
        split=split,
        look=look_of(task, split, seed),
        purpose=Purpose.EVALUATE,
        temperature=0.0,
        step_budget=steps or (STEP_BUDGET if template is None else template.step_budget),
    )


def _phone_folder(data: Path, device: str) -> Path:
    from outrider.phone_folders import phone_folders

    found = {folder.name: folder for folder in phone_folders(data)}
    if device not in found:
        raise MisuseError(f"{data} holds no phone {device!r}; it holds {', '.join(found)}")
    return found[device]


def _actor(
    policy: str | None,
    *,
    bundle: Path | None,
    base: Path | None,
    data: Path | None,
    folder: Path | None,
) -> Actor:
    if policy is None and bundle is None and data is not None and folder is not None:
        return installed_actor(folder, base=base, cache=data / "base")
    return actor_of(policy, bundle=bundle, base=base)


def _phone(serial: str | None, adb_port: int) -> tuple[Phone, Verifier | None]:
    """The phone, and who judges what happens on it."""
    if serial is None:
        from apps_mock.own_goals import OwnGoalPhone

        clone = OwnGoalPhone()
        return clone, clone
    from outrider.phone_run import adb_phone

    return adb_phone(serial, adb_port), None


def _safety(out: Output, *, agrees: bool) -> Safety:
    """The rules of a person's phone, on the mock phone too: what is rehearsed is what is done."""
    from device_runtime.guard_rules import owned_rules
    from device_runtime.safety import Safety

    def ask(question: str, action: Action) -> bool:
        agreed = agrees or _answered_yes(question)
        out.event("question", question=question, action=action.kind, agreed=agreed)
        return agreed

    return Safety(guard_rules=owned_rules(), ask_owner=ask)


def _answered_yes(question: str) -> bool:
    """Ask on the terminal; silence means no."""
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):
        sys.stderr.write("\n")
    return answer.strip().lower() in {"y", "yes"}


def _play(seat: _Seat, assignment: Assignment, safety: Safety, out: Output) -> Played:
    """Play the goal to its end, each step shown as it is done."""
    from device_runtime.seats import SeatPhone, Seats
    from sync.clock import SystemClock
    from sync.vocabulary import DeviceId, ReleaseId, new_uuid7

    def show(assignment: Assignment, step: Step) -> None:
        del assignment
        out.event("step", index=step.index, action=described(step), valid=step.valid)

    table = Seats(
        [SeatPhone(seat.phone, seat.verifier)],
        seat.actor.actors.policy_for,
        device_id=DeviceId(seat.device_id),
        clock=SystemClock(),
        new_id=new_uuid7,
        safety=safety,
        on_step=show,
    )
    table.start(assignment, release_id=ReleaseId(seat.actor.release_id))
    while True:
        for played in table.turn():
            return played


def _show_first(seat: _Seat, assignment: Assignment, out: Output, *, prepares: bool) -> None:
    """Choose the first action on the screen as it is, and show it instead of doing it.

    Args:
        prepares: whether the phone is a clone, which is brought into its start state; a person's
            phone is only looked at.
    """
    from device_runtime import guard
    from device_runtime.agent import EpisodeMachine, EpisodeOrigin
    from device_runtime.guard_rules import owned_rules
    from device_runtime.ports import ResetOutcome
    from sync.clock import SystemClock
    from sync.vocabulary import DeviceId, new_uuid7

    chooser = seat.actor.actors.policy_for(assignment, seat.phone)
    machine = EpisodeMachine(
        assignment,
        EpisodeOrigin(DeviceId(seat.device_id)),
        clock=SystemClock(),
        new_id=new_uuid7,
        encodes=chooser.wants_encoding,
    )
    machine.begin(seat.phone.reset(assignment) if prepares else ResetOutcome(assignment.goal))
    request = machine.see(seat.phone.observe())
    assert request is not None  # a budget is one step at least
    action = chooser.decide([request])[0].action
    match guard.decide(action, request.observation, owned_rules()):
        case guard.Allowed():
            ruling = "allowed"
        case guard.Denied(reason):
            ruling = f"denied: {reason}"
        case guard.AskOwner(question):
            ruling = f"asked first: {question}"
    first = described(Step(index=0, observation=request.observation, action=action))
    out.event("would", index=0, action=first, ruling=ruling)
    out.summary(goal=request.goal, dry_run=True, steps=0, release_id=_release(seat))


def _finish(played: Played, seat: _Seat, out: Output) -> None:
    """Log the episode and tell what came of it.

    Raises: CommandError: the phone broke.
    """
    episode, verdict = played.episode, played.verdict
    if seat.folder is not None:
        _log(played, seat.folder)
    if verdict is not None:
        out.event(
            "verdict",
            score=verdict.score,
            success=verdict.success,
            progress=verdict.progress,
            failed=[check.name for check in verdict.checks if not check.passed],
            side_effects=verdict.side_effects,
        )
    out.summary(
        goal=episode.goal,
        id=episode.id,
        release_id=_release(seat),
        steps=len(episode.steps),
        end_reason=episode.end_reason,
        end_detail=episode.end_detail,
        success=None if verdict is None else verdict.success,
        logged=seat.folder is not None,
    )
    if episode.end_reason is EndReason.ENV_ERROR:
        raise CommandError(f"the phone broke: {episode.end_detail}")


def _release(seat: _Seat) -> str | None:
    return seat.actor.release_id if seat.actor.name == RELEASE else None


def _log(played: Played, folder: Path) -> None:
    from device_runtime.trajectory_log import TrajectoryLog
    from outrider.phone_folders import log_of
    from sync.clock import SystemClock
    from sync.vocabulary import new_uuid7

    log = TrajectoryLog.open(log_of(folder), clock=SystemClock(), new_id=new_uuid7)
    with closing(log):
        log.append(played.episode, played.verdicts)
