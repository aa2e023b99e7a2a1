"""The policy that a phone runs: two ONNX graphs, a text table, and adapters that are swapped in.

The graphs are the base. A release is an adapter whose tensors fill the graphs' optional LoRA
inputs; several can be loaded at once, and each request says which one is to act, so a swap is a
change of name between two actions. Choosing itself is `sync.decoding`, as it is for the learner.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime

from device_runtime.errors import InstallError, PolicyFilesError
from device_runtime.ports import Decided, PolicyRequest
from sync.decoding import Batch, Logits, action_of, decide
from sync.policy_io import POLICY_IO_VERSION, EncodedInput
from sync.text_table import TextTable
from sync.tokens import BIT_COLUMNS, ID_COLUMNS
from sync.vocabulary import FACTORY_RELEASE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

ENCODER_FILE, DECODER_FILE = "encoder.onnx", "decoder.onnx"
TABLE_FILE, BASE_FILE = "text_table.npy", "base.json"

_ENCODER, _DECODER = 0, 1
_LOGITS = ["types", "pointers", "words"]
_PROBE_TOKENS = 5

_MOST_TOKENS = 1024
"""Most tokens in one run, padding included: with more, the states leave the processor's cache."""

_RUN_TOKENS = 70
"""What starting another run costs, in tokens (`batches` weighs it against padding)."""

_MOST_TEXTS = 16_384
"""Strings whose vectors are kept, some ten megabytes: a phone shows a few thousand in a day, a
farm of a thousand seats that many between two turns, and none of them for ever."""


@dataclass(frozen=True, slots=True)
class _Adapter:
    """One loaded adapter: run options per graph, and the native objects that they point into."""

    options: tuple[Any, Any]  # onnxruntime ships no types
    keep_alive: tuple[Any, ...]


class OnnxGraphs:
    """The two graphs under one adapter, as the callables of `sync.decoding`."""

    def __init__(self, sessions: tuple[Any, Any], options: tuple[Any, Any]) -> None:
        """Use `sessions` (encoder, decoder) with the run options of one adapter."""
        self._encoder, self._decoder = sessions
        self._options = options
        self._memory_names = [output.name for output in self._encoder.get_outputs()]

    def encoder(self, batch: Batch) -> dict[str, npt.NDArray[np.float32]]:
        """Memory of a batch: the decoder's inputs but for the prefix."""
        feed = {"text": batch.text, "ids": batch.ids, "bits": batch.bits, "mask": batch.mask}
        outputs = self._encoder.run(self._memory_names, feed, self._options[_ENCODER])
        return {"mask": batch.mask, **dict(zip(self._memory_names, outputs, strict=True))}

    def decoder(
        self,
        memory: dict[str, npt.NDArray[np.float32]],
        prefix: npt.NDArray[np.int64],
        rows: Sequence[int] | None = None,
    ) -> Logits:
        """Logits of the decision after `prefix`, for some rows of the memory or for all."""
        if rows is not None:
            memory = {name: value.take(rows, axis=0) for name, value in memory.items()}
        feed = {"prefix": prefix, **memory}
        return Logits(*self._decoder.run(_LOGITS, feed, self._options[_DECODER]))


