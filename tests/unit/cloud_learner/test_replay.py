"""Which trajectories are drawn, which leave, and what becomes of priorities."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from cloud_learner.algorithm_settings import ReplaySettings
from cloud_learner.batch import LayoutSample, StepSample, Trajectory
from cloud_learner.replay import Replay, SuccessMemory


def step(*, usable: bool = True) -> StepSample:
    empty = np.zeros(0, dtype=np.int64)
    return LayoutSample(
        text_rows=empty,
        ids=empty.astype(np.int16),
        bits=empty.astype(np.uint8),
        prefix=empty,
        choices=empty,
        count=1,
        action_type=0,
        masks=empty.astype(np.bool_),
        log_mu=0.0,
        usable=usable,
        valid=True,
        repeats=0,
    )


def trajectory(row: int, *, template: str = "t", policy_round: int | None = None) -> Trajectory:
    return Trajectory(
        row=row,
        episode_id=f"e{row}",
        template=template,
        app="tickets",
        success=True,
        steps=[step()],
        policy_round=policy_round,
    )


def filled(count: int, **settings: object) -> Replay:
    replay = Replay(ReplaySettings(**settings))
    for row in range(count):
        replay.add(trajectory(row, policy_round=row))
    return replay


def rows(replay: Replay) -> set[int]:
    return {one.row for one in replay.sample(len(replay), np.random.default_rng(0))}


def drawn_first(replay: Replay, times: int = 3000) -> Counter[int]:
    generator = np.random.default_rng(1)
    return Counter(replay.sample(1, generator)[0].row for _ in range(times))


def set_priority(replay: Replay, row: int, mean_error: float) -> None:
    (one,) = [one for one in replay.sample(len(replay), np.random.default_rng(0)) if one.row == row]
    replay.refresh(one, mean_error=mean_error, mean_ratio=0.0, mean_entropy=0.0)


def test_the_oldest_leaves_a_full_buffer():
    replay = filled(7, capacity=4)

    assert len(replay) == 4
    assert rows(replay) == {3, 4, 5, 6}


def test_trajectories_of_old_weights_are_dropped_and_counted():
    replay = filled(6, max_age_rounds=2)

    assert replay.drop_older_than(5) == 3
    assert rows(replay) == {3, 4, 5}
    assert replay.drop_older_than(5) == 0


def test_a_buffer_that_dropped_some_stays_circular():
    replay = filled(4, capacity=4, max_age_rounds=0)
    replay.drop_older_than(2)

    for row in range(10, 14):
        replay.add(trajectory(row, policy_round=row))

    assert rows(replay) == {10, 11, 12, 13}


def test_a_draw_has_no_trajectory_twice_and_never_more_than_there_are():
    replay = filled(5)

    drawn = replay.sample(9, np.random.default_rng(3))

    assert sorted(one.row for one in drawn) == [0, 1, 2, 3, 4]


def test_an_empty_buffer_gives_nothing():
    assert Replay(ReplaySettings()).sample(3, np.random.default_rng(0)) == []


def test_draws_follow_priority_to_the_exponent():
    replay = filled(2, exponent=0.5, ratio_weight=0.0, entropy_weight=0.0)
    set_priority(replay, 0, 0.9)
    set_priority(replay, 1, 0.1)

    share = drawn_first(replay)[0] / 3000

    assert share == pytest.approx(3 / 4, abs=0.03)  # sqrt(0.9) to sqrt(0.1) is three to one


def test_the_exponent_one_draws_in_proportion():
    replay = filled(2, exponent=1.0)
    set_priority(replay, 0, 0.9)
    set_priority(replay, 1, 0.1)

    assert drawn_first(replay)[0] / 3000 == pytest.approx(0.9, abs=0.03)


def test_importance_undoes_the_priorities_bias():
    replay = filled(2, exponent=1.0, importance_exponent=1.0, ratio_weight=0.0, entropy_weight=0.0)
    set_priority(replay, 0, 0.9)
    set_priority(replay, 1, 0.1)
    both = sorted(replay, key=lambda one: one.row)

    weights = replay.importance(both)

    assert weights.tolist() == pytest.approx([1 / 9, 1.0])  # nine times as often, a ninth each
    half = filled(2, exponent=1.0, importance_exponent=0.5, ratio_weight=0.0, entropy_weight=0.0)
    set_priority(half, 0, 0.9)
    set_priority(half, 1, 0.1)
    ordered = sorted(half, key=lambda one: one.row)
    assert half.importance(ordered).tolist() == pytest.approx([1 / 3, 1.0])


@pytest.mark.parametrize("off", [{"importance_exponent": 0.0}, {"prioritised": False}])
def test_without_bias_or_correction_every_trajectory_counts_alike(off):
    replay = filled(2, **({"importance_exponent": 1.0} | off))
    set_priority(replay, 0, 0.9)

    assert replay.importance(list(replay)).tolist() == [1.0, 1.0]
    assert replay.importance([]).tolist() == []


def test_without_prioritising_all_are_drawn_alike():
    replay = filled(2, prioritised=False)
    set_priority(replay, 0, 1.0)
    set_priority(replay, 1, 0.0)

    assert drawn_first(replay)[0] / 3000 == pytest.approx(0.5, abs=0.03)


def test_priority_is_the_weighted_sum_of_the_three_means():
    replay = filled(1, error_weight=1.0, ratio_weight=0.2, entropy_weight=0.3)
    (one,) = replay.sample(1, np.random.default_rng(0))

    replay.refresh(one, mean_error=0.5, mean_ratio=0.4, mean_entropy=0.1)

    assert one.priority == pytest.approx(0.5 + 0.2 * 0.4 + 0.3 * 0.1)


def test_nothing_ever_becomes_impossible_to_draw():
    replay = filled(1)
    set_priority(replay, 0, 0.0)

    assert replay.sample(1, np.random.default_rng(0))[0].priority > 0


def test_a_new_trajectory_comes_in_at_the_top():
    replay = filled(3, ratio_weight=1.0)
    one = replay.sample(1, np.random.default_rng(0))[0]
    replay.refresh(one, mean_error=1.0, mean_ratio=0.9, mean_entropy=0.0)

    new = trajectory(99)
    replay.add(new)

    assert new.priority == pytest.approx(1.9)


def test_the_same_seed_draws_the_same():
    first = filled(9).sample(4, np.random.default_rng(5))
    second = filled(9).sample(4, np.random.default_rng(5))

    assert [one.row for one in first] == [one.row for one in second]


def test_successes_are_drawn_by_template_whatever_their_number():
    memory = SuccessMemory()
    often, seldom = trajectory(1, template="often"), trajectory(2, template="seldom")
    memory.extend([often] * 19 + [seldom])

    drawn = memory.sample_steps(3000, np.random.default_rng(2))

    share = sum(one is seldom.steps[0] for one in drawn) / len(drawn)
    assert share == pytest.approx(0.5, abs=0.03)


def test_each_template_keeps_its_latest_successes():
    memory = SuccessMemory(per_template=2)
    memory.extend(trajectory(row, template=name) for row in range(4) for name in ("a", "b"))

    assert [(one.template, one.row) for one in memory.trajectories()] == [
        ("a", 2),
        ("a", 3),
        ("b", 2),
        ("b", 3),
    ]
    assert len(memory) == 4


def test_only_usable_steps_are_imitated():
    memory, one = SuccessMemory(), trajectory(1)
    one.steps = [step(usable=False), step(), step(usable=False)]
    memory.add(one)

    drawn = memory.sample_steps(20, np.random.default_rng(0))

    assert len(drawn) == 20
    assert all(each is one.steps[1] for each in drawn)


def test_a_memory_without_anything_usable_gives_nothing():
    memory, one = SuccessMemory(), trajectory(1)
    assert memory.sample_steps(3, np.random.default_rng(0)) == []

    one.steps = [step(usable=False)]
    memory.add(one)
    assert memory.sample_steps(3, np.random.default_rng(0)) == []


def test_templates_are_drawn_by_the_weights_that_are_given():
    memory = SuccessMemory()
    for template in ("often", "seldom", "unnamed"):
        memory.add(trajectory(1, template=template))
    marks = {id(step): one.template for one in memory.trajectories() for step in one.steps}
    memory.weigh({"often": 1.0, "seldom": 0.0})

    drawn = [marks[id(step)] for step in memory.sample_steps(400, np.random.default_rng(3))]

    assert drawn.count("seldom") == 0
    assert 150 < drawn.count("often") < 250
