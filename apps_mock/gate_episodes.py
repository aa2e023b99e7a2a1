"""The episodes that the gates play: which ones, and how one is played."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from apps_mock.catalogue import LOCALES
from apps_mock.errors import BrokenTemplateError
from apps_mock.look import look_number
from apps_mock.mutators import Mutations
from apps_mock.phone import MockPhone
from apps_mock.templates import Template
from device_runtime.agent import EpisodeOrigin, run_episode
from device_runtime.ports import Policy
from sync.clock import ManualClock
from sync.vocabulary import Assignment, AssignmentId, DeviceId, Episode, Split, Verdict


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


def assignment_of(
    template: Template, instance: tuple[int, int], split: Split, *, budget: int = 0
) -> Assignment:
    """One instance to play: seed and look.

    Args:
        budget: steps that it may take; 0 for the template's own budget.
    """
    seed, look = instance
    return Assignment(
        id=AssignmentId(f"gate-{template.name}-{seed}-{look}"),
        template=template.name,
        suite=template.app,
        seed=seed,
        split=split,
        look=look,
        step_budget=budget or template.step_budget,
    )


def play(phone: MockPhone, policy: Policy, assignment: Assignment) -> tuple[Episode, Verdict]:
    """One episode on a clone, and the verdict on it.

    Raises: BrokenTemplateError: the task or the oracle broke.
    """
    with naming(f"{assignment.template} at seed {assignment.seed}, look {assignment.look}"):
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
def naming(where: str) -> Iterator[None]:
    """Says which template it was whose code broke."""
    try:
        yield
    except BrokenTemplateError:
        raise
    except Exception as error:  # an app's and a template's code may raise anything
        raise BrokenTemplateError(where, error) from error
