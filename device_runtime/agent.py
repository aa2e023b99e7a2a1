"""The episode: what is asked, chosen, forbidden, remembered and when it ends.

`EpisodeMachine` is an episode without I/O. Somebody else looks and acts; the machine says what to
ask the policy, what to carry out and when it is over, and keeps the record. Its shells are
`run_episode` below (one phone) and `device_runtime.seats` (many phones, batched inference):

    begin → see → choose → acted → see → choose → acted → … → close
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from device_runtime import guard
from device_runtime.errors import PhoneFaultError, PhoneLostError
from device_runtime.guard_rules import PERMISSIVE, GuardRules
from device_runtime.ports import (
    ActOutcome,
    Decided,
    Phone,
    Policy,
    PolicyRequest,
    ResetOutcome,
    Verifier,
)
from device_runtime.redaction import DEFAULT_REDACTION, NO_SLOTS, redact, resolve
from device_runtime.secret_patterns import RedactionRules
from sync import history, policy_io
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
    ReleaseId,
    SlotRef,
    Step,
    Verdict,
)

AGENT_VERSION = "1"
"""Changes whenever the same observations and decisions would make another episode."""


@dataclass(frozen=True, slots=True)
class EpisodeOrigin:
    """Who plays: copied into the episode."""

    device_id: DeviceId
    seat: int = 0
    release_id: ReleaseId = FACTORY_RELEASE
    arm: str = "stable"


def _no_owner(question: str, action: Action) -> bool:
    """Nobody is there to say yes."""
    del question, action
    return False


@dataclass(frozen=True, slots=True)
class Safety:
    """The rules of the phone that is played on, and how its owner is asked (True means yes)."""

    guard_rules: GuardRules = PERMISSIVE
    redaction_rules: RedactionRules = DEFAULT_REDACTION
    ask_owner: Callable[[str, Action], bool] = field(default=_no_owner)


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

    def begin(self, reset: ResetOutcome) -> None:
        """Take over what the phone's reset prepared."""
        self._reset = reset

    def see(self, observation: Observation) -> PolicyRequest | None:
        """What to ask the policy about `observation`, or None where the budget is used up."""
        redacted = redact(observation, self._safety.redaction_rules, self._slots)
        observation, self._slots = redacted.observation, redacted.slots
        self._state_hash = observation.state_hash
        self._remember(observation)
        index = len(self._steps)
        if index >= self.assignment.step_budget:
            self._final = observation
            self._end = EndReason.BUDGET
            return None
        request = self._request(observation, index)
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
            assignment=self.assignment,
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

    def _request(self, observation: Observation, index: int) -> PolicyRequest:
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

    def _refusal(self, observation: Observation, action: Action) -> str | None:
        """Why the action may not be carried out; None where it may."""
        if isinstance(action.text, SlotRef) and action.text.slot not in self._slots:
            return f"this episode has no slot {action.text.slot}"
        match guard.decide(action, observation, self._safety.guard_rules):
            case guard.Allowed():
                return None
            case guard.Denied(reason=reason):
                return reason
            case guard.AskOwner(question=question):
                answered_yes = self._safety.ask_owner(question, action)
                return None if answered_yes else f"not agreed to: {question}"

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
                policy_io_version=policy_io.POLICY_IO_VERSION if self._encodes else "",
                input_digest=pending.input_digest,
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
        while (request := machine.see(phone.observe())) is not None:
            action = machine.choose(policy.decide([request])[0])
            if action is not None:
                machine.acted(phone.act(action))
            if on_step is not None:
                on_step(machine.steps[-1])
            if action is None:
                break
    except (PhoneLostError, PhoneFaultError) as error:
        machine.fail(str(error))
    return machine.close()


def judge_end(verifier: Verifier | None, episode: Episode) -> Verdict | None:
    """The verdict on an ended episode; None where nobody can judge it, and for every env_error.

    Raises:
        PhoneLostError: the phone went away before it was judged: the episode is an env_error.
        PhoneFaultError: something went wrong that no verdict may count: as above.
    """
    if verifier is None or episode.end_reason is EndReason.ENV_ERROR:
        return None
    return verifier.judge(episode)
