"""ONNX graphs put together node by node, whose weights lie in a file beside them.

A generic tracer takes a minute for a network of this size and names weights as it likes; written
out, a graph takes milliseconds, keeps the names of the network's modules, and has only the nodes
that it needs. That it computes what the network computes is what `exporters.parity` checks.

Every parameter is external data: any runtime finds it in the file, and a phone that has an adapter
gives W + A B in its place when it opens the graph. In an int8 graph the layers of `INT8_LAYERS`
quantise their weights themselves, which a runtime works out once, when it opens the graph:

    scale_j = max_i |W_ij| / 127        codes_ij = round(W_ij / scale_j) + 128        uint8

Unsigned codes, because a processor without dot products of bytes adds pairs of products in 16 bits:
with signed codes that saturates in silence, and actions would depend on the processor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from exporters.families.layout_t5 import LORA_TARGETS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt
    from torch import Tensor, nn

_OPSET = 20
_IR_VERSION = 10
_KINDS: dict[str, int] = {
    "float": TensorProto.FLOAT,
    "int64": TensorProto.INT64,
    "uint8": TensorProto.UINT8,
}
_LEVELS, _ZERO = 127.0, 128
_LEAST_SCALE = 1e-30
"""Scale of a column of zeros."""

INT8_LAYERS = ("q", "k", "v", "o", "wi", "wi_0", "wi_1", "wo", "qkv", "projection", "fc1", "fc2")
"""Last parts of the names of the layers that an int8 graph computes in 8 bits: those of T5 and of
image encoders that take the time. The heads stay as they are: their errors would be the decision's.
"""

Axes = tuple[str | int, ...]


class GraphBuilder:
    """One graph under construction. Values are known by their names; methods return names."""

    def __init__(self, name: str, *, int8: bool = False) -> None:
        """Start an empty graph.

        Args:
            int8: whether the layers of `INT8_LAYERS` are computed in 8 bits.
        """
        self._name = name
        self._int8 = int8
        self._coded: dict[str, tuple[str, str, str]] = {}
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self.weights: dict[str, npt.NDArray[np.float32]] = {}
        """The parameters by name."""
        self.adapted: list[str] = []
        """Paths of the layers that adapters change."""

    def input(self, name: str, axes: Axes, kind: str = "float") -> str:
        """A required input; an axis that is a string may have any length."""
        self._inputs.append(helper.make_tensor_value_info(name, _KINDS[kind], axes))
        return name

    def output(self, value: str, name: str, axes: Axes) -> None:
        """Hand `value` out as `name`."""
        self._nodes.append(helper.make_node("Identity", [value], [name]))
        self._outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, axes))

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """The first output of a new node; attributes are integers or sequences of them."""
        result = f"{kind.lower()}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [result], **attributes))
        return result

    def constant(self, value: npt.NDArray[Any], name: str = "") -> str:
        """A constant; unnamed ones of equal value are kept once."""
        array = np.asarray(value, order="C")  # keeps scalars as they are
        known = name or f"constant_{array.dtype}_{array.shape}_{array.tobytes().hex()}"
        if known not in self._constants:
            self._constants[known] = numpy_helper.from_array(array, known)
        return known

    def integers(self, *values: int) -> str:
        """int64 [len(values)]."""
        return self.constant(np.array(values, dtype=np.int64))

    def number(self, value: float) -> str:
        """float32 scalar."""
        return self.constant(np.array(value, dtype=np.float32))

    def weight(self, value: Tensor, name: str) -> str:
        """A parameter of the network, which lies in the file of weights."""
        self.weights[name] = np.ascontiguousarray(value.detach().numpy())
        return name

    def linear(self, x: str, layer: nn.Linear, path: str) -> str:
        """`W x + b`.

        Args:
            path: of the layer in the network; names the weights.
        """
        weight = self.weight(layer.weight.T, f"{path}.weight_t")
        last = path.rpartition(".")[2]
        if last in LORA_TARGETS:
            self.adapted.append(path)
        product = self._int8_product if self._int8 and last in INT8_LAYERS else self._product
        result = product(x, weight)
        if layer.bias is not None:
            result = self.op("Add", result, self.weight(layer.bias, f"{path}.bias"))
        return result

    def _product(self, x: str, weight: str) -> str:
        return self.op("MatMul", x, weight)

    def _int8_product(self, x: str, weight: str) -> str:
        """The product from integers: x is quantised as it comes, with one scale, W by columns."""
        codes, scale = self._quantised_weight(weight)
        x_codes, x_scale, x_zero = self._quantised(x)
        zero = self.constant(np.array(_ZERO, dtype=np.uint8))
        whole = self.op("MatMulInteger", x_codes, codes, x_zero, zero)
        return self.op("Mul", self._cast(whole, "float"), self.op("Mul", x_scale, scale))

    def _quantised(self, x: str) -> tuple[str, str, str]:
        """Codes, scale and zero point of `x`, whichever layers read it."""
        if x not in self._coded:
            count = len(self._nodes)
            names = (f"codes_{count}", f"scale_{count}", f"zero_{count}")
            self._nodes.append(helper.make_node("DynamicQuantizeLinear", [x], list(names)))
            self._coded[x] = names
        return self._coded[x]

    def _quantised_weight(self, weight: str) -> tuple[str, str]:
        """Codes uint8 [in, out] and scales [out]: constants, worked out when a graph is opened."""
        largest = self.op("ReduceMax", self.op("Abs", weight), self.integers(0), keepdims=0)
        scale = self.op("Div", largest, self.number(_LEVELS))
        scale = self.op("Max", scale, self.number(_LEAST_SCALE))
        whole = self.op("Round", self.op("Div", weight, scale))
        return self._cast(self.op("Add", whole, self.number(_ZERO)), "uint8"), scale

    def _cast(self, value: str, kind: str) -> str:
        return self.op("Cast", value, to=_KINDS[kind])

    def rms_norm(self, x: str, layer: Any, path: str) -> str:
        """T5's layer norm: x / √(mean(x²) + ε) · weight, in the form that runtimes fuse."""
        squares = self.op("Pow", x, self.number(2.0))
        mean = self.op("ReduceMean", squares, self.integers(-1), keepdims=1)
        scale = self.op("Sqrt", self.op("Add", mean, self.number(layer.variance_epsilon)))
        normal = self.op("Div", x, scale)
        return self.op("Mul", normal, self.weight(layer.weight, f"{path}.weight"))

    def model(self, file: str, places: Mapping[str, tuple[int, int]]) -> onnx.ModelProto:
        """The finished graph.

        Args:
            file: name of the file of weights, beside the graph.
            places: offset and length in it, bytes, by name of the weight.
        """
        graph = helper.make_graph(
            self._nodes,
            self._name,
            self._inputs,
            self._outputs,
            initializer=[
                *self._constants.values(),
                *(_external(name, one, file, places[name]) for name, one in self.weights.items()),
            ],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)])
        model.ir_version = _IR_VERSION
        return model


def _external(
    name: str, value: npt.NDArray[np.float32], file: str, place: tuple[int, int]
) -> onnx.TensorProto:
    tensor = onnx.TensorProto(name=name, data_type=TensorProto.FLOAT, dims=value.shape)
    tensor.data_location = TensorProto.EXTERNAL
    offset, length = place
    for key, text in (("location", file), ("offset", str(offset)), ("length", str(length))):
        tensor.external_data.add(key=key, value=text)
    return tensor
