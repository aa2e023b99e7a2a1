"""A base network as ONNX graphs, a text table and a description.

    encoder.onnx         text, ids, bits, mask → memory, pointer keys, the decoder's cross K and V
    decoder.onnx         prefix, mask and the encoder's outputs → logits of the next decision
    encoder.int8.onnx    the same with 8-bit products (`exporters.graph_builder`)
    decoder.int8.onnx
    weights.safetensors  every parameter of the graphs, float32
    text_table.npy       float16 [BUCKETS, d] where that loses nothing, else float32
    base.json            digest, family, sizes, versions, which layers adapters change, which
                         weights each graph reads, and the digests of the other files

A graph with its weights is exactly the base. An adapter's factors change `<module path>.weight_t`
[in, out] to W + A B when a phone opens the graphs (docs/adr/0012). The cross-attention's k and v
are computed in the encoder graph. Notation: B batch, L tokens, P prefix, H heads, k width of a
head, d width.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from safetensors.numpy import save_file
from torch import nn

from device_runtime.policy import (
    BASE_FILE,
    DECODER,
    ENCODER,
    QUANTISATIONS,
    TABLE_FILE,
    WEIGHTS_FILE,
    graph_file,
    weight_places,
)
from exporters.errors import GraphError
from exporters.families.layout_t5 import FAMILY, LORA_TARGETS, NEVER, LayoutT5
from exporters.graph_builder import Axes, GraphBuilder
from exporters.shipped import GRAPH_VERSION
from exporters.t5_graph import T5Layers
from sync.decoding import PREFIX_BEGIN, PREFIX_POINTER, PREFIX_TYPE
from sync.grammar import ACTION_TYPES, MAX_WORDS
from sync.policy_io import POLICY_IO_VERSION
from sync.tokens import BIT_COLUMNS, ID_COLUMNS

if TYPE_CHECKING:
    from pathlib import Path


def export_base(network: LayoutT5, directory: Path, *, digest: str) -> None:
    """Write the files of `network` to `directory`; base.json comes last.

    Args:
        network: a base without adapters.
        digest: what `exporters.base.base_digest` says of it.

    Raises:
        GraphError: a weight is not finite, or a layer that adapters change is in no graph.
    """
    if any(".lora_" in name for name in network.state_dict()):
        raise ValueError("a base is exported without adapters: keep the network you attached to")
    directory.mkdir(parents=True, exist_ok=True)
    table = network.text_table.detach().numpy()
    graphs = {quantisation: _graphs_of(network, quantisation) for quantisation in QUANTISATIONS}
    first = graphs[QUANTISATIONS[0]]
    adapted = [path for graph in first.values() for path in graph.adapted]
    _check_adapted(network, adapted)
    weights = {name: one for graph in first.values() for name, one in graph.weights.items()}
    _check_finite({**weights, "text_table": table})
    save_file(weights, directory / WEIGHTS_FILE)
    places = weight_places(directory / WEIGHTS_FILE)
    for quantisation, both in graphs.items():
        for name, graph in both.items():
            path = directory / graph_file(name, quantisation)
            onnx.save(graph.model(WEIGHTS_FILE, places), path)
            onnx.checker.check_model(path, full_check=True)
    np.save(directory / TABLE_FILE, _smallest(table))
    read = {name: list(graph.weights) for name, graph in first.items()}
    _write_description(network, directory, digest=digest, adapted=adapted, weights=read)


def _graphs_of(network: LayoutT5, quantisation: str) -> dict[str, GraphBuilder]:
    int8 = quantisation == "int8"
    return {
        ENCODER: _EncoderGraph(network, int8=int8).graph,
        DECODER: _DecoderGraph(network, int8=int8).graph,
    }


class _T5Graph:
    """What both graphs are made of."""

    def __init__(self, network: LayoutT5, name: str, *, int8: bool) -> None:
        self.graph = GraphBuilder(name, int8=int8)
        self.network = network
        self.heads, self.width = network.config.heads, network.config.d_model
        self.head_width = self.width // self.heads
        self.layers = T5Layers(self.graph, heads=self.heads, head_width=self.head_width)

    def additive_mask(self, mask: str) -> str:
        """[B, L] → [B, 1, 1, L]: 0 for a token, far below zero for padding."""
        padding = self.graph.op("Sub", self.graph.number(1.0), mask)
        axes = self.graph.integers(1, 2)
        return self.graph.op(
            "Unsqueeze", self.graph.op("Mul", padding, self.graph.number(NEVER)), axes
        )

    def memory_axes(self) -> dict[str, Axes]:
        """What the encoder hands to the decoder: names and axes."""
        axes: dict[str, Axes] = {
            "memory": ("batch", "tokens", self.width),
            "pointer_keys": ("batch", "tokens", self.width),
        }
        for index in range(self.network.config.decoder_layers):
            axes[f"cross_key_{index}"] = ("batch", self.heads, self.head_width, "tokens")
            axes[f"cross_value_{index}"] = ("batch", self.heads, "tokens", self.head_width)
        return axes


class _EncoderGraph(_T5Graph):
    """Tokens → everything that depends on the observation alone."""

    def __init__(self, network: LayoutT5, *, int8: bool) -> None:
        super().__init__(network, ENCODER, int8=int8)
        graph = self.graph
        text = graph.input("text", ("batch", "tokens", self.width))
        ids = graph.input("ids", ("batch", "tokens", len(ID_COLUMNS)), "int64")
        bits = graph.input("bits", ("batch", "tokens", len(BIT_COLUMNS)))
        mask = graph.input("mask", ("batch", "tokens"))
        x = self._encoded(self._embedded(text, ids, bits), mask)
        outputs = [x, graph.linear(x, network.pointer_key, "pointer_key")]
        for index, block in enumerate(_blocks(network.decoder)):
            path = f"decoder.block.{index}.layer.1.EncDecAttention"
            cross = block.layer[1].EncDecAttention
            outputs.append(self.layers.keys(x, cross.k, f"{path}.k"))
            outputs.append(self.layers.values(x, cross.v, f"{path}.v"))
        for value, (name, axes) in zip(outputs, self.memory_axes().items(), strict=True):
            graph.output(value, name, axes)

    def _embedded(self, text: str, ids: str, bits: str) -> str:
        graph, network = self.graph, self.network
        starts = graph.constant(network.category_starts.numpy(), "category_starts")
        table = graph.weight(network.category_embedding.weight, "category_embedding.weight")
        rows = graph.op("Gather", table, graph.op("Add", ids, starts), axis=0)
        categories = graph.op("ReduceSum", rows, graph.integers(2), keepdims=0)
        facts = graph.linear(bits, network.fact_projection, "fact_projection")
        return graph.op("Add", graph.op("Add", text, categories), facts)

    def _encoded(self, x: str, mask: str) -> str:
        graph, blocks = self.graph, _blocks(self.network.encoder)
        length = graph.op("Squeeze", graph.op("Shape", mask, start=1, end=2))
        attention = blocks[0].layer[0].SelfAttention
        positions = self.layers.position_bias(attention, "encoder", keys=length)
        bias = graph.op("Add", positions, self.additive_mask(mask))
        for index, block in enumerate(blocks):
            path = f"encoder.block.{index}.layer"
            x = self.layers.self_attention(x, block.layer[0], f"{path}.0", bias)
            x = self.layers.feed_forward(x, block.layer[1], f"{path}.1")
        norm = self.network.encoder.final_layer_norm
        return graph.rms_norm(x, norm, "encoder.final_layer_norm")


class _DecoderGraph(_T5Graph):
    """Prefix and memory → logits of the decision after the prefix."""

    def __init__(self, network: LayoutT5, *, int8: bool) -> None:
        super().__init__(network, DECODER, int8=int8)
        graph = self.graph
        prefix = graph.input("prefix", ("batch", "prefix", 2), "int64")
        mask = graph.input("mask", ("batch", "tokens"))
        memory, pointer_keys, *cross = (
            graph.input(name, axes) for name, axes in self.memory_axes().items()
        )
        hidden = self._decoded(self._embedded(prefix, memory), prefix, mask, cross)
        last = graph.op("Gather", hidden, graph.constant(np.array(-1, dtype=np.int64)), axis=1)
        types = graph.linear(last, network.type_head, "type_head")
        words = graph.linear(last, network.word_head, "word_head")
        graph.output(types, "types", ("batch", len(ACTION_TYPES)))
        graph.output(self._pointers(last, pointer_keys), "pointers", ("batch", "tokens"))
        graph.output(words, "words", ("batch", MAX_WORDS))

    def _embedded(self, prefix: str, memory: str) -> str:
        """[B, P, d]: what each entry of the prefix stands for."""
        graph, network = self.graph, self.network
        kind = graph.op("Gather", prefix, graph.integers(0), axis=2)
        index = graph.op("Gather", prefix, graph.constant(np.array(1, dtype=np.int64)), axis=2)
        tokens = graph.op("Shape", memory, start=1, end=2)
        token = graph.op("Min", index, graph.op("Sub", tokens, graph.integers(1)))
        pointed = graph.op(
            "GatherND", memory, graph.op("Unsqueeze", token, graph.integers(2)), batch_dims=1
        )
        choices = (
            (PREFIX_POINTER, graph.linear(pointed, network.pointed_projection, "pointed")),
            (PREFIX_TYPE, self._looked_up(index, network.type_embedding, "type_embedding")),
            (PREFIX_BEGIN, graph.weight(network.begin_embedding, "begin_embedding")),
        )
        entry = self._looked_up(index, network.word_embedding, "word_embedding")
        for number, value in choices:
            entry = graph.op("Where", graph.op("Equal", kind, graph.integers(number)), value, entry)
        return entry

    def _looked_up(self, index: str, table: nn.Embedding, path: str) -> str:
        graph = self.graph
        row = graph.op("Min", index, graph.integers(table.num_embeddings - 1))
        return graph.op("Gather", graph.weight(table.weight, f"{path}.weight"), row, axis=0)

    def _decoded(self, x: str, prefix: str, mask: str, cross: list[str]) -> str:
        graph, blocks = self.graph, _blocks(self.network.decoder)
        length = graph.op("Squeeze", graph.op("Shape", prefix, start=1, end=2))
        attention = blocks[0].layer[0].SelfAttention
        positions = self.layers.position_bias(attention, "decoder", keys=length)
        padding = self.additive_mask(mask)
        for index, block in enumerate(blocks):
            path = f"decoder.block.{index}.layer"
            x = self.layers.self_attention(x, block.layer[0], f"{path}.0", positions)
            keys, values = cross[2 * index : 2 * index + 2]
            x = self._cross_attention(x, block.layer[1], f"{path}.1", (keys, values, padding))
            x = self.layers.feed_forward(x, block.layer[2], f"{path}.2")
        norm = self.network.decoder.final_layer_norm
        return graph.rms_norm(x, norm, "decoder.final_layer_norm")

    def _cross_attention(self, x: str, layer: Any, path: str, memory: tuple[str, str, str]) -> str:
        """`x` plus attention of x over the memory's keys, values and padding."""
        graph, attention = self.graph, layer.EncDecAttention
        normal = graph.rms_norm(x, layer.layer_norm, f"{path}.layer_norm")
        path = f"{path}.EncDecAttention"
        query = self.layers.values(normal, attention.q, f"{path}.q")
        mixed = self.layers.attend(query, *memory)
        return graph.op("Add", x, graph.linear(mixed, attention.o, f"{path}.o"))

    def _pointers(self, last: str, pointer_keys: str) -> str:
        graph = self.graph
        query = graph.linear(last, self.network.pointer_query, "pointer_query")
        scaled = graph.op("Mul", query, graph.number(self.width**-0.5))
        column = graph.op("Unsqueeze", scaled, graph.integers(2))
        return graph.op("Squeeze", graph.op("MatMul", pointer_keys, column), graph.integers(2))


