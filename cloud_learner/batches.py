"""What is played: batches of assignments, each a function of what it is given. Pure.

A batch is a named set of assignments that is counted together. Ids, seeds and looks follow from the
campaign's seed and the place in the batch, so a batch that is planned twice is the same batch. Only
the template of a training episode also follows from how well each template goes (the curriculum).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from cloud_learner.curriculum import CurriculumSettings, Record, draw, to_show, weights
from sync.vocabulary import Assignment, AssignmentId, Purpose, Split, TemplateInfo

DEMONSTRATE = "demonstrate"
SHOW_AGAIN = "demonstrate-again"
TRAIN = "train"
BEFORE_NEW = "before-new"
BEFORE_OLD = "before-old"
AFTER_NEW = "after-new"
AFTER_OLD = "after-old"
LEXICAL = "lexical"
SHOW = "show"

_PRIORITY = {
    Purpose.EVALUATE: 0,
    Purpose.GATE: 1,
    Purpose.DEMONSTRATE: 2,
    Purpose.TRAIN: 3,
}
_SEED_BITS = 31
_MOST_SHOWN_STEPS = 8


@dataclass(frozen=True, slots=True)
class Planned:
    """One assignment to issue.

    Attributes:
        ordinal: its place in the batch.
        priority: lower ones are sent first.
        reserved_for: the only device that may play it; empty for any.
    """

    assignment: Assignment
    batch: str
    ordinal: int
    app: str
    priority: int
    reserved_for: str = ""


@dataclass(frozen=True, slots=True)
class Syllabus:
    """The templates of the new app and of the old ones, in order of their names."""

    seed: int
    new: tuple[TemplateInfo, ...]
    old: tuple[TemplateInfo, ...]


def gate_batch(release_id: str, attempt: int) -> str:
    """Name of the batch that validates a candidate."""
    return f"gate-{release_id}-{attempt}"


def demonstrations(content: Syllabus, per_new: int, per_old: int) -> tuple[Planned, ...]:
    """Oracle episodes on the training split: the new app's first, template by template in turn."""
    wanted = [(info, i) for i in range(per_new) for info in content.new]
    wanted += [(info, i) for i in range(per_old) for info in content.old]
    return tuple(
        _planned(
            content,
            info,
            batch=DEMONSTRATE,
            ordinal=ordinal,
            instance=f"demonstrate/{info.name}/{i}",
            split=Split.TRAIN,
            purpose=Purpose.DEMONSTRATE,
            actor="oracle",
        )
        for ordinal, (info, i) in enumerate(wanted)
    )


