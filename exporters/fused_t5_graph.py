"""A T5 with image features as ONNX graphs that a phone runs without torch.

    eyes.onnx            pixels → features                 once a screen
    encoder.onnx         prompt, features → the decoder's cross K and V
    decoder.onnx         tokens, earlier K and V, cross K and V → logits of the next token, K and V
    *.int8.onnx          the same with 8-bit products (`exporters.graph_builder`)
    weights.safetensors  every parameter of the graphs, float32
    tokenizer.json       of the library `tokenizers`
    base.json            digest, versions, picture form, tokens, which layers adapters change, which
                         weights each graph reads, and the digests of the other files

One screen at a time: the batch is 1 and nothing is padded. An adapter's factors change
`<module path>.weight_t` to W + A B when a phone opens the graphs, as for layout_t5.

Notation: L prompt tokens, P tokens whose K and V are known, T new ones, K feature vectors.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from safetensors.numpy import save_file

from device_runtime.policy import (
    BASE_FILE,
    DECODER,
    ENCODER,
    QUANTISATIONS,
    WEIGHTS_FILE,
    graph_file,
    weight_places,
)
from exporters.errors import GraphError
from exporters.graph_builder import Axes, GraphBuilder
from exporters.t5_graph import T5Layers, activation, layer_norm
from sync.text_policy_io import FAMILY

if TYPE_CHECKING:
    from exporters.families.fused_t5 import FusedT5

EYES, TOKENIZER_FILE = "eyes", "tokenizer.json"
GRAPH_VERSION = 2
"""Changes whenever the same network would be exported to other graphs."""


def export_fused_t5(network: FusedT5, directory: Path) -> str:
    """Write the files of `network` to `directory`, base.json last; the base's digest.

    Args:
        network: as `load_checkpoint` gave it, without an adapter.

    Raises:
        GraphError: a weight is not finite, or the network has a part without a graph.
    """
    if any(".lora_" in name for name in network.state_dict()):
        raise ValueError("a base is exported without adapters: load the checkpoint again")
    directory.mkdir(parents=True, exist_ok=True)
    graphs = {one: _graphs_of(network, int8=one == "int8") for one in QUANTISATIONS}
    first = graphs[QUANTISATIONS[0]]
    weights = {name: one for graph in first.values() for name, one in graph.weights.items()}
    for name, value in weights.items():
        if not np.isfinite(value).all():
            raise GraphError(f"{name} is not finite: train the network again")
    save_file(weights, directory / WEIGHTS_FILE)
    places = weight_places(directory / WEIGHTS_FILE)
    for quantisation, some in graphs.items():
        for name, graph in some.items():
            path = directory / graph_file(name, quantisation)
            onnx.save(graph.model(WEIGHTS_FILE, places), path)
            onnx.checker.check_model(path, full_check=True)
    (directory / TOKENIZER_FILE).write_text(network.tokenizer.to_str(), encoding="utf-8")
    return _write_description(network, directory, first)


def _graphs_of(network: FusedT5, *, int8: bool) -> dict[str, GraphBuilder]:
    return {
        EYES: _eyes_graph(network, int8=int8),
        ENCODER: _EncoderGraph(network, int8=int8).graph,
        DECODER: _DecoderGraph(network, int8=int8).graph,
    }


def _write_description(network: FusedT5, directory: Path, graphs: dict[str, GraphBuilder]) -> str:
    config = network.t5.config
    identity = {
        "family": FAMILY,
        "policy_io_version": network.language.version,
        "picture": network.picture_form.as_dict(),
        "tokens": {
            "start": config.decoder_start_token_id,
            "end": network.vocabulary.end,
            "size": config.vocab_size,
        },
        "shape": {
            "layers": len(network.t5.decoder.block),
            "heads": config.num_heads,
            "head_width": config.d_kv,
            "features": network.fusion.image_dense.in_features,
        },
    }
    files = [graph_file(name, one) for name in graphs for one in QUANTISATIONS]
    digests = {
        name: hashlib.sha256((directory / name).read_bytes()).hexdigest()
        for name in (WEIGHTS_FILE, TOKENIZER_FILE, *files)
    }
    # what the network is; how its graphs are written may change
    parts = [identity, digests[WEIGHTS_FILE], digests[TOKENIZER_FILE]]
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    described = {
        "digest": digest,
        **identity,
        "graph_version": GRAPH_VERSION,
        "adapted": sorted(_adapted(network)),
        "weights": {name: list(graph.weights) for name, graph in graphs.items()},
        "files": digests,
    }
    (directory / BASE_FILE).write_text(json.dumps(described, indent=1), encoding="utf-8")
    return digest


def _adapted(network: FusedT5) -> list[str]:
    """Paths of the layers that adapters change, as `exporters.lora.attach` finds them."""
    from torch import nn  # noqa: PLC0415 - only a type to compare with

    return [
        path
        for path, module in network.named_modules()
        if isinstance(module, nn.Linear) and path.rpartition(".")[2] in network.lora_targets
    ]


def _eyes_graph(network: FusedT5, *, int8: bool) -> GraphBuilder:
    """Pixels [1, 3, H, W] → the image encoder's pooled state [1, F]."""
    graph, eyes, form = GraphBuilder(EYES, int8=int8), network.eyes, network.picture_form
    width = eyes.config.hidden_size
    pixels = graph.input("pixels", (1, 3, form.height, form.width))
    embeddings = eyes.embeddings
    patches = graph.op(
        "Conv",
        pixels,
        graph.weight(embeddings.patch_embedding.weight, "eyes.patch_embedding.weight"),
        graph.weight(embeddings.patch_embedding.bias, "eyes.patch_embedding.bias"),
        strides=[eyes.config.patch_size] * 2,
    )
    rows = graph.op("Reshape", patches, graph.integers(0, width, -1))
    tokens = graph.op("Transpose", rows, perm=(0, 2, 1))
    first = graph.weight(embeddings.class_embedding, "eyes.class_embedding")
    x = graph.op("Concat", first, tokens, axis=1)
    x = graph.op("Add", x, graph.weight(embeddings.position_embedding, "eyes.position_embedding"))
    for index, layer in enumerate(eyes.encoder.layers):
        path = f"eyes.encoder.layers.{index}"
        x = _looked(graph, x, layer, path)
        inner = layer_norm(graph, x, layer.layer_norm2, f"{path}.layer_norm2")
        inner = graph.linear(inner, layer.mlp.fc1, f"{path}.mlp.fc1")
        inner = activation(graph, inner, layer.mlp.activation_fn)
        x = graph.op("Add", x, graph.linear(inner, layer.mlp.fc2, f"{path}.mlp.fc2"))
    x = layer_norm(graph, x, eyes.post_layernorm, "eyes.post_layernorm")
    pooled = graph.op("Gather", x, graph.constant(np.array(0, dtype=np.int64)), axis=1)
    pooled = layer_norm(graph, pooled, eyes.post_layernorm, "eyes.post_layernorm")
    graph.output(pooled, "features", (1, width))
    return graph