class OnnxPolicy:
    """Chooses actions with an exported base and any number of loaded adapters.

    Not safe to use from several threads at once. Implements `device_runtime.ports.Policy`.
    """

    wants_encoding = True

    def __init__(self, base_dir: Path, *, threads: int = 1) -> None:
        """Open the graphs in `base_dir`; only the factory policy is loaded.

        Args:
            threads: threads within one operation.

        Raises:
            PolicyFilesError: files are missing, damaged, or of another version of the encoding.
        """
        self._description = _read_description(base_dir)
        try:
            self._table = TextTable(np.load(base_dir / TABLE_FILE), most_texts=_MOST_TEXTS)
            self._sessions = (
                _session(base_dir / ENCODER_FILE, threads),
                _session(base_dir / DECODER_FILE, threads),
            )
        except Exception as error:  # onnxruntime's errors share no base but Exception
            raise PolicyFilesError(f"{base_dir} cannot be loaded: export the base again") from error
        self._slots = tuple(_slots_of(session) for session in self._sessions)
        self._adapters: dict[str, _Adapter] = {}
        self._graphs: dict[str, OnnxGraphs] = {
            FACTORY_RELEASE: OnnxGraphs(self._sessions, (None, None))
        }
        self._current = str(FACTORY_RELEASE)

    @property
    def base_digest(self) -> str:
        """SHA-256 (hex) of the base that adapters must belong to."""
        return str(self._description["digest"])

    @property
    def table(self) -> TextTable:
        """The base's text table."""
        return self._table

    @property
    def current(self) -> str:
        """The release that acts where a request names none."""
        return self._current

    @property
    def loaded(self) -> tuple[str, ...]:
        """Releases that requests may name."""
        return tuple(self._graphs)

    def slot_shapes(self, rank: int) -> dict[str, tuple[int, int]]:
        """Shapes of a whole adapter of one rank, by name of its tensors."""
        slots = self._slots[_ENCODER] | self._slots[_DECODER]
        return {
            name: (slots[name][0], rank) if name.endswith(".lora_a") else (rank, slots[name][1])
            for name in slots
        }

    def use(self, release_id: str) -> None:
        """Let `release_id` act where a request names none.

        Raises:
            InstallError: it is not loaded ("unknown_release").
        """
        self.graphs_for(release_id)
        self._current = release_id

    def load_adapter(self, release_id: str, tensors: Mapping[str, npt.NDArray[np.float32]]) -> None:
        """Make `release_id` available; one that is loaded already under this name is replaced.

        Args:
            tensors: float32 2-D by name, "<module path>.lora_a" [in, r] and ".lora_b" [r, out].
                Layers that are not named stay as in the base.

        Raises:
            InstallError: the tensors fit another base ("base_mismatch"), or they or what the graphs
                make of them are not finite ("not_finite"). What was loaded before is unchanged.
        """
        if release_id == FACTORY_RELEASE:
            raise ValueError("the factory release is the base itself and takes no adapter")
        self._check(tensors)
        adapter = self._native_adapter(tensors)
        graphs = OnnxGraphs(self._sessions, adapter.options)
        _probe(graphs, self._table.dim)
        self._adapters[release_id] = adapter
        self._graphs[release_id] = graphs

    def unload(self, release_id: str) -> None:
        """Forget a release; the factory release acts where it was the current one."""
        if release_id == FACTORY_RELEASE:
            raise ValueError("the factory release is always there")
        self._graphs.pop(release_id, None)
        self._adapters.pop(release_id, None)
        if self._current == release_id:
            self._current = FACTORY_RELEASE

    def graphs_for(self, release_id: str) -> OnnxGraphs:
        """The callables of one release.

        Raises:
            InstallError: it is not loaded ("unknown_release").
        """
        graphs = self._graphs.get(release_id or self._current)
        if graphs is None:
            raise InstallError(
                f"release {release_id} is not loaded: install it first", reason="unknown_release"
            )
        return graphs

    def decide(self, requests: Sequence[PolicyRequest]) -> list[Decided]:
        """One decision per request, in order.

        Requests of one release run together, see `batches`.
        """
        decided: dict[int, Decided] = {}
        groups: dict[str, list[int]] = {}
        for row, request in enumerate(requests):
            groups.setdefault(request.release_id or self._current, []).append(row)
        for release_id, rows in groups.items():
            for batch in batches(rows, [_encoded(requests[row]).length for row in rows]):
                chosen = self._decide_batch(release_id, [requests[row] for row in batch])
                decided.update(zip(batch, chosen, strict=True))
        return [decided[row] for row in range(len(requests))]

    def _decide_batch(self, release_id: str, requests: list[PolicyRequest]) -> list[Decided]:
        graphs = self.graphs_for(release_id)
        inputs = [_encoded(request) for request in requests]
        choices = decide(
            inputs,
            graphs.encoder,
            graphs.decoder,
            table=self._table,
            temperatures=[request.temperature for request in requests],
            randoms=[request.random for request in requests],
        )
        return [
            Decided(
                action=action_of(item, request.observation, choice.choices),
                decisions=choice.decisions,
                log_prob=choice.log_prob,
                policy_version=release_id,
                quantisation="fp32",
            )
            for item, request, choice in zip(inputs, requests, choices, strict=True)
        ]

    def _check(self, tensors: Mapping[str, npt.NDArray[np.float32]]) -> None:
        """Names, shapes and values, before anything native sees them."""
        slots = self._slots[_ENCODER] | self._slots[_DECODER]
        for path in sorted({name.rpartition(".")[0] for name in tensors}):
            first, second = f"{path}.lora_a", f"{path}.lora_b"
            if first not in tensors or second not in tensors or first not in slots:
                raise _mismatch(path)
            a, b = tensors[first], tensors[second]
            if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
                raise _mismatch(path)
            if a.shape[0] != slots[first][0] or b.shape[1] != slots[second][1]:
                raise _mismatch(path)
        if any(name.rpartition(".")[2] not in {"lora_a", "lora_b"} for name in tensors):
            raise _mismatch("a tensor that is neither lora_a nor lora_b")
        for name, value in tensors.items():
            if not np.isfinite(value).all():
                raise InstallError(f"{name} is not finite: train it again", reason="not_finite")

    def _native_adapter(self, tensors: Mapping[str, npt.NDArray[np.float32]]) -> _Adapter:
        """One native adapter per graph: a graph refuses names that it lacks."""
        options: list[Any] = []
        natives: list[Any] = []
        with tempfile.TemporaryDirectory(prefix="adapter-") as folder:
            for index, slots in enumerate(self._slots):
                mine = {name: value for name, value in tensors.items() if name in slots}
                if not mine:
                    options.append(None)
                    continue
                # the runtime maps the file, which stays in memory after its name is gone
                path = Path(folder) / f"{index}.onnx_adapter"
                natives.append(_written_adapter(path, mine))
                run_options = onnxruntime.RunOptions()
                run_options.add_active_adapter(natives[-1])
                options.append(run_options)
        return _Adapter((options[_ENCODER], options[_DECODER]), tuple(natives))


