"""ONNX graphs put together node by node, with LoRA slots at the layers that adapters change.

A generic tracer takes a minute for a network of this size and names weights as it likes; written
out, a graph takes milliseconds, keeps the names of the network's modules, and has only the nodes
that it needs. That it computes what the network computes is what `exporters.parity` checks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from exporters.families.layout_t5 import LORA_TARGETS

if TYPE_CHECKING:
    import numpy.typing as npt
    from torch import Tensor, nn

_OPSET = 20
_IR_VERSION = 10
_KINDS: dict[str, int] = {"float": TensorProto.FLOAT, "int64": TensorProto.INT64}

Axes = tuple[str | int, ...]


class GraphBuilder:
    """One graph under construction. Values are known by their names; methods return names."""

    def __init__(self, name: str) -> None:
        """Start an empty graph."""
        self._name = name
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self.adapted: list[str] = []
        """Paths of the layers that got LoRA slots."""

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
        """A parameter of the network."""
        return self.constant(value.detach().numpy(), name)

    def linear(self, x: str, layer: nn.Linear, path: str) -> str:
        """`W x + b`, with a side path of optional factors where adapters change the layer.

        Args:
            path: of the layer in the network; names the weight and the slots.
        """
        result = self.op("MatMul", x, self.weight(layer.weight.T, f"{path}.weight_t"))
        if path.rpartition(".")[2] in LORA_TARGETS:
            low = self.op("MatMul", x, self._slot(f"{path}.lora_a", (layer.in_features, 0)))
            side = self.op("MatMul", low, self._slot(f"{path}.lora_b", (0, layer.out_features)))
            result = self.op("Add", result, side)
            self.adapted.append(path)
        if layer.bias is not None:
            result = self.op("Add", result, self.weight(layer.bias, f"{path}.bias"))
        return result

    def _slot(self, name: str, shape: tuple[int, int]) -> str:
        """An optional input; its default has rank 0 and adds nothing."""
        axes = [size or f"rank_{len(self.adapted)}" for size in shape]
        self._inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, axes))
        return self.constant(np.zeros(shape, dtype=np.float32), name)

    def rms_norm(self, x: str, layer: Any, path: str) -> str:
        """T5's layer norm: x / √(mean(x²) + ε) · weight, in the form that runtimes fuse."""
        squares = self.op("Pow", x, self.number(2.0))
        mean = self.op("ReduceMean", squares, self.integers(-1), keepdims=1)
        scale = self.op("Sqrt", self.op("Add", mean, self.number(layer.variance_epsilon)))
        normal = self.op("Div", x, scale)
        return self.op("Mul", normal, self.weight(layer.weight, f"{path}.weight"))

    def model(self) -> onnx.ModelProto:
        """The finished graph, checked."""
        graph = helper.make_graph(
            self._nodes,
            self._name,
            self._inputs,
            self._outputs,
            initializer=list(self._constants.values()),
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)])
        model.ir_version = _IR_VERSION
        onnx.checker.check_model(model, full_check=True)
        return model
