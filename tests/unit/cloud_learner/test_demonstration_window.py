"""The window over a stream of demonstrations: what it keeps, and what follows from it alone."""

from dataclasses import replace

import numpy as np
import pytest

from apps_mock.actors import Actors
from apps_mock.evaluation import instances, templates_of
from apps_mock.farm import play
from cloud_learner.demonstration_window import Demonstration, DemonstrationWindow
from sync.text_table import BUCKETS
from sync.vocabulary import Split

TEXTS = np.zeros((BUCKETS, 4), dtype=np.float32)


@pytest.fixture(scope="module")
def chunks():
    """Three chunks with a demonstration of two templates each."""
    chosen = templates_of("clock")[:2]
    wanted = instances(chosen, count=6, seed_base=0, split=Split.TRAIN, actor="oracle")
    shown = [
        Demonstration(one.episode, "clock")
        for one in sorted(
            play(wanted, Actors().policy_for, seats=1), key=lambda one: one.episode.assignment.seed
        )
    ]
    return [shown[:2], shown[2:4], shown[4:]]


def window_of(chunks, *, keeps=2):
    window = DemonstrationWindow(TEXTS, chunks=keeps)
    for chunk in chunks:
        window.show(chunk)
    return window


def drawn(window, count=40, seed=3):
    return window.sample_steps(count, np.random.default_rng(seed))


def texts_of(window, step):
    return [window.table.texts[row] for row in step.text_rows]


def test_oldest_chunk_goes_and_its_texts_with_it(chunks):
    window = window_of(chunks)
    assert len(window) == 4
    assert window.steps == sum(len(one.episode.steps) for one in chunks[1] + chunks[2])
    everything = window_of(chunks, keeps=3)
    assert len(window.table.texts) < len(everything.table.texts)


def test_window_follows_from_its_latest_chunks_alone(chunks):
    moved, fresh = window_of(chunks), window_of(chunks[1:])
    assert moved.table.texts == fresh.table.texts
    for one, other in zip(drawn(moved), drawn(fresh), strict=True):
        assert np.array_equal(one.text_rows, other.text_rows)
        assert np.array_equal(one.choices, other.choices)


def test_steps_keep_their_texts_when_rows_are_numbered_anew(chunks):
    window = DemonstrationWindow(TEXTS, chunks=2)
    window.show(chunks[0])
    window.show(chunks[1])
    step = next(one for one in drawn(window, 200) if one.count > 1)
    before = texts_of(window, step)
    window.show(chunks[2])
    assert texts_of(window, step) == before


def test_heavier_template_is_drawn_more_often(chunks):
    window = window_of(chunks, keeps=3)
    names = sorted({one.episode.assignment.template for one in chunks[0]})

    def share():
        first = {id(step) for steps in window._steps[names[0]] for step in steps}
        some = drawn(window, 2000)
        return sum(id(step) in first for step in some) / len(some)

    assert share() == pytest.approx(0.5, abs=0.05)
    window.weigh({names[0]: 3.0})
    assert share() == pytest.approx(0.75, abs=0.05)
    window.show(chunks[0])
    assert share() == pytest.approx(0.75, abs=0.05)


def test_empty_window_gives_nothing():
    window = DemonstrationWindow(TEXTS, chunks=1)
    assert window.show([]) == 0
    assert drawn(window) == []


def test_demonstration_without_usable_steps_is_never_drawn(chunks):
    spoilt = replace(chunks[0][0].episode, steps=())
    window = DemonstrationWindow(TEXTS, chunks=1)
    assert window.show([Demonstration(spoilt, "clock")]) == 0
    assert drawn(window) == []