def _looked(graph: GraphBuilder, x: str, layer: Any, path: str) -> str:
    """`x` plus what each patch finds in all patches."""
    attention = layer.self_attn
    heads, head_width = attention.num_heads, attention.head_dim
    normal = layer_norm(graph, x, layer.layer_norm1, f"{path}.layer_norm1")
    joined = graph.linear(normal, attention.qkv, f"{path}.self_attn.qkv")
    parted = graph.op("Reshape", joined, graph.integers(0, 0, 3, heads, head_width))
    query, key, value = (
        graph.op(
            "Gather",
            graph.op("Transpose", parted, perm=(2, 0, 3, 1, 4)),
            graph.constant(np.array(place, dtype=np.int64)),
            axis=0,
        )
        for place in range(3)
    )
    scaled = graph.op("Mul", query, graph.number(attention.scale))
    keys = graph.op("Transpose", key, perm=(0, 1, 3, 2))
    layers = T5Layers(graph, heads=heads, head_width=head_width)
    mixed = layers.attend(scaled, keys, value)
    out = graph.linear(mixed, attention.projection, f"{path}.self_attn.projection")
    return graph.op("Add", x, out)


def _cross_axes(network: FusedT5) -> dict[str, Axes]:
    """What the encoder hands to the decoder: names and axes."""
    config = network.t5.config
    axes: dict[str, Axes] = {}
    for index in range(len(network.t5.decoder.block)):
        axes[f"cross_key_{index}"] = (1, config.num_heads, config.d_kv, "prompt")
        axes[f"cross_value_{index}"] = (1, config.num_heads, "prompt", config.d_kv)
    return axes


