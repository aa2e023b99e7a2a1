"""What the agent needs from the outside: a phone, a policy, a judge, a log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

from sync.history import History
from sync.policy_io import EncodedInput
from sync.vocabulary import (
    Action,
    Assignment,
    Decision,
    Element,
    Episode,
    Observation,
    Verdict,
)


@dataclass(frozen=True, slots=True)
class PhoneInfo:
    """What a phone says of itself."""

    serial: str
    model: str
    android_version: str
    width_px: int
    height_px: int
    extra: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ActOutcome:
    """Whether an action could be carried out; `detail` says why not."""

    valid: bool = True
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ResetOutcome:
    """What a reset prepared: the goal, and the suite that it belongs to."""

    goal: str
    suite_version: str = ""


class Phone(Protocol):
    """A phone: physical, emulated, or a clone in process. All calls block, each with a deadline.

    Every method raises `PhoneLostError` where the phone cannot be reached and `PhoneFaultError`
    where it answers nonsense; both make the episode an env_error, never a reward.
    """

    def reset(self, assignment: Assignment) -> ResetOutcome:
        """Bring the phone into the start state of `assignment`. Idempotent.

        Raises: UnknownTaskError: this phone cannot play the assignment's template.
        """
        ...

    def observe(self) -> Observation:
        """What is on the screen now, with proof that it is complete."""
        ...

    def act(self, action: Action) -> ActOutcome:
        """Carry out one action once; never retried after bytes may have reached the phone."""
        ...

    def screenshot(self) -> bytes:
        """The screen as PNG bytes."""
        ...

    def info(self) -> PhoneInfo:
        """What phone this is. Cheap after the first call."""
        ...

    def close(self) -> None:
        """Let go of the phone. Idempotent."""
        ...


class ScreenReader(Protocol):
    """Reads pictures of screens, for phones whose view hierarchy cannot be had."""

    def read(
        self,
        png: bytes,
        *,
        package: str = "",
        touched: tuple[int, int] | None = None,
        keyboard_shown: bool | None = None,
    ) -> tuple[Element, ...]:
        """The elements that a picture shows, in its own pixels and in reading order.

        Args:
            package: of the app in front; empty where unknown.
            touched: where the finger was last, in the picture's pixels.
            keyboard_shown: None where nobody knows.

        Raises: PhoneFaultError: the picture is none, or not all of one.
        """
        ...


@dataclass(frozen=True, slots=True)
class PolicyRequest:
    """Everything that a policy may look at to choose one action.

    Attributes:
        encoded: the observation through `policy_io.encode`; None for policies that do not ask.
        random: the seat's own generator, so that batching never changes what is sampled.
        release_id: which installed release is to act; empty means the current one.
        earlier: the latest actions of the episode, oldest first.
        picture: the screen as PNG, secrets painted over; None for policies that do not ask.
    """

    observation: Observation
    goal: str
    history: History
    random: Random
    temperature: float = 1.0
    release_id: str = ""
    encoded: EncodedInput | None = None
    earlier: tuple[Action, ...] = ()
    picture: bytes | None = None


@dataclass(frozen=True, slots=True)
class Decided:
    """What a policy chose, with the facts that the learner will need.

    Attributes:
        taught_action: what a teacher would have done, where the policy asked one.
        policy_io_version, input_digest: of policies that encode what they see themselves.
    """

    action: Action
    decisions: tuple[Decision, ...] = ()
    log_prob: float = 0.0
    policy_version: str = "scripted"
    quantisation: str = "fp32"
    taught_action: Action | None = None
    policy_io_version: str = ""
    input_digest: str = ""


class Policy(Protocol):
    """Chooses actions for a batch of seats.

    One that looks at pictures has `wants_picture = True` beside what stands here.
    """

    wants_encoding: bool
    """Whether requests must carry `encoded`."""

    def decide(self, requests: Sequence[PolicyRequest]) -> list[Decided]:
        """One decision per request, in order. Deterministic given the requests' generators."""
        ...


class Verifier(Protocol):
    """Judges an ended episode from the phone's state, once."""

    def judge(self, episode: Episode) -> Verdict | None:
        """The verdict, or None where this phone cannot judge (a judge in the cloud may later).

        Raises `PhoneLostError` and `PhoneFaultError` as a phone does, with the same consequence.
        """
        ...


class EpisodeLog(Protocol):
    """Where ended episodes go."""

    def append(self, episode: Episode, verdicts: Sequence[Verdict] = ()) -> None:
        """Store episode, verdicts and outgoing messages in one transaction. Idempotent by id."""
        ...
