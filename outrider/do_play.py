"""Plays one goal before somebody's eyes: shows, asks, stops, logs, and takes the owner's thumb."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from outrider.acting import RELEASE, Actor
from outrider.asking import Stopped, answered_yes, is_at_terminal, thumb
from outrider.do_view import Asked, Chosen, StepView
from outrider.errors import CommandError, MisuseError
from outrider.interrupts import stop_on_interrupt
from outrider.output import Output
from sync.step_text import described
from sync.vocabulary import Action, EndReason, Step

if TYPE_CHECKING:
    from device_runtime.alternatives import Alternative
    from device_runtime.conditions import Conditions
    from device_runtime.gate import Gate
    from device_runtime.ports import Decided, Phone, Policy, PolicyRequest, Verifier
    from device_runtime.seats import Played
    from outrider.owned_phone import OwnerRules
    from sync.vocabulary import Assignment, Verdict

THUMB_S = 120.0
"""How long the owner has for a thumb."""


class Thumb(StrEnum):
    """The owner's verdict."""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Seat:
    """The phone that is played on, who acts and judges, and where it is logged (None: nowhere)."""

    phone: Phone
    verifier: Verifier | None
    actor: Actor
    device_id: str
    folder: Path | None
    rules: OwnerRules
    read_conditions: Callable[[], Conditions]

    @property
    def release(self) -> str | None:
        """The release that acts; None where no release does."""
        return self.actor.release_id if self.actor.name == RELEASE else None


class _Watched:
    """A policy whose decisions are shown as they are taken; implements `Policy`."""

    def __init__(self, policy: Policy, view: StepView) -> None:
        self._policy = policy
        self._view = view
        self.wants_encoding = policy.wants_encoding
        self.last: Chosen | None = None

    def decide(self, requests: Sequence[PolicyRequest]) -> list[Decided]:
        """What the policy decides."""
        decided = self._policy.decide(requests)
        for request, one in zip(requests, decided, strict=True):
            index = 0 if self.last is None else self.last.index + 1
            if index == 0:
                self._view.goal(request.goal)
            self.last = Chosen(
                index=index,
                screen=request.observation,
                action=one.action,
                policy=one.policy_version,
                alternatives=self._alternatives(request),
            )
            self._view.chosen(self.last)
        return decided

    def _alternatives(self, request: PolicyRequest) -> tuple[Alternative, ...]:
        from device_runtime.alternatives import alternatives
        from device_runtime.policy import OnnxPolicy

        return alternatives(self._policy, request) if isinstance(self._policy, OnnxPolicy) else ()


def play(
    seat: Seat, assignment: Assignment, out: Output, *, agrees: bool, given: Thumb | None
) -> None:
    """Play the goal to its end, log it, and tell what came of it.

    Args:
        agrees: whether the owner agrees to whatever is asked.
        given: the owner's verdict; None to ask for it at a terminal.
    Raises: CommandError: the phone broke.
    """
    view = StepView(out)
    _say_what(seat, assignment, out)
    with stop_on_interrupt(second_ends=True) as stop:
        gate = _gate(seat, stop)
        played = _played(seat, assignment, view, out, gate=gate, agrees=agrees)
        episode = played.episode
        if seat.folder is not None:
            _log(played, seat.folder)
        view.ended(episode.end_reason, episode.end_detail, steps=len(episode.steps))
        if played.verdict is not None:
            _show_verdict(played.verdict, out)
        said = _thumb(played, out, given=given, stopped=gate.switch.reason)
    if said is not None:
        owner = owner_verdict(episode.id, up=said)
        _show_verdict(owner, out)
        if seat.folder is not None:
            judge_in(seat.folder, owner)
    if seat.folder is not None:
        out.note(f"logged {episode.id} in {seat.folder}")
    _summary(
        out,
        goal=episode.goal,
        id=episode.id,
        release_id=seat.release,
        steps=len(episode.steps),
        end_reason=episode.end_reason,
        end_detail=episode.end_detail,
        success=None if played.verdict is None else played.verdict.success,
        score=None if played.verdict is None else played.verdict.score,
        thumb=None if said is None else (Thumb.UP if said else Thumb.DOWN),
        logged=seat.folder is not None,
    )
    if episode.end_reason is EndReason.ENV_ERROR:
        raise CommandError(f"the phone broke: {episode.end_detail}")


