"""8-bit graphs: close to the network, under every adapter, in whatever batch, on any processor."""

import dataclasses
from random import Random

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from torch import nn

from device_runtime.policy import OnnxPolicy
from exporters.codecs import codec_reports
from exporters.errors import ParityError
from exporters.graph_builder import GraphBuilder
from exporters.parity import ParityReport, check, compare, phone_side, require_parity
from sync.adapter_file import pack, unpack
from sync.policy_io import POLICY_IO_VERSION


@pytest.fixture(scope="module")
def policy(base_dir, tensors):
    policy = OnnxPolicy(base_dir, quantisation="int8")
    policy.load_adapter("r1", tensors)
    policy.use("r1")
    return policy


def fresh(requests):
    return [
        dataclasses.replace(request, random=Random(row)) for row, request in enumerate(requests)
    ]


def chosen(decided):
    """Everything about a decision but its probabilities."""
    plain = tuple(dataclasses.replace(one, log_prob=0.0) for one in decided.decisions)
    return dataclasses.replace(decided, decisions=plain, log_prob=0.0)


def test_it_takes_the_networks_actions_on_logged_observations(adapted, base_dir, tensors, encoded):
    report = check(adapted, base_dir, tensors, encoded, quantisation="int8")
    assert report.agreement >= 0.97
    assert 0 < report.median_difference <= report.p99_difference <= report.max_difference


def test_an_adapter_acts_on_it_as_on_floats(base_dir, tensors, encoded, noise):
    """A quantiser may take an adapter's slots for constants, and then nothing changes any more."""
    int8, other = (phone_side(base_dir, some, "int8") for some in (tensors, noise(tensors, seed=4)))
    floats = phone_side(base_dir, tensors)
    assert compare(floats, int8, encoded[:60]).agreement > 0.9
    assert compare(floats, other, encoded[:60]).agreement < 0.7


def test_a_decision_does_not_depend_on_its_batch(policy, logged):
    """One scale for the whole of a batch would make it depend on neighbours and padding."""
    together = policy.decide(fresh(logged[:24]))
    alone = [policy.decide([request])[0] for request in fresh(logged[:24])]
    assert list(map(chosen, together)) == list(map(chosen, alone))
    sums = [[one.log_prob for one in decided] for decided in (together, alone)]
    assert sums[0] == pytest.approx(sums[1], abs=1e-12)  # numpy adds rows of other lengths
    assert len({request.encoded.length for request in logged[:24]}) > 1


def test_steps_say_how_they_were_computed(policy, base_dir, logged):
    assert policy.decide(fresh(logged[:1]))[0].quantisation == "int8"
    assert OnnxPolicy(base_dir).decide(fresh(logged[:1]))[0].quantisation == "fp32"


def test_only_the_large_layers_are_computed_in_8_bits(base_dir):
    graph = onnx.load(base_dir / "decoder.int8.onnx", load_external_data=False).graph
    inputs = [name for node in graph.node if node.op_type == "MatMul" for name in node.input]
    weights = {name for name in inputs if name.endswith(".weight_t")}
    assert weights == {
        f"{name}.weight_t" for name in ("pointed", "type_head", "word_head", "pointer_query")
    }
    assert sum(node.op_type == "MatMulInteger" for node in graph.node) == 8


def test_products_of_the_largest_codes_do_not_saturate(tmp_path):
    """Signed codes lose sums above 32767 on processors that add pairs of products in 16 bits."""
    layer = nn.Linear(64, 8, bias=False)
    with torch.no_grad():
        layer.weight.fill_(1.0)
    builder = GraphBuilder("layer", int8=True)
    x = builder.input("x", ("batch", 64))
    builder.output(builder.linear(x, layer, "block.q"), "y", ("batch", 8))
    weight = builder.weights["block.q.weight_t"]
    (tmp_path / "weights").write_bytes(weight.tobytes())
    model = builder.model("weights", {"block.q.weight_t": (0, weight.nbytes)})
    onnx.save(model, tmp_path / "layer.onnx")

    session = onnxruntime.InferenceSession(tmp_path / "layer.onnx")
    found = session.run(["y"], {"x": np.ones((3, 64), dtype=np.float32)})[0]

    assert found == pytest.approx(np.full((3, 8), 64.0), rel=1e-5)


@pytest.mark.parametrize(("column", "scale"), [(0, 1e-4), (1, 1e3)])
def test_every_column_has_its_own_scale(tmp_path, column, scale):
    torch.manual_seed(0)
    layer = nn.Linear(32, 2, bias=False)
    with torch.no_grad():
        layer.weight[column] *= scale
    builder = GraphBuilder("layer", int8=True)
    x = builder.input("x", ("batch", 32))
    builder.output(builder.linear(x, layer, "block.wi"), "y", ("batch", 2))
    weight = builder.weights["block.wi.weight_t"]
    (tmp_path / "weights").write_bytes(weight.tobytes())
    onnx.save(
        builder.model("weights", {"block.wi.weight_t": (0, weight.nbytes)}),
        tmp_path / "layer.onnx",
    )
    values = np.random.default_rng(0).normal(size=(20, 32)).astype(np.float32)

    session = onnxruntime.InferenceSession(tmp_path / "layer.onnx")
    error = session.run(["y"], {"x": values})[0] - values @ weight

    spread = (values @ weight).std(axis=0)
    assert (np.abs(error).max(axis=0) < 0.1 * spread).all()


@pytest.mark.parametrize(
    ("quantisation", "agreements", "difference", "fails"),
    [
        ("fp32", 100, 1e-4, False),
        ("fp32", 99, 1e-4, True),
        ("fp32", 100, 2e-3, True),
        ("fp32", 100, float("nan"), True),
        ("int8", 97, 0.3, False),
        ("int8", 96, 0.3, True),
        ("int8", 100, float("nan"), True),
    ],
)
def test_bounds_of_parity(quantisation, agreements, difference, fails):
    report = ParityReport(
        n=100,
        agreements=agreements,
        decisions=200,
        agreed_decisions=190,
        max_difference=difference,
        p99_difference=0.0,
        median_difference=0.0,
    )
    if fails:
        with pytest.raises(ParityError):
            require_parity(report, quantisation)
    else:
        require_parity(report, quantisation)


def test_codecs_are_reported_with_what_each_changes(base_dir, tensors, encoded):
    int8, int4 = codec_reports(tensors, base_dir, encoded[:60], base_digest="0" * 64)
    assert (int8.codec, int4.codec) == ("int8", "int4")
    assert int8.share <= 0.27
    assert int4.share <= 0.14
    assert int8.changes.n == int4.changes.n == 60
    assert 0 < int8.changes.median_difference < int4.changes.median_difference
    exact = 4 * sum(one.size for one in tensors.values())
    assert int8.size_bytes == pytest.approx(int8.share * exact)


@pytest.mark.parametrize("codec", ["int8", "int4"])
def test_an_adapter_of_every_codec_acts_on_8_bit_graphs(adapted, base_dir, tensors, encoded, codec):
    data = pack(
        tensors, base_digest="0" * 64, policy_io_version=POLICY_IO_VERSION, quantisation=codec
    )
    side = phone_side(base_dir, unpack(data).tensors, "int8")
    assert compare(phone_side(base_dir, tensors), side, encoded[:60]).agreement >= 0.85
