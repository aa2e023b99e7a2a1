"""New signing keys for a fleet, under a new root that the old root's keys signed.

A phone that was off follows every root from its own to the newest, each signed by the keys of the
one before it; what the old keys signed is refused from then on. The root's keys are needed here and
nowhere else. A rotation is done the moment its root is written; broken off before, it never was,
and after, the next start of whoever publishes ends it (`signing_keys.adopt_online_signer`,
`Repository.renew`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from securesystemslib.signer import CryptoSigner
from tuf.api.metadata import Metadata, Root, Snapshot, Targets, Timestamp

from sync.clock import Clock, SystemClock
from sync.durable_file import write_durably
from sync.errors import IntegrityError
from sync.published import PublishedReleases
from sync.repository import Repository
from sync.role_signing import SERIALIZER, Lifetimes, RootKeys, date_of
from sync.signing_keys import (
    ONLINE_ROLES,
    make_root_signers,
    make_signer,
    next_key_path,
    online_key_path,
    read_root_signers,
    read_signer,
    root_keys_dir,
)

SOON_DAYS: Final = {"root": 180, "targets": 7, "snapshot": 7, "timestamp": 7}
"""Below so many days before its end a role's signature wants renewal."""
_DAY_MS: Final = 86_400_000


@dataclass(frozen=True, slots=True)
class RotationPlan:
    """What a rotation would do.

    Attributes:
        roles: whose keys are replaced.
        root_version: of the root that would be written.
        old_keys: ids of the keys that would stop counting.
        signatures_needed: how many of the present root's keys must sign.
        root_keys_found: how many of them were found.
    """

    roles: tuple[str, ...]
    root_version: int
    old_keys: tuple[str, ...]
    signatures_needed: int
    root_keys_found: int

    @property
    def can_be_done(self) -> bool:
        """Whether enough root keys were found."""
        return self.root_keys_found >= self.signatures_needed


@dataclass(frozen=True, slots=True)
class RoleStatus:
    """How one role stands.

    Attributes:
        version: of its metadata.
        expires_at_ms: when that ends, Unix time.
        days_left: whole days until then; negative once it is over.
        threshold: how many keys must sign.
        keys: ids of the keys that count.
        keys_found: how many of them were found in the folders that were looked at.
        problems: what is wrong with key files there that cannot be used, a sentence each.
    """

    role: str
    version: int
    expires_at_ms: int
    days_left: int
    threshold: int
    keys: tuple[str, ...]
    keys_found: int
    problems: tuple[str, ...]

    @property
    def ends_soon(self) -> bool:
        """Whether its signature wants renewal."""
        return self.days_left < SOON_DAYS[self.role]


def plan_rotation(
    directory: Path, roles: Sequence[str], root_folders: Sequence[Path]
) -> RotationPlan:
    """What rotating the keys of `roles` would do; changes nothing.

    Args:
        directory: the repository's folder.
        roles: "root", or some of `signing_keys.ONLINE_ROLES`.
        root_folders: where root keys are looked for.

    Raises: IntegrityError: no repository there, or a root key cannot be read.
    """
    root = PublishedReleases(directory).root.signed
    return RotationPlan(
        roles=tuple(roles),
        root_version=root.version + 1,
        old_keys=tuple(key for role in roles for key in root.roles[role].keyids),
        signatures_needed=root.roles[Root.type].threshold,
        root_keys_found=len(_root_signers(root, root_folders)),
    )


def rotate_online_keys(
    directory: Path,
    keys_dir: Path,
    *,
    roles: Sequence[str] = ONLINE_ROLES,
    root_folders: Sequence[Path] = (),
    clock: Clock | None = None,
    lifetimes: Lifetimes | None = None,
) -> None:
    """Replace the keys of some online roles under a new root; needs root keys, and no other.

    Args:
        root_folders: where the root's keys are; beside the online ones where not given.

    Raises: IntegrityError: no repository there, or not enough root keys.
    """
    metadata = PublishedReleases(directory).root
    root = metadata.signed
    signers = _enough(root, root_folders or [root_keys_dir(keys_dir)])
    for role in roles:
        for key_id in list(root.roles[role].keyids):
            root.revoke_key(key_id, role)
        root.add_key(make_signer(next_key_path(keys_dir, role)).public_key, role)
    _write_next(directory, metadata, signers, clock=clock, lifetimes=lifetimes)
    Repository(directory, keys_dir, clock=clock, lifetimes=lifetimes).renew()


