"""Critics: how likely an episode is to succeed, from what the network has already computed.

They read detached features, so the network's representation serves acting alone and a critic costs
one small matrix product a step.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from sync.grammar import ACTION_TYPES


class Critic(nn.Module):
    """A value as a probability of success: of a state, or of an instruction by its first state."""

    def __init__(self, feature_dim: int, hidden: int = 128) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.LayerNorm(feature_dim),
            nn.Linear(feature_dim, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 1),
        )

    def forward(self, features: Tensor) -> Tensor:
        """Logits of V, float32 [B], for detached features float32 [B, feature_dim]."""
        logits: Tensor = self.layers(features.detach()).squeeze(-1)
        return logits

    def value(self, features: Tensor) -> Tensor:
        """V in 0..1, float32 [B], without gradient."""
        with torch.no_grad():
            return torch.sigmoid(self.forward(features))


class TrajectoryCritic(nn.Module):
    """V_traj(s_H, a_H): whether a trajectory that ended so was a success.

    The action enters by its type: where an episode ended, that is what tells finishing from being
    stopped.

    Source: Wang et al. 2024, DistRL, section 5.1 (the loss on terminal state and action).
    """

    def __init__(self, feature_dim: int, hidden: int = 128) -> None:
        super().__init__()
        self._critic = Critic(feature_dim + len(ACTION_TYPES), hidden)

    def forward(self, features: Tensor, action_types: Tensor) -> Tensor:
        """Logits of V_traj, float32 [B], for features float32 [B, d] and types int64 [B]."""
        logits: Tensor = self._critic(self._joined(features, action_types))
        return logits

    def value(self, features: Tensor, action_types: Tensor) -> Tensor:
        """V_traj in 0..1, float32 [B], without gradient."""
        return self._critic.value(self._joined(features, action_types))

    @staticmethod
    def _joined(features: Tensor, action_types: Tensor) -> Tensor:
        kinds = functional.one_hot(action_types, len(ACTION_TYPES)).to(features.dtype)
        return torch.cat([features.detach(), kinds], dim=-1)
