"""Releases opened by what the runtime worked out before: the same to the last bit."""

import hashlib
import json
import shutil
import tempfile

import numpy as np
import onnx
import pytest
from onnx import helper

from device_runtime import policy as policy_module
from device_runtime.adapter_merging import merged
from device_runtime.base_files import open_graphs, read_base
from device_runtime.graph_plans import open_planned, plans_of
from device_runtime.policy import OnnxGraphs, OnnxPolicy
from sync.decoding import collate

PREFIX = np.array([[[kind, 0] for kind in range(4)]] * 6, np.int64)


@pytest.fixture
def copied(base_dir, tmp_path):
    return shutil.copytree(base_dir, tmp_path / "base")


@pytest.fixture
def outcome(encoded, base_dir):
    """`outcome(graphs)`: all that graphs give for six logged screens, as bytes."""
    batch = collate(encoded[:6], OnnxPolicy(base_dir).table)

    def of(graphs):
        memory = graphs.encoder(batch)
        logits = graphs.decoder(memory, PREFIX)
        given = [*memory[0].values(), logits.types, logits.pointers, logits.words]
        return [value.tobytes() for value in given]

    return of


@pytest.fixture
def from_files(tensors):
    """`from_files(base)`: a base under the adapter, as the runtime opens its files."""

    def opened(base):
        graphs = open_graphs(base, merged(base, tensors), "fp32", threads=1)
        return OnnxGraphs((graphs["encoder"], graphs["decoder"]), alone=False)

    return opened


def test_plans_change_no_bit_of_what_a_release_computes(base_dir, tensors, outcome, from_files):
    base = read_base(base_dir)
    plans = plans_of(base, threads=1)
    graphs = open_planned(base, plans, merged(base, tensors), threads=1)
    planned = OnnxGraphs((graphs["encoder"], graphs["decoder"]), alone=False)

    policy = OnnxPolicy(base_dir)
    policy.load_adapter("r1", tensors)

    wanted = outcome(from_files(base))
    assert outcome(planned) == wanted
    assert outcome(policy.graphs_for("r1")) == wanted
    assert outcome(policy.graphs_for("factory")) != wanted


def test_a_release_is_opened_without_the_files(copied, tensors):
    """So nobody who overwrites a graph on the disk changes the next release."""
    policy = OnnxPolicy(copied)
    for graph in copied.glob("*.onnx"):
        graph.unlink()

    policy.load_adapter("r1", tensors)

    assert policy.loaded == ("factory", "r1")


@pytest.mark.parametrize(
    "weight",
    [
        ("encoder", "fact_projection.weight_t"),
        ("encoder", "encoder.block.0.layer.0.layer_norm.weight"),
        ("decoder", "type_embedding.weight"),
        ("decoder", "word_embedding.weight"),
        ("decoder", "pointed.weight_t"),
    ],
)
def test_a_base_whose_plan_would_go_by_a_weight_is_opened_from_its_files(
    copied, tensors, outcome, from_files, weight
):
    """A runtime works out what constants come to: then the base's weights would stay in a plan."""
    double(copied, *weight)
    base = read_base(copied)

    policy = OnnxPolicy(copied)
    policy.load_adapter("r1", tensors)

    assert outcome(policy.graphs_for("r1")) == outcome(from_files(base))


def test_a_phone_that_cannot_compute_by_its_plans_plays_without(
    base_dir, tensors, outcome, monkeypatch
):
    planned = OnnxPolicy(base_dir)
    planned.load_adapter("r1", tensors)

    def broken(*_given, **_named):
        raise RuntimeError("not implemented")

    monkeypatch.setattr(policy_module, "open_planned", broken)
    policy = OnnxPolicy(base_dir)
    policy.load_adapter("r1", tensors)

    assert outcome(policy.graphs_for("r1")) == outcome(planned.graphs_for("r1"))


def test_a_phone_that_can_write_no_plan_plays_without(base_dir, tensors, outcome, monkeypatch):
    planned = OnnxPolicy(base_dir)
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    policy = OnnxPolicy(base_dir)
    for one in (planned, policy):
        one.load_adapter("r1", tensors)

    assert outcome(policy.graphs_for("r1")) == outcome(planned.graphs_for("r1"))


def double(directory, graph, weight):
    """Let a graph use twice a weight, which the runtime computes when it opens the graph."""
    file = directory / f"{graph}.onnx"
    model = onnx.load(file, load_external_data=False)
    for node in model.graph.node:
        for place, name in enumerate(node.input):
            if name == weight:
                node.input[place] = "doubled"
    model.graph.node.insert(0, helper.make_node("Add", [weight, weight], ["doubled"]))
    onnx.save(model, file)
    described = json.loads((directory / "base.json").read_text())
    described["files"][file.name] = hashlib.sha256(file.read_bytes()).hexdigest()
    (directory / "base.json").write_text(json.dumps(described))
