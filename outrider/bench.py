"""`outrider bench policy`: what one action costs on this machine.

Two measurements: the base that acts here, from observation to action; and, where torch is
installed, networks of every size and input length beside torch and beside the floor
(`outrider.bench_sizes`).
"""

from __future__ import annotations

import hashlib
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated, Any

import typer

from outrider.errors import MisuseError
from outrider.graphs import graphs_of
from outrider.options import Json, Quantisation, QuantisationChoice, chosen_parts
from outrider.output import Output

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from device_runtime.policy import OnnxPolicy
    from device_runtime.ports import Decided, PolicyRequest
    from sync.vocabulary import Observation

_WORDS = (
    "search settings network display sound battery about phone alarm timer contact message "
    "ticket train station city class order date change cancel price seat window map home"
).split()
RELEASE = "bench"
_RANK = 16
_SIZES = ("S", "M", "L")
_NONE = "none"
_MEASURED_SIZE, _LEAST_TOKENS = "M", 128
"""Where the summary says how much faster than torch the graphs are, at least."""

Rows = Iterator[dict[str, Any]]  # figures of several kinds


def bench_policy(
    *,
    elements: Annotated[int, typer.Option(help="Elements on each screen.", min=1)] = 64,
    actions: Annotated[int, typer.Option(help="Actions to measure.", min=1)] = 200,
    batch: Annotated[int, typer.Option(help="Screens at once, as a farm has.", min=1)] = 32,
    base: Annotated[
        Path | None, typer.Option("--base", help="Folder of a base; the shipped one if not given.")
    ] = None,
    sizes: Annotated[
        str, typer.Option("--sizes", help="Networks beside torch, of S, M and L; or none.")
    ] = ",".join(_SIZES),
    tokens: Annotated[
        str, typer.Option("--tokens", help="Lengths of their input, with commas between them.")
    ] = "64,128,256",
    repeats: Annotated[
        int, typer.Option("--repeats", help="Runs of each network, length and way.", min=1)
    ] = 15,
    quantisation: Quantisation = QuantisationChoice.FP32,
    json: Json = False,
) -> None:
    """Measure one action, with an adapter, in thread CPU time: here, and by size of the network."""
    from device_runtime.policy import OnnxPolicy

    chosen = [] if sizes == _NONE else chosen_parts(sizes, _SIZES)
    lengths = _lengths(tokens)
    out = Output(json_lines=json)
    with tempfile.TemporaryDirectory(prefix="outrider-bench-") as folder:
        policy = OnnxPolicy(graphs_of(base, Path(folder)), quantisation=quantisation.graphs)
    policy.load_adapter(RELEASE, some_adapter(policy))
    policy.use(RELEASE)
    requests = made_up_requests(elements, actions, Random(0))

    decided: list[Decided] = []

    def decide_alone(request: PolicyRequest) -> None:
        decided.extend(policy.decide([encoded_request(request)]))

    alone = [_cpu_ms(partial(decide_alone, request)) for request in requests]
    ready = [encoded_request(one) for one in requests]
    farm = _cpu_ms(
        lambda: [policy.decide(ready[at : at + batch]) for at in range(0, actions, batch)]
    )
    by_size = _by_size(chosen, lengths, repeats=repeats, out=out) if chosen else {}
    out.summary(
        elements=elements,
        n=actions,
        p50_ms=round(statistics.median(alone), 3),
        p95_ms=round(statistics.quantiles(alone, n=20)[-1], 3) if actions > 1 else None,
        tokens=max(one.encoded.length for one in ready if one.encoded is not None),
        batch=batch,
        batched_actions_per_cpu_s=round(actions / farm * 1000),
        base=policy.base_digest,
        decisions=decisions_digest(decided),
        quantisation=policy.quantisation,
        **by_size,
    )


