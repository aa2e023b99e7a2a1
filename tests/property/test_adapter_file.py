"""The adapter file for any tensors and any bytes."""

import math
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sync.adapter_file import pack, unpack
from sync.errors import RejectedError

LEVELS = {"int8": 127, "int4": 7}
VALUES = st.floats(-(2.0**40), 2.0**40, width=32, allow_nan=False)
TENSORS = hnp.arrays(np.float32, st.tuples(st.integers(1, 20), st.integers(1, 20)), elements=VALUES)


def packed(tensors, **options):
    return pack(tensors, base_digest="b" * 64, policy_io_version="1", **options)


def components(values):
    """float64 [r, n]: the rank components; the shorter side is the rank."""
    rows, columns = values.shape
    return (values.T if columns < rows else values).astype(np.float64)


@given(TENSORS, st.sampled_from(["int8", "int4"]), st.integers(1, 80))
def test_every_value_is_within_half_a_step_of_its_block(values, quantisation, block):
    data = packed({"t": values}, quantisation=quantisation, block=block)
    found = unpack(data).tensors["t"]
    assert found.shape == values.shape
    largest = np.abs(values).max()
    for wanted, got in zip(components(values), components(found), strict=True):
        size = math.ceil(wanted.size / math.ceil(wanted.size / block))
        for start in range(0, wanted.size, size):
            part = slice(start, start + size)
            absmax = np.abs(wanted[part]).max()
            step = (absmax * (1 + 2.0**-10) + largest * 2.0**-23) / LEVELS[quantisation]
            assert np.abs(got[part] - wanted[part]).max() <= step / 2 + 2.0**-123
            if absmax == 0.0:
                assert not got[part].any()


@given(TENSORS)
def test_fp32_is_exact_for_every_tensor(values):
    found = unpack(packed({"t": values}, quantisation="fp32")).tensors["t"]
    np.testing.assert_array_equal(found, values)


@given(
    st.dictionaries(st.sampled_from("abcdef"), TENSORS, max_size=4),
    st.sampled_from(["int8", "int4", "fp32"]),
    st.randoms(use_true_random=False),
)
def test_bytes_depend_on_the_tensors_only(tensors, quantisation, random):
    first = packed(tensors, quantisation=quantisation)
    names = list(tensors)
    random.shuffle(names)
    again = {name: np.asfortranarray(tensors[name].copy()) for name in names}
    assert packed(again, quantisation=quantisation) == first


@given(
    st.sampled_from(["int8", "int4", "fp32"]), st.integers(0, 10**6), st.integers(1, 255), st.data()
)
@settings(max_examples=300)
def test_damaged_bytes_are_refused_or_still_a_whole_adapter(quantisation, at, flip, data):
    values = np.linspace(-1, 1, 60, dtype=np.float32).reshape(20, 3)
    damaged = bytearray(packed({"t": values}, quantisation=quantisation))
    damaged[at % len(damaged)] ^= flip
    end = data.draw(st.integers(0, len(damaged)) | st.just(len(damaged)))
    with suppress(RejectedError):  # any other error, and any value out of range, fails
        opened = unpack(bytes(damaged[:end]))
        assert all(np.isfinite(tensor).all() for tensor in opened.tensors.values())


@given(st.sampled_from([b"ORADAPT1", b"ORADAPT2"]), st.binary(max_size=200))
def test_noise_is_never_an_adapter(magic, noise):
    with pytest.raises(RejectedError):
        unpack(magic + noise)
