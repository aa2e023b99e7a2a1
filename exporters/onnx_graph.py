"""A base network as two ONNX graphs with LoRA slots, a text table and a description.

    encoder.onnx     text, ids, bits, mask → memory, pointer keys, the decoder's cross K and V
    decoder.onnx     prefix, mask and the encoder's outputs → logits of the next decision
    text_table.npy   float32 [BUCKETS, d]
    base.json        digest, family, sizes, version of the encoding

Every linear layer that adapters change gets two optional inputs, `<module path>.lora_a` [in, r]
and `<module path>.lora_b` [r, out], which default to rank 0: without an adapter the graph is
exactly the base. The cross-attention's k and v are computed in the encoder graph, and so their
slots are there.
"""

from __future__ import annotations

import ast
import json
import logging
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn
from torch.export import Dim
from transformers.cache_utils import DynamicCache, EncoderDecoderCache

from device_runtime.policy import BASE_FILE, DECODER_FILE, ENCODER_FILE, TABLE_FILE
from exporters.errors import GraphError
from exporters.families.layout_t5 import FAMILY, LORA_TARGETS, LayoutT5
from sync.policy_io import BIT_COLUMNS, ID_COLUMNS, POLICY_IO_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GRAPH_VERSION = 1
"""Changes whenever the same base would be exported to other graphs."""

_OPSET = 20
_ENCODER_INPUTS = ("text", "ids", "bits", "mask")
_SCOPES = "pkg.torch.onnx.name_scopes"


def export_base(network: LayoutT5, directory: Path, *, digest: str) -> None:
    """Write the four files of `network` to `directory`; base.json comes last.

    Args:
        network: a base without adapters.
        digest: what `exporters.base.base_digest` says of it.

    Raises:
        GraphError: a graph lost a symbolic axis or lacks a LoRA slot.
    """
    if any(".lora_" in name for name in network.state_dict()):
        raise ValueError("a base is exported without adapters: keep the network you attached to")
    directory.mkdir(parents=True, exist_ok=True)
    network.eval()
    encoder_inputs, encoder_axes = _encoder_example(network)
    encoder = _EncoderGraph(network).eval()
    with torch.no_grad():
        memory = encoder(*encoder_inputs)
    names = _memory_names(network)
    with _quiet():
        first = _exported(
            encoder, encoder_inputs, encoder_axes, inputs=_ENCODER_INPUTS, outputs=names
        )
        second = _exported(
            _DecoderGraph(network).eval(),
            (torch.zeros(_BATCH, _PREFIX, 2, dtype=torch.int64), encoder_inputs[3], *memory),
            (_axes("batch", "prefix"), _axes("batch", "tokens"), *_decoder_memory_axes(network)),
            inputs=("prefix", "mask", *names),
            outputs=("types", "pointers", "words"),
        )
    slots = [name for graph in (first, second) for name in _add_slots(graph)]
    _check_slots(network, slots)
    onnx.save(first, directory / ENCODER_FILE)
    onnx.save(second, directory / DECODER_FILE)
    np.save(directory / TABLE_FILE, network.text_table.detach().numpy())
    _write_description(network, directory, digest)


_BATCH, _TOKENS, _PREFIX = 2, 33, 3
"""Sizes of the example: different from each other and above one, else an axis would be fixed."""