def _lengths(tokens: str) -> list[int]:
    """The lengths that `--tokens` names.

    Raises: MisuseError: one is no number above 0.
    """
    found = [int(one) for one in tokens.split(",") if one.strip().isdecimal() and int(one) > 0]
    if len(found) != tokens.count(",") + 1:
        raise MisuseError(f"--tokens {tokens!r} is no list of lengths: name some like 64,128")
    return found


def _by_size(
    sizes: Sequence[str], lengths: Sequence[int], *, repeats: int, out: Output
) -> dict[str, object]:
    """Show a row for each size and length; what the summary says of them."""
    try:
        from outrider.bench_sizes import sgemm_rate, size_rows
    except ModuleNotFoundError as error:
        out.event("skipped", part="sizes", reason=f"{error.name} is not installed")
        return {}
    rate = sgemm_rate()
    least: list[float] = []

    def rows() -> Rows:
        for row in size_rows(sizes, lengths, repeats=repeats, rate=rate):
            if row["size"] == _MEASURED_SIZE and row["tokens"] >= _LEAST_TOKENS:
                least.append(row["speedup"])
            yield row if out.json_lines else _shown(row)

    out.rows("latency", rows(), title="One action, ms of thread CPU time")
    return {
        "sgemm_gflops": round(rate / 1e9, 1),
        "least_speedup": min(least, default=None),
        "repeats": repeats,
    }


def _shown(row: dict[str, Any]) -> dict[str, object]:
    """What fits a terminal of 80 columns."""
    names = ("torch_ms", "fp32_ms", "fp32_lora_ms", "int8_lora_ms", "floor_ms")
    return {
        "size": row["size"],
        "tokens": row["tokens"],
        **{name.removesuffix("_ms"): row[name] for name in names},
        "speedup": row["speedup"],
    }


def decisions_digest(decided: Sequence[Decided]) -> str:
    """SHA-256 (hex) over what was chosen: the same wherever the same base runs as it should."""
    chosen = "\n".join(",".join(str(choice.choice) for choice in one.decisions) for one in decided)
    return hashlib.sha256(chosen.encode()).hexdigest()


def some_adapter(policy: OnnxPolicy) -> dict[str, npt.NDArray[np.float32]]:
    """An adapter for every slot, small enough to change little: its cost is that of a real one."""
    import numpy as np

    random = np.random.default_rng(0)
    shapes = policy.adapter_shapes(_RANK)
    return {
        name: random.normal(0, 0.01, shape).astype(np.float32) for name, shape in shapes.items()
    }


def made_up_requests(elements: int, count: int, random: Random) -> list[PolicyRequest]:
    """Requests on made-up screens, the same for the same arguments; not encoded yet."""
    from device_runtime.ports import PolicyRequest
    from sync.history import EMPTY_HISTORY

    return [
        PolicyRequest(
            _screen(elements, random),
            " ".join(random.choices(_WORDS, k=12)),
            EMPTY_HISTORY,
            Random(index),
        )
        for index in range(count)
    ]


def _screen(elements: int, random: Random) -> Observation:
    """A made-up screen: rows of labelled widgets of several kinds."""
    from sync.vocabulary import Element, Observation

    height = 2400 // elements
    kinds = ("Button", "TextView", "EditText", "Switch", "ImageView")
    rows = []
    for index in range(elements):
        kind = random.choice(kinds)
        rows.append(
            Element(
                f"android.widget.{kind}",
                (0, index * height, 1080, index * height + max(1, height - 2)),
                text=" ".join(random.choices(_WORDS, k=random.randint(1, 4))),
                clickable=kind != "TextView",
                editable=kind == "EditText",
            )
        )
    return Observation(1080, 2400, tuple(rows), package="org.example.app")


def encoded_request(request: PolicyRequest) -> PolicyRequest:
    """The request with its screen encoded."""
    from dataclasses import replace

    from sync.policy_io import encode

    return replace(request, encoded=encode(request.observation, request.goal, request.history))


def _cpu_ms(work: Callable[[], object]) -> float:
    """Thread CPU time of `work`, in milliseconds."""
    started = time.thread_time()
    work()
    return (time.thread_time() - started) * 1000
