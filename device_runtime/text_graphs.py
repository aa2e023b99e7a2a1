"""An exported T5 with image features: ONNX graphs that write actions without torch.

Adapters are laid onto the weights when the graphs are opened, as for layout_t5
(`device_runtime.adapter_merging`). The tokenizer is the library `tokenizers` alone. Graphs read one
screen at a time, so 8-bit ones need no care about neighbours.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from device_runtime.adapter_merging import adapter_shapes, merged
from device_runtime.base_files import (
    DECODER,
    ENCODER,
    WEIGHTS_FILE,
    FloatArray,
    Graph,
    Quantisation,
    open_graphs,
    read_listed,
    read_weights,
    require_finite,
    unusable,
)
from device_runtime.errors import InstallError, PolicyFilesError
from sync.errors import RejectedError
from sync.picture import PictureForm, pixels_of
from sync.text_decoding import NextLogits
from sync.text_policy_io import AUTOUI, Vocabulary, latest_tokens, read_tokenizer, vocabulary_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from sync.byte_grammar import TokenMasks

EYES, TOKENIZER_FILE = "eyes", "tokenizer.json"
GRAPHS = (EYES, ENCODER, DECODER)


@dataclass(frozen=True, slots=True)
class DecoderShape:
    """Sizes of what the decoder is fed: layers, heads, width of a head, width of the features."""

    layers: int
    heads: int
    head_width: int
    features: int


class TextBase:
    """An exported base in memory: `network` opens its graphs, with or without an adapter.

    Attributes:
        directory: where its files are.
        digest: SHA-256 (hex) of the base that adapters must belong to.
        quantisation: how the graphs compute.
        adapted: module paths of the layers that adapters change.
        weights: float32 by name, read-only.
        read_by: names of the weights that each graph reads.
    """

    language = AUTOUI

    def __init__(
        self, directory: Path, *, quantisation: Quantisation = "fp32", threads: int = 1
    ) -> None:
        """Read and check the files in `directory`.

        Args:
            quantisation: which graphs `network` opens.
            threads: threads within one operation.

        Raises:
            PolicyFilesError: files are missing, damaged, or for another version of the encoding; or
                the library `tokenizers` is not installed.
        """
        described, contents = read_listed(directory, self.language.version)
        self.directory, self._threads = directory, threads
        self.quantisation: Quantisation = quantisation
        try:
            self.digest = str(described["digest"])
            self.adapted = tuple(map(str, described["adapted"]))
            self.weights = read_weights(contents[WEIGHTS_FILE])
            self.read_by = {name: tuple(described["weights"][name]) for name in GRAPHS}
            self.picture_form = PictureForm.read(described["picture"])
            self.shape = DecoderShape(**described["shape"])
            tokens = {name: int(token) for name, token in described["tokens"].items()}
            text = contents[TOKENIZER_FILE].decode()
            self.start = tokens["start"]
            self.vocabulary = vocabulary_of(
                read_tokenizer(text), end=tokens["end"], size=tokens["size"]
            )
        except (
            RejectedError,
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
            struct.error,
        ) as error:
            raise unusable(directory, str(error)) from error
        require_finite(directory, self.weights)
        self.masks = self.vocabulary.masks(self.language)
        self.tokenizer = _tokenizer(text, directory)

    def adapter_shapes(self, rank: int) -> dict[str, tuple[int, int]]:
        """Shapes of a whole adapter of one rank, by name of its tensors."""
        return adapter_shapes(self, rank)

    def network(self, tensors: Mapping[str, FloatArray] | None = None) -> TextGraphs:
        """The network with an adapter, or as it is.

        Args:
            tensors: float32 2-D by name, "<module path>.lora_a" [in, r] and ".lora_b" [r, out].

        Raises:
            InstallError: the tensors fit another base ("base_mismatch"), or they or what the graphs
                make of them are not finite ("not_finite").
            PolicyFilesError: a graph cannot be opened.
        """
        weights = merged(self, tensors) if tensors else self.weights
        graphs = open_graphs(self, weights, self.quantisation, threads=self._threads)
        network = TextGraphs(self, graphs)
        if not np.isfinite(network.writer("?", None)(())).all():
            raise InstallError(
                "the adapter's outcome is not finite: train it again", reason="not_finite"
            )
        return network


class TextGraphs:
    """The graphs under one adapter; implements `device_runtime.text_policy.TextNetwork`."""

    language = AUTOUI

    def __init__(self, base: TextBase, graphs: Mapping[str, Graph]) -> None:
        self._base = base
        self._graphs = graphs

    @property
    def vocabulary(self) -> Vocabulary:
        """The base's tokens."""
        return self._base.vocabulary

    @property
    def masks(self) -> TokenMasks:
        """Which tokens may follow while an action is written."""
        return self._base.masks

    def writer(self, prompt: str, rgb: npt.NDArray[np.uint8] | None) -> NextLogits:
        """The logits of the token that follows; prompt and picture are read once."""
        ids = self._base.tokenizer.encode(prompt, add_special_tokens=False).ids
        tokens = [*latest_tokens(self.vocabulary.plain(ids)), self.vocabulary.end]
        encoder = self._graphs[ENCODER]
        feed: dict[str, npt.NDArray[Any]] = {
            "prompt": np.array([tokens], dtype=np.int64),
            "features": self._features(rgb)[None],
        }
        cross = dict(zip(encoder.outputs, encoder.run(encoder.outputs, feed), strict=True))
        return _Writing(self._graphs[DECODER], cross, self._base).next_logits

    def _features(self, rgb: npt.NDArray[np.uint8] | None) -> FloatArray:
        """float32 [1, F]: what the image encoder sees; zeros where there is no picture."""
        if rgb is None:
            return np.zeros((1, self._base.shape.features), dtype=np.float32)
        pixels = pixels_of(rgb, self._base.picture_form)[None]
        return self._graphs[EYES].run(["features"], {"pixels": pixels})[0]


