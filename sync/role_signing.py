"""Roles of a repository as signed files, and the very first ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, TypeVar

from securesystemslib.signer import CryptoSigner
from tuf.api.metadata import Metadata, MetaFile, Root, Snapshot, Targets, Timestamp
from tuf.api.serialization.json import JSONSerializer

from sync.durable_file import write_durably
from sync.signing_keys import (
    ONLINE_ROLES,
    kept_or_made_signer,
    make_root_signers,
    online_key_path,
    root_keys_dir,
)

SERIALIZER: Final = JSONSerializer(compact=True)
AnyRole = TypeVar("AnyRole", Root, Targets, Snapshot, Timestamp)


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long each role's signature is good for, in days."""

    root_days: int = 1825
    targets_days: int = 365
    snapshot_days: int = 60
    timestamp_days: int = 30


@dataclass(frozen=True, slots=True)
class RootKeys:
    """How many root keys there are, how many of them must sign, and where new ones are laid.

    Attributes:
        folder: None lays them beside the online keys, to be carried away later.
    """

    count: int = 1
    threshold: int = 1
    folder: Path | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.threshold <= self.count:
            raise ValueError(
                f"{self.threshold} of {self.count} root keys can never sign: name a threshold "
                "from 1 to the number of keys"
            )


def initialise(
    metadata_dir: Path,
    keys_dir: Path,
    *,
    now_ms: int,
    lifetimes: Lifetimes,
    root_keys: RootKeys,
) -> None:
    """New keys, and the first targets, snapshot, timestamp and root, all of version 1.

    The root comes last: until it is there nobody trusts anything, and beginning again is safe. No
    key that is there is overwritten.

    Raises: OSError, ValueError: a key that is there cannot be used.
    """
    now = date_of(now_ms)
    root = Root(expires=now + timedelta(days=lifetimes.root_days), consistent_snapshot=True)
    folder = root_keys.folder or root_keys_dir(keys_dir)
    root_signers = make_root_signers(folder, root_keys.count, version=1)
    for signer in root_signers:
        root.add_key(signer.public_key, Root.type)
    root.roles[Root.type].threshold = root_keys.threshold
    signers = {role: kept_or_made_signer(online_key_path(keys_dir, role)) for role in ONLINE_ROLES}
    for role, signer in signers.items():
        root.add_key(signer.public_key, role)
    targets = signed_by(
        Targets(expires=now + timedelta(days=lifetimes.targets_days)), [signers["targets"]]
    )
    snapshot = Snapshot(expires=now + timedelta(days=lifetimes.snapshot_days))
    snapshot.meta["targets.json"] = MetaFile.from_data(1, targets, ["sha256"])
    snapshot_data = signed_by(snapshot, [signers["snapshot"]])
    timestamp = Timestamp(expires=now + timedelta(days=lifetimes.timestamp_days))
    timestamp.snapshot_meta = MetaFile.from_data(1, snapshot_data, ["sha256"])
    write_durably(metadata_dir / "1.targets.json", targets)
    write_durably(metadata_dir / "1.snapshot.json", snapshot_data)
    write_durably(metadata_dir / "timestamp.json", signed_by(timestamp, [signers["timestamp"]]))
    write_durably(metadata_dir / "1.root.json", signed_by(root, root_signers))


def signed_by(role: AnyRole, signers: Sequence[CryptoSigner]) -> bytes:
    """A role as the file that all `signers` signed."""
    metadata = Metadata[AnyRole](role)
    for signer in signers:
        metadata.sign(signer, append=True)
    return metadata.to_bytes(SERIALIZER)


def date_of(now_ms: int) -> datetime:
    """A time of the wall clock as metadata counts it, in whole seconds."""
    return datetime.fromtimestamp(now_ms // 1000, tz=UTC)