def show_first(seat: Seat, assignment: Assignment, out: Output, *, prepares: bool) -> None:
    """Choose the first action on the screen as it is, and show it instead of doing it.

    Args:
        prepares: whether the phone is a clone, which is brought into its start state; a person's
            phone is only looked at.
    """
    from device_runtime import guard
    from device_runtime.agent import EpisodeMachine, EpisodeOrigin
    from device_runtime.ports import ResetOutcome
    from device_runtime.safety import Safety
    from sync.clock import SystemClock
    from sync.vocabulary import DeviceId, new_uuid7

    view = StepView(out)
    chooser = _Watched(seat.actor.actors.policy_for(assignment, seat.phone), view)
    machine = EpisodeMachine(
        assignment,
        EpisodeOrigin(DeviceId(seat.device_id)),
        clock=SystemClock(),
        new_id=new_uuid7,
        encodes=chooser.wants_encoding,
        safety=Safety(redaction_rules=seat.rules.redaction),
    )
    _say_what(seat, assignment, out)
    machine.begin(seat.phone.reset(assignment) if prepares else ResetOutcome(assignment.goal))
    request = machine.see(seat.phone.observe())
    assert request is not None  # a budget is one step at least
    action = chooser.decide([request])[0].action
    match guard.decide(action, request.observation, seat.rules.guard):
        case guard.Allowed():
            ruling = "allowed"
        case guard.Denied(reason=reason):
            ruling = f"denied: {reason}"
        case guard.AskOwner(question=question):
            ruling = f"asked first: {question}"
    first = Step(index=0, observation=request.observation, action=action)
    if out.json_lines:
        from outrider.do_view import step_fields

        fields = step_fields(first, chooser.last)
        del fields["valid"]
        out.line({"event": "would", **fields, "ruling": ruling})
    else:
        out.note(f"    guard  {ruling}")
        out.note(f"nothing was done; it would {described(first)}")
    _summary(out, goal=request.goal, dry_run=True, steps=0, release_id=seat.release)


def _summary(out: Output, **fields: object) -> None:
    """The last line, for programs; a person has read it all."""
    if out.json_lines:
        out.summary(**fields)


def owner_verdict(episode_id: str, *, up: bool, version: int = 1) -> Verdict:
    """The owner's thumb as a verdict.

    Args:
        version: how many times the owner has judged this episode, this time included.
    """
    from sync.vocabulary import Check, EpisodeId, Verdict, VerdictSource

    score = 1.0 if up else 0.0
    return Verdict(
        episode_id=EpisodeId(episode_id),
        verifier="owner",
        verifier_version=f"{version:04d}",
        source=VerdictSource.OWNER,
        score=score,
        progress=score,
        goal_reached=up,
        checks=(Check("thumb up", up, "" if up else "the owner says that it was not reached"),),
    )


def judge_in(folder: Path, verdict: Verdict) -> Verdict:
    """Store the owner's verdict in a phone's log; it is uploaded when the phone next runs.

    Returns: the verdict as it is stored: after an earlier one it has a higher version.
    """
    from contextlib import closing

    from device_runtime.trajectory_log import TrajectoryLog
    from outrider.phone_folders import log_of
    from sync.clock import SystemClock
    from sync.vocabulary import new_uuid7

    log = TrajectoryLog.open(log_of(folder), clock=SystemClock(), new_id=new_uuid7)
    with closing(log):
        found = log.read(verdict.episode_id)
        if found is None:
            raise MisuseError(f"the log of {folder} holds no episode {verdict.episode_id!r}")
        before = [one for one in found[1] if one.source is verdict.source]
        verdict = replace(verdict, verifier_version=f"{len(before) + 1:04d}")
        log.judge_again(verdict)
    return verdict


