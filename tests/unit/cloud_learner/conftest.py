"""A tiny network, and episodes that it played, as the learner gets them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from random import Random

import pytest
import torch

from cloud_learner.batch import Trajectory, trajectory_of
from exporters.families.layout_t5 import LayoutT5, LayoutT5Config, TorchCallables, text_table_of
from exporters.lora import attach
from sync.decoding import action_of, decide
from sync.policy_io import EMPTY_HISTORY, encode, fold, same_screen
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


@pytest.fixture
def make_adapted(network) -> Callable[..., LayoutT5]:
    """`make_adapted(noise)`: a copy with an adapter that moves every layer by about `noise`."""

    def make(noise: float = 0.0, *, seed: int = 5) -> LayoutT5:
        adapted = attach(copy.deepcopy(network), RANK)
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


@pytest.fixture
def make_episode(network) -> Callable[..., Episode]:
    """`make_episode(seed, steps=3, actor=…, template=…)`: played by a network, digests and all."""

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
