"""The layers of T5 as nodes of an ONNX graph, whatever stands around them.

Attention has no scale and a bias by distance, learnt in the first block; norms have no mean and no
offset. Notation: B batch, L tokens, Q queries, H heads, k width of a head, d width of the states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from exporters.errors import GraphError

if TYPE_CHECKING:
    import numpy.typing as npt

    from exporters.graph_builder import GraphBuilder

NEVER = -1e9
"""Added to the score of what may not be looked at."""


class T5Layers:
    """Adds layers to `graph`; values are known by their names.

    Args:
        heads: attention heads H.
        head_width: k; H k need not be d.
    """

    def __init__(self, graph: GraphBuilder, *, heads: int, head_width: int) -> None:
        self.graph = graph
        self._heads = heads
        self._head_width = head_width

    def split(self, x: str, order: tuple[int, ...]) -> str:
        """[B, L, H k] → [B, L, H, k], transposed to `order`."""
        shape = self.graph.integers(0, 0, self._heads, self._head_width)
        return self.graph.op("Transpose", self.graph.op("Reshape", x, shape), perm=order)

    def keys(self, x: str, layer: Any, path: str) -> str:
        """[B, H, k, L]."""
        return self.split(self.graph.linear(x, layer, path), (0, 2, 3, 1))

    def values(self, x: str, layer: Any, path: str) -> str:
        """[B, H, L, k]; queries too."""
        return self.split(self.graph.linear(x, layer, path), (0, 2, 1, 3))

    def position_bias(self, attention: Any, path: str, *, keys: str, first: str = "") -> str:
        """[1, H, Q, L]: the bias by distance; in a decoder, what lies ahead is masked.

        Args:
            attention: of the first block.
            keys: L, int64 scalar.
            first: position of the first query, int64 scalar; 0 where it is empty.
        """
        graph = self.graph
        zero = graph.constant(np.array(0, dtype=np.int64))
        one = graph.constant(np.array(1, dtype=np.int64))
        places = graph.op("Range", zero, keys, one)
        queries = graph.op("Range", first, keys, one) if first else places
        ahead = graph.op(
            "Sub",
            graph.op("Unsqueeze", places, graph.integers(0)),
            graph.op("Unsqueeze", queries, graph.integers(1)),
        )
        farthest = int(attention.relative_attention_max_distance)
        most = graph.constant(np.array(farthest, dtype=np.int64))
        least = graph.constant(np.array(-farthest, dtype=np.int64))
        rows = graph.op("Add", graph.op("Clip", ahead, least, most), most)
        table = graph.constant(_bias_by_distance(attention), f"{path}.bias_by_distance")
        bias = graph.op("Transpose", graph.op("Gather", table, rows, axis=0), perm=(2, 0, 1))
        return graph.op("Unsqueeze", bias, graph.integers(0))

    def attend(self, query: str, keys: str, values: str, bias: str = "") -> str:
        """[B, Q, H k]: attention of queries [B, H, Q, k] over keys and values."""
        graph = self.graph
        scores = graph.op("MatMul", query, keys)
        if bias:
            scores = graph.op("Add", scores, bias)
        mixed = graph.op("MatMul", graph.op("Softmax", scores, axis=-1), values)
        joined = graph.op("Transpose", mixed, perm=(0, 2, 1, 3))
        return graph.op("Reshape", joined, graph.integers(0, 0, self._heads * self._head_width))

    def self_attention(self, x: str, layer: Any, path: str, bias: str) -> str:
        """`x` plus attention of x over itself."""
        graph, attention = self.graph, layer.SelfAttention
        normal = graph.rms_norm(x, layer.layer_norm, f"{path}.layer_norm")
        path = f"{path}.SelfAttention"
        query = self.values(normal, attention.q, f"{path}.q")
        keys = self.keys(normal, attention.k, f"{path}.k")
        values = self.values(normal, attention.v, f"{path}.v")
        mixed = self.attend(query, keys, values, bias)
        return graph.op("Add", x, graph.linear(mixed, attention.o, f"{path}.o"))

    def feed_forward(self, x: str, layer: Any, path: str) -> str:
        """`x` plus the feed-forward layers, gated or not."""
        graph, dense = self.graph, layer.DenseReluDense
        normal = graph.rms_norm(x, layer.layer_norm, f"{path}.layer_norm")
        path = f"{path}.DenseReluDense"
        if hasattr(dense, "wi_0"):
            gate = activation(graph, graph.linear(normal, dense.wi_0, f"{path}.wi_0"), dense.act)
            inner = graph.op("Mul", gate, graph.linear(normal, dense.wi_1, f"{path}.wi_1"))
        else:
            inner = activation(graph, graph.linear(normal, dense.wi, f"{path}.wi"), dense.act)
        return graph.op("Add", x, graph.linear(inner, dense.wo, f"{path}.wo"))


def activation(graph: GraphBuilder, x: str, function: torch.nn.Module) -> str:
    """The activation that a module of transformers or torch computes.

    Raises: GraphError: it has no node here.
    """
    kind = type(function).__name__
    if kind == "ReLU":
        return graph.op("Relu", x)
    if kind in {"GELUActivation", "GELU"}:
        return graph.op("Gelu", x)
    if kind in {"NewGELUActivation", "PytorchGELUTanh", "GELUTanh"}:
        return graph.op("Gelu", x, approximate="tanh")
    if kind == "QuickGELUActivation":
        scaled = graph.op("Mul", x, graph.number(1.702))
        return graph.op("Mul", x, graph.op("Sigmoid", scaled))
    raise GraphError(f"the activation {kind} has no graph: use a checkpoint with ReLU or GELU")


def layer_norm(graph: GraphBuilder, x: str, layer: Any, path: str) -> str:
    """A layer norm with mean and offset over the last axis."""
    return graph.op(
        "LayerNormalization",
        x,
        graph.weight(layer.weight, f"{path}.weight"),
        graph.weight(layer.bias, f"{path}.bias"),
        axis=-1,
        epsilon=float(layer.eps),
    )


def _bias_by_distance(attention: Any) -> npt.NDArray[np.float32]:
    """float32 [2 · farthest + 1, H]: bias by how far ahead a key is of its query."""
    farthest = int(attention.relative_attention_max_distance)
    ahead = torch.arange(-farthest, farthest + 1)
    buckets = attention._relative_position_bucket(  # noqa: SLF001 - transformers' own buckets
        ahead,
        bidirectional=not attention.is_decoder,
        num_buckets=attention.relative_attention_num_buckets,
        max_distance=farthest,
    )
    bias = attention.relative_attention_bias(buckets).detach()
    if attention.is_decoder:
        bias = bias.masked_fill((ahead > 0)[:, None], NEVER)
    return np.asarray(bias.numpy(), dtype=np.float32)
