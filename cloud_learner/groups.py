"""Groups of trajectories of one assignment: who is compared with whom, and for how long.

Advantages are taken once, when a group is complete: rewards are what the phones reported, so they
do not depend on what was learnt since.

    A_i = (R_i − mean R) / max(deviation of R, floor)
    R_i = 1 − α (T_i − T_min) / T_i for a success (SPA), 0 for a failure
    A_{i,t} = A_i + ω (G_{i,t} − mean) / max(deviation, floor) among the steps of the group that
              started in the same state, G_{i,t} = γ^(T_i−1−t) R_i (GiGPO)

Source: Shao et al. 2024, DeepSeekMath (GRPO); AdaGRPO (arXiv 2509.18119) for SPA and the replay of
successes; Feng et al. 2025, GiGPO (arXiv 2505.10978) for groups of steps. Deviation: the floor
under the deviation, because in a group of successes shaping alone would weigh as much as success.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch import Tensor

from cloud_learner.algorithm_settings import GroupSettings
from cloud_learner.batch import Trajectory


@dataclass(slots=True)
class Member:
    """A trajectory of a group.

    Attributes:
        advantages: float32 [T], of each step.
        proximal: float32 [T], log π at the first update of the round `proximal_round`.
    """

    trajectory: Trajectory
    advantages: npt.NDArray[np.float32]
    proximal: Tensor | None = None
    proximal_round: int = -1


@dataclass(slots=True)
class Group:
    """A complete group.

    Attributes:
        played_round: round of the newest weights that played it; where nobody knows, the round in
            which it was complete.
        uses: how often it was learnt from.
    """

    members: list[Member]
    played_round: int
    uses: int = 0


@dataclass(slots=True)
class _Gathering:
    trajectories: list[Trajectory]
    begun_round: int


class GroupBuffer:
    """Gathers trajectories into groups, hands out groups, keeps the best successes for replay.

    Attributes:
        ungrouped: trajectories without a group so far; no group method can use them.
        uninformative: complete groups so far in which everybody did alike.
    """

    def __init__(self, settings: GroupSettings) -> None:
        self._settings = settings
        self._gathering: dict[str, _Gathering] = {}
        self._groups: list[Group] = []
        self._replay: deque[Member] = deque(maxlen=settings.replay_capacity)
        self.ungrouped = 0
        self.uninformative = 0

    def __len__(self) -> int:
        return len(self._groups)

    def add(self, trajectory: Trajectory, *, rounds: int) -> list[Trajectory] | None:
        """Put a trajectory to its group; the group's trajectories if that made it complete."""
        if not trajectory.group_id:
            self.ungrouped += 1
            return None
        key = trajectory.group_id
        gathering = self._gathering.setdefault(key, _Gathering([], rounds))
        gathering.trajectories.append(trajectory)
        if len(gathering.trajectories) < self._settings.group_size:
            return None
        return self._complete(key, rounds)

    def forget(self, rows: Collection[int], *, rounds: int) -> None:
        """Forget the trajectories of these rows of the store.

        Their groups were compared with them, so they are open again: for what was judged anew, or
        without it once the patience is over.
        """
        kept: list[Group] = []
        for group in self._groups:
            left = [one.trajectory for one in group.members if one.trajectory.row not in rows]
            if len(left) == len(group.members):
                kept.append(group)
            elif left:
                key = left[0].group_id
                gathering = self._gathering.setdefault(key, _Gathering([], rounds))
                gathering.trajectories += left
        self._groups = kept
        for gathering in self._gathering.values():
            gathering.trajectories = [one for one in gathering.trajectories if one.row not in rows]
        self._gathering = {key: one for key, one in self._gathering.items() if one.trajectories}
        replayed = (one for one in self._replay if one.trajectory.row not in rows)
        self._replay = deque(replayed, maxlen=self._settings.replay_capacity)

    def forget_stale(self, rounds: int) -> list[list[Trajectory]]:
        """Drop groups that are too old; take in those that waited too long for their last ones.

        Returns: the trajectories of each group that was taken in.
        """
        settings = self._settings
        limit, replay_limit = (
            rounds - age for age in (settings.max_age_rounds, settings.replay_max_age_rounds)
        )
        self._groups = [one for one in self._groups if one.played_round >= limit]
        fresh = [one for one in self._replay if (one.trajectory.policy_round or 0) >= replay_limit]
        self._replay = deque(fresh, maxlen=settings.replay_capacity)
        late = [
            key
            for key, one in self._gathering.items()
            if rounds - one.begun_round > settings.patience_rounds
        ]
        taken = [self._complete(key, rounds) for key in late]
        return [trajectories for trajectories in taken if len(trajectories) > 1]

    def draw(self, generator: np.random.Generator) -> list[Member]:
        """Members of the groups that were used least, and successes from replay."""
        settings = self._settings
        usable = sorted(
            (one for one in self._groups if one.uses < settings.epochs),
            key=lambda one: (one.uses, one.played_round),
        )
        drawn: list[Member] = []
        for group in usable:
            if drawn and len(drawn) + len(group.members) > settings.trajectories_per_update:
                break
            group.uses += 1
            drawn += group.members
        return drawn + self._replayed(drawn, generator)

    def _replayed(self, fresh: Sequence[Member], generator: np.random.Generator) -> list[Member]:
        share = self._settings.replay_share
        inside = {id(member) for member in fresh}
        known = [member for member in self._replay if id(member) not in inside]
        count = min(int(len(fresh) * share / (1.0 - share)), len(known))
        if not count:
            return []
        picked = generator.choice(len(known), size=count, replace=False)
        return [known[int(place)] for place in picked]

    def _complete(self, key: str, rounds: int) -> list[Trajectory]:
        trajectories = self._gathering.pop(key).trajectories
        if len(trajectories) < 2:
            return trajectories
        members = group_members(trajectories, self._settings)
        if not any(member.advantages.any() for member in members):
            self.uninformative += 1
            return trajectories
        known = [one.policy_round for one in trajectories if one.policy_round is not None]
        self._groups.append(Group(members, max(known, default=rounds)))
        if self._settings.replay_share:
            self._replay.extend(_best_successes(members, self._settings.replay_best))
        return trajectories