def _say_what(seat: Seat, assignment: Assignment, out: Output) -> None:
    info = seat.phone.info() if assignment.goal else None
    if info is not None:
        out.note(f"phone  {info.serial}: {info.model}, Android {info.android_version}")
    out.note(f"acts   {seat.actor.name} {seat.release or ''}".rstrip())


def _played(
    seat: Seat,
    assignment: Assignment,
    view: StepView,
    out: Output,
    *,
    gate: Gate,
    agrees: bool,
) -> Played:
    """Play the goal to its end, each step shown as it is taken."""
    from device_runtime.safety import Safety
    from device_runtime.seats import SeatPhone, Seats
    from sync.clock import SystemClock
    from sync.vocabulary import DeviceId, ReleaseId, new_uuid7

    watched = _Watched(seat.actor.actors.policy_for(assignment, seat.phone), view)

    def ask(question: str, action: Action) -> bool:
        agreed = agrees or answered_yes(
            question,
            timeout_s=seat.rules.guard.answer_within_s,
            stopped=gate.switch.reason,
        )
        asked = Asked(question, agreed)
        if watched.last is not None:
            watched.last.asked.append(asked)
        out.line(
            {"event": "question", "question": question, "action": action.kind, "agreed": agreed}
        )
        view.asked(asked)
        return agreed

    def show(assignment: Assignment, step: Step) -> None:
        del assignment
        view.done(step, watched.last)

    table = Seats(
        [SeatPhone(seat.phone, seat.verifier)],
        lambda _assignment, _phone: watched,
        device_id=DeviceId(seat.device_id),
        clock=SystemClock(),
        new_id=new_uuid7,
        safety=Safety(seat.rules.guard, seat.rules.redaction, ask, gate),
        on_step=show,
    )
    table.start(assignment, release_id=ReleaseId(seat.actor.release_id))
    while True:
        for played in table.turn():
            return played


def _gate(seat: Seat, stop: threading.Event) -> Gate:
    """Closes by Ctrl-C, by the phone's stop file, and where the owner's conditions do not hold."""
    from device_runtime.gate import Gate
    from device_runtime.stop import StopSwitch
    from sync.clock import SystemClock

    clock = SystemClock()
    switch = StopSwitch(seat.folder, clock=clock, interrupt=stop)
    return Gate(seat.rules.guard, switch, clock=clock, read_conditions=seat.read_conditions)


def _show_verdict(verdict: Verdict, out: Output) -> None:
    if out.json_lines:
        out.event(
            "verdict",
            source=verdict.source,
            score=verdict.score,
            success=verdict.success,
            progress=verdict.progress,
            goal_reached=verdict.goal_reached,
            failed=[check.name for check in verdict.checks if not check.passed],
            checks=verdict.checks,
            side_effects=verdict.side_effects,
        )
        return
    said = "cannot be decided" if verdict.score is None else _outcome(verdict.success)
    out.note(f"{verdict.source.value:<6} {said}")
    for check in verdict.checks:
        if not check.passed:
            out.note(f"       {check.name}: {check.reason or 'not so'}")


def _outcome(success: bool) -> str:
    return "success" if success else "no success"


def _thumb(played: Played, out: Output, *, given: Thumb | None, stopped: Stopped) -> bool | None:
    """The owner's verdict: as it was given, or as it is asked for at a terminal; None for none."""
    from device_runtime.safety import STOPPED

    episode = played.episode
    if episode.end_reason is EndReason.ENV_ERROR or episode.end_detail.startswith(STOPPED):
        return None
    if given is not None:
        return given is Thumb.UP
    if out.json_lines or not is_at_terminal():
        return None
    return thumb(timeout_s=THUMB_S, stopped=stopped)


def _log(played: Played, folder: Path) -> None:
    from contextlib import closing

    from device_runtime.trajectory_log import TrajectoryLog
    from outrider.phone_folders import log_of
    from sync.clock import SystemClock
    from sync.vocabulary import new_uuid7

    log = TrajectoryLog.open(log_of(folder), clock=SystemClock(), new_id=new_uuid7)
    with closing(log):
        log.append(played.episode, played.verdicts)
