"""Adapters: fresh ones change nothing, and what is read out loads back exactly."""

import copy

import numpy as np
import pytest
import torch

from exporters import lora
from exporters.errors import AdapterMismatchError
from exporters.families.layout_t5 import TorchCallables, text_table_of
from sync.adapter_file import pack, unpack
from sync.decoding import collate


@pytest.fixture
def adapted(network):
    return lora.attach(copy.deepcopy(network), rank=4)


def trained(adapted, seed=0):
    """Every factor moved somewhere."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, value in adapted.named_parameters():
            if ".lora_" in name:
                value.add_(torch.randn(value.shape, generator=generator) * 0.1)
    return adapted


def logits_of(network, screens):
    """Of all heads after one pointed choice, side by side."""
    sides = TorchCallables(network)
    memory = sides.encoder(collate(screens, text_table_of(network)))
    prefix = np.array([[(0, 0), (1, 0), (2, 1)]] * len(screens))
    logits = sides.decoder(memory, prefix)
    return np.concatenate([logits.types, logits.pointers, logits.words], axis=1)


def test_fresh_adapter_is_exactly_the_base(network, adapted, screens):
    assert np.array_equal(logits_of(network, screens), logits_of(adapted, screens))


def test_trained_adapter_is_not_the_base(network, adapted, screens):
    before, after = logits_of(network, screens), logits_of(trained(adapted), screens)
    assert not np.allclose(before, after, atol=1e-2)


def test_only_the_adapter_requires_gradients(adapted):
    trainable = {name for name, value in adapted.named_parameters() if value.requires_grad}
    assert trainable
    assert all(".lora_" in name for name in trainable)


def test_every_target_has_both_tensors_with_the_rank_inside(adapted):
    tensors = lora.adapter_tensors(adapted)
    paths = {name.rpartition(".")[0] for name in tensors}
    # 2 encoder blocks with 6 layers, 1 decoder block with 10, 4 heads
    assert len(paths) == 26
    for path in paths:
        a, b = tensors[f"{path}.lora_a"], tensors[f"{path}.lora_b"]
        assert (a.shape[1], b.shape[0]) == (4, 4)
        assert (a.dtype, b.dtype) == (np.float32, np.float32)
        assert a.flags.c_contiguous
        assert b.flags.c_contiguous


def test_tensors_are_the_side_path_of_their_layer(network, adapted):
    tensors = lora.adapter_tensors(trained(adapted))
    x = torch.randn(5, 24)
    side = x.numpy() @ tensors["type_head.lora_a"] @ tensors["type_head.lora_b"]
    expected = adapted.type_head(x).detach().numpy() - network.type_head(x).numpy()
    assert side == pytest.approx(expected, abs=1e-5)


def test_loading_what_was_read_out_is_an_exact_inverse(network, adapted):
    tensors = lora.adapter_tensors(trained(adapted))
    other = lora.attach(copy.deepcopy(network), rank=4, seed=9)

    lora.load_tensors(other, tensors)

    again = lora.adapter_tensors(other)
    assert set(again) == set(tensors)
    assert all(np.array_equal(again[name], tensors[name]) for name in tensors)


def test_adapter_file_carries_an_adapter_to_another_network(network, adapted):
    tensors = lora.adapter_tensors(trained(adapted))
    file = unpack(pack(tensors, base_digest="0" * 64, policy_io_version="1"))
    other = lora.attach(copy.deepcopy(network), rank=4)
    lora.load_tensors(other, file.tensors)
    again = lora.adapter_tensors(other)
    assert all(np.array_equal(again[name], file.tensors[name]) for name in tensors)


def test_no_tensors_mean_the_base(network, adapted, screens):
    lora.load_tensors(trained(adapted), {})
    assert np.array_equal(logits_of(network, screens), logits_of(adapted, screens))


def test_merged_weights_do_what_side_paths_do(network, adapted):
    merged = lora.merged_weights(lora.adapted_layers(trained(adapted)))
    assert len(merged) == 26
    for name, weight in merged.items():
        path = name.removesuffix(".weight")
        x = torch.randn(5, weight.shape[1], generator=torch.Generator().manual_seed(1))
        plain = network.get_submodule(path)(x)
        side = adapted.get_submodule(path)(x)
        assert torch.allclose(x @ weight.T, side, atol=1e-4), path
        assert not torch.allclose(plain, side, atol=1e-2), path


def test_gradients_through_merged_weights_are_those_of_side_paths(adapted):
    for name, weight in lora.merged_weights(lora.adapted_layers(trained(adapted))).items():
        layer = adapted.get_submodule(name.removesuffix(".weight"))
        x = torch.randn(5, weight.shape[1], generator=torch.Generator().manual_seed(1))
        factors = [one for one in layer.parameters() if one.requires_grad]
        side = torch.autograd.grad(layer(x).square().sum(), factors)
        merged = torch.autograd.grad((x @ weight.T).square().sum(), factors)
        assert len(factors) == 2
        for one, other in zip(side, merged, strict=True):
            assert torch.allclose(one, other, atol=1e-3, rtol=1e-3), name


def test_same_seed_gives_the_same_fresh_adapter(network):
    one, other = (lora.attach(copy.deepcopy(network), rank=4, seed=3) for _ in range(2))
    first, second = lora.adapter_tensors(one), lora.adapter_tensors(other)
    assert all(np.array_equal(first[name], second[name]) for name in first)


def test_attaching_twice_is_misuse(adapted):
    with pytest.raises(ValueError, match="adapter already"):
        lora.attach(adapted)


@pytest.mark.parametrize("change", ["name", "shape", "missing"])
def test_foreign_tensors_are_refused_and_change_nothing(adapted, change):
    tensors = lora.adapter_tensors(trained(adapted))
    before = {name: value.copy() for name, value in tensors.items()}
    if change == "name":
        tensors["nowhere.lora_a"] = tensors.pop("type_head.lora_a")
    elif change == "shape":
        tensors["type_head.lora_a"] = tensors["type_head.lora_a"][:-1]
    else:
        del tensors["type_head.lora_a"]

    with pytest.raises(AdapterMismatchError) as refused:
        lora.load_tensors(adapted, tensors)

    assert refused.value.reason == "base_mismatch"
    after = lora.adapter_tensors(adapted)
    assert all(np.array_equal(before[name], after[name]) for name in before)