def group_members(trajectories: Sequence[Trajectory], settings: GroupSettings) -> list[Member]:
    """The trajectories of one group with the advantage of each step (formulas above)."""
    rewards = shaped_rewards(trajectories, settings.shortest_path)
    of_episodes = normalised(rewards, settings.deviation_floor)
    returns = [
        reward * settings.gamma ** np.arange(len(one.steps) - 1, -1, -1.0)
        for one, reward in zip(trajectories, rewards, strict=True)
    ]
    of_steps = _step_advantages(trajectories, returns, settings)
    return [
        Member(one, (episode + settings.step_weight * steps).astype(np.float32))
        for one, episode, steps in zip(trajectories, of_episodes, of_steps, strict=True)
    ]


def shaped_rewards(
    trajectories: Sequence[Trajectory], shortest_path: float
) -> npt.NDArray[np.float64]:
    """1 for a success, less the longer it took beside the shortest of the group: float64 [G]."""
    lengths = [len(one.steps) for one in trajectories if one.success]
    shortest = min(lengths, default=1)
    return np.array(
        [
            1.0 - shortest_path * (1.0 - shortest / len(one.steps)) if one.success else 0.0
            for one in trajectories
        ]
    )


def normalised(values: npt.NDArray[np.float64], floor: float) -> npt.NDArray[np.float64]:
    """Values less their mean, by their deviation or by `floor` if that is larger."""
    centred = values - values.mean()
    return np.asarray(centred / max(float(values.std()), floor))


def _step_advantages(
    trajectories: Sequence[Trajectory],
    returns: Sequence[npt.NDArray[np.float64]],
    settings: GroupSettings,
) -> list[npt.NDArray[np.float64]]:
    """Advantages among the steps that started in the same state; 0 for a step that is alone."""
    advantages = [np.zeros_like(one) for one in returns]
    if not settings.step_weight:
        return advantages
    places: dict[Hashable, list[tuple[int, int]]] = defaultdict(list)
    for index, one in enumerate(trajectories):
        for t, step in enumerate(one.steps):
            if step.state_hash:
                places[step.state_hash].append((index, t))
    for same in places.values():
        if len(same) > 1:
            compared = np.array([returns[index][t] for index, t in same])
            found = normalised(compared, settings.deviation_floor)
            for (index, t), advantage in zip(same, found, strict=True):
                advantages[index][t] = advantage
    return advantages


def _best_successes(members: Sequence[Member], count: int) -> list[Member]:
    successes = [one for one in members if one.trajectory.success and one.advantages.mean() > 0]
    return sorted(successes, key=lambda one: -float(one.advantages.mean()))[:count]
