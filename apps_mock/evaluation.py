"""Evaluation: which instances are played, and what came of them, template by template. Pure.

An instance follows from its template, split and seed alone, so it is the same one in every
evaluation that plays it, beside whatever else and in whatever batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from apps_mock.catalogue import Locale
from apps_mock.look import draw_look, look_number
from apps_mock.tasks import suites, templates
from apps_mock.templates import Template
from device_runtime.errors import UnknownTaskError
from device_runtime.seats import Played
from sync.vocabulary import Assignment, AssignmentId, EndReason, Purpose, Split

EVERY_SUITE = "all"
_LOOK_BITS = 31


@dataclass(frozen=True, slots=True)
class TemplateFigures:
    """What the instances of one template came to; every rate is a share of `n`.

    Attributes:
        counts: whether headline means count it (see `Template.counts`).
        n: episodes that count: env_errors are left out.
        progress: mean share of the verifier's checks that passed; None without episodes.
        false_finish: ended by the policy's own decision without success.
        unfinished: stopped before the policy decided to end, for whatever reason.
        out_of_budget: stopped because the step budget was used up.
        side_effects: changed something that should have stayed.
        steps: mean number of steps.
    """

    template: str
    n: int
    successes: int
    success: float | None
    progress: float | None
    false_finish: float | None
    unfinished: float | None
    side_effects: float | None
    out_of_budget: float | None
    env_errors: int
    steps: float | None
    counts: bool = True


def templates_of(names: str) -> tuple[Template, ...]:
    """The templates of suites: a name, several with commas between them, or "all".

    Raises: UnknownTaskError: a suite that there is not.
    """
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    unknown = [name for name in wanted if name not in {EVERY_SUITE, *suites()}]
    known = ", ".join((*suites(), EVERY_SUITE))
    if not wanted:
        raise UnknownTaskError(f"no suite is named; name some of {known}")
    if unknown:
        raise UnknownTaskError(f"no suite is called {', '.join(unknown)}; there are {known}")
    return tuple(
        one for one in templates() if EVERY_SUITE in wanted or any(map(one.belongs_to, wanted))
    )


def instances(
    chosen: Sequence[Template],
    *,
    count: int,
    seed_base: int,
    split: Split,
    actor: str,
    temperature: float = 0.0,
    locale: Locale = "en",
    held_out: bool = False,
) -> list[Assignment]:
    """`count` instances spread evenly over templates, at least one for each.

    A template's instances have the seeds `seed_base`, `seed_base` + 1, …, each with a look of its
    own in the locale.

    Args:
        held_out: say goals, or write and lay out the apps, or both, in ways that training never
            has, one after the other; only the test split can.
    """
    name = "evaluate.held-out" if held_out else "evaluate"
    share, left = divmod(max(count, len(chosen)), len(chosen))
    wanted = [
        (template, seed_base + number)
        for number in range(share + (left > 0))
        for place, template in enumerate(chosen)
        if number < share + (place < left)
    ]
    return [
        Assignment(
            id=AssignmentId(f"{name}.{template.name}.{split}.{seed}"),
            template=template.name,
            suite=template.app,
            seed=seed,
            split=split,
            look=look_number(
                locale,
                look_of(template.name, split, seed),
                held_out_phrasing=held_out and seed % 3 != 1,
                held_out_look=held_out and seed % 3 != 0,
            ),
            actor=actor,
            purpose=Purpose.EVALUATE,
            temperature=temperature,
            step_budget=template.step_budget,
        )
        for template, seed in wanted
    ]


def look_of(template: str, split: Split, seed: int) -> int:
    """The look's number of an instance, within its locale."""
    return Random(f"evaluate/{template}/{split}/{seed}").getrandbits(_LOOK_BITS)


def figures_of(chosen: Sequence[Template], played: Sequence[Played]) -> list[TemplateFigures]:
    """The figures of each template, in the order of `chosen`."""
    by_template: dict[str, list[Played]] = {template.name: [] for template in chosen}
    for one in played:
        by_template[one.episode.assignment.template].append(one)
    return [_figures(template, by_template[template.name]) for template in chosen]


def _figures(template: Template, played: Sequence[Played]) -> TemplateFigures:
    counted = [one for one in played if one.episode.end_reason is not EndReason.ENV_ERROR]
    return TemplateFigures(
        template=template.name,
        n=len(counted),
        successes=sum(map(_succeeded, counted)),
        success=_mean([float(_succeeded(one)) for one in counted]),
        progress=_mean([one.verdict.progress if one.verdict else 0.0 for one in counted]),
        false_finish=_mean(
            [float(one.episode.end_reason.terminated and not _succeeded(one)) for one in counted]
        ),
        unfinished=_mean([float(one.episode.end_reason.truncated) for one in counted]),
        side_effects=_mean(
            [float(one.verdict is not None and bool(one.verdict.side_effects)) for one in counted]
        ),
        out_of_budget=_mean([float(one.episode.end_reason is EndReason.BUDGET) for one in counted]),
        env_errors=len(played) - len(counted),
        steps=_mean([float(len(one.episode.steps)) for one in counted]),
        counts=template.counts,
    )


SEEN, HELD_OUT = "seen", "held_out"


@dataclass(frozen=True, slots=True)
class Part:
    """Episodes that are reported apart; templates outside headline means are not in it."""

    n: int
    successes: int


def parts_of(chosen: Sequence[Template], played: Sequence[Played]) -> dict[str, dict[str, Part]]:
    """Episodes with phrasings and looks that training has, and with those that it never has.

    Returns: by what ("phrasing", "look"), then by "seen" or "held_out".
    """
    counting = {template.name: template for template in chosen if template.counts}
    counted = [
        one
        for one in played
        if one.episode.end_reason is not EndReason.ENV_ERROR
        and one.episode.assignment.template in counting
    ]
    return {
        "phrasing": _apart(counted, lambda one: _phrasing_held_out(one, counting)),
        "look": _apart(counted, _look_held_out),
    }


def _apart(played: Sequence[Played], is_held_out: Callable[[Played], bool]) -> dict[str, Part]:
    parts: dict[str, list[Played]] = {SEEN: [], HELD_OUT: []}
    for one in played:
        parts[HELD_OUT if is_held_out(one) else SEEN].append(one)
    return {name: Part(len(some), sum(map(_succeeded, some))) for name, some in parts.items()}


def _phrasing_held_out(played: Played, templates_by_name: Mapping[str, Template]) -> bool:
    assignment = played.episode.assignment
    template = templates_by_name[assignment.template]
    return template.says_held_out(assignment.split, assignment.look)


def _look_held_out(played: Played) -> bool:
    assignment = played.episode.assignment
    return draw_look(assignment.split, assignment.look).held_out


def _succeeded(played: Played) -> bool:
    return played.verdict is not None and played.verdict.success


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
