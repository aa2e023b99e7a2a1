"""The adapter file: what goes in comes out within half a step, and nothing else is believed."""

import base64
import dataclasses
import hashlib
import json
import struct
import zlib

import numpy as np
import pytest

from sync.adapter_file import MAX_BODY_BYTES, AdapterFile, adapter_digest, pack, unpack
from sync.errors import RejectedError

BASE = "b" * 64
GOLDEN = (
    "T1JBREFQVDH3AAAAeyJiYXNlX2RpZ2VzdCI6ImIiLCJibG9jayI6MiwiYm9keV9zaGEyNTYiOiI0YTZkM2YzYjIy"
    "YzI3MTBkODllNWVjNWFlNTVlMGEyZTVjZTcyMDdhY2U3YjM2NWE3ZGIyMWI5N2Y5ZTNkMjVlIiwiYm9keV9zaXpl"
    "X2J5dGVzIjo4LCJwb2xpY3lfaW9fdmVyc2lvbiI6IjEiLCJxdWFudGlzYXRpb24iOiJpbnQ4Iiwic2NoZW1hX3Zl"
    "cnNpb24iOjEsInRlbnNvcnMiOlt7ImV4cG9uZW50IjoxLCJuYW1lIjoidyIsInNoYXBlIjpbMiwyXX1dfXjaY7Dg"
    "lKg/wFAPAAb5Ahg="
)
GOLDEN_BODIES = {
    "int8": "00380f277f0003810912",
    "int4": "8a3800288f1898",
    "fp32": "0000fe4200000000000040400000e0c00000003f0000803f",
}
EXPONENTS = {"int8": 1, "int4": 5, "fp32": 0}
"""Of the same tensor: two scales, then the codes of one rank component after the other."""


def packed(tensors, **options):
    return pack(tensors, base_digest=BASE, policy_io_version="1", **options)


def tensor(rows, columns, seed=0, scale=0.01):
    values = np.random.default_rng(seed).normal(size=(rows, columns)) * scale
    return values.astype(np.float32)


def parts(data):
    """Header as a dict, and the body, of an adapter file."""
    (length,) = struct.unpack_from("<I", data, 8)
    header = zlib.decompress(data[12 : 12 + length])
    return json.loads(header), zlib.decompress(data[12 + length :])


def rebuilt(header, body):
    text = zlib.compress(json.dumps(header, sort_keys=True, separators=(",", ":")).encode(), 9)
    return b"ORADAPT2" + struct.pack("<I", len(text)) + text + zlib.compress(body, 9)


def reason_of(data):
    with pytest.raises(RejectedError) as caught:
        unpack(data)
    return caught.value.reason


def test_fp32_comes_back_exactly():
    tensors = {"a": tensor(16, 4), "b": tensor(4, 16, seed=1)}
    opened = unpack(packed(tensors, quantisation="fp32"))
    assert set(opened.tensors) == {"a", "b"}
    for name, values in tensors.items():
        np.testing.assert_array_equal(opened.tensors[name], values)


@pytest.mark.parametrize(("quantisation", "levels"), [("int8", 127), ("int4", 7)])
def test_quantised_values_stay_within_half_a_step(quantisation, levels):
    values = tensor(192, 8)
    opened = unpack(packed({"a": values}, quantisation=quantisation))
    step = np.abs(values).max() / levels * (1 + 2**-10)
    assert np.abs(opened.tensors["a"] - values).max() <= step / 2
    assert not np.array_equal(opened.tensors["a"], values)


def test_it_says_what_it_belongs_to():
    data = packed({"a": tensor(4, 2)}, quantisation="int4")
    opened = unpack(data)
    expected = ("1", BASE, "int4", adapter_digest(data))
    found = (
        opened.policy_io_version,
        opened.base_digest,
        opened.quantisation,
        opened.digest,
    )
    assert found == expected


