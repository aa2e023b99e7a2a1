"""The gates that every task template passes before anybody learns or is judged on it.

The oracle solves every instance; doing nothing, random actions and mere typing solve at most one in
a hundred; ends that nearly are the wanted one are rejected; what shows on the oracle's way is
translated, laid out and written as it should be. Episodes are played by the agent's own loop, so
what passes here is what agents meet.

The rule for weak policies: where one solved more than its share, it plays `WEAK_MORE` instances
more (other seeds), at most three times, until its share over all of them is within the limit. So
one lucky hit in a few instances condemns nobody, and a template that is easy to stumble into stays
condemned.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from apps_mock.baselines import NoopPolicy, RandomPolicy, TypingOnlyPolicy
from apps_mock.catalogue import LOCALES
from apps_mock.errors import BrokenTemplateError
from apps_mock.goal_checks import goal_faults
from apps_mock.look import look_number
from apps_mock.mutators import Ending, Mutant, mutants, user_mutants
from apps_mock.oracle import OraclePolicy
from apps_mock.phone import MockPhone
from apps_mock.phone_state import PhoneState
from apps_mock.screen_checks import ScreenFaults, ScreenWatch
from apps_mock.templates import Template
from apps_mock.verifiers import verdict_of, verify
from apps_mock.wanted import Wanted
from device_runtime.agent import EpisodeOrigin, run_episode
from device_runtime.ports import Policy
from sync.clock import ManualClock
from sync.vocabulary import (
    Assignment,
    AssignmentId,
    DeviceId,
    EndReason,
    Episode,
    EpisodeId,
    Split,
    Verdict,
)

WEAK_POLICY_LIMIT = 0.01
"""Highest share of instances that doing nothing, random actions or mere typing may solve."""

WEAK_MORE = 400
"""Instances that a weak policy plays more where it solved more than its share."""

KILL_RATE = 0.99
"""Least share of near misses that a verifier rejects."""

Mutations = Callable[[PhoneState, PhoneState, Wanted], Iterable[tuple[str, PhoneState]]]
"""A user's own near misses: name and state of each, from the states at reset and at the end."""


@dataclass(frozen=True, slots=True)
class Share:
    """How many of the played instances a policy solved."""

    played: int = 0
    solved: int = 0

    @property
    def rate(self) -> float:
        """The solved share."""
        return self.solved / self.played if self.played else 0.0

    def with_result(self, *, solved: bool) -> Share:
        """One instance more."""
        return Share(self.played + 1, self.solved + solved)


@dataclass(frozen=True, slots=True)
class GateRow:
    """What the gates found for one template.

    Attributes:
        counts: whether the limits for weak policies hold for it (see `Template.counts`).
        oracle_steps: most steps that the oracle took.
        failed: instances that the oracle did not solve: seed, look and why.
        kinds: near misses of each kind, and how many were rejected.
        survivors: near misses that the verifier took for successes.
        goals: what is wrong with the goals' texts.
        screens: what is wrong with screens on the oracle's way.
        crash: what broke so that nothing more could be played; empty where nothing did.
    """

    template: str
    counts: bool = True
    oracle: Share = Share()
    oracle_steps: int = 0
    failed: tuple[str, ...] = ()
    noop: Share = Share()
    random: Share = Share()
    typing_only: Share = Share()
    kinds: dict[str, tuple[int, int]] = field(default_factory=dict)
    survivors: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    screens: ScreenFaults = field(default_factory=ScreenFaults)
    crash: str = ""

    @property
    def mutants(self) -> int:
        """How many near misses there were."""
        return sum(made for made, _ in self.kinds.values())

    @property
    def killed(self) -> int:
        """How many of them the verifier rejected."""
        return sum(killed for _, killed in self.kinds.values())

    @property
    def kill_rate(self) -> float:
        """Share of the near misses that the verifier rejected."""
        return self.killed / self.mutants if self.mutants else 1.0

    @property
    def faults(self) -> tuple[str, ...]:
        """Why the template may not be used; nothing where it may."""
        if self.crash:
            return (self.crash,)
        weak = {"noop": self.noop, "random": self.random, "typing_only": self.typing_only}
        found = [
            f"{name} solved {share.solved} of {share.played}; make the task harder to stumble into"
            for name, share in weak.items()
            if self.counts and share.rate > WEAK_POLICY_LIMIT
        ]
        if self.oracle.rate < 1.0:
            lost = self.oracle.played - self.oracle.solved
            found.insert(
                0,
                f"the oracle failed {lost} of {self.oracle.played} instances, such as "
                f"{self.failed[0] if self.failed else '?'}; repair its plan or the app",
            )
        if self.kill_rate < KILL_RATE:
            found.append(
                f"the verifier took {self.mutants - self.killed} near misses for successes; "
                "name what else has to hold in its changes"
            )
        return (*found, *self.goals, *self.screens.texts())

    @property
    def passed(self) -> bool:
        """Whether the template may be used for learning and for headline figures."""
        return not self.faults