class _EncoderGraph:
    """Prompt [1, L] and features [1, K, F] → cross K and V of every decoder layer."""

    def __init__(self, network: FusedT5, *, int8: bool) -> None:
        graph, t5 = GraphBuilder(ENCODER, int8=int8), network.t5
        self.graph, self.network = graph, network
        layers = T5Layers(graph, heads=t5.config.num_heads, head_width=t5.config.d_kv)
        self._layers = layers
        prompt = graph.input("prompt", (1, "prompt"), "int64")
        shape: Axes = (1, "pictures", network.fusion.image_dense.in_features)
        features = graph.input("features", shape)
        table = graph.weight(t5.shared.weight, "t5.shared.weight")
        text = self._encoded(graph.op("Gather", table, prompt, axis=0), prompt)
        memory = self._fused(text, features)
        outputs = []
        for index, block in enumerate(t5.decoder.block):
            path = f"t5.decoder.block.{index}.layer.1.EncDecAttention"
            cross = block.layer[1].EncDecAttention
            outputs.append(layers.keys(memory, cross.k, f"{path}.k"))
            outputs.append(layers.values(memory, cross.v, f"{path}.v"))
        for value, (name, axes) in zip(outputs, _cross_axes(network).items(), strict=True):
            graph.output(value, name, axes)

    def _encoded(self, x: str, prompt: str) -> str:
        graph, stack = self.graph, self.network.t5.encoder
        length = graph.op("Squeeze", graph.op("Shape", prompt, start=1, end=2))
        first = stack.block[0].layer[0].SelfAttention
        bias = self._layers.position_bias(first, "t5.encoder", keys=length)
        for index, block in enumerate(stack.block):
            path = f"t5.encoder.block.{index}.layer"
            x = self._layers.self_attention(x, block.layer[0], f"{path}.0", bias)
            x = self._layers.feed_forward(x, block.layer[1], f"{path}.1")
        return graph.rms_norm(x, stack.final_layer_norm, "t5.encoder.final_layer_norm")

    def _fused(self, text: str, features: str) -> str:
        graph, fusion = self.graph, self.network.fusion
        image = graph.linear(features, fusion.image_dense, "fusion.image_dense")
        width = fusion.gate_dense.out_features
        query, key, value = (
            self._projected(one, place * width) for place, one in enumerate((text, image, image))
        )
        scaled = graph.op("Mul", query, graph.number(width**-0.5))
        scores = graph.op("MatMul", scaled, graph.op("Transpose", key, perm=(0, 2, 1)))
        mixed = graph.op("MatMul", graph.op("Softmax", scores, axis=-1), value)
        seen = graph.linear(mixed, fusion.mha_layer.out_proj, "fusion.mha_layer.out_proj")
        both = graph.op("Concat", text, seen, axis=-1)
        opened = graph.linear(both, fusion.gate_dense, "fusion.gate_dense")
        gate = graph.op("Sigmoid", opened)
        kept = graph.op("Mul", graph.op("Sub", graph.number(1.0), gate), text)
        return graph.op("Add", kept, graph.op("Mul", gate, seen))

    def _projected(self, x: str, start: int) -> str:
        """Queries, keys or values of the fusion's attention: rows from `start` on."""
        graph, attention = self.graph, self.network.fusion.mha_layer
        rows = slice(start, start + attention.embed_dim)
        name = f"fusion.mha_layer.in_proj_{start // attention.embed_dim}"
        weight = graph.weight(attention.in_proj_weight[rows].T, f"{name}.weight_t")
        bias = graph.weight(attention.in_proj_bias[rows], f"{name}.bias")
        return graph.op("Add", graph.op("MatMul", x, weight), bias)


