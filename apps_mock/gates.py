"""The gates that every task template passes before anybody learns or is judged on it.

The oracle solves every instance in the steps that the template declares; doing nothing, random
actions and mere typing solve at most one in a hundred (see `gate_weak`); ends that nearly are the
wanted one are rejected; what shows is made, translated, laid out and written as it should be.
Episodes are played by the agent's own loop, so what passes here is what agents meet.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from apps_mock.baselines import NoopPolicy, RandomPolicy, TypingOnlyPolicy
from apps_mock.errors import BrokenTemplateError
from apps_mock.gate_episodes import GateSettings, assignment_of, naming, play
from apps_mock.gate_rows import GateRow, Share
from apps_mock.gate_weak import WeakPlays
from apps_mock.goal_checks import goal_faults
from apps_mock.look import draw_look
from apps_mock.mutators import Ending, Mutant, mutants, user_mutants
from apps_mock.oracle import OraclePolicy
from apps_mock.phone import MockPhone
from apps_mock.screen_checks import ScreenWatch
from apps_mock.standing import why_stuck
from apps_mock.template_checks import set_up_faults, steps_fault, tag_faults
from apps_mock.templates import Template
from apps_mock.verifiers import verdict_of, verify
from sync.vocabulary import EndReason, Episode, EpisodeId, Verdict

_PATIENCE = 60
"""Steps more than its budget that an oracle may take, to see whether the budget is too small."""


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
        with naming(template.name):
            return _gate(template, settings, compared)
    except BrokenTemplateError as error:
        return GateRow(template.name, template.counts, crash=str(error))


def _gate(template: Template, settings: GateSettings, compared: set[tuple[object, ...]]) -> GateRow:
    with naming(f"{template.name} at seed {settings.seeds[0]}"):
        wrong = set_up_faults(template, settings.seeds, settings.split)
    if wrong:
        return GateRow(template.name, template.counts, crash=wrong[0])
    phone = MockPhone()
    watch = ScreenWatch(phone, compared)
    oracle = _OraclePlays(template, settings, phone, watch)
    for instance in itertools.product(settings.seeds, settings.looks):
        oracle.play(instance)
    weak = WeakPlays(template, settings, phone, watch)
    return replace(
        oracle.row(),
        noop=weak.share_of(NoopPolicy()),
        random=weak.share_of(RandomPolicy()),
        typing_only=weak.share_of(TypingOnlyPolicy()),
        broken=tuple(weak.broken),
        tags=tag_faults(template, settings.seeds, settings.split),
        goals=goal_faults(template, settings.seeds),
    )


@dataclass(slots=True)
class _OraclePlays:
    """The oracle on one template's instances, with near misses of each end; counts what it saw."""

    template: Template
    settings: GateSettings
    phone: MockPhone
    watch: ScreenWatch
    share: Share = field(default_factory=Share)
    longest: int = 0
    needed: int = 0
    failed: list[str] = field(default_factory=list)
    kinds: dict[str, tuple[int, int]] = field(default_factory=dict)
    survivors: list[str] = field(default_factory=list)

    def play(self, instance: tuple[int, int]) -> None:
        """Play one instance: seed and look."""
        settings, phone = self.settings, self.phone
        self.watch.compare_faces = settings.faces and instance[0] == settings.seeds[0]
        assignment = assignment_of(self.template, instance, settings.split)
        episode, verdict = play(phone, self.watch.watching(OraclePolicy(phone)), assignment)
        steps = len(episode.steps)
        self.longest = max(self.longest, steps)
        self.share = self.share.with_result(solved=verdict.success)
        if not verdict.success:
            self._failed(instance, episode, verdict)
            return
        if draw_look(settings.split, instance[1]).locale == "en":
            self.needed = max(self.needed, steps)
        self._near_misses(instance, episode)

    def row(self) -> GateRow:
        """What was seen."""
        return GateRow(
            self.template.name,
            counts=self.template.counts,
            oracle=self.share,
            oracle_steps=self.longest,
            steps=steps_fault(self.template, self.needed),
            failed=tuple(self.failed),
            kinds=dict(sorted(self.kinds.items())),
            survivors=tuple(self.survivors),
            screens=self.watch.faults,
        )

    def _failed(self, instance: tuple[int, int], episode: Episode, verdict: Verdict) -> None:
        why = _why(episode, verdict)
        if episode.end_reason is EndReason.BUDGET:
            stuck = why_stuck(self.watch.stands)
            needed = self._steps_without_budget(instance)
            if needed:
                self.needed = max(self.needed, needed)
                return
            why = f"{why}; it {stuck}; repair its plan or the app"
        self.failed.append(f"seed {instance[0]} look {instance[1]}: {why}")

    def _steps_without_budget(self, instance: tuple[int, int]) -> int:
        """Steps that the oracle needs where it may take many more; 0 where that does not help."""
        if self.failed:
            return 0
        budget = self.template.step_budget + _PATIENCE
        assignment = assignment_of(self.template, instance, self.settings.split, budget=budget)
        episode, verdict = play(self.phone, OraclePolicy(self.phone), assignment)
        return len(episode.steps) if verdict.success else 0

    def _near_misses(self, instance: tuple[int, int], episode: Episode) -> None:
        phone = self.phone
        claim = episode.steps[-1].action
        ending = Ending(phone.task.state, phone.state, phone.task.wanted, claim)
        for mutant in self._all_mutants(ending):
            killed = not _succeeds(mutant, ending)
            made, dead = self.kinds.get(mutant.kind, (0, 0))
            self.kinds[mutant.kind] = (made + 1, dead + killed)
            if not killed:
                where = f"seed {instance[0]} look {instance[1]}"
                self.survivors.append(f"{where}: {mutant.kind}: {mutant.name}")

    def _all_mutants(self, ending: Ending) -> Iterator[Mutant]:
        yield from mutants(ending)
        if self.settings.mutations is not None:
            yield from user_mutants(ending, self.settings.mutations)


def _why(episode: Episode, verdict: Verdict) -> str:
    if episode.end_reason is EndReason.ENV_ERROR:
        return episode.end_detail
    broken = [f"{check.name} ({check.reason})" for check in verdict.checks if not check.passed]
    ended = f"{episode.end_reason} after {len(episode.steps)} steps"
    told = "; ".join((ended, *broken))
    return told if episode.end_reason is EndReason.BUDGET else f"{told}; repair its plan or the app"


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