def test_same_tensors_give_the_same_bytes_in_any_order_and_memory_layout():
    a, b = tensor(32, 4), tensor(4, 32, seed=1)
    straight = packed({"a": a, "b": b})
    turned = packed({"b": np.asfortranarray(b), "a": np.asfortranarray(a)})
    assert straight == turned


def test_scales_follow_the_rank_and_not_the_layout():
    # one rank component is tiny: mixed into blocks with the large one it would be lost
    values = np.stack([tensor(1, 64, scale=100.0)[0], tensor(1, 64, seed=1, scale=1e-3)[0]], axis=1)
    found = unpack(packed({"a": values})).tensors["a"]
    small_error = np.abs(found[:, 1] - values[:, 1]).max()
    assert small_error <= np.abs(values[:, 1]).max() / 127


@pytest.mark.parametrize("quantisation", ["int8", "int4", "fp32"])
@pytest.mark.parametrize("magnitude", [0.0, 1e-38, 1e-30, 1e-9, 1.0, 1e9])
def test_zero_tiny_and_huge_values_have_a_scale(quantisation, magnitude):
    values = (np.ones((3, 70)) * magnitude).astype(np.float32)
    found = unpack(packed({"a": values}, quantisation=quantisation)).tensors["a"]
    np.testing.assert_allclose(found, values, rtol=1e-3, atol=1e-37)


def test_an_empty_adapter_is_the_base_itself():
    assert dict(unpack(packed({})).tensors) == {}


def test_int8_takes_at_most_27_and_int4_14_percent_of_a_file_of_floats():
    tensors = {f"block.{i}.layer.lora_a": tensor(96, 16, seed=i) for i in range(26)}
    tensors |= {f"block.{i}.layer.lora_b": tensor(16, 96, seed=30 + i) for i in range(26)}
    sizes = {q: len(packed(tensors, quantisation=q)) for q in ("fp32", "int8", "int4")}
    assert sizes["fp32"] < 4 * sum(one.size for one in tensors.values())
    assert sizes["int8"] <= 0.27 * sizes["fp32"]
    assert sizes["int4"] <= 0.14 * sizes["fp32"]


def test_unpacked_tensors_cannot_be_changed_by_accident():
    opened = unpack(packed({"a": tensor(4, 2)}))
    with pytest.raises(ValueError):
        opened.tensors["a"][0, 0] = 1.0


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("quantisation", ["int8", "int4", "fp32"])
def test_values_that_are_not_finite_are_never_packed(value, quantisation):
    values = tensor(8, 4)
    values[3, 1] = value
    with pytest.raises(RejectedError) as caught:
        packed({"a": values}, quantisation=quantisation)
    assert caught.value.reason == "not_finite"


def test_a_diverged_learner_is_noticed():
    with pytest.raises(RejectedError) as caught:
        packed({"a": np.full((2, 2), 2.0**41, dtype=np.float32)})
    assert caught.value.reason == "too_large"


@pytest.mark.parametrize(
    "tensors",
    [
        {"a": np.zeros((2, 2))},
        {"a": np.zeros(4, dtype=np.float32)},
        {"a": np.zeros((0, 4), dtype=np.float32)},
        {"../a": np.zeros((2, 2), dtype=np.float32)},
        {"": np.zeros((2, 2), dtype=np.float32)},
    ],
)
def test_misuse_is_a_value_error(tensors):
    with pytest.raises(ValueError):
        packed(tensors)


def test_an_impossible_block_is_a_value_error():
    with pytest.raises(ValueError):
        packed({}, block=0)


def test_nan_in_a_file_is_refused_before_it_acts():
    header, body = parts(packed({"a": tensor(8, 8)}, quantisation="fp32"))
    spoilt = np.frombuffer(body, dtype="<f4").copy()
    spoilt[5] = np.nan
    body = spoilt.tobytes()
    header["body_sha256"] = hashlib.sha256(body).hexdigest()
    assert reason_of(rebuilt(header, body)) == "not_finite"