class _DecoderGraph:
    """New tokens [1, T] after P known ones → logits [1, V] of what follows the last."""

    def __init__(self, network: FusedT5, *, int8: bool) -> None:
        graph, t5 = GraphBuilder(DECODER, int8=int8), network.t5
        self.graph, self.network = graph, network
        config = t5.config
        self._layers = T5Layers(graph, heads=config.num_heads, head_width=config.d_kv)
        tokens = graph.input("tokens", (1, "new"), "int64")
        known = self._known()
        cross = [graph.input(name, axes) for name, axes in _cross_axes(network).items()]
        before = graph.op("Squeeze", graph.op("Shape", known[0], start=3, end=4))
        new = graph.op("Squeeze", graph.op("Shape", tokens, start=1, end=2))
        first = t5.decoder.block[0].layer[0].SelfAttention
        bias = self._layers.position_bias(
            first, "t5.decoder", keys=graph.op("Add", before, new), first=before
        )
        table = graph.weight(t5.shared.weight, "t5.shared.weight")
        x = graph.op("Gather", table, tokens, axis=0)
        for index, block in enumerate(t5.decoder.block):
            path = f"t5.decoder.block.{index}.layer"
            pair = slice(2 * index, 2 * index + 2)
            x = self._self_attention(x, block.layer[0], f"{path}.0", (bias, *known[pair]), index)
            x = self._cross_attention(x, block.layer[1], f"{path}.1", cross[pair])
            x = self._layers.feed_forward(x, block.layer[2], f"{path}.2")
        x = graph.op("Gather", x, graph.constant(np.array(-1, dtype=np.int64)), axis=1)
        x = graph.rms_norm(x, t5.decoder.final_layer_norm, "t5.decoder.final_layer_norm")
        if config.scale_decoder_outputs:
            x = graph.op("Mul", x, graph.number(config.d_model**-0.5))
        graph.output(graph.linear(x, t5.lm_head, "t5.lm_head"), "logits", (1, config.vocab_size))

    def _known(self) -> list[str]:
        """Inputs: K [1, H, k, P] and V [1, H, P, k] of earlier tokens, layer by layer."""
        config, inputs = self.network.t5.config, []
        for index in range(len(self.network.t5.decoder.block)):
            key: Axes = (1, config.num_heads, config.d_kv, "known")
            value: Axes = (1, config.num_heads, "known", config.d_kv)
            inputs.append(self.graph.input(f"known_key_{index}", key))
            inputs.append(self.graph.input(f"known_value_{index}", value))
        return inputs

    def _self_attention(
        self, x: str, layer: Any, path: str, known: tuple[str, ...], index: int
    ) -> str:
        """`x` plus attention over earlier and new tokens, whose K and V are handed out.

        Args:
            known: bias, earlier keys and earlier values.
        """
        graph, layers, attention = self.graph, self._layers, layer.SelfAttention
        config = self.network.t5.config
        bias, early_keys, early_values = known
        normal = graph.rms_norm(x, layer.layer_norm, f"{path}.layer_norm")
        path = f"{path}.SelfAttention"
        keys = layers.keys(normal, attention.k, f"{path}.k")
        values = layers.values(normal, attention.v, f"{path}.v")
        keys = graph.op("Concat", early_keys, keys, axis=3)
        values = graph.op("Concat", early_values, values, axis=2)
        graph.output(keys, f"key_{index}", (1, config.num_heads, config.d_kv, "all"))
        graph.output(values, f"value_{index}", (1, config.num_heads, "all", config.d_kv))
        query = layers.values(normal, attention.q, f"{path}.q")
        mixed = layers.attend(query, keys, values, bias)
        return graph.op("Add", x, graph.linear(mixed, attention.o, f"{path}.o"))

    def _cross_attention(self, x: str, layer: Any, path: str, cross: list[str]) -> str:
        graph, attention = self.graph, layer.EncDecAttention
        normal = graph.rms_norm(x, layer.layer_norm, f"{path}.layer_norm")
        path = f"{path}.EncDecAttention"
        query = self._layers.values(normal, attention.q, f"{path}.q")
        mixed = self._layers.attend(query, *cross)
        return graph.op("Add", x, graph.linear(mixed, attention.o, f"{path}.o"))
