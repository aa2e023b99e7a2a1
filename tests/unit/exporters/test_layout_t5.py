"""The network: masks, teacher forcing, and agreement with step-by-step decoding."""

from random import Random

import numpy as np
import pytest
import torch

from exporters.families.layout_t5 import (
    LayoutT5,
    LayoutT5Config,
    TorchCallables,
    text_table_of,
)
from sync.decoding import collate, decide, log_prob_of
from sync.grammar import MAX_DECISIONS


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


def test_padding_changes_no_logit(network, screens):
    sides, table = TorchCallables(network), text_table_of(network)
    prefix = np.array([[(0, 0), (1, 0), (2, 1)]])
    together = sides.decoder(
        sides.encoder(collate(screens, table)), np.repeat(prefix, len(screens), axis=0)
    )
    for row, item in enumerate(screens):
        alone = sides.decoder(sides.encoder(collate([item], table)), prefix)
        assert together.types[row] == pytest.approx(alone.types[0], abs=1e-4)
        assert together.words[row] == pytest.approx(alone.words[0], abs=1e-4)
        assert together.pointers[row, : item.length] == pytest.approx(alone.pointers[0], abs=1e-4)


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
