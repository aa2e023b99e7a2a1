"""Masks on real screens: what the phone was allowed to choose is what the loss allows.

A phone decides on each dump of a real screen with a network that says anything; the learner encodes
the logged steps again, and must come to the same masks and choices.
"""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cloud_learner.batch import FIRST_POINTER, FIRST_WORD, layout_samples, trajectory_of
from device_runtime.errors import HierarchyError
from device_runtime.ui_tree import elements_of, parse
from sync.decoding import Logits, action_of, decide, unpacked
from sync.grammar import ACTION_TYPES, MAX_WORDS
from sync.history import EMPTY_HISTORY, fold, same_screen
from sync.policy_io import encode
from sync.text_table import BUCKETS, TextTable
from sync.vocabulary import (
    Assignment,
    AssignmentId,
    DeviceId,
    EndReason,
    Episode,
    EpisodeId,
    Observation,
    Step,
)

OFFSETS = {"type": 0, "word": FIRST_WORD, "pointer": FIRST_POINTER}
GOALS = ("Type Berlin Hbf into the search field", "What is the price?", "Turn on Wi-Fi", "")
TABLE = TextTable(np.zeros((BUCKETS, 1), dtype=np.float32))
STEPS = 4


@pytest.fixture(scope="module")
def screens(shared_data):
    """Every dump of a real screen that can be read, as an observation."""
    found = []
    for file in sorted((shared_data / "ui_dumps").glob("*.xml")):
        try:
            roots = parse(file.read_bytes()).roots
        except HierarchyError:
            continue
        width = max((root.bounds[2] for root in roots), default=0) or 1080
        for height in (2400, 100_000):  # as a phone shows it, and with all that lies below
            elements = elements_of(roots, width, height)
            found.append(Observation(width, height, elements, package=file.stem))
    assert max(len(one.elements) for one in found) > 600
    return found


class AnyNetwork:
    """Logits drawn anew for every decision."""

    def __init__(self, seed, length):
        self._random = np.random.default_rng(seed)
        self._length = length

    def encode(self, batch):
        return batch

    def decode(self, _memory, prefix, _rows=None):
        def drawn(count):
            return self._random.normal(scale=3.0, size=(len(prefix), count)).astype(np.float32)

        return Logits(drawn(len(ACTION_TYPES)), drawn(self._length), drawn(MAX_WORDS))


def played(screens, goal, seed):
    """An episode over these screens, as a phone logs it."""
    history, steps = EMPTY_HISTORY, []
    for index, (seen, following) in enumerate(zip(screens, [*screens[1:], None], strict=True)):
        encoded = encode(seen, goal, history, step_index=index, step_budget=STEPS)
        network = AnyNetwork(seed + index, encoded.length)
        choice = decide(
            [encoded],
            network.encode,
            network.decode,
            table=TABLE,
            temperatures=[1.0],
            randoms=[Random(seed + index)],
        )[0]
        action = action_of(encoded, seen, choice.choices)
        steps.append(
            Step(
                index, seen, action, choice.decisions, choice.log_prob, 1.0,
                input_digest=encoded.digest,
            )
        )  # fmt: skip
        if following is not None:
            changed = not same_screen(seen, following)
            history = fold(history, seen, action, valid=True, screen_changed=changed)
    wanted = Assignment(AssignmentId("a"), goal=goal, step_budget=STEPS)
    return Episode(EpisodeId("e"), wanted, DeviceId("phone"), goal, tuple(steps), EndReason.BUDGET)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), goal=st.sampled_from(GOALS), seed=st.integers(0, 2**32 - 1))
def test_loss_allows_what_the_phone_was_allowed_on_real_screens(screens, data, goal, seed):
    places = data.draw(
        st.lists(st.integers(0, len(screens) - 1), min_size=1, max_size=STEPS), label="screens"
    )
    episode = played([screens[place] for place in places], goal, seed)

    trajectory = trajectory_of(episode, TABLE, row=1, app="phone", success=False)

    assert trajectory.left_out == 0
    for step, sample in zip(episode.steps, layout_samples(trajectory.steps), strict=True):
        counts = {
            "type": len(ACTION_TYPES), "word": MAX_WORDS, "pointer": len(sample.text_rows)
        }  # fmt: skip
        assert sample.count == len(step.decisions)
        for position, decision in enumerate(step.decisions):
            offset, count = OFFSETS[decision.head], counts[decision.head]
            expected = np.zeros(sample.masks.shape[1], dtype=np.bool_)
            expected[offset : offset + count] = unpacked(decision.mask, count)
            assert np.array_equal(sample.masks[position], expected)
            assert sample.choices[position] == offset + decision.choice
            assert expected[sample.choices[position]]