def test_an_infinite_scale_in_a_file_is_refused():
    header, body = parts(packed({"a": tensor(8, 8)}))
    body = np.array([np.inf], dtype="<f2").tobytes() + body[2:]
    header["body_sha256"] = hashlib.sha256(body).hexdigest()
    assert reason_of(rebuilt(header, body)) == "not_finite"


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("schema_version", 1, "malformed"),
        ("schema_version", 3, "malformed"),
        ("body_size_bytes", MAX_BODY_BYTES + 1, "too_large"),
        ("body_size_bytes", 3, "malformed"),
        ("body_sha256", "0" * 64, "malformed"),
        ("quantisation", "int2", "malformed"),
        ("block", 0, "malformed"),
        ("block", 1 << 40, "malformed"),
        ("tensors", [{"name": "a", "shape": [1 << 40, 1 << 40], "exponent": 0}], "malformed"),
        ("tensors", [{"name": "a", "shape": [-8, -8], "exponent": 0}], "malformed"),
        ("tensors", [{"name": "a", "shape": [8, 8], "exponent": 5000}], "malformed"),
        ("tensors", [{"name": "../a", "shape": [8, 8], "exponent": 0}], "malformed"),
        ("tensors", [{"name": "a", "shape": [8], "exponent": 0}], "malformed"),
        ("tensors", "none", "malformed"),
    ],
)
def test_a_header_that_lies_is_refused(field, value, reason):
    header, body = parts(packed({"a": tensor(8, 8)}))
    header[field] = value
    assert reason_of(rebuilt(header, body)) == reason


def test_tensors_out_of_order_are_refused():
    header, body = parts(packed({"a": tensor(8, 8), "b": tensor(8, 8)}))
    header["tensors"].reverse()
    assert reason_of(rebuilt(header, body)) == "malformed"


def test_a_body_that_inflates_without_end_is_cut_off():
    header, _ = parts(packed({"a": tensor(8, 8)}))
    assert reason_of(rebuilt(header, bytes(50_000_000))) == "malformed"


def test_a_header_that_inflates_without_end_is_cut_off():
    text = zlib.compress(bytes(50_000_000), 9)
    assert reason_of(b"ORADAPT2" + struct.pack("<I", len(text)) + text) == "malformed"


def test_bytes_after_the_body_are_refused():
    assert reason_of(packed({"a": tensor(8, 8)}) + b"x") == "malformed"


def test_a_truncated_file_is_refused():
    data = packed({"a": tensor(8, 8)})
    for length in (0, 5, 11, 40, len(data) - 1):
        assert reason_of(data[:length]) == "malformed"


def test_a_field_of_a_later_program_is_passed_over():
    header, body = parts(packed({"a": tensor(8, 8)}))
    header["trained_by"] = "a later program"
    assert isinstance(unpack(rebuilt(header, body)), AdapterFile)


def test_the_value_is_frozen():
    opened = unpack(packed({}))
    with pytest.raises(dataclasses.FrozenInstanceError):
        opened.digest = ""  # type: ignore[misc]


def test_files_of_the_first_version_stay_readable():
    opened = unpack(base64.b64decode(GOLDEN))
    np.testing.assert_array_equal(
        opened.tensors["w"],
        np.array([[127.0, -64.0], [0.0, 0.5004539489746094]], dtype=np.float32),
    )


@pytest.mark.parametrize(("quantisation", "body"), sorted(GOLDEN_BODIES.items()))
def test_the_same_adapter_has_the_same_bytes_on_every_machine(quantisation, body):
    """Releases are signed as bytes, and phones of every version read them."""
    values = np.array([[127.0, -7.0], [0.0, 0.5], [3.0, 1.0]], dtype=np.float32)
    data = packed({"w": values}, quantisation=quantisation)
    header, found = parts(data)
    assert found.hex() == body
    assert header["tensors"] == [
        {"name": "w", "shape": [3, 2], "exponent": EXPONENTS[quantisation]}
    ]
