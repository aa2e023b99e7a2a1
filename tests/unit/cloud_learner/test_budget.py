"""What a training may cost, counted over all processes that had a part in it."""

import pytest

from cloud_learner.budget import Budget


class Time:
    """A clock that a test moves."""

    def __init__(self):
        self.now_s = 100.0

    def __call__(self):
        return self.now_s


@pytest.fixture
def clocks():
    return Time(), Time()


def budget_of(clocks, **limits):
    return Budget(**limits, cpu_clock=clocks[0], wall_clock=clocks[1])


def test_nothing_is_spent_where_nothing_is_limited(clocks):
    budget = budget_of(clocks)
    clocks[0].now_s += 1e6
    assert budget.spent == 0.0
    assert budget.cpu_s == 1e6


def test_whichever_is_used_up_more_counts(clocks):
    budget = budget_of(clocks, cpu_s=100.0, minutes=10.0)
    clocks[0].now_s += 30.0
    clocks[1].now_s += 60.0
    assert budget.spent == pytest.approx(0.3)
    clocks[1].now_s += 300.0
    assert budget.spent == pytest.approx(0.6)


def test_what_earlier_processes_took_counts(clocks):
    budget = budget_of(clocks, cpu_s=100.0)
    budget.add(cpu_s=40.0, wall_s=90.0)
    clocks[0].now_s += 10.0
    assert (budget.cpu_s, budget.wall_s) == (50.0, 90.0)
    assert budget.spent == pytest.approx(0.5)
