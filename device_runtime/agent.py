"""The episode: what is asked, chosen, forbidden, remembered and when it ends.

`EpisodeMachine` is an episode without I/O. Somebody else looks and acts; the machine says what to
ask the policy, what to carry out and when it is over, and keeps the record. Its shells are
`run_episode` below (one phone) and `device_runtime.seats` (many phones, batched inference):

    begin → see → choose → acted → see → choose → acted → … → close
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

import structlog

from device_runtime import guard
from device_runtime.errors import PhoneFaultError, PhoneLostError
from device_runtime.painting import covered_by, glance, paint_out
from device_runtime.ports import (
    ActOutcome,
    Decided,
    Phone,
    Policy,
    PolicyRequest,
    ResetOutcome,
    Verifier,
)
from device_runtime.redaction import NO_SLOTS, redact, redact_goal, resolve
from device_runtime.safety import STOPPED, Safety, leave_home
from device_runtime.slot_names import slots_in
from sync import history, policy_io, text_policy_io
from sync.clock import Clock
from sync.vocabulary import (
    FACTORY_RELEASE,
    Action,
    ActionKind,
    Assignment,
    DeviceId,
    EndReason,
    Episode,
    EpisodeId,
    Observation,
    Rect,
    ReleaseId,
    Step,
    Verdict,
)

_log = structlog.get_logger()

AGENT_VERSION = "1"
"""Changes whenever the same observations and decisions would make another episode."""


@dataclass(frozen=True, slots=True)
class EpisodeOrigin:
    """Who plays: copied into the episode."""

    device_id: DeviceId
    seat: int = 0
    release_id: ReleaseId = FACTORY_RELEASE
    arm: str = "stable"


def harness_hash() -> str:
    """Digest (16 hex digits) of the code that turns screens into requests, decisions into steps."""
    versions = f"agent/{AGENT_VERSION} {policy_io.POLICY_IO_VERSION}"
    return hashlib.sha256(versions.encode()).hexdigest()[:16]


def seat_random(assignment: Assignment) -> Random:
    """The generator of one episode: it depends on the assignment alone, never on batch or seat."""
    key = (assignment.seed, assignment.look, assignment.purpose.value, assignment.id)
    return Random("/".join(map(str, key)))


@dataclass(slots=True)
class _Pending:
    """The step under way: seen, then chosen, not yet recorded."""

    observation: Observation
    input_digest: str
    observed_at_ms: int
    asked_at_s: float
    decided: Decided | None = None
    chosen_at_s: float = 0.0
    repeat_count: int = 0


class EpisodeMachine:
    """One episode, from its reset to its record. Used once; not thread-safe.

    Args:
        assignment: what is played; its `step_budget` truncates.
        encodes: whether the policy wants requests with `encoded`.
    """

    def __init__(
        self,
        assignment: Assignment,
        origin: EpisodeOrigin,
        *,
        clock: Clock,
        new_id: Callable[[], str],
        encodes: bool = True,
        safety: Safety | None = None,
    ) -> None:
        self.assignment = assignment
        self.origin = origin
        self.random = seat_random(assignment)
        self._clock = clock
        self._id = EpisodeId(new_id())
        self._encodes = encodes
        self._safety = safety or Safety()
        self._reset = ResetOutcome(assignment.goal)
        self._slots = NO_SLOTS
        self._covered: tuple[Rect, ...] = ()
        self._history = history.EMPTY_HISTORY
        self._steps: list[Step] = []
        self._pending: _Pending | None = None
        self._end: EndReason | None = None
        self._end_detail = ""
        self._final: Observation | None = None
        self._state_hash: str | None = None
        self._started_at_ms = clock.wall_ms()

    @property
    def end_reason(self) -> EndReason | None:
        """Why the episode ended; None while it goes on."""
        return self._end

    @property
    def steps(self) -> tuple[Step, ...]:
        """What was recorded so far."""
        return tuple(self._steps)

    @property
    def was_stopped(self) -> bool:
        """Whether the owner's stop, the phone's conditions or its permit ended the episode."""
        return self._end is EndReason.GUARD and self._end_detail.startswith(STOPPED)

    @property
    def covered(self) -> tuple[Rect, ...]:
        """Where the screen that was seen last shows something hidden: paint it out of pictures."""
        return self._covered

    def begin(self, reset: ResetOutcome) -> None:
        """Take over what the phone's reset prepared."""
        goal, self._slots = redact_goal(reset.goal, self._safety.redaction_rules, self._slots)
        self._reset = reset if goal == reset.goal else replace(reset, goal=goal)

    def see(self, observation: Observation, png: bytes | None = None) -> PolicyRequest | None:
        """What to ask the policy about `observation`, or None where the budget is used up.

        Args:
            png: a picture of just that, with its secrets: they are painted over here.
        """
        redacted = redact(
            observation, self._safety.redaction_rules, self._slots, goal=self._reset.goal
        )
        observation, self._slots = redacted.observation, redacted.slots
        self._covered = covered_by(redacted)
        self._state_hash = observation.state_hash
        self._remember(observation)
        index = len(self._steps)
        if index >= self.assignment.step_budget:
            self._final = observation
            self._end = EndReason.BUDGET
            return None
        if reason := self._closed():
            self._final = observation
            self._end, self._end_detail = EndReason.GUARD, reason
            return None
        picture = self._painted(observation, png)
        if picture is not None:
            observation = replace(observation, screenshot=text_policy_io.picture_digest(picture))
        request = self._request(observation, index, picture)
        self._pending = _Pending(
            observation=observation,
            input_digest=request.encoded.digest if request.encoded else "",
            observed_at_ms=self._clock.wall_ms(),
            asked_at_s=self._clock.monotonic_s(),
        )
        return request

    def choose(self, decided: Decided) -> Action | None:
        """The action to carry out, or None where it ended the episode (finish, answer, guard)."""
        pending = self._require_pending()
        pending.decided = decided
        pending.chosen_at_s = self._clock.monotonic_s()
        pending.repeat_count = self._repeats(pending.observation, decided.action)
        refusal = self._refusal(pending.observation, decided.action)
        if refusal is not None:
            self._record(valid=False)
            self._end, self._end_detail = EndReason.GUARD, refusal
            return None
        if decided.action.kind in _ENDS:
            self._record(valid=True)
            self._end = _ENDS[decided.action.kind]
            return None
        return resolve(decided.action, self._slots)

    def acted(self, outcome: ActOutcome) -> None:
        """Record how the chosen action went."""
        self._record(valid=outcome.valid)

    def fail(self, detail: str) -> None:
        """End the episode as an env_error: the environment broke, whatever the policy did."""
        if self._pending is not None and self._pending.decided is not None:
            self._record(valid=False)
        self._end, self._end_detail, self._state_hash = EndReason.ENV_ERROR, detail, None

    def close(self) -> Episode:
        """The record of the ended episode.

        Raises: RuntimeError: it has not ended.
        """
        if self._end is None:
            raise RuntimeError("an episode that has not ended has no record")
        return Episode(
            id=self._id,
            assignment=self._hidden_assignment(),
            device_id=self.origin.device_id,
            goal=self._reset.goal,
            steps=tuple(self._steps),
            end_reason=self._end,
            seat=self.origin.seat,
            release_id=self.origin.release_id,
            arm=self.origin.arm,
            suite_version=self._reset.suite_version,
            harness_hash=harness_hash(),
            end_state_digest=self._state_hash,
            end_detail=self._end_detail,
            started_at_ms=self._started_at_ms,
            ended_at_ms=self._clock.wall_ms(),
            final_observation=self._final,
        )

    def _painted(self, observation: Observation, png: bytes | None) -> bytes | None:
        """The picture without its secrets; None where there is none, or it cannot be read."""
        if png is None:
            return None
        try:
            return paint_out(png, observation, self._covered)
        except PhoneFaultError as error:
            _log.warning("picture_unreadable", error=str(error))
            return None

    def _request(
        self, observation: Observation, index: int, picture: bytes | None
    ) -> PolicyRequest:
        encoded = None
        if self._encodes:
            encoded = policy_io.encode(
                observation,
                self._reset.goal,
                self._history,
                step_index=index,
                step_budget=self.assignment.step_budget,
            )
        return PolicyRequest(
            observation=observation,
            goal=self._reset.goal,
            history=self._history,
            random=self.random,
            temperature=self.assignment.temperature,
            release_id=self.origin.release_id,
            encoded=encoded,
            earlier=tuple(step.action for step in self._steps[-text_policy_io.MOST_EARLIER :]),
            picture=picture,
        )

    def _remember(self, seen: Observation) -> None:
        """Fold the last step into the history, now that its effect is seen."""
        if self._steps:
            last = self._steps[-1]
            self._history = history.fold(
                self._history,
                last.observation,
                last.action,
                valid=last.valid,
                screen_changed=not history.same_screen(last.observation, seen),
            )

    def _repeats(self, observation: Observation, action: Action) -> int:
        count = 0
        for step in reversed(self._steps):
            if step.action != action or not history.same_screen(step.observation, observation):
                break
            count += 1
        return count

    def _hidden_assignment(self) -> Assignment:
        """The assignment as it is logged: its goal, where it is a text, hides what was hidden."""
        if not self.assignment.goal or self.assignment.goal == self._reset.goal:
            return self.assignment
        goal, _ = redact_goal(self.assignment.goal, self._safety.redaction_rules, self._slots)
        return replace(self.assignment, goal=goal)

    def _closed(self) -> str | None:
        """Why nothing may be done now, whatever it is."""
        gate = self._safety.gate
        reason = None if gate is None else gate.closed()
        return None if reason is None else STOPPED + reason

    def _refusal(self, observation: Observation, action: Action) -> str | None:
        """Why the action may not be carried out; None where it may, and it is time for it."""
        refusal = self._closed() or self._ruled_out(observation, action)
        gate = self._safety.gate
        if refusal is not None or gate is None or action.kind in _ENDS:
            return refusal
        reason = gate.wait_turn()
        return None if reason is None else STOPPED + reason

    def _ruled_out(self, observation: Observation, action: Action) -> str | None:
        for slot in slots_in(action.text):
            if slot not in self._slots:
                return f"this episode has no slot {slot}"
        match guard.decide(action, observation, self._safety.guard_rules):
            case guard.Allowed():
                return None
            case guard.Denied(reason=reason):
                return reason
            case guard.AskOwner(question=question):
                if self._safety.ask_owner(question, action):
                    return None
                return self._closed() or f"not agreed to: {question}"

    def _record(self, *, valid: bool) -> None:
        pending = self._require_pending()
        decided = pending.decided
        if decided is None:
            raise RuntimeError("a step is recorded after its action was chosen")
        self._steps.append(
            Step(
                index=len(self._steps),
                observation=pending.observation,
                action=decided.action,
                decisions=decided.decisions,
                log_prob=decided.log_prob,
                temperature=self.assignment.temperature,
                policy_version=decided.policy_version,
                quantisation=decided.quantisation,
                policy_io_version=decided.policy_io_version
                or (policy_io.POLICY_IO_VERSION if self._encodes else ""),
                input_digest=decided.input_digest or pending.input_digest,
                taught_action=decided.taught_action,
                valid=valid,
                repeat_count=pending.repeat_count,
                observed_at_ms=pending.observed_at_ms,
                decide_ms=_elapsed_ms(pending.asked_at_s, pending.chosen_at_s),
                act_ms=_elapsed_ms(pending.chosen_at_s, self._clock.monotonic_s()),
            )
        )
        self._pending = None

    def _require_pending(self) -> _Pending:
        if self._pending is None:
            raise RuntimeError("see an observation first: one choice each, and none after the end")
        return self._pending