def _blocks(stack: Any) -> list[Any]:
    """The blocks of a T5 stack; transformers types them as any module."""
    return list(stack.block)


def _smallest(table: np.ndarray[Any, np.dtype[np.float32]]) -> np.ndarray[Any, Any]:
    """`table` as float16 where every value survives that, as those read from a base's file do."""
    half = table.astype(np.float16)
    return half if np.array_equal(half.astype(np.float32), table) else table


def _check_adapted(network: LayoutT5, paths: list[str]) -> None:
    wanted = [
        path
        for path, module in network.named_modules()
        if isinstance(module, nn.Linear) and path.rpartition(".")[2] in LORA_TARGETS
    ]
    if sorted(wanted) != sorted(paths):
        odd = sorted(set(wanted) ^ set(paths)) or sorted(paths)
        raise GraphError(f"the graphs' adapted layers differ from the network's at {odd}")


def _check_finite(weights: dict[str, np.ndarray[Any, Any]]) -> None:
    for name, value in weights.items():
        if not np.isfinite(value).all():
            raise GraphError(f"{name} of the base is not finite: train the base again")


def _write_description(
    network: LayoutT5,
    directory: Path,
    *,
    digest: str,
    adapted: list[str],
    weights: dict[str, list[str]],
) -> None:
    names = [graph_file(name, one) for name in (ENCODER, DECODER) for one in QUANTISATIONS]
    description = {
        "digest": digest,
        "family": FAMILY,
        "policy_io_version": POLICY_IO_VERSION,
        "graph_version": GRAPH_VERSION,
        "config": network.config.as_dict(),
        "adapted": adapted,
        "weights": weights,
        "files": {
            name: hashlib.sha256((directory / name).read_bytes()).hexdigest()
            for name in (*names, WEIGHTS_FILE, TABLE_FILE)
        },
    }
    text = json.dumps(description, indent=2)
    (directory / BASE_FILE).write_text(text + "\n", encoding="utf-8")
