"""`outrider keys …`: the keys that sign a fleet's releases, made, replaced and looked after."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.errors import CommandError, MisuseError
from outrider.options import Json
from outrider.output import Output
from outrider.publisher import KEYS
from outrider.releases import BUNDLES, REPOSITORY
from outrider.runs import Data, data_folder

if TYPE_CHECKING:
    from sync.key_rotation import RoleStatus, RotationPlan
    from sync.role_signing import RootKeys

ROOT, ONLINE = "root", "online"
MOST_ROOT_KEYS = 64

RootFolders = Annotated[
    list[Path] | None,
    typer.Option("--root", help="Folder with root keys, as often as there are; DATA/keys/root."),
]
RootOut = Annotated[
    Path | None, typer.Option("--root-out", help="Where new root keys go; DATA/keys/root.")
]
RootCount = Annotated[
    int,
    typer.Option("--root-keys", min=1, max=MOST_ROOT_KEYS, help="How many root keys to make."),
]
Threshold = Annotated[
    int, typer.Option("--threshold", min=1, help="How many of them have to sign a rotation.")
]


def init_keys(
    *,
    data: Data = None,
    root_out: RootOut = None,
    root_keys: RootCount = 1,
    threshold: Threshold = 1,
    json: Json = False,
) -> None:
    """Make the keys of a new fleet: root keys to carry away, and online keys for the service."""
    from outrider.publisher import sole_publisher
    from sync.clock import SystemClock
    from sync.published import is_made
    from sync.repository import Repository

    data = data_folder(data)
    wanted = _root_keys(root_keys, threshold, root_out)
    folder = root_out or data / KEYS / "root"
    _require_folders(data, folder)
    with sole_publisher(data):
        if is_made(data / REPOSITORY):
            raise MisuseError(
                f"{data} has keys already: outrider keys status shows them, keys rotate replaces "
                "them"
            )
        repository = Repository.create(
            data / REPOSITORY,
            data / KEYS,
            bundles_dir=data / BUNDLES,
            clock=SystemClock(),
            root_keys=wanted,
        )
    out = Output(json_lines=json)
    out.note(f"Carry {folder} away from this machine; only `outrider keys rotate` needs it.")
    out.summary(
        data=data,
        root_keys=root_keys,
        threshold=threshold,
        root_folder=folder,
        online_folder=data / KEYS / "online",
        root_version=repository.root.signed.version,
    )


def rotate_keys(
    role: Annotated[
        str, typer.Argument(metavar="ROLE", help="root, targets, snapshot, timestamp, or online.")
    ],
    *,
    data: Data = None,
    root: RootFolders = None,
    root_out: RootOut = None,
    root_keys: Annotated[
        int | None,
        typer.Option(
            "--root-keys", min=1, max=MOST_ROOT_KEYS, help="Of ROLE root: how many new ones."
        ),
    ] = None,
    threshold: Annotated[
        int | None, typer.Option("--threshold", min=1, help="Of ROLE root: how many must sign.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")
    ] = False,
    json: Json = False,
) -> None:
    """Replace keys under a new root that the present root keys sign; phones follow by themselves.

    The cloud service must be stopped meanwhile. What the old keys signed is refused by each phone
    from the moment that it sees the new root.
    """
    from sync.key_rotation import plan_rotation, rotate_online_keys, rotate_root

    data = data_folder(data)
    roles = _roles(role)
    if role != ROOT and (root_out, root_keys, threshold) != (None, None, None):
        raise MisuseError("--root-out, --root-keys and --threshold belong to `keys rotate root`")
    folders = root or [data / KEYS / "root"]
    _require_fleet(data)
    plan = plan_rotation(data / REPOSITORY, roles, folders)
    new = _new_root_keys(data, plan, root_keys, threshold, root_out) if role == ROOT else None
    out = Output(json_lines=json)
    facts = {
        "roles": list(plan.roles),
        "root_version": plan.root_version,
        "old_keys": [key[:12] for key in plan.old_keys],
        "signatures_needed": plan.signatures_needed,
        "root_keys_found": plan.root_keys_found,
        "root_folders": folders,
    }
    if dry_run:
        out.summary(dry_run=True, can_be_done=plan.can_be_done, **facts)
        return
    with _stopped_service(data):
        if new is not None:
            rotate_root(data / REPOSITORY, root_folders=folders, new=new)
            folder = new.folder or folders[0]
            out.note(f"Carry the new root keys in {folder} away, and destroy the old ones.")
        else:
            rotate_online_keys(data / REPOSITORY, data / KEYS, roles=roles, root_folders=folders)
    out.summary(dry_run=False, rotated=True, **facts)


def show_keys(*, data: Data = None, root: RootFolders = None, json: Json = False) -> None:
    """Show when signatures end, which keys are at hand, and what to do next."""
    from datetime import UTC, datetime

    from sync.clock import SystemClock
    from sync.key_rotation import key_status

    data = data_folder(data)
    _require_fleet(data)
    folders = root or [data / KEYS / "root"]
    rows = key_status(data / REPOSITORY, data / KEYS, root_folders=folders, clock=SystemClock())
    out = Output(json_lines=json)
    out.rows(
        "role",
        (
            {
                "role": row.role,
                "version": row.version,
                "expires": datetime.fromtimestamp(row.expires_at_ms / 1000, UTC).date().isoformat(),
                "days_left": row.days_left,
                "must_sign": f"{row.threshold} of {len(row.keys)}",
                "at_hand": row.keys_found,
                **({"keys": list(row.keys), "problems": list(row.problems)} if json else {}),
            }
            for row in rows
        ),
        title=f"Keys of {data}",
    )
    following = [text for row in rows for text in _advice(row, data)]
    out.summary(
        ok=not any(row.days_left < 0 or _is_lost(row) or row.problems for row in rows),
        next=following or ["nothing to do"],
    )


def _advice(row: RoleStatus, data: Path) -> Iterator[str]:
    """What somebody should do about a role."""
    yield from row.problems
    if row.role == ROOT:
        if row.ends_soon:
            yield f"the root ends in {row.days_left} days: outrider keys rotate root"
        if row.keys_found and (data / KEYS / "root").is_dir():
            yield f"root keys lie on this machine: carry {data / KEYS / 'root'} away"
        return
    if _is_lost(row) and not row.problems:
        yield f"the {row.role} key is not here: restore it, or outrider keys rotate {row.role}"
    elif row.ends_soon:
        yield (
            f"the {row.role} signature ends in {row.days_left} days: "
            "start outrider cloud serve, which signs again"
        )


def _is_lost(row: RoleStatus) -> bool:
    """Whether a key that the service needs is missing."""
    return row.role != ROOT and row.keys_found < row.threshold


def _roles(role: str) -> tuple[str, ...]:
    from sync.signing_keys import ONLINE_ROLES

    if role == ONLINE:
        return ONLINE_ROLES
    if role not in {ROOT, *ONLINE_ROLES}:
        raise MisuseError(f"no role {role!r}: name root, {', '.join(ONLINE_ROLES)} or online")
    return (role,)


def _new_root_keys(
    data: Path, plan: RotationPlan, count: int | None, threshold: int | None, folder: Path | None
) -> RootKeys:
    """The root keys to make: as many as there were, and as many to sign, where not said."""
    return _root_keys(
        len(plan.old_keys) if count is None else count,
        min(plan.signatures_needed, count or plan.signatures_needed)
        if threshold is None
        else threshold,
        folder or data / KEYS / "root",
    )


def _root_keys(count: int, threshold: int, folder: Path | None) -> RootKeys:
    from sync.role_signing import RootKeys

    try:
        return RootKeys(count, threshold, folder)
    except ValueError as error:
        raise MisuseError(str(error)) from error


def _require_folders(*folders: Path) -> None:
    """Raise MisuseError where one of them is there and no folder."""
    for folder in folders:
        if folder.exists() and not folder.is_dir():
            raise MisuseError(f"{folder} is no folder: name one, or one to be made")


def _require_fleet(data: Path) -> None:
    from sync.published import is_made

    if not is_made(data / REPOSITORY):
        raise MisuseError(f"{data} has no keys yet: outrider keys init makes them")


@contextmanager
def _stopped_service(data: Path) -> Iterator[None]:
    """Nobody else signs meanwhile; what cannot be signed is one line."""
    from outrider.publisher import sole_publisher
    from sync.errors import IntegrityError

    with sole_publisher(data):
        try:
            yield
        except IntegrityError as error:
            raise CommandError(str(error)) from error