def batches(rows: Sequence[int], lengths: Sequence[int]) -> list[list[int]]:
    """`rows` in the batches that cost least: padding costs what tokens cost, and so does each run.

    Args:
        lengths: tokens of each row.
    """
    ordered = sorted(zip(lengths, rows, strict=True))
    costs, starts = [0], [0]  # of the cheapest way to run what comes before each place
    for end, (longest, _) in enumerate(ordered, start=1):
        first = max(0, end - max(1, _MOST_TOKENS // longest))
        ways = [costs[start] + (end - start) * longest for start in range(first, end)]
        least = min(ways)
        costs.append(least + _RUN_TOKENS)
        starts.append(first + ways.index(least))
    parts: list[list[int]] = []
    end = len(ordered)
    while end:
        parts.append([row for _, row in ordered[starts[end] : end]])
        end = starts[end]
    return parts[::-1]


def _mismatch(path: str) -> InstallError:
    return InstallError(
        f"the adapter does not fit this base at {path}: ask for one made for it",
        reason="base_mismatch",
    )


def _encoded(request: PolicyRequest) -> EncodedInput:
    if request.encoded is None:
        raise ValueError("requests to this policy carry the encoded observation")
    return request.encoded


def _read_description(base_dir: Path) -> dict[str, Any]:
    path = base_dir / BASE_FILE
    try:
        description: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        version = description["policy_io_version"]
        str(description["digest"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PolicyFilesError(f"{path} cannot be read: export the base again") from error
    if version != POLICY_IO_VERSION:
        raise PolicyFilesError(
            f"{path} is for encoding {version}, this program has {POLICY_IO_VERSION}: "
            "export the base again"
        )
    return description


def _session(path: Path, threads: int) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _slots_of(session: Any) -> dict[str, list[int]]:
    """Shapes of the graph's optional inputs by name; the axis of the rank means nothing."""
    return {slot.name: list(slot.shape) for slot in session.get_overridable_initializers()}


def _written_adapter(path: Path, tensors: Mapping[str, npt.NDArray[np.float32]]) -> Any:
    values = {
        name: onnxruntime.OrtValue.ortvalue_from_numpy(
            np.ascontiguousarray(value, dtype=np.float32)
        )
        for name, value in tensors.items()
    }
    file = onnxruntime.AdapterFormat()
    file.set_parameters(values)
    file.export_adapter(str(path))
    adapter = onnxruntime.LoraAdapter()
    adapter.Load(str(path))
    return adapter


def _probe(graphs: OnnxGraphs, width: int) -> None:
    """Run one made-up screen through every slot: huge values only show in the outcome."""
    shape = (1, _PROBE_TOKENS)
    batch = Batch(
        text=np.ones((*shape, width), dtype=np.float32),
        ids=np.ones((*shape, len(ID_COLUMNS)), dtype=np.int64),
        bits=np.ones((*shape, len(BIT_COLUMNS)), dtype=np.float32),
        mask=np.ones(shape, dtype=np.float32),
    )
    logits = graphs.decoder(graphs.encoder(batch), np.zeros((1, 1, 2), dtype=np.int64))
    if not all(np.isfinite(one).all() for one in _parts(logits)):
        raise InstallError(
            "the adapter's outcome is not finite: train it again", reason="not_finite"
        )


def _parts(logits: Logits) -> Iterator[npt.NDArray[np.float32]]:
    yield from (logits.types, logits.pointers, logits.words)
