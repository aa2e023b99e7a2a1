"""`outrider release …`: the bundles of a fleet, and installing one on a phone by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.errors import CommandError, MisuseError
from outrider.options import Json, PhoneDir
from outrider.output import Output
from sync.errors import RejectedError

if TYPE_CHECKING:
    from device_runtime.transitions import Transition

BUNDLES = "releases"


def list_releases(
    *,
    data: Annotated[
        Path, typer.Option("--data", help="Folder that holds everything of a fleet.")
    ] = Path("data"),
    json: Json = False,
) -> None:
    """List the releases of a fleet, oldest first."""
    folder = data / BUNDLES
    if not folder.is_dir():
        raise MisuseError(f"{data} holds no releases; name another folder with --data")
    out = Output(json_lines=json)
    rows = sorted((_row(path) for path in folder.glob("*.zip")), key=lambda row: str(row["order"]))
    shown = [{name: row[name] for name in row if name != "order"} for row in rows]
    out.rows("release", shown, title="Releases")
    unreadable = [row["file"] for row in shown if row["note"]]
    out.summary(releases=len(shown) - len(unreadable), unreadable=unreadable)


def apply_release(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A bundle: releases/ID.zip.")],
    *,
    phone: PhoneDir,
    json: Json = False,
) -> None:
    """Verify a bundle and install it on a phone; what the phone had stays if it is refused."""
    from device_runtime.installer import Installer
    from sync.trust import TrustedClient

    if not file.is_file():
        raise MisuseError(f"there is no bundle {file}; outrider release list names them")
    if not phone.is_dir():
        raise MisuseError(f"there is no phone's folder {phone}; name one with --phone")
    out = Output(json_lines=json)

    def report(transition: Transition) -> None:
        out.event("transition", **transition.fields())

    installer = Installer(phone, TrustedClient(phone / "trust"), report=report)
    outcome = installer.apply_bundle(file)
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


def _row(path: Path) -> dict[str, object]:
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
