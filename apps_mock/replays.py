"""Replays: a logged episode of a clone played again, and where it differs, or that it does not."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import msgspec

from apps_mock.errors import AppCrashError
from apps_mock.own_goals import OwnGoalPhone
from device_runtime.redaction import (
    CLONE_REDACTION,
    NO_SLOTS,
    redact,
    resolve,
)
from device_runtime.secret_patterns import RedactionRules
from sync.vocabulary import ActionKind, EndReason, Episode, Observation

_ENDS = frozenset({ActionKind.FINISH, ActionKind.ANSWER})


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that is not as it was logged.

    Attributes:
        step: index of the step; None for what is about the episode as a whole.
        what: "suite version", "goal", "observation", "state", "validity" or "end".
    """

    step: int | None
    what: str
    logged: str
    replayed: str


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of playing an episode again.

    Attributes:
        steps: how many steps were played before it ended or differed.
    """

    steps: int
    differences: tuple[Difference, ...]

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not self.differences


def replay(episode: Episode, rules: RedactionRules = CLONE_REDACTION) -> Replay:
    """Play a logged episode's actions on a fresh clone, up to the first step that differs.

    Args:
        rules: what the phone that logged it took for secrets.
    Raises: UnknownTaskError: its template is not there any more.
    """
    phone = OwnGoalPhone()
    reset = phone.reset(episode.assignment)
    found = [
        Difference(None, what, logged, now)
        for what, logged, now in (
            ("suite version", episode.suite_version, reset.suite_version),
            ("goal", episode.goal, reset.goal),
        )
        if logged != now
    ]
    steps, differing = _Playback(phone, episode, rules).run()
    return Replay(steps, (*found, *differing))


class _Playback:
    """One episode that is played again."""

    def __init__(self, phone: OwnGoalPhone, episode: Episode, rules: RedactionRules) -> None:
        self._phone = phone
        self._episode = episode
        self._rules = rules
        self._slots = NO_SLOTS
        self._seen = Observation(0, 0)

    def run(self) -> tuple[int, list[Difference]]:
        """How many steps were played, and what differs at the last of them."""
        try:
            return self._run()
        except AppCrashError as error:
            logged = self._episode.end_detail or f"{self._episode.end_reason}"
            same = self._episode.end_reason is EndReason.ENV_ERROR and str(error) == logged
            count = len(self._episode.steps)
            return count, [] if same else [Difference(count, "end", logged, str(error))]

    def _run(self) -> tuple[int, list[Difference]]:
        episode = self._episode
        for step in episode.steps:
            found = self._compared(step.index, step.observation)
            if not found and self._is_carried_out(step.index):
                outcome = self._phone.act(resolve(step.action, self._slots))
                if outcome.valid != step.valid:
                    found.append(
                        Difference(step.index, "validity", f"{step.valid}", f"{outcome.valid}")
                    )
            if found:
                return step.index + 1, found
        return len(episode.steps), self._end_compared()

    def _is_carried_out(self, index: int) -> bool:
        """Whether the step's action was played: the last one may end the episode, or be refused."""
        step, last = self._episode.steps[index], index == len(self._episode.steps) - 1
        refused = last and self._episode.end_reason is EndReason.GUARD
        return step.action.kind not in _ENDS and not refused

    def _compared(self, index: int, logged: Observation) -> list[Difference]:
        redacted = redact(self._phone.observe(), self._rules, self._slots)
        self._seen, self._slots = redacted.observation, redacted.slots
        pairs = [("observation", digest_of(logged), digest_of(self._seen))]
        if logged.state_hash is not None:
            pairs.insert(0, ("state", logged.state_hash, self._seen.state_hash or ""))
        return [Difference(index, what, old, new) for what, old, new in pairs if old != new]

    def _end_compared(self) -> list[Difference]:
        episode, count = self._episode, len(self._episode.steps)
        found = []
        if episode.final_observation is not None:
            found = self._compared(count, episode.final_observation)
        logged, now = episode.end_state_digest, self._seen.state_hash or ""
        if logged is not None and logged != now:
            found.append(Difference(count, "end", logged, now))
        return found


def digest_of(observation: Observation) -> str:
    """SHA-256 (hex) of what was seen, whatever the clone's state and picture were."""
    plain = replace(observation, state_hash=None, screenshot=None)
    return hashlib.sha256(msgspec.msgpack.encode(plain)).hexdigest()