_ENDS = {ActionKind.FINISH: EndReason.FINISH, ActionKind.ANSWER: EndReason.ANSWER}


def _elapsed_ms(start_s: float, end_s: float) -> float:
    return round((end_s - start_s) * 1000.0, 3)


def run_episode(
    phone: Phone,
    policy: Policy,
    assignment: Assignment,
    *,
    origin: EpisodeOrigin,
    clock: Clock,
    new_id: Callable[[], str],
    safety: Safety | None = None,
    on_step: Callable[[Step], None] | None = None,
) -> Episode:
    """Play `assignment` on one phone and return the record: the loop anyone can recite.

    Args:
        on_step: called after each recorded step, to show it live.
    Raises: UnknownTaskError: the phone cannot play this assignment.
    """
    machine = EpisodeMachine(
        assignment,
        origin,
        clock=clock,
        new_id=new_id,
        encodes=policy.wants_encoding,
        safety=safety,
    )
    try:
        machine.begin(phone.reset(assignment))
        while (request := machine.see(*glance(phone, policy))) is not None:
            action = machine.choose(policy.decide([request])[0])
            if action is not None:
                machine.acted(phone.act(action))
            if on_step is not None:
                on_step(machine.steps[-1])
            if action is None:
                break
    except (PhoneLostError, PhoneFaultError) as error:
        machine.fail(str(error))
    if machine.was_stopped:
        leave_home(phone)
    return machine.close()


def judge_end(verifier: Verifier | None, episode: Episode) -> Verdict | None:
    """The verdict on an ended episode; None where it was cut off, or nobody can judge it.

    Cut off is what the guard or the owner ended, and what broke: nobody knows what would have come
    of it, so it is neither a success nor a failure.

    Raises:
        PhoneLostError: the phone went away before it was judged: the episode is an env_error.
        PhoneFaultError: something went wrong that no verdict may count: as above.
    """
    if verifier is None or episode.end_reason in {EndReason.GUARD, EndReason.ENV_ERROR}:
        return None
    return verifier.judge(episode)
