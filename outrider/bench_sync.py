"""`outrider bench sync`: what the wire costs, how much it carries, and what it takes to keep it.

Parts: "bytes" (a step on the wire beside the naive way, tree only and with screenshots), "photos"
(the same where photographs cover most of each screen), "rates" (episodes a second through broker,
ingest and database) and "memory" (of the cloud, over many episodes). Every ratio is of one run; all
goes through a real broker on this machine.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from outrider.errors import MisuseError
from outrider.options import Json, chosen_parts
from outrider.output import Output

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from outrider.sync_bench_bytes import WireBytes
    from sync.broker import BrokerProcess
    from sync.messages import EpisodeUpload

PARTS: Final = ("bytes", "photos", "rates", "memory")
AIM: Final = 0.05
"""Bytes a step, beside the naive way."""
_MOST_PHONES: Final = 1_000
_PHOTO_EPISODES: Final = 6
"""At most: a PNG of a photograph takes long."""


def bench_sync(
    *,
    parts: Annotated[
        str, typer.Option("--parts", help="Which parts, with commas between them.")
    ] = ",".join(PARTS),
    steps_of: Annotated[
        int, typer.Option("--played", help="Episodes played for the bytes.", min=1)
    ] = 40,
    actor: Annotated[str, typer.Option("--actor", help="Who plays them.")] = "oracle",
    phones: Annotated[
        str, typer.Option("--phones", help="Sizes of the fleet, with commas between them.")
    ] = "1,32,256",
    uploads: Annotated[int, typer.Option("--uploads", help="Episodes of each fleet.", min=2)] = 512,
    episodes: Annotated[
        int, typer.Option("--episodes", help="Episodes over which memory is watched.", min=10)
    ] = 2_000,
    seed_base: Annotated[int, typer.Option("--seed-base", help="First task seed.")] = 0,
    json: Json = False,
) -> None:
    """Measure the wire: bytes a step, episodes a second, and the cloud's memory."""
    from outrider.sync_bench_rates import kept_rate

    wanted = chosen_parts(parts, PARTS)
    fleets = _fleets(phones)
    out = Output(json_lines=json)
    measured: dict[str, Any] = {}  # Any: figures of several kinds
    with tempfile.TemporaryDirectory(prefix="outrider-bench-") as name:
        folder = Path(name)
        if "bytes" in wanted:
            measured["bytes"] = _bytes(out, folder, steps_of, seed_base, actor)
        if "photos" in wanted:
            measured["photos"] = _photos(out, folder, min(steps_of, _PHOTO_EPISODES), seed_base)
        if "rates" in wanted:
            measured["rates"] = _rates(out, folder, fleets, uploads, seed_base)
            measured["rate_kept"] = kept_rate(measured["rates"])
        if "memory" in wanted:
            measured["memory"] = _memory(out, folder, episodes)
    met = all(part["met"] for part in measured.values() if isinstance(part, dict))
    out.summary(seed_base=seed_base, aim_ratio=AIM, **measured, met=met)


def _fleets(phones: str) -> list[int]:
    """The sizes that `--phones` names.

    Raises: MisuseError: one is no number of phones.
    """
    found = [one.strip() for one in phones.split(",")]
    if not all(one.isdecimal() and 0 < int(one) <= _MOST_PHONES for one in found):
        raise MisuseError(
            f"--phones {phones!r} is no list of fleet sizes: name some from 1 to {_MOST_PHONES}, "
            "like 1,32"
        )
    return [int(one) for one in found]


def _bytes(
    out: Output, folder: Path, episodes: int, seed_base: int, actor: str
) -> dict[str, object]:
    from outrider.sync_bench_bytes import figures, naive, ours, record

    ways: list[tuple[str, WireBytes, WireBytes]] = []
    facts: dict[str, object] = {"actor": actor, "episodes": episodes}
    for name, with_screens in (("tree", False), ("screens", True)):
        blobs = folder / "taken" if with_screens else None
        recorded = record(episodes, seed_base, actor=actor, blobs=blobs)
        with _broker(folder / f"broker-{name}") as broker:
            our = ours(recorded, broker, folder / name, blobs)
            plain = naive(recorded, broker, pictures=with_screens)
        ways.append((name, our, plain))
        facts["steps"] = recorded.steps
        if with_screens:
            facts["pictures"] = {"of": "the clones' screens", **recorded.pictures()}
        out.event("bytes", variant=name, **figures(ways[-1:])[name])
    found = figures(ways)
    return {**facts, **found, "met": all(one["ratio"] <= AIM for one in found.values())}


def _photos(out: Output, folder: Path, episodes: int, seed_base: int) -> dict[str, object]:
    from outrider.sync_bench_bytes import figures, naive, ours, record
    from outrider.sync_bench_photos import photographed

    blobs = folder / "photographs"
    taken = record(episodes, seed_base, actor="oracle", blobs=folder / "plain")
    recorded = photographed(taken, blobs)
    with _broker(folder / "broker-photos") as broker:
        our = ours(recorded, broker, folder / "photos", blobs)
        plain = naive(recorded, broker, pictures=True)
    found = figures([("photos", our, plain)])["photos"]
    out.event("photos", **found)
    facts = {"episodes": episodes, "steps": recorded.steps, "pictures": recorded.pictures()}
    return {**facts, **found, "met": found["ratio"] <= AIM}


def _rates(
    out: Output, folder: Path, fleets: Sequence[int], episodes: int, seed_base: int
) -> list[dict[str, float]]:
    from outrider.sync_bench_bytes import record
    from outrider.sync_bench_rates import ended_processes_cpu_s, measure_rate, per_episode

    played = record(min(episodes, 24), seed_base, actor="oracle", blobs=None).played
    uploads = [_upload_of(one) for one in played]
    rows = []
    for phones in fleets:
        count = max(episodes, phones)
        with _broker(folder / f"broker-{phones}") as broker:
            rate = measure_rate(phones, count, broker, folder / f"fleet-{phones}", uploads)
            before_s = ended_processes_cpu_s()
        broker_cpu_s = ended_processes_cpu_s() - before_s
        rows.append({**rate.row(), "broker_cpu_ms_per_episode": per_episode(broker_cpu_s, count)})
        out.event("rate", **rows[-1])
    return rows


def _upload_of(played: Any) -> EpisodeUpload:  # Any: `Played`, which this module does not load
    from sync.messages import EpisodeUpload

    return EpisodeUpload(episode=played.episode, verdicts=played.verdicts)


def _memory(out: Output, folder: Path, episodes: int) -> dict[str, float]:
    from outrider.sync_bench_bytes import record
    from outrider.sync_bench_rates import measure_memory

    short = record(8, 0, actor="noop", blobs=None).played
    with _broker(folder / "broker-memory") as broker:
        found = measure_memory(
            episodes,
            broker,
            folder / "memory",
            [_upload_of(one) for one in short],
            progress=lambda sample: out.event(
                "memory_progress", stored=sample.stored, rss_mib=round(sample.rss_bytes / 2**20, 1)
            ),
        )
    out.event("memory", **found)
    return found


@contextmanager
def _broker(folder: Path) -> Iterator[BrokerProcess]:
    """The default broker, with the service's account."""
    from outrider.sync_bench_cloud import FLEET
    from sync.broker import BrokerProcess

    broker = BrokerProcess(folder, fleet=FLEET)
    broker.start()
    try:
        yield broker
    finally:
        broker.stop()
