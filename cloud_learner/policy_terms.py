"""Terms of a policy's loss that algorithms share: pure functions of flat rows of steps [S].

ρ and advantages come without gradient; log π and entropy with one.
"""

from __future__ import annotations

import torch
from torch import Tensor

from cloud_learner.algorithm_settings import UpdateSettings
from cloud_learner.replayed import Replayed


def policy_gradient_loss(
    log_prob: Tensor, *, ratio: Tensor, advantages: Tensor, weights: Tensor
) -> Tensor:
    """−E[ρ Â log π]: its gradient makes actions with Â > 0 likelier; a scalar.

    Args:
        log_prob: float32 [S], log π. ratio, advantages: float32 [S], without gradient.
        weights: float32 [S], 0 for a step that does not count; the mean is over all S.
    """
    return -(ratio * advantages * log_prob * weights).mean()


def clipped_surrogate_loss(
    log_ratio: Tensor,
    *,
    advantages: Tensor,
    weights: Tensor,
    clip_low: float,
    clip_high: float,
) -> Tensor:
    """−E[min(r Â, clip(r, 1 − low, 1 + high) Â)], r = exp(log_ratio): a scalar.

    Args:
        log_ratio: float32 [S], log π − log π_prox, with gradient.
        weights: float32 [S], what a step counts; the mean is over all S.

    Source: Schulman et al. 2017, Proximal policy optimisation, eq. 7; two limits: Yu et al. 2025.
    """
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1.0 - clip_low, 1.0 + clip_high)
    return -(torch.minimum(ratio * advantages, clipped * advantages) * weights).mean()


def imitation_loss(log_prob: Tensor, weights: Tensor) -> Tensor:
    """−E[log π] over the steps that count: a scalar, 0 where none does.

    Args:
        weights: float32 [S], what a step counts; the mean is over their sum.
    """
    return -(log_prob * weights).sum() / weights.sum().clamp(min=1.0)


def regularisers(batch: Replayed, weights: Tensor, settings: UpdateSettings) -> dict[str, Tensor]:
    """Entropy bonus, invalid-action term and KL to the reference, each where it is on.

    Args:
        weights: float32 [S], what a step counts; means are over all S.
    """
    scores = batch.scores
    terms: dict[str, Tensor] = {}
    if settings.entropy_weight:
        terms["entropy_loss"] = -settings.entropy_weight * (scores.entropy * weights).mean()
    if settings.invalid_weight:
        ratio = batch.truncated_rho(settings.ratio_clip)
        unlikely = ratio * scores.log_prob * (1.0 - scores.valid) * weights
        terms["invalid_loss"] = settings.invalid_weight * unlikely.mean()
    if settings.kl_weight:
        terms["kl_loss"] = settings.kl_weight * (scores.divergence * weights).mean()
    return terms


def scaled_advantages(
    advantages: Tensor, counted: Tensor, *, clip: float, negative_scale: float
) -> Tensor:
    """Advantages by the batch's deviation (not centred), clipped, negatives damped: [S].

    Args:
        counted: float32 [S], the deviation is taken where it is positive.
        clip: largest |Â| after the division; 0 leaves advantages as they are.
        negative_scale: factor of what is below 0.
    """
    scaled = advantages
    if clip:
        those = advantages[counted > 0]
        deviation = those.std() if len(those) > 1 else torch.ones(())
        scaled = (advantages / (deviation + 1e-6)).clamp(-clip, clip)
    return torch.where(scaled < 0, scaled * negative_scale, scaled)
