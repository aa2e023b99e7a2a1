"""`outrider release …`: the bundles of a fleet, and installing one on a phone by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from outrider.errors import CommandError, MisuseError
from outrider.options import Json, PhoneDir
from outrider.output import Output
from outrider.phone_folders import PHONE_LOG
from outrider.runs import Data, data_folder
from sync.errors import RejectedError

if TYPE_CHECKING:
    from device_runtime.candidate import CandidateFolder
    from device_runtime.shadow_run import Shadow
    from device_runtime.transitions import Transition

Bundled = Annotated[Path, typer.Argument(metavar="FILE", help="A bundle: releases/ID.zip.")]
ShadowBase = Annotated[
    Path | None, typer.Option("--base", help="Base to score with; the phone's own if not set.")
]
BUNDLES = "releases"
REPOSITORY = "tuf"


def list_releases(
    *,
    data: Data = None,
    json: Json = False,
) -> None:
    """List the releases of a fleet, oldest first."""
    from sync.published import is_made

    data = data_folder(data)
    folder = data / BUNDLES
    if not folder.is_dir() and not is_made(data / REPOSITORY):
        raise MisuseError(f"{data} holds no releases; name another folder with --data")
    out = Output(json_lines=json)
    rows = sorted((_row(path) for path in folder.glob("*.zip")), key=lambda row: str(row["order"]))
    channels = _channels(data)
    shown = [
        {name: row[name] for name in row if name != "order"}
        | {"channels": channels.get(str(row["release_id"]), [])}
        for row in rows
    ]
    out.rows("release", shown if json else _short(shown), title="Releases, oldest first")
    unreadable = [row["file"] for row in shown if row["note"]]
    out.summary(releases=len(shown) - len(unreadable), unreadable=unreadable)


def apply_release(
    file: Bundled,
    *,
    phone: PhoneDir,
    shadow: Annotated[
        int,
        typer.Option("--shadow", min=0, help="Score it on so many logged screens first; 0: none."),
    ] = 0,
    base: ShadowBase = None,
    json: Json = False,
) -> None:
    """Verify a bundle and install it on a phone; what the phone had stays if it is refused."""
    from device_runtime.installer import Installer
    from sync.trust import TrustedClient

    _require(file, phone)
    out = Output(json_lines=json)
    scoring = _shadow(phone, shadow, base) if shadow else None
    client = TrustedClient(phone / "trust")
    with _recorder(phone) as record:

        def report(transition: Transition) -> None:
            out.event("transition", **transition.fields())
            record(transition)

        outcome = Installer(phone, client, shadow=scoring, report=report).apply_bundle(file)
    out.summary(
        applied=outcome.applied,
        reason=outcome.reason,
        detail=outcome.detail,
        installed=outcome.installed.facts(),
    )
    if not outcome.applied:
        raise CommandError(
            f"refused ({outcome.reason}): {outcome.detail}; "
            f"the phone keeps {outcome.installed.release_id}"
        )


def shadow_release(
    file: Bundled,
    *,
    phone: PhoneDir,
    screens: Annotated[
        int, typer.Option("--screens", min=1, help="Logged screens, newest first.")
    ] = 32,
    base: ShadowBase = None,
    json: Json = False,
) -> None:
    """Verify a bundle and score it on a phone's logged screens; nothing is installed."""
    from dataclasses import asdict
    from tempfile import TemporaryDirectory

    from device_runtime.candidate import CandidateFolder
    from device_runtime.slots import Slots
    from sync.adapter_file import unpack
    from sync.releases import read_bundle
    from sync.trust import TrustedClient

    _require(file, phone)
    out = Output(json_lines=json)
    bundle = read_bundle(file)
    release = TrustedClient(phone / "trust").verify_bundle(bundle)
    slots = Slots(phone)
    active = slots.checked(slots.state().active)
    with TemporaryDirectory() as folder:
        score = _shadow(phone, screens, base, CandidateFolder(Path(folder)))
        outcome = score(unpack(bundle.adapter), active.read())
    out.summary(
        release_id=release.id,
        active=active.release_id,
        reason=outcome.reason,
        detail=outcome.detail,
        **{name: round(value, 4) for name, value in asdict(outcome.figures).items()},
    )
    if outcome.reason is not None:
        raise CommandError(f"a phone would refuse it ({outcome.reason}): {outcome.detail}")


