"""Steps in a row and trajectories in a grid are the same steps."""

from __future__ import annotations

import torch

from cloud_learner.trajectory_grid import TrajectoryGrid

GRID = TrajectoryGrid([2, 1, 3])
FLAT = torch.arange(1.0, 7.0)


def test_a_row_is_spread_and_gathered_again():
    spread = GRID.spread(FLAT)

    assert spread.tolist() == [[1, 2, 0], [3, 0, 0], [4, 5, 6]]
    assert torch.equal(GRID.gather(spread), FLAT)


def test_first_and_last_steps_are_found_in_the_row():
    assert FLAT[GRID.first].tolist() == [1, 3, 4]
    assert FLAT[GRID.last].tolist() == [2, 3, 6]


def test_means_are_over_each_trajectorys_own_steps():
    assert GRID.mean(FLAT).tolist() == [1.5, 3.0, 5.0]


def test_what_holds_for_a_trajectory_holds_for_its_steps():
    assert GRID.each(torch.tensor([7.0, 8.0, 9.0])).tolist() == [7, 7, 8, 9, 9, 9]


def test_rewards_come_with_the_last_action_and_end_the_discount():
    rewards, discounts = GRID.outcome(torch.tensor([1.0, 0.0, 1.0]), 0.5)

    assert rewards.tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 1]]
    assert discounts.tolist() == [[0.5, 0, 0], [0, 0, 0], [0.5, 0.5, 0]]


def test_values_are_followed_by_nothing():
    assert GRID.values(FLAT).tolist() == [[1, 2, 0, 0], [3, 0, 0, 0], [4, 5, 6, 0]]


def test_the_best_share_is_kept_with_all_its_steps():
    ranks = torch.tensor([0.1, 0.9, 0.5])

    assert GRID.best(ranks, 1.0).tolist() == [1] * 6
    assert GRID.best(ranks, 0.5).tolist() == [0, 0, 1, 1, 1, 1]
    assert GRID.best(ranks, 0.01).tolist() == [0, 0, 1, 0, 0, 0]
