"""Episodes as tensors: what the phone chose, checked against its own digest, padded."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from cloud_learner.batch import FIRST_POINTER, FIRST_WORD, step_batch, trajectory_of
from sync.decoding import unpacked
from sync.grammar import ACTION_TYPES, heads_of
from sync.policy_io import encode_episode
from sync.vocabulary import Action, ActionKind, finish, tap_element


def changed(episode, index, **changes):
    """The episode with one step changed."""
    steps = list(episode.steps)
    steps[index] = dataclasses.replace(steps[index], **changes)
    return dataclasses.replace(episode, steps=tuple(steps))


def scripted(episode, *actions):
    """The episode as an actor without decisions would have logged it."""
    steps = [
        dataclasses.replace(step, action=action, decisions=(), log_prob=0.0, input_digest="")
        for step, action in zip(episode.steps, actions, strict=True)
    ]
    return dataclasses.replace(episode, steps=tuple(steps))


@pytest.fixture
def kept(table):
    return lambda episode, **more: trajectory_of(
        episode, table, row=1, app="tickets", success=True, **more
    )


def test_choices_and_masks_are_those_that_the_phone_logged(make_episode, kept):
    seen = set()
    for seed in range(8):
        episode = make_episode(seed, steps=4)
        for step, sample in zip(episode.steps, kept(episode).steps, strict=True):
            assert sample.usable
            assert sample.count == len(step.decisions)
            for position, decision in enumerate(step.decisions):
                offset = {"type": 0, "word": FIRST_WORD, "pointer": FIRST_POINTER}[decision.head]
                count = {"type": len(ACTION_TYPES), "word": 12}.get(
                    decision.head, len(sample.text_rows)
                )
                assert sample.choices[position] == offset + decision.choice
                expected = np.zeros(sample.masks.shape[1], dtype=bool)
                expected[offset : offset + count] = unpacked(decision.mask, count)
                assert np.array_equal(sample.masks[position], expected)
                seen.add(decision.head)
    assert seen == {"type", "word", "pointer"}


def test_a_digest_that_differs_leaves_the_step_out_and_counts_it(make_episode, kept):
    episode = changed(make_episode(1, steps=3), 1, input_digest="0" * 64)

    trajectory = kept(episode)

    assert [step.usable for step in trajectory.steps] == [True, False, True]
    assert trajectory.left_out == 1


def test_the_stored_log_probability_is_kept_as_it_is(make_episode, kept):
    episode = changed(make_episode(1), 0, log_prob=-4.25)

    assert kept(episode).steps[0].log_mu == -4.25


def test_valid_and_repeats_are_the_steps_own(make_episode, kept):
    episode = changed(make_episode(1), 0, valid=False, repeat_count=3)

    steps = kept(episode).steps

    assert [(step.valid, step.repeats) for step in steps] == [(False, 3), (True, 0), (True, 0)]


def test_a_scripted_action_becomes_the_choices_that_stand_for_it(make_episode, kept):
    episode = make_episode(2, steps=2)
    seen = episode.steps[0].observation
    inputs = list(encode_episode(scripted(episode, tap_element(seen, 1), finish())))

    first, last = kept(scripted(episode, tap_element(seen, 1), finish())).steps

    item = next(i for i, one in enumerate(inputs[0].items) if one.element == 1)
    assert first.choices[:2].tolist() == [0, FIRST_POINTER + inputs[0].item_start + item]
    assert last.choices[0] == ACTION_TYPES.index("finish_complete")
    assert (first.count, last.count) == (2, 1)
    assert first.usable
    assert last.usable


def test_an_action_outside_the_grammar_is_left_out(make_episode, kept):
    swipe = Action(ActionKind.SWIPE, x=0.1, y=0.1, x2=0.9, y2=0.9)
    trajectory = kept(scripted(make_episode(2, steps=2), swipe, finish()))

    assert [step.usable for step in trajectory.steps] == [False, True]
    assert trajectory.left_out == 1


def test_a_taught_action_replaces_what_was_done_only_where_it_is_asked_for(make_episode, kept):
    episode = changed(make_episode(4, steps=1), 0, taught_action=finish())
    own = episode.steps[0].decisions[0].choice

    taught, untaught = kept(episode, taught=True).steps[0], kept(episode).steps[0]

    assert taught.choices[0] == ACTION_TYPES.index("finish_complete")
    assert taught.count == 1
    assert untaught.choices[0] == own


def test_the_prefix_of_a_decision_is_what_was_chosen_before(make_episode, kept):
    for seed in range(6):
        episode = make_episode(seed)
        for step, sample in zip(episode.steps, kept(episode).steps, strict=True):
            kinds = {"type": 1, "pointer": 2, "word": 3}
            expected = [
                (0, 0),
                *((kinds[one.head], one.choice) for one in step.decisions[:-1]),
            ]
            assert sample.prefix[: sample.count].tolist() == [list(row) for row in expected]
            assert len(heads_of(ACTION_TYPES[step.decisions[0].choice])) == sample.count


def test_padding_is_marked_and_allows_one_choice_only(make_trajectory, table):
    samples = [make_trajectory(seed, steps=1).steps[0] for seed in range(6)]
    batch = step_batch(samples, table)

    lengths = torch.tensor([len(sample.text_rows) for sample in samples])
    assert torch.equal(batch.mask.sum(1), lengths.float())
    for row, sample in enumerate(samples):
        length, count = int(lengths[row]), sample.count
        assert not batch.text[row, length:].any()
        assert not batch.choice_masks[row, :count, FIRST_POINTER + length :].any()
        assert batch.decided[row].tolist() == [1.0] * count + [0.0] * (4 - count)
        assert (batch.choice_masks[row, count:].sum(-1) == 1).all()
        assert batch.choice_masks[row].gather(-1, batch.choices[row, :, None]).all()


def test_text_vectors_are_those_of_the_phones_table(make_episode, kept, table):
    episode = make_episode(5, steps=1)
    (encoded,) = encode_episode(episode)

    batch = step_batch(kept(episode).steps, table)

    assert np.array_equal(batch.text[0].numpy(), table.embed(encoded.texts))


def test_references_are_padded_and_missing_ones_marked(make_trajectory, table):
    samples = [make_trajectory(seed, steps=1).steps[0] for seed in range(3)]
    samples[0].reference = np.full(samples[0].masks.shape, -0.5, dtype=np.float32)

    batch = step_batch(samples, table)

    assert batch.has_reference.tolist() == [1.0, 0.0, 0.0]
    width = samples[0].masks.shape[1]
    assert (batch.reference[0, :, :width] == -0.5).all()
    assert not batch.reference[0, :, width:].any()