def _require(file: Path, phone: Path) -> None:
    if not file.is_file():
        raise MisuseError(f"there is no bundle {file}; outrider release list names them")
    if not phone.is_dir():
        raise MisuseError(f"there is no phone's folder {phone}; name one with --phone")


def _shadow(
    phone: Path, screens: int, base: Path | None, folder: CandidateFolder | None = None
) -> Shadow:
    """Scores candidates on the log in a phone's folder, with the phone's base network."""
    from device_runtime.candidate import CandidateFolder
    from device_runtime.settings import Settings
    from device_runtime.shadow import ShadowLimits
    from device_runtime.shadow_run import Shadow, logged_screens
    from outrider.device_wiring import open_policy, settings_as_misuse, with_graphs
    from sync.clock import SystemClock
    from sync.vocabulary import DeviceId

    if not (phone / PHONE_LOG).is_file():
        raise MisuseError(f"{phone} has no log {PHONE_LOG} with screens: let the phone play first")
    with settings_as_misuse():
        named = Settings(
            device_id=DeviceId(phone.name), data_dir=phone.parent.parent, base_dir=base
        )
        settings = with_graphs(named)
    policy = open_policy(settings)
    if policy is None:
        raise MisuseError(f"{settings.graphs_dir} holds no exported base; name one with --base")
    return Shadow(
        folder or CandidateFolder(phone),
        logged_screens(phone / PHONE_LOG, SystemClock(), policy.shown_in()),
        policy.sides(),
        limits=ShadowLimits(screens=screens),
        clock=SystemClock(),
    )


@contextmanager
def _recorder(phone: Path) -> Iterator[Callable[[Transition], None]]:
    """Puts transitions into the phone's outbox, where it has a log already."""
    from device_runtime.trajectory_log import TrajectoryLog
    from sync.clock import SystemClock
    from sync.vocabulary import new_uuid7

    if not (phone / PHONE_LOG).is_file():
        yield lambda _: None
        return
    log = TrajectoryLog.open(phone / PHONE_LOG, clock=SystemClock(), new_id=new_uuid7)
    with closing(log):
        yield lambda transition: log.record(transition.event())


def _channels(data: Path) -> dict[str, list[str]]:
    """The channels that point at each release now."""
    from sync.published import PublishedReleases
    from sync.releases import CHANNELS

    if not (data / REPOSITORY).is_dir():
        return {}
    published = PublishedReleases(data / REPOSITORY)
    names: dict[str, list[str]] = {}
    for name in CHANNELS:
        pointer = published.channel(name)
        if pointer is not None:
            names.setdefault(pointer.release_id, []).append(name)
    return names


def _short(rows: list[dict[str, Any]]) -> list[dict[str, object]]:
    """The same for a terminal of 80 columns: parents by their versions, notes where there are."""
    versions = {row["release_id"]: f"v{row['version']}" for row in rows}
    noted = any(row["note"] for row in rows)
    return [
        {
            "release": row["release_id"] or row["file"],
            "version": row["version"],
            "from": versions.get(row["parent"], row["parent"]),
            "bytes": row["size_bytes"],
            "channels": row["channels"] or "",
            **({"note": row["note"]} if noted else {}),
        }
        for row in rows
    ]


def _row(path: Path) -> dict[str, Any]:  # Any: JSON
    from sync.releases import read_bundle

    try:
        release = read_bundle(path).release()
    except RejectedError as error:
        return {
            "order": f"{0:012d}",
            "file": path.name,
            "release_id": "",
            "version": None,
            "parent": "",
            "size_bytes": path.stat().st_size,
            "note": f"{error.reason}: {error}",
        }
    return {
        "order": f"{release.version:012d}",
        "file": path.name,
        "release_id": release.id,
        "version": release.version,
        "parent": release.parent,
        "size_bytes": release.adapter_size_bytes,
        "note": "",
    }
