"""Between a flat row of steps [S] and a padded grid of trajectories [B, T]."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional


class TrajectoryGrid:
    """Places of the steps of B trajectories, one after the other in a row.

    Args:
        lengths: steps of each trajectory, all positive; at least one trajectory.
    """

    def __init__(self, lengths: Sequence[int]) -> None:
        self.lengths = torch.tensor(lengths)
        self.count = int(self.lengths.sum())
        self._row = torch.repeat_interleave(torch.arange(len(lengths)), self.lengths)
        self._column = torch.cat([torch.arange(length) for length in lengths])

    @property
    def first(self) -> Tensor:
        """Places of the first steps in the row: int64 [B]."""
        return self.lengths.cumsum(0) - self.lengths

    @property
    def last(self) -> Tensor:
        """Places of the last steps in the row: int64 [B]."""
        return self.lengths.cumsum(0) - 1

    def spread(self, flat: Tensor) -> Tensor:
        """[S] → [B, T], padded with 0."""
        grid = torch.zeros(len(self.lengths), int(self.lengths.max()), dtype=flat.dtype)
        grid[self._row, self._column] = flat
        return grid

    def gather(self, grid: Tensor) -> Tensor:
        """[B, T] → [S]."""
        return grid[self._row, self._column]

    def each(self, per_trajectory: Tensor) -> Tensor:
        """What holds for a trajectory holds for its steps: [B] → [S]."""
        return per_trajectory[self._row]

    def mean(self, flat: Tensor) -> Tensor:
        """Mean over each trajectory: [S] → [B]."""
        return self.spread(flat).sum(1) / self.lengths

    def outcome(self, success: Tensor, gamma: float) -> tuple[Tensor, Tensor]:
        """Rewards (1 with the last action of a success) and discounts (0 there): [B, T] each."""
        discounts = self.spread(torch.full((self.count,), gamma))
        rewards = torch.zeros_like(discounts)
        rows = torch.arange(len(self.lengths))
        rewards[rows, self.lengths - 1] = success
        discounts[rows, self.lengths - 1] = 0.0
        return rewards, discounts

    def values(self, flat: Tensor) -> Tensor:
        """State values with a last column of 0 (the episode is over there): [S] → [B, T+1]."""
        return functional.pad(self.spread(flat), (0, 1))

    def best(self, ranks: Tensor, share: float) -> Tensor:
        """1 for the steps of the trajectories with the best `share` of `ranks` [B]: [S]."""
        if share >= 1.0:
            return torch.ones(self.count)
        threshold = torch.quantile(ranks, 1.0 - share)
        return self.each((ranks >= threshold).to(torch.float32))
