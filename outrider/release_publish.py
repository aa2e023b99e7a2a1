"""`outrider release publish|rollback`: new bases and old releases, signed by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.errors import MisuseError
from outrider.options import Json
from outrider.output import Output
from outrider.runs import Data, data_folder

if TYPE_CHECKING:
    from sync.vocabulary import Release

Channel = Annotated[str, typer.Option("--channel", help="Who gets it: canary, beta or stable.")]


def publish_base(
    *,
    base: Annotated[
        Path | None,
        typer.Option("--base", help="Folder of a base, or of its graphs; the shipped base."),
    ] = None,
    adapter: Annotated[
        Path | None, typer.Option("--adapter", help="Adapter file for it; none if not set.")
    ] = None,
    channel: Channel = "canary",
    data: Data = None,
    json: Json = False,
) -> None:
    """Sign a base network as a release, with an adapter of it or none, and give it to a channel.

    Phones fetch the base with it. Adapters of another base are refused by whoever runs it, so the
    learner has to be started anew with this base.
    """
    from outrider.graphs import cache_dir, graphs_of, require_base
    from outrider.publisher import publishing
    from sync.base_file import pack_base

    data = data_folder(data)
    out = Output(json_lines=json)
    require_base(base)
    _require_channel(channel)
    packed = pack_base(graphs_of(base, cache_dir()))
    with publishing(data) as repository:
        pointer = repository.channel(channel)
        release, content = _described(
            packed,
            adapter,
            version=repository.latest_version + 1,
            parent=None if pointer is None else str(pointer.release_id),
        )
        known = repository.base(release.base_digest) is not None
        bundle = repository.publish(release, content, channel, base=None if known else packed)
    out.summary(
        release_id=release.id,
        version=release.version,
        channel=channel,
        base_digest=release.base_digest,
        base_bytes=len(packed),
        base_is_new=not known,
        adapter_bytes=len(content),
        parent=release.parent,
        bundle=bundle,
    )


def roll_back(
    release: Annotated[str, typer.Argument(metavar="RELEASE", help="Id of an earlier release.")],
    *,
    channel: Channel = "canary",
    data: Data = None,
    json: Json = False,
) -> None:
    """Give a channel an earlier release again, base and adapter, as a new and higher version."""
    from outrider.publisher import publishing
    from sync.clock import SystemClock
    from sync.errors import RejectedError
    from sync.releases import roll_back_of
    from sync.vocabulary import ReleaseId, new_uuid7

    data = data_folder(data)
    out = Output(json_lines=json)
    _require_channel(channel)
    with publishing(data) as repository:
        try:
            old = repository.release(release)
        except RejectedError as error:
            raise MisuseError(str(error)) from error
        again = roll_back_of(
            old,
            new_id=ReleaseId(new_uuid7()),
            version=repository.latest_version + 1,
            now_ms=SystemClock().wall_ms(),
        )
        bundle = repository.publish(again, repository.adapter(old.id), channel)
    out.summary(
        release_id=again.id,
        version=again.version,
        channel=channel,
        rolls_back_to=old.id,
        base_digest=again.base_digest,
        bundle=bundle,
    )


def _described(
    packed: bytes, adapter: Path | None, *, version: int, parent: str | None
) -> tuple[Release, bytes]:
    """The release of a packed base, and the bytes of its adapter.

    Raises: MisuseError: the adapter is not one of this base.
    """
    from sync.adapter_file import adapter_digest, pack, unpack
    from sync.base_file import packed_base_facts
    from sync.clock import SystemClock
    from sync.errors import RejectedError
    from sync.runtime_level import runtime_needed
    from sync.vocabulary import FACTORY_RELEASE, Release, ReleaseId, new_uuid7

    digest, policy_io_version = packed_base_facts(packed)
    if adapter is None:
        content = pack({}, base_digest=digest, policy_io_version=policy_io_version)
    else:
        try:
            content = adapter.read_bytes()
        except OSError as error:
            raise MisuseError(f"{adapter} cannot be read: name an adapter file") from error
    try:
        opened = unpack(content)
    except RejectedError as error:
        raise MisuseError(f"{adapter} is no adapter file: {error}") from error
    if opened.base_digest != digest:
        raise MisuseError(
            f"{adapter} is for base {opened.base_digest[:12]}, this one is {digest[:12]}: "
            "train one for it"
        )
    if opened.policy_io_version != policy_io_version:
        raise MisuseError(
            f"{adapter} is for {opened.policy_io_version}, this base for {policy_io_version}: "
            "train one for it"
        )
    release = Release(
        id=ReleaseId(new_uuid7()),
        version=version,
        base_digest=digest,
        adapter_digest=adapter_digest(content),
        adapter_size_bytes=len(content),
        policy_io_version=policy_io_version,
        created_at_ms=SystemClock().wall_ms(),
        parent=FACTORY_RELEASE if parent is None else parent,
        quantisation=opened.quantisation,
        notes=f"base {digest[:12]}",
        min_runtime=runtime_needed(content, policy_io_version=policy_io_version),
        extra={"base": "new"},
    )
    return release, content


def _require_channel(channel: str) -> None:
    from sync.releases import require_channel

    try:
        require_channel(channel)
    except ValueError as error:
        raise MisuseError(str(error)) from error
