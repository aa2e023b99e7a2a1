"""`outrider release lineage` and `outrider episodes lineage`: from a step to data, and back.

The signed descriptions say which release came from which; the cloud's database says which logged
steps each was trained on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from outrider.cloud_database import CloudDatabase, cloud_database, has_database
from outrider.errors import MisuseError
from outrider.options import Json
from outrider.output import Output
from outrider.releases import REPOSITORY
from outrider.runs import Data, data_folder

if TYPE_CHECKING:
    from cloud_learner.lineage_store import LineageStore, TrainingBatch
    from sync.published import PublishedReleases
    from sync.vocabulary import Release


def show_lineage(
    release: Annotated[
        str | None, typer.Argument(metavar="RELEASE", help="Id of a release.")
    ] = None,
    *,
    steps: Annotated[
        bool, typer.Option("--steps", help="List every episode whose steps were trained on.")
    ] = False,
    device: Annotated[
        str | None, typer.Option("--device", help="Instead: who ever learnt from this device.")
    ] = None,
    data: Data = None,
    database: CloudDatabase = None,
    json: Json = False,
) -> None:
    """Show what a release came from: its parents, where bases changed, and its training data."""
    from cloud_learner.errors import UnknownRowError

    if (release is None) == (device is None):
        raise MisuseError("name a release, or a device with --device")
    data = data_folder(data)
    out = Output(json_lines=json)
    if device is not None:
        with _lineage(data, database) as store:
            try:
                use = store.of_device(device)
            except UnknownRowError as error:
                raise MisuseError(
                    f"the cloud never heard of {device}: outrider fleet list names devices"
                ) from error
        out.summary(**asdict(use))
        return
    assert release is not None
    chain = _signed_chain(data, release)
    ancestors = [_row(one) for one in chain]
    out.rows("release", ancestors if json else _short(ancestors), title=f"Lineage of {release}")
    with _lineage_if_there(data, database) as store:
        batches = () if store is None else _batches(store, release)
        if batches:
            out.rows("batch", map(_batch_row, batches), title="Trained on, the newest first")
        if steps and store is not None and batches:
            rows = map(asdict, store.episodes_of(release))
            out.rows("trained", rows, title="Episodes, all of whose usable steps were trained on")
    out.summary(
        release_id=release,
        generations=len(chain),
        bases=list(dict.fromkeys(one.base_digest for one in chain)),
        **_totals(batches),
    )


def show_step_lineage(
    step: Annotated[str, typer.Argument(metavar="EPISODE[:STEP]", help="A logged step.")],
    *,
    data: Data = None,
    database: CloudDatabase = None,
    json: Json = False,
) -> None:
    """Show which release acted in a step, what that was trained on, and who learnt from it."""
    from cloud_learner.errors import UnknownRowError

    data = data_folder(data)
    episode_id, index = _split(step)
    out = Output(json_lines=json)
    with _lineage(data, database) as store:
        try:
            origin = store.of_step(episode_id, index)
        except UnknownRowError as error:
            raise MisuseError(
                f"the cloud stores no step {step}: outrider episodes list names episodes"
            ) from error
    if origin.batches:
        out.rows("batch", map(_batch_row, origin.batches), title="Its policy was trained on")
    out.summary(
        episode_id=origin.episode_id,
        step=origin.step,
        device_id=origin.device_id,
        policy_release=origin.policy_release,
        adapter=origin.batches[0].adapter if origin.batches else None,
        **_totals(origin.batches),
        learnt_by=origin.learnt_by or None,
        learnt_releases=list(origin.learnt_releases),
    )


def _totals(batches: tuple[TrainingBatch, ...]) -> dict[str, object]:
    return {
        "adapters": len(batches),
        "trained_episodes": sum(one.episodes for one in batches),
        "trained_steps": sum(one.steps for one in batches),
    }


def _batches(store: LineageStore, release: str) -> tuple[TrainingBatch, ...]:
    """What a release was trained on; nothing for one that was published by hand."""
    from cloud_learner.errors import UnknownRowError

    try:
        return store.of_release(release)
    except UnknownRowError:
        return ()


def _batch_row(batch: TrainingBatch) -> dict[str, object]:
    return {
        "adapter": batch.adapter,
        "round": batch.round,
        "episodes": batch.episodes,
        "steps": batch.steps,
        "rows": [batch.first_row, batch.last_row] if batch.episodes else [],
        "releases": list(batch.releases),
    }


def _split(step: str) -> tuple[str, int | None]:
    episode_id, colon, index = step.partition(":")
    if colon and not index.isdecimal():
        raise MisuseError(f"{step!r} names no step: write EPISODE or EPISODE:0")
    return episode_id, int(index) if colon else None


@contextmanager
def _lineage(data: Path, database: str | None) -> Iterator[LineageStore]:
    from cloud_learner.lineage_store import LineageStore

    with cloud_database(data, database) as opened:
        yield LineageStore(opened)


@contextmanager
def _lineage_if_there(data: Path, database: str | None) -> Iterator[LineageStore | None]:
    """The lineage in a fleet's database; None where it has none."""
    if not has_database(data, database):
        yield None
        return
    with _lineage(data, database) as store:
        yield store


def _signed_chain(data: Path, release: str) -> list[Release]:
    from sync.errors import RejectedError
    from sync.published import PublishedReleases, is_made

    if not is_made(data / REPOSITORY):
        raise MisuseError(f"{data} holds no signed releases: name a fleet's folder with --data")
    try:
        return _chain(PublishedReleases(data / REPOSITORY), release)
    except RejectedError as error:
        raise MisuseError(str(error)) from error


def _chain(published: PublishedReleases, release_id: str) -> list[Release]:
    """A release and its parents, the newest first; a roll-back's parent is what it goes back to.

    Raises: RejectedError: the release was never published.
    """
    known = {str(one.id): one for one in published.releases()}
    chain = [published.release(release_id)]
    while True:
        last = chain[-1]
        before = known.get(last.extra.get("rolls_back_to", "") or last.parent)
        if before is None or before in chain:
            return chain
        chain.append(before)


def _short(rows: list[dict[str, Any]]) -> list[dict[str, object]]:
    """The same for a terminal of 80 columns: each release's id once, parents by their versions."""
    versions = {row["release_id"]: f"v{row['version']}" for row in rows}
    return [
        {
            "release": row["release_id"],
            "version": row["version"],
            "from": f"back to {versions.get(row['rolls_back_to'], row['rolls_back_to'])}"
            if row["rolls_back_to"]
            else versions.get(row["parent"], row["parent"]),
            "base": row["base"],
            "data": row["data_watermark"],
        }
        for row in rows
    ]


def _row(release: Release) -> dict[str, Any]:
    return {
        "release_id": release.id,
        "version": release.version,
        "base": release.base_digest[:12],
        "parent": release.parent,
        "rolls_back_to": release.extra.get("rolls_back_to", ""),
        "data_watermark": release.data_watermark,
        "notes": release.notes,
    }
