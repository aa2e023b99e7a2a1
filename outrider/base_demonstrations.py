"""The stream of demonstrations that a base learns from: oracle episodes of mock phones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from sync.vocabulary import Purpose, Split

if TYPE_CHECKING:
    from apps_mock.templates import Template
    from cloud_learner.base_course import Shown
    from device_runtime.seats import Played, SeatPhone
    from outrider.base_progress import Bars
    from outrider.base_recipe import Recipe
    from sync.vocabulary import Assignment

SEEDS_PER_RUN = 1_000_000
"""Demonstrations of run S have the seeds S times this, and on."""
SEATS = 32


def taught(apps: Sequence[str]) -> tuple[Template, ...]:
    """The templates of suites that count and that no other suite teaches."""
    from apps_mock.tasks import templates

    return tuple(one for one in templates() if one.counts and one.own_suite in apps)


def play_chunk(recipe: Recipe, number: int, bars: Bars) -> Shown:
    """Demonstrate a chunk of the stream; the same number gives the same episodes.

    The oracle's mistakes are injected: a step may be random, and then teaches what the oracle would
    have done. Episodes that did not come to a success are left out.
    """
    from cloud_learner.base_course import Shown
    from cloud_learner.demonstration_window import Demonstration

    chosen = taught(recipe.apps)
    apps = {template.name: template.app for template in chosen}
    wanted = _assignments(recipe, chosen, recipe.demos_of(number))
    kept = sorted(
        (
            one.episode
            for one in bars.track(_played(recipe, wanted), len(wanted), "demonstrations")
            if one.verdict is not None and one.verdict.success
        ),
        key=lambda episode: episode.assignment.id,
    )
    shown = [Demonstration(one, apps[one.assignment.template]) for one in kept]
    return Shown(shown, played=len(wanted))


def _assignments(recipe: Recipe, chosen: Sequence[Template], demos: range) -> list[Assignment]:
    from apps_mock.evaluation import instances

    return [
        replace(one, purpose=Purpose.DEMONSTRATE)
        for one in instances(
            chosen,
            count=len(demos) * len(chosen),
            seed_base=recipe.seed * SEEDS_PER_RUN + demos.start,
            split=Split.TRAIN,
            actor="oracle",
        )
    ]


def _played(recipe: Recipe, wanted: Sequence[Assignment]) -> Iterator[Played]:
    from apps_mock.actors import Actors
    from apps_mock.farm import play

    return play(
        wanted,
        Actors(demonstration_noise=recipe.noise).policy_for,
        phone_factory=partial(_phone, recipe.pseudo_words),
        seats=SEATS,
    )


def _phone(pseudo_words: float) -> SeatPhone:
    from apps_mock.phone import MockPhone
    from device_runtime.seats import SeatPhone

    phone = MockPhone(pseudo_words=pseudo_words)
    return SeatPhone(phone, phone)
