"""Groups: who is compared with whom, what is replayed, and what is forgotten."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cloud_learner.algorithm_settings import GroupSettings
from cloud_learner.groups import GroupBuffer, group_members, normalised, shaped_rewards
from tests.tabular import played, table_step

PLAIN = GroupSettings(group_size=4, shortest_path=0.0, replay_share=0.0)


def episode(row, *, success, length=2, group="g", states=None, policy_round=0):
    path = states or [f"{row}.{t}" for t in range(length)]
    steps = [table_step(0, 0, 0.0, state_hash=state) for state in path]
    return played(row, steps, success=success, group_id=group, policy_round=policy_round)


def group(*outcomes, first_row=0, name="g", policy_round=0):
    return [
        episode(first_row + index, success=success, group=name, policy_round=policy_round)
        for index, success in enumerate(outcomes)
    ]


def filled(settings, *groups, rounds=0):
    buffer = GroupBuffer(settings)
    for one in groups:
        for trajectory in one:
            buffer.add(trajectory, rounds=rounds)
    return buffer


def drawn_rows(buffer, seed=0):
    return [one.trajectory.row for one in buffer.draw(np.random.default_rng(seed))]


def test_advantages_among_episodes_are_those_computed_by_hand():
    members = group_members(group(True, False, False, True), PLAIN)

    assert [one.advantages.tolist() for one in members] == [[1, 1], [-1, -1], [-1, -1], [1, 1]]


def test_one_success_of_four_counts_more_than_one_failure():
    members = group_members(group(True, False, False, False), PLAIN)

    firsts = [float(one.advantages[0]) for one in members]
    assert firsts == pytest.approx([3**0.5, *[-1 / 3**0.5] * 3], rel=1e-6)


def test_a_long_success_earns_less_than_the_shortest():
    made = [
        episode(0, success=True, length=2),
        episode(1, success=True, length=4),
        episode(2, success=False, length=1),
    ]

    assert shaped_rewards(made, 0.4).tolist() == [1.0, 0.8, 0.0]
    assert shaped_rewards(made, 0.0).tolist() == [1.0, 1.0, 0.0]
    assert shaped_rewards(made[2:], 0.4).tolist() == [0.0]


def test_a_deviation_below_the_floor_is_not_blown_up():
    assert normalised(np.array([1.0, 0.98]), 0.1).tolist() == pytest.approx([0.1, -0.1])
    assert normalised(np.array([1.0, 0.0]), 0.1).tolist() == [1.0, -1.0]


def test_steps_are_compared_where_they_started_in_the_same_state():
    settings = replace(PLAIN, step_weight=1.0, gamma=0.5)
    made = [
        episode(0, success=True, states=["a", "b"]),  # returns 0.5, 1
        episode(1, success=False, states=["a", "c"]),  # returns 0, 0
        episode(2, success=True, states=["a"]),  # returns 1
        episode(3, success=False, states=["a", "b"]),  # returns 0, 0
    ]

    members = group_members(made, settings)

    of_a = normalised(np.array([0.5, 0.0, 1.0, 0.0]), 0.1)
    expected = [[1 + of_a[0], 1 + 1], [-1 + of_a[1], -1], [1 + of_a[2]], [-1 + of_a[3], -1 - 1]]
    for member, row in zip(members, expected, strict=True):
        assert member.advantages.tolist() == pytest.approx(row, rel=1e-5)


def test_a_step_without_a_state_hash_is_compared_with_none():
    settings = replace(PLAIN, step_weight=1.0)
    made = [episode(row, success=row == 0, states=["", ""]) for row in range(4)]

    with_steps, without = group_members(made, settings), group_members(made, PLAIN)

    for one, other in zip(with_steps, without, strict=True):
        assert one.advantages.tolist() == other.advantages.tolist()


def test_a_group_is_complete_with_its_last_trajectory():
    buffer, made = GroupBuffer(PLAIN), group(True, False, True, True)

    answers = [buffer.add(one, rounds=0) for one in made]

    assert answers == [None, None, None, made]
    assert len(buffer) == 1
    assert drawn_rows(buffer) == [0, 1, 2, 3]


def test_trajectories_of_other_groups_do_not_complete_it():
    buffer = filled(PLAIN, group(True, False, True), group(False, first_row=9, name="h"))

    assert len(buffer) == 0
    assert drawn_rows(buffer) == []


def test_a_trajectory_without_a_group_is_counted_and_left():
    buffer = filled(PLAIN, [episode(row, success=True, group="") for row in range(9)])

    assert (buffer.ungrouped, len(buffer)) == (9, 0)


@pytest.mark.parametrize("outcome", [True, False])
def test_a_group_in_which_all_did_alike_teaches_nothing(outcome):
    buffer = filled(PLAIN, group(*[outcome] * 4))

    assert (buffer.uninformative, len(buffer)) == (1, 0)


def test_a_group_is_learnt_from_a_few_times_and_least_used_first():
    settings = replace(PLAIN, epochs=2, trajectories_per_update=4)
    first = group(True, False, True, False)
    second = group(True, False, True, False, first_row=10, name="h")
    buffer = filled(settings, first, second)

    draws = [drawn_rows(buffer)[:1] for _ in range(5)]

    assert draws == [[0], [10], [0], [10], []]


def test_as_many_whole_groups_as_fit_are_drawn_and_at_least_one():
    groups = [group(True, False, True, False, first_row=10 * k, name=f"g{k}") for k in range(3)]

    assert len(drawn_rows(filled(replace(PLAIN, trajectories_per_update=9), *groups))) == 8
    assert len(drawn_rows(filled(replace(PLAIN, trajectories_per_update=1), *groups))) == 4


def test_a_group_is_as_old_as_the_newest_weights_that_played_it():
    made = group(True, False, True, False, policy_round=1)
    buffer = filled(replace(PLAIN, max_age_rounds=2), made, rounds=9)

    buffer.forget_stale(9)

    assert len(buffer) == 0


def test_an_old_group_is_forgotten():
    buffer = filled(replace(PLAIN, max_age_rounds=2), group(True, False, True, False))

    buffer.forget_stale(2)
    assert len(buffer) == 1
    buffer.forget_stale(3)
    assert len(buffer) == 0


def test_a_group_that_waited_too_long_is_taken_as_it_is():
    buffer = filled(replace(PLAIN, patience_rounds=1), group(True, False, True))

    assert buffer.forget_stale(1) == []
    (taken,) = buffer.forget_stale(2)
    assert [one.row for one in taken] == [0, 1, 2]
    assert len(buffer) == 1


def test_a_single_trajectory_that_waited_too_long_is_dropped():
    buffer = filled(replace(PLAIN, patience_rounds=0), group(True))

    assert buffer.forget_stale(1) == []
    assert buffer.forget_stale(2) == []
    assert len(buffer) == 0


REPLAYS = replace(PLAIN, replay_share=0.5, replay_best=1, epochs=1, trajectories_per_update=4)


def test_the_best_success_of_an_earlier_group_is_replayed():
    shaped = replace(REPLAYS, shortest_path=0.5)
    long, short = episode(0, success=True, length=6), episode(1, success=True, length=2)
    earlier = [long, short, episode(2, success=False), episode(3, success=False)]
    buffer = filled(shaped, earlier, group(True, False, False, False, first_row=10, name="h"))
    buffer.draw(np.random.default_rng(0))

    rows = drawn_rows(buffer)

    assert rows == [10, 11, 12, 13, 1]


@pytest.mark.parametrize(("share", "most"), [(0.0, 0), (0.2, 1), (0.5, 4), (0.75, 12)])
def test_replay_never_has_more_than_its_share_of_a_batch(share, most):
    settings = replace(REPLAYS, replay_share=share, replay_best=4, epochs=9)
    groups = [group(True, True, True, False, first_row=10 * k, name=f"g{k}") for k in range(9)]
    buffer = filled(settings, *groups)

    rows = drawn_rows(buffer)

    assert len(rows) == 4 + most
    assert len(set(rows)) == len(rows)


def test_replay_is_circular_and_forgets_what_is_old():
    settings = replace(REPLAYS, replay_capacity=2, replay_max_age_rounds=3, replay_share=0.9)
    groups = [group(True, False, False, False, first_row=10 * k, name=f"g{k}") for k in range(3)]
    buffer = filled(settings, *groups)
    last = group(True, False, False, False, first_row=90, name="z", policy_round=9)

    assert set(drawn_rows(buffer)[4:]) == {10, 20}
    buffer.forget_stale(20)
    for one in last:
        buffer.add(one, rounds=20)
    assert drawn_rows(buffer) == [90, 91, 92, 93]


def test_a_group_is_compared_anew_when_one_of_it_is_judged_anew():
    buffer = filled(PLAIN, group(True, False, False, False))
    buffer.forget({1}, rounds=0)
    assert (len(buffer), drawn_rows(buffer)) == (0, [])

    buffer.add(episode(1, success=True), rounds=0)

    members = buffer.draw(np.random.default_rng(0))
    found = {one.trajectory.row: float(one.advantages[0]) for one in members}
    assert found == {0: 1.0, 1: 1.0, 2: -1.0, 3: -1.0}


def test_a_group_goes_on_without_what_is_left_out_once_its_patience_is_over():
    buffer = filled(PLAIN, group(True, False, False, False))
    buffer.forget({1}, rounds=0)

    buffer.forget_stale(PLAIN.patience_rounds + 1)

    assert drawn_rows(buffer) == [0, 2, 3]


def test_what_is_left_out_is_neither_replayed_nor_waited_with():
    settings = replace(PLAIN, replay_share=0.5, replay_best=1)
    buffer = filled(settings, group(True, False, False, False), group(True, first_row=4, name="h"))
    buffer.forget({0, 4}, rounds=0)

    buffer.forget_stale(settings.patience_rounds + 1)

    assert sorted(drawn_rows(buffer)) == []
