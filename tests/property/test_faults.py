"""Faults never become rewards: whatever is injected wherever, no figure counts the episode."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps_mock.actors import Actors
from apps_mock.evaluation import figures_of
from apps_mock.farm import play
from apps_mock.faults import FAULTS, FaultPlan, faulty_phones
from apps_mock.tasks import templates
from sync.clock import ManualClock
from sync.vocabulary import Assignment, AssignmentId, EndReason, Split

SAMPLE = templates()[::7]
PLANS = st.tuples(st.integers(0, 10**6), st.sampled_from([0.1, 0.3, 1.0]))
TASKS = st.lists(
    st.tuples(
        st.sampled_from(SAMPLE),
        st.integers(0, 10**4),
        st.sampled_from(list(Split)),
        st.sampled_from(["oracle", "random", "lexical"]),
    ),
    min_size=1,
    max_size=5,
)


class Watched:
    """Makes faulty phones and remembers what was injected into which assignment."""

    def __init__(self, plan):
        self._make = faulty_phones(plan)
        self.injected = {}

    def __call__(self):
        seat = self._make()
        phone = seat.phone
        reset, act = phone.reset, phone.act
        current = []

        def remembering_reset(assignment):
            current[:] = [assignment.id]
            return reset(assignment)

        def remembering_act(action):
            try:
                return act(action)
            finally:
                self.injected[current[0]] = phone.injected

        vars(phone).update(reset=remembering_reset, act=remembering_act)
        return seat


@pytest.mark.parametrize("fault", FAULTS)
@given(PLANS, TASKS)
@settings(max_examples=8)
def test_an_episode_with_a_fault_is_an_env_error_that_no_figure_counts(fault, plan, tasks):
    seed, rate = plan
    phones = Watched(FaultPlan(seed, rate, (fault,)))
    assignments = [
        Assignment(
            AssignmentId(f"{number}"),
            template=template.name,
            seed=task_seed,
            split=split,
            look=task_seed,
            actor=actor,
            step_budget=template.step_budget,
        )
        for number, (template, task_seed, split, actor) in enumerate(tasks)
    ]

    played = list(
        play(
            assignments,
            Actors().policy_for,
            phone_factory=phones,
            seats=2,
            clock=ManualClock(),
        )
    )

    assert {one.episode.assignment.id for one in played} == {one.id for one in assignments}
    hit = [one for one in played if phones.injected.get(one.episode.assignment.id)]
    for one in hit:
        assert one.episode.end_reason is EndReason.ENV_ERROR
        assert fault in one.episode.end_detail
        assert one.verdict is None
        assert one.episode.steps
    chosen = list(dict.fromkeys(template for template, *_ in tasks))
    figures = figures_of(chosen, played)
    assert sum(each.env_errors for each in figures) == len(hit)
    assert sum(each.n for each in figures) == len(played) - len(hit)


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_really_injected(fault):
    template = SAMPLE[0]
    assignment = Assignment(
        AssignmentId("a"), template=template.name, actor="oracle", step_budget=template.step_budget
    )

    [one] = play(
        [assignment],
        Actors().policy_for,
        phone_factory=faulty_phones(FaultPlan(1, 1.0, (fault,))),
        seats=1,
        clock=ManualClock(),
    )

    assert one.episode.end_reason is EndReason.ENV_ERROR
    assert f"fault {fault}:" in one.episode.end_detail