def rotate_root(
    directory: Path,
    *,
    root_folders: Sequence[Path],
    new: RootKeys,
    clock: Clock | None = None,
    lifetimes: Lifetimes | None = None,
) -> list[CryptoSigner]:
    """Replace the root's own keys; the old keys and the new ones sign the root that says so.

    Args:
        root_folders: where the present root's keys are.
        new: how many there will be, and in which folder.

    Returns: the new keys.
    Raises: IntegrityError: no repository there, or not enough of the old keys.
    """
    metadata = PublishedReleases(directory).root
    root = metadata.signed
    old = _enough(root, root_folders)
    folder = new.folder or root_folders[0]
    fresh = make_root_signers(folder, new.count, version=root.version + 1)
    for key_id in list(root.roles[Root.type].keyids):
        root.revoke_key(key_id, Root.type)
    for signer in fresh:
        root.add_key(signer.public_key, Root.type)
    root.roles[Root.type].threshold = new.threshold
    _write_next(directory, metadata, [*old, *fresh], clock=clock, lifetimes=lifetimes)
    return fresh


def key_status(
    directory: Path, keys_dir: Path, *, root_folders: Sequence[Path] = (), clock: Clock
) -> list[RoleStatus]:
    """How every role stands, the root first.

    Raises: IntegrityError: no repository there.
    """
    published = PublishedReleases(directory)
    folders = root_folders or [root_keys_dir(keys_dir)]
    files = {Root.type: [path for folder in folders for path in sorted(folder.glob("*.pem"))]}
    for role in ONLINE_ROLES:
        paths = (online_key_path(keys_dir, role), next_key_path(keys_dir, role))
        files[role] = [path for path in paths if path.exists()]
    return [
        _status(published.root.signed, role, signed, files=files[role], now_ms=clock.wall_ms())
        for role, signed in published.signed_roles().items()
    ]


def _status(
    root: Root,
    name: str,
    signed: Root | Targets | Snapshot | Timestamp,
    *,
    files: Sequence[Path],
    now_ms: int,
) -> RoleStatus:
    present, problems = _usable(files)
    expires_at_ms = int(signed.expires.timestamp() * 1000)
    return RoleStatus(
        role=name,
        version=signed.version,
        expires_at_ms=expires_at_ms,
        days_left=(expires_at_ms - now_ms) // _DAY_MS,
        threshold=root.roles[name].threshold,
        keys=tuple(root.roles[name].keyids),
        keys_found=len(present & set(root.roles[name].keyids)),
        problems=problems,
    )


def _usable(files: Sequence[Path]) -> tuple[set[str], tuple[str, ...]]:
    """The ids of the keys in some files, and what is wrong with those that hold none."""
    present, problems = set(), []
    for path in files:
        try:
            present.add(str(read_signer(path).public_key.keyid))
        except (OSError, ValueError) as error:
            problems.append(str(error))
    return present, tuple(problems)


def _write_next(
    directory: Path,
    metadata: Metadata[Root],
    signers: Sequence[CryptoSigner],
    *,
    clock: Clock | None,
    lifetimes: Lifetimes | None,
) -> None:
    """Sign the changed root as the next version, and write it."""
    root = metadata.signed
    days = (Lifetimes() if lifetimes is None else lifetimes).root_days
    now_ms = (SystemClock() if clock is None else clock).wall_ms()
    root.expires = date_of(now_ms) + timedelta(days=days)
    root.version += 1
    metadata.signatures.clear()
    for signer in signers:
        metadata.sign(signer, append=True)
    root.verify_delegate(Root.type, metadata.signed_bytes, metadata.signatures)
    path = directory / "metadata" / f"{root.version}.root.json"
    write_durably(path, metadata.to_bytes(SERIALIZER))


def _enough(root: Root, folders: Sequence[Path]) -> list[CryptoSigner]:
    """The root's keys in `folders`, as many as must sign or more."""
    found = _root_signers(root, folders)
    needed = root.roles[Root.type].threshold
    if len(found) < needed:
        places = ", ".join(map(str, folders))
        raise IntegrityError(
            f"{len(found)} root keys of this fleet are in {places}, and {needed} must sign: "
            "name the folders that hold the others"
        )
    return found


def _root_signers(root: Root, folders: Sequence[Path]) -> list[CryptoSigner]:
    try:
        return read_root_signers(folders, root.roles[Root.type].keyids)
    except (OSError, ValueError) as error:
        raise IntegrityError(f"a root key cannot be used: {error}") from error
