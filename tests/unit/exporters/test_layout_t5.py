"""The network: masks, teacher forcing, and agreement with step-by-step decoding."""

from random import Random

import numpy as np
import pytest
import torch

from exporters.families.forced_actions import decisions_of, force
from exporters.families.layout_t5 import (
    LayoutT5,
    LayoutT5Config,
    TorchCallables,
    text_table_of,
)
from sync.decoding import collate, decide, log_prob_of
from sync.grammar import ACTION_TYPES, MAX_DECISIONS


def drawn(network, screens, temperature=1.0, seed=0):
    side = TorchCallables(network)
    return decide(
        screens,
        side.encoder,
        side.decoder,
        table=text_table_of(network),
        temperatures=[temperature] * len(screens),
        randoms=[Random(seed + row) for row in range(len(screens))],
    )


def tensors(network, screens):
    batch = collate(screens, text_table_of(network))
    return [torch.from_numpy(one) for one in (batch.text, batch.ids, batch.bits, batch.mask)]


@pytest.mark.parametrize("seed", range(8))
def test_teacher_forcing_gives_the_log_probs_of_step_by_step_decoding(network, screens, seed):
    choices = drawn(network, screens, seed=seed)
    forced = force([one.decisions for one in choices], tokens=max(one.length for one in screens))

    scores = network.action_scores(*tensors(network, screens), forced)

    expected = [[one.log_prob for one in choice.decisions] for choice in choices]
    for row, chain in enumerate(expected):
        assert scores.log_probs[row, : len(chain)].tolist() == pytest.approx(chain, abs=1e-4)
        assert scores.log_probs[row, len(chain) :].abs().sum() == 0


def test_padding_changes_no_score(network, screens):
    chains = [one.decisions for one in drawn(network, screens)]
    together = network.action_scores(
        *tensors(network, screens), force(chains, tokens=max(one.length for one in screens))
    )
    for row, item in enumerate(screens):
        alone = network.action_scores(
            *tensors(network, [item]), force([chains[row]], tokens=item.length)
        )
        assert torch.allclose(alone.log_probs[0], together.log_probs[row], atol=1e-4)
        assert torch.allclose(alone.entropies[0], together.entropies[row], atol=1e-4)
        assert torch.allclose(alone.pooled[0], together.pooled[row], atol=1e-4)


def test_forbidden_choices_have_no_probability_and_allowed_ones_sum_to_one(network, screens):
    forced = force(
        [one.decisions for one in drawn(network, screens)],
        tokens=max(one.length for one in screens),
    )

    scores = network.action_scores(*tensors(network, screens), forced)

    present = forced.heads >= 0
    probabilities = scores.distributions.exp()
    assert probabilities[present][~forced.masks[present]].max() == 0
    assert probabilities[present].sum(-1) == pytest.approx(1.0, abs=1e-5)


def test_entropy_is_that_of_the_masked_distribution(network, screens):
    forced = force(
        [one.decisions for one in drawn(network, screens)],
        tokens=max(one.length for one in screens),
    )
    scores = network.action_scores(*tensors(network, screens), forced)
    row = scores.distributions[0, 0][forced.masks[0, 0]].double()
    assert scores.entropies[0, 0].item() == pytest.approx(-(row.exp() * row).sum().item(), abs=1e-5)


def test_a_later_decision_does_not_change_an_earlier_one(network, screens):
    batch = tensors(network, screens)
    memory = network.encode_tokens(*batch)
    prefix = torch.zeros(len(screens), MAX_DECISIONS, 2, dtype=torch.int64)
    other = prefix.clone()
    other[:, 2] = torch.tensor([2, 1])

    first = network.decode(memory, batch[3], prefix)
    second = network.decode(memory, batch[3], other)

    assert torch.equal(first[:, :2], second[:, :2])
    assert not torch.allclose(first[:, 2], second[:, 2])


def test_gradients_are_finite_where_actions_are_short(network, screens):
    network.requires_grad_(True)
    forced = force(
        [decisions_of(item, (ACTION_TYPES.index("back"),)) for item in screens],
        tokens=max(one.length for one in screens),
    )

    scores = network.action_scores(*tensors(network, screens), forced)
    (scores.log_probs.sum() + scores.entropies.sum()).backward()

    gradients = [one.grad for one in network.parameters() if one.grad is not None]
    assert all(torch.isfinite(one).all() for one in gradients)
    assert network.type_head.weight.grad.abs().sum() > 0


def test_text_vectors_are_those_of_the_phones_table(network):
    texts = ["search trains", "", "Berlin", "!!!"]
    expected = text_table_of(network).embed(texts)
    assert network.embed_texts(texts).numpy() == pytest.approx(expected, abs=1e-6)


def test_text_table_learns_through_embedded_texts(network):
    network.requires_grad_(True)
    network.embed_texts(["berlin"]).sum().backward()
    touched = network.text_table.grad.abs().sum(1) > 0
    assert 0 < int(touched.sum()) < 20


def test_log_prob_of_agrees_with_what_was_drawn(network, screens):
    choices = drawn(network, screens)
    side = TorchCallables(network)
    again = log_prob_of(
        screens,
        [one.choices for one in choices],
        side.encoder,
        side.decoder,
        table=text_table_of(network),
    )
    assert again == pytest.approx(np.array([one.log_prob for one in choices]), abs=1e-4)


def test_width_that_heads_do_not_divide_is_refused():
    with pytest.raises(ValueError, match="no multiple"):
        LayoutT5Config(d_model=25, heads=2)


def test_default_network_has_the_size_that_was_measured():
    torch.manual_seed(0)
    count = sum(one.numel() for one in LayoutT5().parameters())
    assert 1_100_000 < count < 1_250_000