class _Writing:
    """One text under way: what the decoder already knows of it."""

    def __init__(self, decoder: Graph, cross: Mapping[str, FloatArray], base: TextBase) -> None:
        shape = base.shape
        self._decoder = decoder
        self._cross = cross
        self._unread = [base.start]
        self._read = 0
        self._known: dict[str, FloatArray] = {}
        for layer in range(shape.layers):
            empty = np.zeros((1, shape.heads, shape.head_width, 0), dtype=np.float32)
            self._known[f"known_key_{layer}"] = empty
            self._known[f"known_value_{layer}"] = empty.transpose(0, 1, 3, 2)
        self._wanted = ["logits", *(name.removeprefix("known_") for name in self._known)]

    def next_logits(self, tokens: Sequence[int]) -> FloatArray:
        """float32 [V]: what follows `tokens`, which begin with those of the last call."""
        fresh = [*self._unread, *tokens[self._read :]]
        feed: dict[str, npt.NDArray[Any]] = {
            "tokens": np.array([fresh], dtype=np.int64),
            **self._known,
            **self._cross,
        }
        logits, *known = self._decoder.run(self._wanted, feed)
        self._known = dict(zip(self._known, known, strict=True))
        self._unread, self._read = [], len(tokens)
        return np.asarray(logits[0], dtype=np.float32)


def _tokenizer(text: str, directory: Path) -> Any:  # Any: the library ships no types
    try:
        from tokenizers import Tokenizer  # noqa: PLC0415 - an extra of its own
    except ImportError as error:
        raise PolicyFilesError(
            "this policy needs the library tokenizers: pip install 'outrider[vlm]'"
        ) from error
    try:
        tokenizer = Tokenizer.from_str(text)
    except Exception as error:  # the library's errors share no base but Exception
        raise unusable(directory, f"{TOKENIZER_FILE}: {error}") from error
    # what stands on a screen is text, also where it looks like a control token
    tokenizer.encode_special_tokens = True
    return tokenizer
