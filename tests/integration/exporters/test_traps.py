"""What runtimes do in silence, each held by a test: research on onnxruntime found them."""

import gc
import hashlib
import json
import shutil
from random import Random

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from device_runtime.base_files import open_graphs, read_base
from device_runtime.errors import PolicyFilesError
from device_runtime.policy import OnnxPolicy
from exporters.base import load_base
from exporters.errors import GraphError
from exporters.onnx_graph import export_base

GRAPHS = ("encoder.onnx", "decoder.onnx", "encoder.int8.onnx", "decoder.int8.onnx")


@pytest.fixture
def copied(base_dir, tmp_path):
    return shutil.copytree(base_dir, tmp_path / "base")


def greedy(policy, requests):
    from dataclasses import replace

    return policy.decide(
        [replace(one, random=Random(0), temperature=0.0, release_id="") for one in requests]
    )


@pytest.mark.parametrize("quantisation", ["fp32", "int8"])
def test_files_that_are_overwritten_change_no_policy_that_acts(
    copied, tensors, logged, quantisation
):
    """A runtime maps what it loads from files, and whoever writes to them writes to its weights."""
    policy = OnnxPolicy(copied, quantisation=quantisation)
    policy.load_adapter("r1", tensors)
    policy.use("r1")
    before = greedy(policy, logged[:12])
    for path in copied.iterdir():
        size = path.stat().st_size
        with path.open("r+b") as file:
            file.write(b"\xff" * size)
    assert greedy(policy, logged[:12]) == before


def test_weights_that_are_given_outlive_the_session(base_dir, tensors, logged):
    """A runtime reads the arrays that it was given and does not keep them."""
    policy = OnnxPolicy(base_dir)
    policy.load_adapter("r1", tensors)
    policy.use("r1")
    before = greedy(policy, logged[:12])
    gc.collect()
    rubbish = [np.full((200, 96), 1e9, dtype=np.float32) for _ in range(200)]
    assert greedy(policy, logged[:12]) == before
    assert len(rubbish) == 200


@pytest.mark.parametrize("file", GRAPHS)
def test_no_graph_takes_an_adapter_at_run_time(base_dir, file):
    """Adapters of run options are ignored by `run_with_iobinding`, and slots by quantisers."""
    session = onnxruntime.InferenceSession(base_dir / file)
    assert [one.name for one in session.get_overridable_initializers()] == []
    assert not any("lora" in one.name for one in session.get_inputs())


@pytest.mark.parametrize("file", GRAPHS)
def test_any_runtime_finds_the_weights_beside_the_graph(base_dir, file):
    onnx.checker.check_model(base_dir / file, full_check=True)
    onnxruntime.InferenceSession(base_dir / file)


def test_weights_of_another_shape_are_refused(base_dir):
    base = read_base(base_dir)
    broken = dict(base.weights) | {"type_head.weight_t": np.zeros((3, 3), np.float32)}
    with pytest.raises(PolicyFilesError, match="dimensions"):
        open_graphs(base, broken, "fp32", threads=1)


def test_files_of_two_exports_are_refused(copied, tmp_path, base_source):
    network = load_base(base_source)
    with torch.no_grad():
        network.type_head.weight.mul_(2.0)
    export_base(network, tmp_path / "other", digest="0" * 64)
    shutil.copy(tmp_path / "other" / "weights.safetensors", copied)
    with pytest.raises(PolicyFilesError, match=r"weights\.safetensors is not the one"):
        OnnxPolicy(copied)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["type_head.weight", "text_table"])
def test_a_base_that_is_not_finite_is_not_exported(base_source, tmp_path, name, value):
    network = load_base(base_source)
    with torch.no_grad():
        network.get_parameter(name)[0, 0] = value
    with pytest.raises(GraphError, match=f"{name.split('.', maxsplit=1)[0]}.* not finite"):
        export_base(network, tmp_path, digest="0" * 64)


@pytest.mark.parametrize("file", ["weights.safetensors", "text_table.npy"])
def test_a_base_that_is_not_finite_is_not_loaded(copied, file):
    data = bytearray((copied / file).read_bytes())
    data[-4:] = np.float32(np.nan).tobytes() if file.startswith("w") else b"\x00\x7e" * 2
    (copied / file).write_bytes(data)
    description = json.loads((copied / "base.json").read_text())
    description["files"][file] = hashlib.sha256(data).hexdigest()
    (copied / "base.json").write_text(json.dumps(description))
    with pytest.raises(PolicyFilesError, match="not finite"):
        OnnxPolicy(copied)


def test_a_base_of_another_family_is_refused(copied):
    description = json.loads((copied / "base.json").read_text())
    description["policy_io_version"] = "another_family/1"
    (copied / "base.json").write_text(json.dumps(description))
    with pytest.raises(PolicyFilesError, match="another_family"):
        OnnxPolicy(copied)
