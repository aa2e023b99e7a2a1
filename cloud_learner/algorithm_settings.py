"""Every setting of every learning algorithm: one schema, without torch.

Shared parts stand in `UpdateSettings`, so that two algorithms differ in what makes them different
and in nothing else. The annotated types state each range; `cloud_learner.algorithm_file` holds
values against them. 0, False or an infinite limit turns a part off.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated

from msgspec import Meta

Count = Annotated[int, Meta(ge=1)]
Rounds = Annotated[int, Meta(ge=0)]
Weight = Annotated[float, Meta(ge=0.0, le=1e6)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
SomeShare = Annotated[float, Meta(gt=0.0, le=1.0)]
Rate = Annotated[float, Meta(ge=0.0, le=1.0)]


@dataclass(frozen=True, slots=True)
class ReplaySettings:
    """How much is kept, and how it is drawn.

    Attributes:
        capacity: trajectories kept; the oldest leaves first.
        max_age_rounds: trajectories of weights older than this many rounds are left out.
        prioritised: False draws uniformly.
        exponent: α. error_weight, ratio_weight, entropy_weight: w1, w2, w3.
        importance_exponent: β of the weights (N P)^−β that undo the priorities' bias (0: none).
    """

    capacity: Count = 600
    max_age_rounds: Rounds = 40
    prioritised: bool = True
    exponent: Share = 0.5
    error_weight: Weight = 1.0
    ratio_weight: Weight = 0.2
    entropy_weight: Weight = 0.2
    importance_exponent: Share = 0.0


@dataclass(frozen=True, slots=True)
class UpdateSettings:
    """What an update of any algorithm has.

    Attributes:
        learning_rate: Adam's, of the adapter. max_grad_norm: global clip of a gradient.
        trajectories_per_update: replayed in one update.
        ratio_clip: largest ρ = π/μ (0: unclipped).
        kl_weight, entropy_weight, invalid_weight: of the terms with those names.
        demo_weight, demo_steps_new, demo_steps_old: anchor on demonstrations.
        success_weight, success_steps: anchor on own recent successes, balanced by template.
        successes_per_template: own successes that the anchor keeps of each template.
    """

    learning_rate: Rate = 1e-3
    max_grad_norm: Annotated[float, Meta(gt=0.0)] = 1.0
    trajectories_per_update: Count = 16
    ratio_clip: Weight = 1.0
    kl_weight: Weight = 0.02
    entropy_weight: Weight = 0.05
    invalid_weight: Weight = 0.05
    demo_weight: Weight = 0.3
    demo_steps_new: Rounds = 16
    demo_steps_old: Rounds = 16
    success_weight: Weight = 0.3
    success_steps: Rounds = 24
    successes_per_template: Count = 20


@dataclass(frozen=True, slots=True)
class ARideSettings(UpdateSettings):
    """A-RIDE, published and stabilised.

    Attributes:
        gamma: discount of a step. lambda_: Retrace's trace decay.
        critic_learning_rate: Adam's, of the critics.
        critic_warm_up_rounds: rounds in which only the critic and the anchors learn.
        multi_step: Retrace advantage; False takes the one-step error.
        retrace: traces are cut by min(1, ρ); False counts every ρ in a trace as 1.
        retrace_critic: the critic's target is v + Δ; False takes "the return is positive".
        negative_scale: factor of negative advantages.
        advantage_clip: largest |A| after division by the batch's deviation (0: as it is).
        repetition_penalty, repetition_cap: per repeated action, and at most.
        value_filter: keep the best share of a batch for the policy (1 keeps all).
        trajectory_value: the filter ranks by V_traj(s_H, a_H), a network of its own; False ranks by
            success − V(start).
        policy_gradient: False leaves anchors, entropy and KL alone (filtered self-imitation).
    """

    gamma: Share = 0.97
    lambda_: Share = 0.95
    critic_learning_rate: Rate = 1e-3
    critic_warm_up_rounds: Rounds = 8
    multi_step: bool = True
    retrace: bool = True
    retrace_critic: bool = True
    negative_scale: Share = 0.2
    advantage_clip: Weight = 3.0
    repetition_penalty: Weight = 0.0
    repetition_cap: Weight = 1.2
    value_filter: SomeShare = 1.0
    trajectory_value: bool = False
    policy_gradient: bool = True
    replay: ReplaySettings = field(default_factory=ReplaySettings)


STABILISED = ARideSettings()
"""What learns on a small policy; see docs/algorithm.md."""

PUBLISHED = replace(
    STABILISED,
    gamma=1.0,
    retrace_critic=False,
    critic_warm_up_rounds=0,
    negative_scale=1.0,
    ratio_clip=0.0,
    advantage_clip=0.0,
    kl_weight=0.0,
    repetition_penalty=0.4,
    value_filter=0.1,
    trajectory_value=True,
    demo_weight=0.0,
    success_weight=0.0,
)
"""The formulas as published."""


@dataclass(frozen=True, slots=True)
class DigiRLSettings(UpdateSettings):
    """DigiRL: two values, two hard filters, imitation of what passes both.

    Attributes:
        lambda_: how fast the final reward fades towards the start, in A_step.
        step_threshold: A_step must be larger (published: 1/H; in the code 0.05, that is H = 20).
        instruction_share: best share of all kept trajectories by success − V_instr(goal) that the
            policy learns from (1 keeps all).
        critic_learning_rate: Adam's, of both values.
        critic_warm_up_rounds: rounds in which only the values and the anchors learn.
        capacity, max_age_rounds: of the trajectories that are kept.
    """

    lambda_: Share = 0.5
    step_threshold: Annotated[float, Meta(ge=-1.0, le=1.0)] = 0.05
    instruction_share: SomeShare = 0.1
    critic_learning_rate: Rate = 1e-3
    critic_warm_up_rounds: Rounds = 8
    capacity: Count = 600
    max_age_rounds: Rounds = 40


@dataclass(frozen=True, slots=True)
class GroupSettings(UpdateSettings):
    """GRPO with AdaGRPO's additions, and GiGPO: advantages within groups, no critic.

    `trajectories_per_update` is filled with whole groups, at least one. `ratio_clip` is the largest
    π_prox/μ, which corrects for stale weights.

    Attributes:
        group_size: episodes of one assignment group. patience_rounds: an incomplete group of two
            and more is taken as it is after so many rounds.
        epochs: how often a group is learnt from. max_age_rounds: then it is forgotten.
        clip_low, clip_high: π/π_prox counts within 1 − clip_low .. 1 + clip_high.
        deviation_floor: a group's rewards are divided by their deviation, at least this.
        shortest_path: share of a success's reward that a path without end would lose (SPA; 0: off).
        replay_share: most of a batch that are replayed successes (AdaPR; 0: off).
        replay_best: successes of a group that are kept for replay. replay_capacity: of all groups.
        replay_max_age_rounds: then a success is forgotten.
        cool_down_after: groups of a template that fail in a row before it is asked for less (FCF;
            0: off). cool_down_groups: failing groups after that before it is dropped.
        dropped_weight: how often a dropped template is still asked for, where 1 is normal.
        step_weight: ω of the advantage among steps from one state (GiGPO; 0: off).
        gamma: discount of returns that are compared among steps.
    """

    group_size: Annotated[int, Meta(ge=2)] = 8
    patience_rounds: Rounds = 3
    epochs: Count = 2
    max_age_rounds: Rounds = 6
    clip_low: Share = 0.2
    clip_high: Weight = 0.28
    deviation_floor: Annotated[float, Meta(gt=0.0)] = 0.1
    shortest_path: Share = 0.1
    replay_share: Annotated[float, Meta(ge=0.0, le=0.9)] = 0.25
    replay_best: Count = 2
    replay_capacity: Count = 64
    replay_max_age_rounds: Rounds = 40
    cool_down_after: Rounds = 2
    cool_down_groups: Count = 3
    dropped_weight: Share = 0.0
    step_weight: Weight = 0.0
    gamma: Share = 0.95


@dataclass(frozen=True, slots=True)
class FilteredBCSettings(UpdateSettings):
    """Filtered behaviour cloning: the anchors do the learning; no value, no advantage.

    Entropy, KL and the invalid term act on recent episodes; with all three at 0 none is drawn.

    Attributes:
        capacity, max_age_rounds: of the recent episodes.
    """

    capacity: Count = 600
    max_age_rounds: Rounds = 40


AnySettings = ARideSettings | DigiRLSettings | GroupSettings | FilteredBCSettings

ALGORITHMS: dict[str, AnySettings] = {
    "a_ride": STABILISED,
    "a_ride_published": PUBLISHED,
    "digirl": DigiRLSettings(),
    "grpo": GroupSettings(),
    "gigpo": GroupSettings(step_weight=1.0),
    "filtered_bc": FilteredBCSettings(),
}
"""The algorithms by name, as they are when nothing is said."""
