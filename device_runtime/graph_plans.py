"""How a base's graphs are computed, worked out once for all of its releases.

The runtime looks for the best way to compute a graph each time it opens one, which takes longer
than all else that it does then. The way depends on no weight, so it is kept: the graph as the
runtime improved it, with places for the weights that each release puts its own into.

While it is worked out, not-a-number stands in the places. Should the way depend on a weight after
all, the base computes something else by it, and whoever uses plans sees first that it does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np
import onnxruntime

from device_runtime.base_files import (
    BaseFiles,
    FloatArray,
    Graph,
    graph_file,
    session_options,
    unusable,
)

Plans = Mapping[str, bytes]
"""ONNX by name of the graph."""
_INSIDE_BYTES: Final = 8192
"""A plan holds smaller values itself, as all constants of a graph are; larger ones have a place."""
_SAVING: Final = "session.optimized_model_external_initializers_"


def plans_of(base: BaseFiles, *, threads: int) -> Plans:
    """The plans of a base's fp32 graphs.

    Raises: PolicyFilesError: they cannot be made, as on a full disk.
    """
    try:
        with TemporaryDirectory() as folder:
            return {
                name: _plan(base, name, Path(folder) / graph_file(name, "fp32"), threads)
                for name in base.read_by
            }
    except Exception as error:  # onnxruntime's errors share no base but Exception
        raise unusable(base.directory, f"no plan of it can be made: {error}") from error


def open_planned(
    base: BaseFiles, plans: Plans, weights: Mapping[str, FloatArray], *, threads: int
) -> dict[str, Graph]:
    """The graphs of `base` by name, computing with `weights` as `plans` says.

    Raises: PolicyFilesError: a graph cannot be opened.
    """
    try:
        return {
            name: _opened(plan, {one: weights[one] for one in base.read_by[name]}, threads)
            for name, plan in plans.items()
        }
    except Exception as error:  # onnxruntime's errors share no base but Exception
        raise unusable(base.directory, f"a graph cannot be opened: {error}") from error


def _plan(base: BaseFiles, name: str, file: Path, threads: int) -> bytes:
    options = session_options(threads)
    options.optimized_model_filepath = str(file)
    options.add_session_config_entry(f"{_SAVING}file_name", f"{file.name}.values")
    options.add_session_config_entry(f"{_SAVING}min_size_in_bytes", str(_INSIDE_BYTES))
    places = {
        one: np.full(base.weights[one].shape, np.nan, np.float32) for one in base.read_by[name]
    }
    Graph(base.directory / file.name, places, options)
    return file.read_bytes()


def _opened(plan: bytes, values: Mapping[str, FloatArray], threads: int) -> Graph:
    options = session_options(threads)
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    inside = {name for name, value in values.items() if value.nbytes < _INSIDE_BYTES}
    return Graph(plan, values, options, inside=inside)
