"""A tiny network, and episodes that it played, as the learner gets them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

import pytest
import torch

from cloud_learner.a_ride import ARide
from cloud_learner.adapter_training import Trainee
from cloud_learner.algorithm_settings import ARideSettings
from cloud_learner.batch import StepSample, Trajectory, trajectory_of
from cloud_learner.replay import SuccessMemory
from cloud_learner.scoring import Scorer, Scores
from exporters.families.layout_t5 import LayoutT5, LayoutT5Config, TorchCallables, text_table_of
from exporters.lora import attach
from sync.decoding import action_of, decide
from sync.history import EMPTY_HISTORY, fold, same_screen
from sync.policy_io import encode
from sync.text_table import TextTable
from sync.vocabulary import (
    Assignment,
    AssignmentId,
    DeviceId,
    Element,
    EndReason,
    Episode,
    EpisodeId,
    Observation,
    Step,
)

WORDS = ("search", "trains", "berlin", "munich", "class", "order", "cancel", "date", "save", "home")
RANK = 4


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def network() -> LayoutT5:
    """A frozen base whose choices are not all alike."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        small = LayoutT5(LayoutT5Config(d_model=16, d_ff=32, heads=2, encoder_layers=1))
    with torch.no_grad():
        for head in (small.type_head, small.pointer_query, small.word_head):
            head.weight.mul_(3)
    return small.eval().requires_grad_(requires_grad=False)


@pytest.fixture
def table(network) -> TextTable:
    return text_table_of(network)


@pytest.fixture(scope="session")
def make_adapted(network) -> Callable[..., LayoutT5]:
    """`make_adapted(noise)`: a copy with an adapter that moves every layer by about `noise`."""
    fresh = attach(copy.deepcopy(network), RANK)

    def make(noise: float = 0.0, *, seed: int = 5) -> LayoutT5:
        adapted = copy.deepcopy(fresh)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for name, value in adapted.named_parameters():
                if ".lora_" in name:
                    value.add_(torch.randn(value.shape, generator=generator) * noise)
        return adapted.eval()

    return make


def observed(random: Random) -> Observation:
    """A made-up screen of buttons and fields."""
    count = random.randint(2, 9)
    elements = []
    for row in range(count):
        editable = random.random() < 0.3
        elements.append(
            Element(
                "android.widget.EditText" if editable else "android.widget.Button",
                (0, 80 + row * 200, 1000, 140 + row * 200),
                text=" ".join(random.choices(WORDS, k=random.randint(1, 4))),
                clickable=True,
                editable=editable,
                focused=editable,
            )
        )
    return Observation(1080, 2400, tuple(elements), package="org.app")


@pytest.fixture(scope="session")
def make_episode(network) -> Callable[..., Episode]:
    """`make_episode(seed, steps=3, actor=…, template=…)`: played by a network, digests and all."""

    @cache
    def make(
        seed: int,
        *,
        steps: int = 3,
        actor: LayoutT5 | None = None,
        template: str = "tickets_0",
        release_id: str = "factory",
    ) -> Episode:
        sides, words = TorchCallables(actor or network), text_table_of(network)
        random = Random(seed)
        goal = " ".join(random.choices(WORDS, k=5))
        screens = [observed(random) for _ in range(steps)]
        history, played = EMPTY_HISTORY, []
        for index, seen in enumerate(screens):
            encoded = encode(seen, goal, history, step_index=index)
            (choice,) = decide(
                [encoded],
                sides.encoder,
                sides.decoder,
                table=words,
                temperatures=[1.0],
                randoms=[random],
            )
            action = action_of(encoded, seen, choice.choices)
            played.append(
                Step(
                    index,
                    seen,
                    action,
                    decisions=choice.decisions,
                    log_prob=choice.log_prob,
                    temperature=1.0,
                    policy_version=release_id,
                    input_digest=encoded.digest,
                )
            )
            if index + 1 < steps:
                changed = not same_screen(seen, screens[index + 1])
                history = fold(history, seen, action, valid=True, screen_changed=changed)
        return Episode(
            id=EpisodeId(f"episode-{seed}"),
            assignment=Assignment(AssignmentId(f"a-{seed}"), template=template),
            device_id=DeviceId("farm"),
            goal=goal,
            steps=tuple(played),
            end_reason=EndReason.FINISH,
            release_id=release_id,
        )

    return make


@pytest.fixture
def make_trajectory(make_episode, table) -> Callable[..., Trajectory]:
    """`make_trajectory(seed, success=…)`: an episode of `make_episode` as the learner keeps it."""

    def make(
        seed: int, *, success: bool = True, app: str = "tickets", **more: object
    ) -> Trajectory:
        episode = make_episode(seed, **more)
        return trajectory_of(episode, table, row=seed, app=app, success=success)

    return make


class Recording:
    """A scorer that remembers which steps it was asked for."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self.asked: list[list[StepSample]] = []

    def __call__(self, samples: Sequence[StepSample]) -> Scores:
        self.asked.append(list(samples))
        return self._scorer(samples)


@dataclass
class Bench:
    """An algorithm on an adapter that is already away from its reference."""

    algorithm: ARide
    adapted: LayoutT5
    policy: Recording

    def gradients(self) -> tuple[torch.Tensor, torch.Tensor, dict[str, float]]:
        """Of the adapter and of the critic after one update, flat; and the update's figures."""
        metrics = self.algorithm.update()
        trained = [one for one in self.adapted.parameters() if one.requires_grad]
        return flat(trained), flat(self.algorithm.critic.parameters()), metrics


def flat(parameters: Iterable[torch.nn.Parameter]) -> torch.Tensor:
    """All gradients in one row; 0 where there is none."""
    return torch.cat(
        [(torch.zeros_like(one) if one.grad is None else one.grad).flatten() for one in parameters]
    )


@pytest.fixture
def make_bench(network, make_adapted, table) -> Callable[..., Bench]:
    """`make_bench(settings, trajectories)`: the trajectories are in the replay already."""

    def make(
        settings: ARideSettings,
        trajectories: Sequence[Trajectory] = (),
        *,
        demonstrations: Mapping[str, SuccessMemory] | None = None,
        noise: float = 0.1,
        seed: int = 0,
    ) -> Bench:
        adapted = make_adapted(noise)
        policy = Recording(Scorer(network, adapted, table))
        trainee = Trainee(
            policy=policy,
            trainable=[one for one in adapted.parameters() if one.requires_grad],
            reference=Scorer(network, make_adapted(0.0), table),
            feature_dim=2 * network.config.d_model,
            demonstrations=demonstrations or {},
        )
        algorithm = ARide(trainee, settings, seed=seed)
        algorithm.add(trajectories, anchored_app="tickets")
        return Bench(algorithm, adapted, policy)

    return make
