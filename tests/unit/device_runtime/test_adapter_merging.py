"""An adapter on a base's weights: W + A B where it says so, and nothing that does not fit."""

from pathlib import Path

import numpy as np
import pytest

from device_runtime.adapter_merging import adapter_shapes, merged
from device_runtime.base_files import BaseFiles
from device_runtime.errors import InstallError


@pytest.fixture
def base():
    random = np.random.default_rng(0)
    weights = {
        "first.q.weight_t": random.normal(size=(6, 4)).astype(np.float32),
        "head.weight_t": random.normal(size=(4, 9)).astype(np.float32),
        "norm.weight": np.ones(4, dtype=np.float32),
    }
    return BaseFiles(
        Path(), "0" * 64, ("first.q", "head"), weights, {}, np.zeros((2, 4), np.float16)
    )


def factors(inputs, outputs, rank, value=0.5):
    return np.full((inputs, rank), value, np.float32), np.full((rank, outputs), value, np.float32)


def test_a_named_layer_gets_the_product_of_its_factors_added(base):
    a, b = factors(6, 4, rank=3)
    found = merged(base, {"first.q.lora_a": a, "first.q.lora_b": b})
    assert found["first.q.weight_t"] == pytest.approx(base.weights["first.q.weight_t"] + 0.75)


def test_all_else_is_the_bases_own(base):
    a, b = factors(6, 4, rank=3)
    found = merged(base, {"first.q.lora_a": a, "first.q.lora_b": b})
    assert set(found) == set(base.weights)
    assert found["head.weight_t"] is base.weights["head.weight_t"]
    assert found["norm.weight"] is base.weights["norm.weight"]


def test_no_tensors_are_the_base(base):
    assert merged(base, {}) == dict(base.weights)


def test_the_bases_weights_stay_as_they_are(base):
    before = base.weights["first.q.weight_t"].copy()
    a, b = factors(6, 4, rank=3)
    merged(base, {"first.q.lora_a": a, "first.q.lora_b": b})
    assert np.array_equal(base.weights["first.q.weight_t"], before)


def test_ranks_may_differ_between_layers(base):
    tensors = dict(zip(("first.q.lora_a", "first.q.lora_b"), factors(6, 4, rank=3), strict=True))
    tensors |= dict(zip(("head.lora_a", "head.lora_b"), factors(4, 9, rank=1), strict=True))
    assert merged(base, tensors)["head.weight_t"] == pytest.approx(
        base.weights["head.weight_t"] + 0.25
    )


def test_shapes_are_those_of_a_whole_adapter(base):
    assert adapter_shapes(base, 2) == {
        "first.q.lora_a": (6, 2),
        "first.q.lora_b": (2, 4),
        "head.lora_a": (4, 2),
        "head.lora_b": (2, 9),
    }


@pytest.mark.parametrize(
    ("a", "b", "names", "told"),
    [
        ((6, 3), (2, 4), "first.q", "ranks 3 and 2"),
        ((5, 3), (3, 4), "first.q", "5 x 4 and not 6 x 4"),
        ((6, 3), (3, 4), "second.q", "no layer"),
        ((6,), (3, 4), "first.q", "1 axes"),
    ],
)
def test_what_does_not_fit_is_told_and_refused(base, a, b, names, told):
    tensors = {
        f"{names}.lora_a": np.zeros(a, np.float32),
        f"{names}.lora_b": np.zeros(b, np.float32),
    }
    with pytest.raises(InstallError, match=told) as refused:
        merged(base, tensors)
    assert refused.value.reason == "base_mismatch"


@pytest.mark.parametrize("missing", ["lora_a", "lora_b"])
def test_a_layer_with_one_factor_is_refused(base, missing):
    tensors = dict(zip(("first.q.lora_a", "first.q.lora_b"), factors(6, 4, rank=3), strict=True))
    del tensors[f"first.q.{missing}"]
    with pytest.raises(InstallError, match="one factor"):
        merged(base, tensors)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e30])
def test_values_and_products_that_are_not_finite_are_refused(base, value):
    a, b = factors(6, 4, rank=3, value=value)
    with pytest.raises(InstallError) as refused:
        merged(base, {"first.q.lora_a": a, "first.q.lora_b": b})
    assert refused.value.reason == "not_finite"