class _EncoderGraph(nn.Module):
    """Tokens → everything that depends on the observation alone."""

    def __init__(self, network: LayoutT5) -> None:
        super().__init__()
        self.network = network

    def forward(self, text: Tensor, ids: Tensor, bits: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        network = self.network
        # ONNX has no bags of embeddings: the same sum, category by category
        categories = network.category_embedding(ids + network.category_starts).sum(2)
        tokens = text + categories + network.fact_projection(bits)
        memory = network.encode_embedded(tokens, mask)
        outputs = [memory, network.pointer_key(memory)]
        for block in network.decoder.block:
            layers: Any = block.layer  # transformers types it as any module
            attention = layers[1].EncDecAttention
            shape = (*memory.shape[:2], attention.n_heads, attention.key_value_proj_dim)
            outputs += [
                projection(memory).view(shape).transpose(1, 2)
                for projection in (attention.k, attention.v)
            ]
        return tuple(outputs)


class _DecoderGraph(nn.Module):
    """Prefix and memory → logits of the decision after the prefix."""

    def __init__(self, network: LayoutT5) -> None:
        super().__init__()
        self.network = network

    def forward(
        self, prefix: Tensor, mask: Tensor, memory: Tensor, pointer_keys: Tensor, *cross: Tensor
    ) -> tuple[Tensor, ...]:
        cross_cache = DynamicCache()
        cache = EncoderDecoderCache(DynamicCache(), cross_cache)
        for layer in range(len(cross) // 2):
            cross_cache.update(cross[2 * layer], cross[2 * layer + 1], layer)
            cache.is_updated[layer] = True
        hidden = self.network.decode(memory, mask, prefix, cache)
        return tuple(one[:, 0] for one in self.network.head_logits(hidden[:, -1:], pointer_keys))


def _memory_names(network: LayoutT5) -> tuple[str, ...]:
    layers = range(network.config.decoder_layers)
    cross = [f"cross_{part}_{layer}" for layer in layers for part in ("key", "value")]
    return ("memory", "pointer_keys", *cross)


def _axes(first: str, second: str, *, at: int = 1) -> dict[int, Any]:
    return {0: Dim(first), at: Dim(second)}


def _encoder_example(network: LayoutT5) -> tuple[tuple[Tensor, ...], tuple[dict[int, Any], ...]]:
    inputs = (
        torch.zeros(_BATCH, _TOKENS, network.config.d_model),
        torch.zeros(_BATCH, _TOKENS, len(ID_COLUMNS), dtype=torch.int64),
        torch.zeros(_BATCH, _TOKENS, len(BIT_COLUMNS)),
        torch.ones(_BATCH, _TOKENS),
    )
    return inputs, tuple(_axes("batch", "tokens") for _ in inputs)


def _decoder_memory_axes(network: LayoutT5) -> tuple[Any, ...]:
    """Axes of memory, of the pointer keys, and of the variadic cross keys and values."""
    cross = tuple(_axes("batch", "tokens", at=2) for _ in range(2 * network.config.decoder_layers))
    return (_axes("batch", "tokens"), _axes("batch", "tokens"), cross)


def _exported(
    module: nn.Module,
    example: tuple[Tensor, ...],
    axes: tuple[Any, ...],
    *,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
) -> onnx.ModelProto:
    program = torch.onnx.export(
        module,
        example,
        dynamo=True,
        opset_version=_OPSET,
        input_names=inputs,
        output_names=outputs,
        dynamic_shapes=axes,
        verbose=False,
    )
    if program is None:
        raise GraphError("the exporter returned nothing: check the versions of torch and onnx")
    graph = program.model_proto
    for value in (*graph.graph.input, *graph.graph.output):
        _check_symbolic(value)
    return graph


def _check_symbolic(value: onnx.ValueInfoProto) -> None:
    axes = value.type.tensor_type.shape.dim
    wanted = {0: "batch"}
    if value.name.startswith("cross_"):
        wanted[2] = "tokens"
    elif value.name == "prefix":
        wanted[1] = "prefix"
    elif value.name not in {"types", "words"}:
        wanted[1] = "tokens"
    for axis, symbol in wanted.items():
        if axes[axis].dim_param != symbol:
            raise GraphError(
                f"axis {axis} of {value.name} is not symbolic: check the exporter's version"
            )


def _add_slots(model: onnx.ModelProto) -> list[str]:
    """Give every adapted layer of the graph its two optional inputs; returns the layers' paths."""
    graph = model.graph
    weights = {one.name: tuple(one.dims) for one in graph.initializer}
    nodes = list(graph.node)
    del graph.node[:]
    paths: list[str] = []
    for node in nodes:
        graph.node.append(node)
        path = _layer_path(node)
        if node.op_type != "MatMul" or node.input[1] not in weights or path is None:
            continue
        width_in, width_out = weights[node.input[1]]
        slots = {"lora_a": (width_in, 0), "lora_b": (0, width_out)}
        for name, shape in slots.items():
            _add_optional_input(graph, f"{path}.{name}", shape, rank=f"rank_{len(paths)}")
        output, plain = node.output[0], f"{path}.base_output"
        graph.node[-1].output[0] = plain
        graph.node.extend(
            [
                helper.make_node("MatMul", [node.input[0], f"{path}.lora_a"], [f"{path}.low"]),
                helper.make_node("MatMul", [f"{path}.low", f"{path}.lora_b"], [f"{path}.delta"]),
                helper.make_node("Add", [plain, f"{path}.delta"], [output]),
            ]
        )
        paths.append(path)
    onnx.checker.check_model(model)
    return paths


def _layer_path(node: onnx.NodeProto) -> str | None:
    """Path of the adapted linear layer that a node belongs to, from the exporter's notes."""
    notes = {one.key: one.value for one in node.metadata_props}
    scopes = ast.literal_eval(notes.get(_SCOPES, "[]"))
    path = str(scopes[-2]) if len(scopes) > 1 else ""
    return path.removeprefix("network.") if path.rpartition(".")[2] in LORA_TARGETS else None


def _add_optional_input(
    graph: onnx.GraphProto, name: str, shape: tuple[int, int], *, rank: str
) -> None:
    """An input that defaults to rank 0."""
    graph.initializer.append(numpy_helper.from_array(np.zeros(shape, np.float32), name))
    axes = [size or rank for size in shape]
    graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, axes))


def _check_slots(network: LayoutT5, paths: list[str]) -> None:
    wanted = {
        path
        for path, module in network.named_modules()
        if isinstance(module, nn.Linear) and path.rpartition(".")[2] in LORA_TARGETS
    }
    if wanted != set(paths) or len(paths) != len(wanted):
        odd = sorted(wanted.symmetric_difference(paths))
        raise GraphError(f"LoRA slots differ from the network's layers at {odd}")


def _write_description(network: LayoutT5, directory: Path, digest: str) -> None:
    description = {
        "digest": digest,
        "family": FAMILY,
        "policy_io_version": POLICY_IO_VERSION,
        "graph_version": GRAPH_VERSION,
        "config": network.config.as_dict(),
    }
    text = json.dumps(description, indent=2)
    (directory / BASE_FILE).write_text(text + "\n", encoding="utf-8")


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the exporter's notes about unused axis names and missing extras to itself."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir")]
    levels = [one.level for one in loggers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for one in loggers:
            one.setLevel(logging.ERROR)
        try:
            yield
        finally:
            for one, level in zip(loggers, levels, strict=True):
                one.setLevel(level)
