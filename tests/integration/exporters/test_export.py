"""Exported graphs: axes, weights, agreement with torch, and one export for all who ask."""

import copy
import json
import shutil
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from random import Random

import numpy as np
import onnx
import pytest
import torch

from device_runtime.policy import OnnxPolicy
from exporters import lora, onnx_graph
from exporters.base import base_digest, ensure_exported, load_base
from exporters.errors import GraphError, ParityError
from exporters.families.layout_t5 import (
    LayoutT5,
    LayoutT5Config,
    TorchCallables,
    text_table_of,
)
from exporters.parity import check
from sync.decoding import Batch, decide
from sync.policy_io import POLICY_IO_VERSION


def shapes(path):
    graph = onnx.load(path).graph
    return {
        value.name: [axis.dim_param or axis.dim_value for axis in value.type.tensor_type.shape.dim]
        for value in (*graph.input, *graph.output)
    }


def test_graphs_have_symbolic_batch_tokens_and_prefix(base_dir):
    encoder = shapes(base_dir / "encoder.onnx")
    decoder = shapes(base_dir / "decoder.onnx")
    assert encoder["text"] == ["batch", "tokens", 96]
    assert encoder["cross_key_0"] == ["batch", 4, 24, "tokens"]
    assert decoder["prefix"] == ["batch", "prefix", 2]
    assert decoder["pointers"] == ["batch", "tokens"]


def test_every_adapted_layer_is_read_by_one_graph_only(base_dir, tensors):
    description = json.loads((base_dir / "base.json").read_text())
    read = [set(description["weights"][name]) for name in ("encoder", "decoder")]
    wanted = {name.rpartition(".")[0] for name in tensors}
    assert set(description["adapted"]) == wanted
    assert {f"{path}.weight_t" for path in wanted} <= read[0] | read[1]
    assert not read[0] & read[1]
    assert "decoder.block.0.layer.1.EncDecAttention.k.weight_t" in read[0]


def test_description_names_the_base(base_dir, network):
    description = json.loads((base_dir / "base.json").read_text())
    assert description["digest"] == base_digest(network)
    assert description["policy_io_version"] == POLICY_IO_VERSION


def test_the_networks_choices_are_varied(adapted, encoded):
    """Else agreement would prove little."""
    side = TorchCallables(adapted)
    chosen = decide(
        encoded,
        side.encoder,
        side.decoder,
        table=text_table_of(adapted),
        temperatures=[0.0] * len(encoded),
        randoms=[Random(0)] * len(encoded),
    )
    assert len({one.choices for one in chosen}) > 25
    assert len({one.choices[0] for one in chosen}) > 6


def test_base_without_adapter_acts_like_torch(network, base_dir, encoded):
    report = check(network, base_dir, {}, encoded)
    assert (report.n, report.agreements) == (200, 200)
    assert report.max_difference < 1e-3


def test_adapter_acts_like_torch_on_logged_observations(adapted, base_dir, tensors, encoded):
    report = check(adapted, base_dir, tensors, encoded)
    assert (report.n, report.agreements) == (200, 200)
    assert report.max_difference < 1e-3


def test_parity_fails_where_the_adapter_is_not_the_networks(
    adapted, base_dir, tensors, encoded, noise
):
    with pytest.raises(ParityError, match="agree on"):
        check(adapted, base_dir, noise(tensors, 1), encoded[:40])


def test_parity_fails_on_a_small_difference_of_one_layer(adapted, base_dir, tensors, encoded):
    slightly = {name: value.copy() for name, value in tensors.items()}
    slightly["type_head.lora_b"][:, 0] += np.float32(0.01)  # one action type's logit
    with pytest.raises(ParityError):
        check(adapted, base_dir, slightly, encoded)


def test_parity_refuses_what_is_not_a_number(adapted, base_dir, tensors, encoded):
    broken = copy.deepcopy(adapted)
    with torch.no_grad():
        broken.type_head.base_layer.weight.fill_(float("nan"))
    warnings.simplefilter("ignore", RuntimeWarning)
    with pytest.raises(ParityError):
        check(broken, base_dir, tensors, encoded[:4])


def test_second_export_is_not_made(base_source, base_dir, monkeypatch):
    monkeypatch.setattr("exporters.base.export_base", None)
    assert ensure_exported(base_source, base_dir.parent) == base_dir


def test_half_an_export_is_never_seen(base_source, tmp_path, monkeypatch):
    def breaks_off(network, directory, *, digest):
        directory.mkdir()
        (directory / "encoder.onnx").write_bytes(b"half")
        raise GraphError("cut off")

    monkeypatch.setattr("exporters.base.export_base", breaks_off)
    with pytest.raises(GraphError):
        ensure_exported(base_source, tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == [".lock"]


def test_those_who_ask_at_once_share_one_export(base_source, tmp_path, monkeypatch):
    made, together = [], threading.Barrier(4)

    def counted(network, directory, *, digest):
        made.append(directory)
        onnx_graph.export_base(network, directory, digest=digest)

    def ask(_):
        together.wait(timeout=60)
        return ensure_exported(base_source, tmp_path)

    monkeypatch.setattr("exporters.base.export_base", counted)
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(ask, range(4)))

    assert len(made) == 1
    assert {one.name for one in found.pop().iterdir()} >= {"base.json", "decoder.onnx"}
    assert not found


def test_forgotten_layers_fail_the_export(network, tensors):
    paths = {name.rpartition(".")[0] for name in tensors} - {"type_head"}
    with pytest.raises(GraphError, match="type_head"):
        onnx_graph._check_adapted(network, sorted(paths))


def test_network_with_an_adapter_is_not_exported(base_source, tmp_path):
    adapted = lora.attach(load_base(base_source), rank=2)
    with pytest.raises(ValueError, match="without adapters"):
        onnx_graph.export_base(adapted, tmp_path / "out", digest="0" * 64)
    assert not (tmp_path / "out").exists()


def test_damaged_source_leaves_nothing_in_the_cache(base_source, tmp_path):
    source = tmp_path / "source"
    shutil.copytree(base_source, source)
    (source / "weights.safetensors").write_bytes(b"")
    with pytest.raises(Exception, match="fetch the base again"):
        ensure_exported(source, tmp_path / "cache")
    assert [one.name for one in (tmp_path / "cache").iterdir()] == [".lock"]


def test_parity_holds_for_other_sizes(tmp_path, encoded):
    torch.manual_seed(2)
    config = LayoutT5Config(d_model=48, d_ff=64, heads=3, encoder_layers=1, decoder_layers=2)
    network = LayoutT5(config).eval()
    onnx_graph.export_base(network, tmp_path, digest="0" * 64)
    assert check(network, tmp_path, {}, encoded[:40]).max_difference < 1e-4


def test_parity_holds_beyond_the_farthest_distance(network, base_dir):
    """Longer inputs than any screen gives: T5 tells distances beyond 128 apart no more."""
    generator = np.random.default_rng(0)
    batch = Batch(
        text=generator.normal(size=(1, 300, 96)).astype(np.float32),
        ids=np.zeros((1, 300, 14), dtype=np.int64),
        bits=np.zeros((1, 300, 16), dtype=np.float32),
        mask=np.ones((1, 300), dtype=np.float32),
    )
    prefix = np.zeros((1, 1, 2), dtype=np.int64)
    sides = (TorchCallables(network), OnnxPolicy(base_dir).graphs_for("factory"))
    first, second = (side.decoder(side.encoder(batch), prefix) for side in sides)
    assert first.pointers == pytest.approx(second.pointers, abs=1e-3)
    assert first.types == pytest.approx(second.types, abs=1e-3)
