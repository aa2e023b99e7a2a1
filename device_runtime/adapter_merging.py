"""An adapter laid onto a base's weights: W + A B, after every check that needs no graph."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from device_runtime.base_files import WEIGHT_SUFFIX, AdaptedBase, FloatArray
from device_runtime.errors import InstallError


def adapter_shapes(base: AdaptedBase, rank: int) -> dict[str, tuple[int, int]]:
    """Shapes of a whole adapter of one rank, by name of its tensors."""
    shapes = {}
    for path in base.adapted:
        inputs, outputs = base.weights[path + WEIGHT_SUFFIX].shape
        shapes[f"{path}.lora_a"] = (inputs, rank)
        shapes[f"{path}.lora_b"] = (rank, outputs)
    return shapes


def merged(base: AdaptedBase, tensors: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """The weights of `base` with an adapter; layers that it does not name stay as they are.

    Args:
        tensors: float32 2-D by name, "<module path>.lora_a" [in, r] and ".lora_b" [r, out].

    Raises:
        InstallError: the tensors fit another base ("base_mismatch"), or they or their products are
            not finite ("not_finite").
    """
    _require_fit(base, tensors)
    weights = dict(base.weights)
    for path in sorted({name.rpartition(".")[0] for name in tensors}):
        a, b = tensors[f"{path}.lora_a"], tensors[f"{path}.lora_b"]
        with np.errstate(over="ignore", invalid="ignore"):  # what comes of it is looked at
            weight = weights[path + WEIGHT_SUFFIX] + np.asarray(a @ b, dtype=np.float32)
        if not np.isfinite(weight).all():
            raise _not_finite(f"{path} under the adapter")
        weights[path + WEIGHT_SUFFIX] = weight
    return weights


def _require_fit(base: AdaptedBase, tensors: Mapping[str, FloatArray]) -> None:
    """Names, shapes and values."""
    for name, value in tensors.items():
        if name.rpartition(".")[2] not in {"lora_a", "lora_b"}:
            raise _mismatch(f"{name}, which is neither lora_a nor lora_b")
        if value.ndim != 2:
            raise _mismatch(f"{name}, which has {value.ndim} axes instead of 2")
        if not np.isfinite(value).all():
            raise _not_finite(name)
    for path in sorted({name.rpartition(".")[0] for name in tensors}):
        if path not in base.adapted:
            raise _mismatch(f"{path}, which is no layer that adapters change")
        if f"{path}.lora_a" not in tensors or f"{path}.lora_b" not in tensors:
            raise _mismatch(f"{path}, which has one factor instead of two")
        a, b = tensors[f"{path}.lora_a"].shape, tensors[f"{path}.lora_b"].shape
        if a[1] != b[0]:
            raise _mismatch(f"{path}, whose factors have ranks {a[1]} and {b[0]}")
        wanted = base.weights[path + WEIGHT_SUFFIX].shape
        if (a[0], b[1]) != wanted:
            raise _mismatch(f"{path}, which is {a[0]} x {b[1]} and not {wanted[0]} x {wanted[1]}")


def _mismatch(what: str) -> InstallError:
    return InstallError(
        f"the adapter does not fit this base at {what}: ask for one made for it",
        reason="base_mismatch",
    )


def _not_finite(what: str) -> InstallError:
    return InstallError(f"{what} is not finite: train it again", reason="not_finite")
