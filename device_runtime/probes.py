"""Probes: what is true of a phone at an episode's end, asked the same way of clone and real phone.

A probe is a named question (an adb shell command with a reader of its answer, or the last screen)
and what is expected. A set of probes is a verifier where nobody can look into a phone's state:

    probe file → ProbeSet → ProbeVerifier(shell).judge(episode) → Verdict(source PROBE)

Three outcomes, never two: passed, failed, and undecidable (an error, a time-out, an answer that
makes no sense). Undecidable is never success. Probes only read: nothing here changes the phone.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from device_runtime.adb import ShellResult
from device_runtime.errors import DeviceError
from device_runtime.probe_catalogue import Question
from device_runtime.probe_readings import UnreadableError, shortened
from sync.vocabulary import (
    ActionKind,
    Check,
    Episode,
    FinishStatus,
    Verdict,
    VerdictSource,
)

PROBE_VERSION: Final = "1"
"""Rises whenever the same answers of a phone would be judged differently."""
ANSWER_TIMEOUT_S: Final = 15.0
"""How long a phone may take to answer one probe."""
UNDECIDABLE: Final = "undecidable: "
"""How the reason of a check begins that could not be decided."""


class Shell(Protocol):
    """Runs one command line on a phone, to its end."""

    def shell(self, command: str) -> ShellResult:
        """Output and exit code of `command`, complete.

        Raises:
            PhoneLostError: the phone cannot be reached, or did not answer in time.
            PhoneFaultError: what it answered breaks the protocol.
        """
        ...


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a value has to be; all that are not None have to hold. Letters' case does not matter.

    Attributes:
        matches: a regular expression for the whole value.
        at_least, at_most: for values that are numbers.
    """

    equals: str | None = None
    differs: str | None = None
    contains: str | None = None
    matches: str | None = None
    at_least: float | None = None
    at_most: float | None = None

    def refusal(self, value: str) -> str:
        """Why `value` is not what is expected; empty where it is.

        Raises: UnreadableError: a number was expected and this is none.
        """
        folded = value.casefold()
        if self.equals is not None and folded != self.equals.casefold():
            return f"expected {self.equals!r}"
        if self.differs is not None and folded == self.differs.casefold():
            return f"expected anything but {self.differs!r}"
        if self.contains is not None and self.contains.casefold() not in folded:
            return f"expected {self.contains!r} in it"
        if self.matches is not None and not re.fullmatch(self.matches, value, re.IGNORECASE):
            return f"expected a match of {self.matches!r}"
        if self.at_least is not None and _number(value) < self.at_least:
            return f"expected at least {self.at_least:g}"
        if self.at_most is not None and _number(value) > self.at_most:
            return f"expected at most {self.at_most:g}"
        return ""


def _number(value: str) -> float:
    try:
        return float(value)
    except ValueError as error:
        raise UnreadableError(f"{shortened(value)!r} is no number") from error


@dataclass(frozen=True, slots=True)
class Probe:
    """One named check: what is asked, and what is expected."""

    name: str
    question: Question
    expectation: Expectation


@dataclass(frozen=True, slots=True)
class ProbeSet:
    """Probes that belong to one goal.

    Attributes:
        name: what verdicts call the verifier.
        goal: the goal that they are about; empty where they fit any.
        version: changes with the probes.
    """

    name: str
    probes: tuple[Probe, ...]
    goal: str = ""

    @property
    def version(self) -> str:
        """Changes whenever the probes or their meaning do."""
        asked = [(each.name, each.question.command, repr(each.expectation)) for each in self.probes]
        return f"{PROBE_VERSION}.{hashlib.sha256(repr(asked).encode()).hexdigest()[:12]}"

    def is_about(self, goal: str) -> bool:
        """Whether these probes judge episodes with that goal."""
        return not self.goal or _plain(self.goal) == _plain(goal)


def _plain(goal: str) -> str:
    return " ".join(goal.casefold().split()).rstrip(".!")


class ProbeVerifier:
    """Judges ended episodes by probes; implements the port `Verifier`.

    Args:
        sets: the first one that is about an episode's goal judges it.
        shell: the phone that episodes were just played on.
    """

    def __init__(self, sets: Sequence[ProbeSet], shell: Shell) -> None:
        self._sets = tuple(sets)
        self._shell = shell

    def judge(self, episode: Episode) -> Verdict | None:
        """The verdict of the probes; None where none of them is about the goal.

        A phone that is lost now makes probes undecidable, not the episode an env_error: it was
        played to its end.
        """
        meant = next((each for each in self._sets if each.is_about(episode.goal)), None)
        if meant is None:
            return None
        return judge_by_probes(meant, self._shell, episode)


def judge_by_probes(probes: ProbeSet, shell: Shell, episode: Episode) -> Verdict:
    """What the probes say of an episode that has just ended on the phone behind `shell`.

    Success is that every probe passed and the policy said that it was done: with finish(complete),
    or with an answer where a probe looks at the answer.
    """
    checks = tuple(_check(probe, shell, episode) for probe in probes.probes)
    is_undecided = any(is_undecidable(check) for check in checks)
    has_failed = any(not check.passed and not is_undecidable(check) for check in checks)
    claimed = _claim(probes, episode)
    score = 0.0 if has_failed or not claimed.passed else None if is_undecided else 1.0
    return Verdict(
        episode_id=episode.id,
        verifier=probes.name,
        verifier_version=probes.version,
        source=VerdictSource.PROBE,
        score=score,
        progress=sum(check.passed for check in checks) / max(1, len(checks)),
        goal_reached=bool(checks) and all(check.passed for check in checks),
        checks=(*checks, claimed),
    )


def is_undecidable(check: Check) -> bool:
    """Whether a check could not be decided."""
    return not check.passed and check.reason.startswith(UNDECIDABLE)


def _check(probe: Probe, shell: Shell, episode: Episode) -> Check:
    try:
        value = _value(probe.question, shell, episode)
        refusal = probe.expectation.refusal(value)
    except DeviceError as error:
        return Check(probe.name, passed=False, reason=f"{UNDECIDABLE}{shortened(str(error))}")
    if refusal:
        return Check(probe.name, passed=False, reason=f"{refusal}, found {shortened(value)!r}")
    return Check(probe.name, passed=True)


def _value(question: Question, shell: Shell, episode: Episode) -> str:
    if question.read_screen is not None:
        return question.read_screen(episode)
    assert question.read is not None  # a question is about one or the other
    return question.read(shell.shell(question.command))


def _claim(probes: ProbeSet, episode: Episode) -> Check:
    """Whether the policy ended the episode in the way that these probes want."""
    action = episode.steps[-1].action if episode.steps else None
    asks_answer = any(each.question.reads_answer for each in probes.probes)
    if asks_answer:
        passed = action is not None and action.kind is ActionKind.ANSWER
        return Check("answered", passed, "" if passed else "the policy gave no answer")
    passed = (
        episode.end_reason.terminated
        and action is not None
        and action.status is FinishStatus.COMPLETE
    )
    return Check("finished", passed, "" if passed else "the policy did not claim completion")
