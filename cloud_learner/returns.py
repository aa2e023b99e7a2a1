"""Off-policy return targets and advantages along trajectories: pure functions of tensors.

Notation: B trajectories, T steps (padded), γ discount, ρ = π/μ, λ trace decay. Padding has discount
0, reward 0 and log ρ 0, so that nothing flows into or out of it.
"""

from __future__ import annotations

import torch
from torch import Tensor


class ShapeError(ValueError):
    """Arguments that belong together differ in shape."""


def _same_shape(**tensors: Tensor) -> None:
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    if len(set(shapes.values())) > 1:
        raise ShapeError(f"arguments must agree in [B, T], got {shapes}")


def retrace_corrections(
    values: Tensor, rewards: Tensor, discounts: Tensor, log_rho: Tensor, *, lambda_: float = 0.95
) -> Tensor:
    """Retrace(λ) correction of state values along behaviour trajectories.

    Δ_t = Σ_{k≥t} γ^{k−t} (Π_{i=t+1..k} c_i) δ_k, with c_i = λ min(1, ρ_i) and
    δ_k = r_k + γ_k v_{k+1} − v_k; computed backwards as Δ_t = δ_t + γ_t c_{t+1} Δ_{t+1}.

    Args:
        values: float32 [B, T+1], V of each state under the current critic; the last column is the
            bootstrap.
        rewards, discounts: float32 [B, T], what followed action t; discount 0 where the task ended.
        log_rho: float32 [B, T], log π − log μ of the executed action, nats.
        lambda_: λ in 0..1; λ = 0 gives the one-step error.

    Returns:
        float32 [B, T], Δ_t without gradient; v_t + Δ_t is the target of the critic.

    Raises:
        ShapeError: arguments disagree in B or T.

    Source: Wang et al. 2024, DistRL, section 5.2; Munos et al. 2016 for the trace coefficient.
    """
    _same_shape(values=values[:, :-1], rewards=rewards, discounts=discounts, log_rho=log_rho)
    with torch.no_grad():
        errors = rewards + discounts * values[:, 1:] - values[:, :-1]
        trace = lambda_ * log_rho.clamp(max=0.0).exp()
        corrections = torch.zeros_like(errors)
        running = torch.zeros_like(errors[:, 0])
        for t in range(errors.shape[1] - 1, -1, -1):
            after = trace[:, t + 1] if t + 1 < errors.shape[1] else torch.zeros_like(running)
            running = errors[:, t] + discounts[:, t] * after * running
            corrections[:, t] = running
    return corrections


def retrace_advantages(
    values: Tensor, corrections: Tensor, rewards: Tensor, discounts: Tensor
) -> Tensor:
    """Multi-step advantages A_t = r_t + γ_t (v_{t+1} + Δ_{t+1}) − v_t.

    Args:
        values: float32 [B, T+1]; corrections: float32 [B, T] from `retrace_corrections`.
        rewards, discounts: float32 [B, T]; rewards may carry penalties that values do not.

    Returns:
        float32 [B, T] without gradient.

    Raises:
        ShapeError: arguments disagree in B or T.
    """
    _same_shape(
        values=values[:, :-1], corrections=corrections, rewards=rewards, discounts=discounts
    )
    with torch.no_grad():
        following = torch.zeros_like(values[:, 1:])
        following[:, :-1] = corrections[:, 1:]
        return rewards + discounts * (values[:, 1:] + following) - values[:, :-1]


def monte_carlo_returns(rewards: Tensor, discounts: Tensor) -> Tensor:
    """Discounted sums of what really followed: G_t = r_t + γ_t G_{t+1}, float32 [B, T].

    Raises:
        ShapeError: arguments disagree in B or T.
    """
    _same_shape(rewards=rewards, discounts=discounts)
    returns = torch.zeros_like(rewards)
    running = torch.zeros_like(rewards[:, 0])
    for t in range(rewards.shape[1] - 1, -1, -1):
        running = rewards[:, t] + discounts[:, t] * running
        returns[:, t] = running
    return returns


def digirl_advantages(values: Tensor, rewards: Tensor, discounts: Tensor) -> Tensor:
    """DigiRL's step advantages A_t = w_t + (1 − w_t)(v_{t+1} + r_t − v_t), w_t = λ^(H−t) r_H.

    w_t is what the final reward is worth at t: near a success it outweighs what the value says.

    Args:
        values: float32 [B, T+1], chance of success in each state; 0 behind the last one.
        rewards: float32 [B, T]. discounts: float32 [B, T], λ; 0 where the task ended.

    Returns:
        float32 [B, T] without gradient.

    Raises:
        ShapeError: arguments disagree in B or T.

    Source: Bai et al. 2024, DigiRL, eq. 4.3.
    """
    _same_shape(values=values[:, :-1], rewards=rewards, discounts=discounts)
    with torch.no_grad():
        final = monte_carlo_returns(rewards, discounts)
        return final + (1.0 - final) * (values[:, 1:] + rewards - values[:, :-1])


def repetition_penalties(repeats: Tensor, *, per_repeat: float, cap: float) -> Tensor:
    """Penalties for trying the same action again on the same screen, cumulative and capped.

    Args:
        repeats: int64 [B, T], how often the action was already tried in a row.
        per_repeat: penalty of each repetition (positive).
        cap: largest penalty of one step (positive).

    Returns:
        float32 [B, T], at most 0. They belong into rewards only, never into a critic's labels.

    Source: DistRL, appendix A.2.2 (the rule); the cap is ours.
    """
    return -(repeats.to(torch.float32) * per_repeat).clamp(max=cap)