def test_instances(
    content: Syllabus, batch: str, *, at_least: int, release_id: str
) -> tuple[Planned, ...]:
    """At least so many greedy episodes on the test split, evenly over the templates.

    The instances depend on the templates only, so every batch over them plays the same ones.

    Args:
        release_id: pinned release; ignored by the lexical batch, which no release plays.
    """
    templates = content.old if batch.endswith("old") else content.new
    return _even(
        content,
        templates,
        batch=batch,
        per_template=-(-at_least // len(templates)) if templates else 0,
        split=Split.TEST,
        purpose=Purpose.EVALUATE,
        actor="lexical" if batch == LEXICAL else "release",
        release_id="" if batch == LEXICAL else release_id,
    )


def validation(
    content: Syllabus, *, release_id: str, attempt: int, per_template: int
) -> tuple[Planned, ...]:
    """Greedy episodes on the validation split that a candidate is judged by."""
    return _even(
        content,
        content.new,
        batch=gate_batch(release_id, attempt),
        per_template=per_template,
        split=Split.VALIDATION,
        purpose=Purpose.GATE,
        actor="release",
        release_id=release_id,
    )


@dataclass(frozen=True, slots=True)
class Practice:
    """What decides which training episodes come next.

    Attributes:
        new_share: share of the episodes, or groups, on the new app.
        temperature: that they are played with.
        group_size: episodes in a row that play the same task on the same look (1: no groups).
        curriculum: how templates are weighed.
        records: what came of each template so far.
        asked: how often what learns asks for a template, where 1 is normal.
    """

    new_share: float
    temperature: float = 1.0
    group_size: int = 1
    curriculum: CurriculumSettings = field(
        default_factory=lambda: CurriculumSettings(enabled=False)
    )
    records: Mapping[str, Record] = field(default_factory=dict)
    asked: Mapping[str, float] = field(default_factory=dict)

    def chances(self, templates: Sequence[TemplateInfo]) -> dict[str, float]:
        """How likely each of these templates is the next one."""
        names = [info.name for info in templates]
        return weights(self.records, names, self.curriculum, asked=self.asked)


def training(
    content: Syllabus, practice: Practice, *, first: int, count: int
) -> tuple[Planned, ...]:
    """Training episodes number `first` and on, of whatever release is installed.

    Only whole groups are planned: at most `count` episodes, and `first` begins a group.
    """
    size = practice.group_size
    chances = {
        app: practice.chances(templates)
        for app, templates in ((True, content.new), (False, content.old))
        if templates
    }
    known = {info.name: info for info in (*content.new, *content.old)}
    plan: list[Planned] = []
    for ordinal in range(first, first + count - count % size):
        place = ordinal if size == 1 else ordinal - ordinal % size
        random = Random(f"{content.seed}/train/{place}")
        wants_new = random.random() < practice.new_share
        info = known[draw(chances.get(wants_new) or chances[True], random)]
        plan.append(
            _planned(
                content,
                info,
                batch=TRAIN,
                ordinal=ordinal,
                instance=f"train/{place}",
                split=Split.TRAIN,
                purpose=Purpose.TRAIN,
                temperature=practice.temperature,
                group_id="" if size == 1 else f"{TRAIN}.g{place // size:05d}",
            )
        )
    return tuple(plan)


def shown_again(content: Syllabus, practice: Practice, *, first: int) -> tuple[Planned, ...]:
    """Demonstrations of templates that do not succeed at all, number `first` and on.

    They play other instances than every earlier demonstration of the template.
    """
    wanted = to_show(practice.records, [info.name for info in content.new], practice.curriculum)
    known = {info.name: info for info in content.new}
    instances = [
        (known[name], practice.records[name].shown + more)
        for name in sorted(wanted)
        for more in range(wanted[name])
    ]
    return tuple(
        _planned(
            content,
            info,
            batch=SHOW_AGAIN,
            ordinal=ordinal,
            instance=f"demonstrate/{info.name}/{number}",
            split=Split.TRAIN,
            purpose=Purpose.DEMONSTRATE,
            actor="oracle",
        )
        for ordinal, (info, number) in enumerate(instances, start=first)
    )


def shown(content: Syllabus, *, phone: str, release_id: str) -> tuple[Planned, ...]:
    """One greedy test episode for one phone to look at; counted nowhere.

    The template is drawn among those that fit on a page, not picked by success.
    """
    short = [info for info in content.new if info.oracle_steps <= _MOST_SHOWN_STEPS]
    info = Random(f"{content.seed}/show").choice(short or content.new)
    return (
        _planned(
            content,
            info,
            batch=SHOW,
            ordinal=0,
            instance=f"show/{info.name}",
            split=Split.TEST,
            purpose=Purpose.EVALUATE,
            release_id=release_id,
            reserved_for=phone,
        ),
    )


def _even(
    content: Syllabus,
    templates: Sequence[TemplateInfo],
    *,
    batch: str,
    per_template: int,
    split: Split,
    purpose: Purpose,
    actor: str,
    release_id: str,
) -> tuple[Planned, ...]:
    wanted = [(info, i) for i in range(per_template) for info in templates]
    return tuple(
        _planned(
            content,
            info,
            batch=batch,
            ordinal=ordinal,
            instance=f"{split}/{info.name}/{i}",
            split=split,
            purpose=purpose,
            actor=actor,
            release_id=release_id,
        )
        for ordinal, (info, i) in enumerate(wanted)
    )


def _planned(
    content: Syllabus,
    info: TemplateInfo,
    *,
    batch: str,
    ordinal: int,
    instance: str,
    split: Split,
    purpose: Purpose,
    actor: str = "release",
    release_id: str = "",
    temperature: float = 0.0,
    group_id: str = "",
    reserved_for: str = "",
) -> Planned:
    random = Random(f"{content.seed}/{instance}")
    assignment = Assignment(
        id=AssignmentId(f"{batch}.{ordinal:05d}"),
        template=info.name,
        suite=info.suite,
        seed=random.getrandbits(_SEED_BITS),
        split=split,
        look=random.getrandbits(_SEED_BITS),
        group_id=group_id,
        actor=actor,
        purpose=purpose,
        release_id=release_id,
        temperature=temperature,
        step_budget=info.step_budget,
    )
    return Planned(
        assignment=assignment,
        batch=batch,
        ordinal=ordinal,
        app=info.app,
        priority=_PRIORITY[purpose],
        reserved_for=reserved_for,
    )
