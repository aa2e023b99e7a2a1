"""The critic: how likely the episode is to succeed, from what the network has already computed.

It reads detached features, so the network's representation serves acting alone and the critic costs
one small matrix product a step.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Critic(nn.Module):
    """State value as a probability of success, discounted by the steps that are still needed."""

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
