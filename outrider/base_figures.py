"""What a base can do: by template while it is trained, at the end beside the scripted actors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from outrider.acting import Actor
from outrider.base_demonstrations import SEATS, taught
from outrider.evaluate import play_all, summary_of
from sync.vocabulary import Split

if TYPE_CHECKING:
    from apps_mock.evaluation import TemplateFigures
    from apps_mock.templates import Template
    from exporters.families.layout_t5 import LayoutT5
    from outrider.output import Output

TEST_SEED_BASE = 4_000_000_000
BESIDE = ("lexical", "random", "oracle")
"""Who plays the same test tasks."""


def check(network: LayoutT5, apps: Sequence[str], n: int) -> dict[str, float]:
    """Greedy success by template on `n` validation tasks of each, the same ones at every check."""
    from apps_mock.actors import Actors
    from outrider.network_policy import NetworkPolicy

    chosen = taught(apps)
    actor = Actor("release", Actors(NetworkPolicy(network)))
    played = _figures(chosen, actor, count=n * len(chosen), split=Split.VALIDATION, seed_base=0)
    return {one.template: one.success or 0.0 for one in played}


def test(graphs: Path, apps: Iterable[str], n: int, out: Output) -> dict[str, dict[str, Any]]:
    """Greedy success on each suite's test split, with held-out wordings and looks apart.

    Args:
        graphs: the exported base, as phones run it.
        n: test tasks of each suite, over its templates.

    Returns: by suite: the figures, `held_out`, those of `BESIDE`, and `templates` with each one's.
    """
    from apps_mock.actors import Actors
    from device_runtime.policy import OnnxPolicy

    base = Actor("release", Actors(OnnxPolicy(graphs)))
    beside = {name: Actor(name, Actors()) for name in BESIDE}
    found: dict[str, dict[str, Any]] = {}
    for app in apps:
        chosen = taught((app,))
        rows = {
            name: _figures(chosen, actor, count=n, split=Split.TEST, seed_base=TEST_SEED_BASE)
            for name, actor in {"base": base, **beside}.items()
        }
        held_out = _figures(
            chosen, base, count=n, split=Split.TEST, seed_base=TEST_SEED_BASE, held_out=True
        )
        suite = summary_of(rows["base"])
        others = {name: summary_of(rows[name]) for name in BESIDE}
        apart = summary_of(held_out)
        found[app] = {**suite, "held_out": apart, **others, "templates": _by_template(rows)}
        shown = {name: one["success"] for name, one in {"held_out": apart, **others}.items()}
        out.event("test", app=app, **suite, **shown)
    return found


def template_rows(found: Mapping[str, Mapping[str, Any]]) -> list[dict[str, object]]:
    """A row for each template of what `test` found."""
    return [
        {"template": name, "suite": suite, **row}
        for suite, figures in found.items()
        for name, row in figures["templates"].items()
    ]


def without_templates(suite: Mapping[str, Any]) -> dict[str, Any]:
    """A suite's figures but for those of its templates."""
    return {name: value for name, value in suite.items() if name != "templates"}


def macro_mean(found: Mapping[str, Mapping[str, Any]], who: str = "base") -> float | None:
    """Mean over templates of their success in what `test` found; None where nothing was played."""
    rates = [
        row[who]
        for suite in found.values()
        for row in suite["templates"].values()
        if row[who] is not None
    ]
    return round(sum(rates) / len(rates), 4) if rates else None


def _by_template(rows: Mapping[str, list[TemplateFigures]]) -> dict[str, dict[str, Any]]:
    return {
        figures[0].template: {
            "n": figures[0].n,
            **{
                who: None if one.success is None else round(one.success, 4)
                for who, one in zip(rows, figures, strict=True)
            },
        }
        for figures in zip(*rows.values(), strict=True)
    }


def _figures(
    chosen: Sequence[Template],
    actor: Actor,
    *,
    count: int,
    split: Split,
    seed_base: int,
    held_out: bool = False,
) -> list[TemplateFigures]:
    from apps_mock.evaluation import figures_of, instances

    wanted = instances(
        chosen,
        count=count,
        seed_base=seed_base,
        split=split,
        actor=actor.name,
        held_out=held_out,
    )
    return figures_of(chosen, list(play_all(wanted, actor, seats=SEATS)))
