"""A small network and screens to read."""

import random

import pytest
import torch

from exporters.families.layout_t5 import LayoutT5, LayoutT5Config
from sync.policy_io import EncodedInput, encode
from sync.vocabulary import Element, Observation

WORDS = ("search", "trains", "berlin", "munich", "class", "order", "cancel", "date", "save", "home")


def screen(seed: int, count: int) -> EncodedInput:
    """A made-up screen of `count` elements with a goal, encoded."""
    rng = random.Random(seed)
    elements = []
    for row in range(count):
        top = 80 + row * 2200 // count
        editable = rng.random() < 0.3
        elements.append(
            Element(
                "android.widget.EditText" if editable else "android.widget.Button",
                (rng.choice((0, 540)), top, 1000, top + 60),
                text=" ".join(rng.choices(WORDS, k=rng.randint(1, 4))),
                clickable=True,
                editable=editable,
                focused=editable,
                scrollable=row == 0,
            )
        )
    goal = " ".join(rng.choices(WORDS, k=rng.randint(3, 9)))
    return encode(Observation(1080, 2400, tuple(elements), package="org.app"), goal)


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture
def network() -> LayoutT5:
    torch.manual_seed(7)
    small = LayoutT5(LayoutT5Config(d_model=24, d_ff=32, heads=2))
    with torch.no_grad():
        for head in (small.type_head, small.pointer_query, small.word_head):
            head.weight.mul_(4)
    return small.eval().requires_grad_(False)


@pytest.fixture
def screens() -> list[EncodedInput]:
    return [screen(seed, count) for seed, count in enumerate((3, 12, 7, 20))]