def looks_of(count: int) -> tuple[int, ...]:
    """`count` look numbers, one locale after the other."""
    return tuple(
        look_number(LOCALES[number % len(LOCALES)], number // len(LOCALES))
        for number in range(count)
    )


@dataclass(frozen=True, slots=True)
class GateSettings:
    """What the gates play.

    Attributes:
        mutations: near misses of a user's own, beside those of `mutators`.
        faces: whether pixels are compared with the view hierarchy, which takes long.
    """

    seeds: Sequence[int] = range(20)
    looks: Sequence[int] = looks_of(4)
    split: Split = Split.VALIDATION
    mutations: Mutations | None = None
    faces: bool = True


def run_gates(
    templates: Iterable[Template], settings: GateSettings | None = None
) -> Iterator[GateRow]:
    """One row per template, each over all seeds and looks."""
    compared: set[tuple[object, ...]] = set()
    for template in templates:
        yield gate(template, settings or GateSettings(), compared)


def gate(template: Template, settings: GateSettings, compared: set[tuple[object, ...]]) -> GateRow:
    """What the gates find for one template.

    Args:
        compared: pages whose two faces were compared already; grows.
    """
    try:
        with _naming(template.name):
            return _gate(template, settings, compared)
    except BrokenTemplateError as error:
        return GateRow(template.name, template.counts, crash=str(error))


def _gate(template: Template, settings: GateSettings, compared: set[tuple[object, ...]]) -> GateRow:
    phone = MockPhone()
    row = _oracles(template, settings, phone, ScreenWatch(phone, compared))
    weak = {
        policy.name: _weak(template, settings, phone, policy)
        for policy in (NoopPolicy(), RandomPolicy(), TypingOnlyPolicy())
    }
    return replace(
        row,
        noop=weak["noop"],
        random=weak["random"],
        typing_only=weak["typing_only"],
        goals=goal_faults(template, settings.seeds),
    )


def _oracles(
    template: Template,
    settings: GateSettings,
    phone: MockPhone,
    watch: ScreenWatch,
) -> GateRow:
    share, longest = Share(), 0
    kinds: dict[str, tuple[int, int]] = {}
    survivors: list[str] = []
    failed: list[str] = []
    for seed, look in itertools.product(settings.seeds, settings.looks):
        watch.compare_faces = settings.faces and seed == settings.seeds[0]
        assignment = _assignment(template, seed, look, settings.split)
        episode, verdict = play(phone, watch.watching(OraclePolicy(phone)), assignment)
        share = share.with_result(solved=verdict.success)
        longest = max(longest, len(episode.steps))
        if not verdict.success:
            failed.append(f"seed {seed} look {look}: {_why(episode, verdict)}")
            continue
        ending = Ending(phone.task.state, phone.state, phone.task.wanted, episode.steps[-1].action)
        for mutant in _all_mutants(ending, settings.mutations):
            killed = not _succeeds(mutant, ending)
            made, dead = kinds.get(mutant.kind, (0, 0))
            kinds[mutant.kind] = (made + 1, dead + killed)
            if not killed:
                survivors.append(f"seed {seed} look {look}: {mutant.kind}: {mutant.name}")
    return GateRow(
        template.name,
        counts=template.counts,
        oracle=share,
        oracle_steps=longest,
        failed=tuple(failed),
        kinds=dict(sorted(kinds.items())),
        survivors=tuple(survivors),
        screens=watch.faults,
    )


def _why(episode: Episode, verdict: Verdict) -> str:
    if episode.end_reason is EndReason.ENV_ERROR:
        return episode.end_detail
    broken = [f"{check.name} ({check.reason})" for check in verdict.checks if not check.passed]
    ended = f"{episode.end_reason} after {len(episode.steps)} steps"
    return "; ".join((ended, *broken))


def _all_mutants(ending: Ending, mutations: Mutations | None) -> Iterator[Mutant]:
    yield from mutants(ending)
    if mutations is not None:
        yield from user_mutants(ending, mutations(ending.before, ending.end, ending.wanted))


def _succeeds(mutant: Mutant, ending: Ending) -> bool:
    verdict = verdict_of(
        verify(ending.before, mutant.state, ending.wanted),
        ending.wanted,
        mutant.claim,
        episode_id=EpisodeId(""),
        verifier="",
        version="",
    )
    return verdict.success


def _weak(
    template: Template,
    settings: GateSettings,
    phone: MockPhone,
    policy: NoopPolicy | RandomPolicy | TypingOnlyPolicy,
) -> Share:
    """What a weak policy solves, by the rule that stands at the top of this module."""
    share = Share()
    for seed, look in itertools.product(settings.seeds, settings.looks):
        share = _played(template, (seed, look), settings, phone, policy, share)
    more = (
        (seed, look) for seed in itertools.count(max(settings.seeds) + 1) for look in settings.looks
    )
    for _ in range(3):
        if not template.counts or share.rate <= WEAK_POLICY_LIMIT:
            break
        for instance in itertools.islice(more, WEAK_MORE):
            share = _played(template, instance, settings, phone, policy, share)
    return share


def _played(  # noqa: PLR0917 - one private call
    template: Template,
    instance: tuple[int, int],
    settings: GateSettings,
    phone: MockPhone,
    policy: Policy,
    share: Share,
) -> Share:
    assignment = _assignment(template, *instance, settings.split)
    return share.with_result(solved=play(phone, policy, assignment)[1].success)


def _assignment(template: Template, seed: int, look: int, split: Split) -> Assignment:
    return Assignment(
        id=AssignmentId(f"gate-{template.name}-{seed}-{look}"),
        template=template.name,
        suite=template.app,
        seed=seed,
        split=split,
        look=look,
        step_budget=template.step_budget,
    )


def play(phone: MockPhone, policy: Policy, assignment: Assignment) -> tuple[Episode, Verdict]:
    """One episode on a clone, and the verdict on it.

    Raises: BrokenTemplateError: the task or the oracle broke.
    """
    with _naming(f"{assignment.template} at seed {assignment.seed}, look {assignment.look}"):
        episode = run_episode(
            phone,
            policy,
            assignment,
            origin=EpisodeOrigin(DeviceId("gates")),
            clock=ManualClock(),
            new_id=lambda: assignment.id,
        )
        verdict = phone.judge(episode)
    assert verdict is not None, "a phone judges what was just played on it"
    return episode, verdict


@contextmanager
def _naming(where: str) -> Iterator[None]:
    """Says which template it was whose code broke."""
    try:
        yield
    except BrokenTemplateError:
        raise
    except Exception as error:  # an app's and a template's code may raise anything
        raise BrokenTemplateError(where, error) from error
