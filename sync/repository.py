"""The signing side of releases: a TUF repository in a folder, with its keys apart.

Publishing → `Repository` → metadata and targets as files → served by path over MQTT or HTTP, and
packed into bundles → `sync.trust.TrustedClient` on the phone.

    keys/root/root.pem                              offline: only for creation and rotation
    keys/online/{targets,snapshot,timestamp}.pem    held by whoever publishes

Each change writes new files first and replaces `timestamp.json` last, by rename: a reader sees the
old state or the new one, and a crash in between leaves the old one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from securesystemslib.signer import CryptoSigner
from tuf.api.metadata import Metadata, MetaFile, Root, Snapshot, TargetFile, Targets, Timestamp
from tuf.api.serialization.json import JSONSerializer

from sync.adapter_file import adapter_digest
from sync.base_file import packed_base_digest
from sync.clock import Clock, SystemClock
from sync.cohorts import StagedOffer
from sync.durable_file import write_durably
from sync.errors import IntegrityError, RejectedError
from sync.published import (
    PublishedReleases,
    adapter_path,
    base_path,
    channel_path,
    release_path,
)
from sync.releases import (
    ChannelPointer,
    Reason,
    pointer_to_json,
    release_to_json,
)
from sync.signing_keys import (
    ONLINE_ROLES,
    make_signer,
    online_key_path,
    read_signer,
    root_key_path,
)
from sync.vocabulary import Release, ReleaseId

_SERIALIZER = JSONSerializer(compact=True)
_Role = TypeVar("_Role", Root, Targets, Snapshot, Timestamp)


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long each role's signature is good for, in days."""

    root_days: int = 1825
    targets_days: int = 365
    snapshot_days: int = 60
    timestamp_days: int = 30


class Repository(PublishedReleases):
    """The fleet's releases, signed. One writer at a time; where it fails to write, open it again.

    Args:
        directory: the repository's folder.
        keys_dir: the folder of its keys; only the online ones are read.
        bundles_dir: where bundles go; "releases" beside the repository where not given.
        clock: says what time signatures count from.
        lifetimes: how long they are good for.

    Raises: IntegrityError: the folder holds no repository, or its keys do not belong to it.
    """

    def __init__(
        self,
        directory: Path,
        keys_dir: Path,
        *,
        bundles_dir: Path | None = None,
        clock: Clock | None = None,
        lifetimes: Lifetimes | None = None,
    ) -> None:
        super().__init__(directory)
        self._bundles_dir = directory.parent / "releases" if bundles_dir is None else bundles_dir
        self._clock = SystemClock() if clock is None else clock
        self._lifetimes = Lifetimes() if lifetimes is None else lifetimes
        try:
            self._signers = {
                role: read_signer(online_key_path(keys_dir, role)) for role in ONLINE_ROLES
            }
        except (OSError, ValueError) as error:
            raise IntegrityError(f"the keys in {keys_dir} cannot be used: {error}") from error
        for role, signer in self._signers.items():
            if signer.public_key.keyid not in self._root.signed.roles[role].keyids:
                raise IntegrityError(f"{keys_dir} holds another fleet's {role} key")

    @classmethod
    def create(
        cls,
        directory: Path,
        keys_dir: Path,
        *,
        bundles_dir: Path | None = None,
        clock: Clock | None = None,
        lifetimes: Lifetimes | None = None,
    ) -> Repository:
        """A repository in `directory`, made with new keys unless it is there already."""
        if not (directory / "metadata" / "timestamp.json").exists():
            now_ms = (SystemClock() if clock is None else clock).wall_ms()
            _initialise(directory / "metadata", keys_dir, now_ms, lifetimes or Lifetimes())
        return cls(directory, keys_dir, bundles_dir=bundles_dir, clock=clock, lifetimes=lifetimes)

    def publish(
        self,
        release: Release,
        adapter: bytes,
        channel: str | None = None,
        *,
        base: bytes | None = None,
    ) -> Path:
        """Sign `release` and point `channel` at it; returns the bundle's path.

        Publishing the very same release again changes nothing but the channel.

        Args:
            base: the packed base that it belongs to (`sync.base_file`), where phones may not have
                that yet.

        Raises:
            RejectedError: "older_version" where its version is not above all published ones;
                "tampered" where the adapter is not the described one; "base_mismatch" where `base`
                is another one than it describes; "malformed".
        """
        description = release_to_json(release)
        if adapter_digest(adapter) != release.adapter_digest:
            raise RejectedError(
                f"release: {release.id} describes another adapter file", reason=Reason.TAMPERED
            )
        if base is not None and packed_base_digest(base) != release.base_digest:
            raise RejectedError(
                f"release: {release.id} belongs to another base", reason=Reason.BASE_MISMATCH
            )
        if self._releases.get(release.id) != release:
            if release.version <= self.latest_version:
                raise RejectedError(
                    f"release: version {release.version} must be above {self.latest_version}",
                    reason=Reason.OLDER_VERSION,
                )
            if base is not None:
                self._add_target(base_path(release.base_digest), base)
            self._add_target(adapter_path(release.id), adapter)
            self._add_target(release_path(release.id), description)
            self._releases[release.id] = release
        if channel is not None:
            self._point(channel, release)
        self._sign_all()
        path = self._bundles_dir / f"{release.id}.zip"
        write_durably(path, self.bundle(release.id))
        return path

    def set_channel(self, channel: str, release_id: ReleaseId | str) -> None:
        """Point `channel` at a published release; a channel never goes to a lower version.

        Raises: RejectedError: "unknown_release" or "older_version".
        """
        self._point(channel, self.release(release_id))
        self._sign_all()

    def offer(self, channel: str, offer: StagedOffer | None) -> None:
        """Offer a release to part of a channel's phones; None takes back what was offered.

        Whoever points the channel elsewhere takes it back, too.

        Raises: RejectedError: "unknown_release"; "older_version" where the offered release is not
            above the one that the channel points at, or the channel points nowhere.
        """
        current = self.channel(channel)
        if offer is not None:
            version = self.release(offer.release_id).version
            if current is None or version != offer.version or version <= current.version:
                raise RejectedError(
                    f"release: {offer.release_id} is not above what {channel} points at",
                    reason=Reason.OLDER_VERSION,
                )
        if current is not None and current.staged != offer:
            self._add_target(channel_path(channel), pointer_to_json(current.offering(offer)))
            self._sign_all()

    def renew(self, *, within_days: int = 7) -> bool:
        """Sign again what expires soon or was signed with an old key; True where something was.

        Call it at every start and about once a day.
        """
        soon = self._now() + timedelta(days=within_days)
        roles = (self._targets, self._snapshot, self._timestamp)
        if all(role.signed.expires > soon and self._is_current(role) for role in roles):
            return False
        self._sign_all()
        return True

    def _is_current(
        self, metadata: Metadata[Targets] | Metadata[Snapshot] | Metadata[Timestamp]
    ) -> bool:
        """Whether it is signed with the key that signs today."""
        return self._signers[metadata.signed.type].public_key.keyid in metadata.signatures

    def _point(self, channel: str, release: Release) -> None:
        current = self.channel(channel)
        if current is not None and release.version < current.version:
            raise RejectedError(
                f"release: {channel} is at version {current.version}; publish a roll-back with a "
                f"higher version instead of going to {release.version}",
                reason=Reason.OLDER_VERSION,
            )
        pointer = ChannelPointer(channel=channel, release_id=release.id, version=release.version)
        self._add_target(channel_path(channel), pointer_to_json(pointer))

    def _add_target(self, path: str, data: bytes) -> None:
        target = TargetFile.from_data(path, data, ["sha256"])
        write_durably(self._targets_dir / target.get_prefixed_paths()[0], data)
        self._targets.signed.targets[path] = target

    def _sign_all(self) -> None:
        days = self._lifetimes
        targets = self._sign(self._targets, days.targets_days)
        targets_version = self._targets.signed.version
        self._snapshot.signed.meta["targets.json"] = MetaFile.from_data(
            targets_version, targets, ["sha256"]
        )
        snapshot = self._sign(self._snapshot, days.snapshot_days)
        snapshot_version = self._snapshot.signed.version
        self._timestamp.signed.snapshot_meta = MetaFile.from_data(
            snapshot_version, snapshot, ["sha256"]
        )
        timestamp = self._sign(self._timestamp, days.timestamp_days)
        write_durably(self._metadata_dir / f"{targets_version}.targets.json", targets)
        write_durably(self._metadata_dir / f"{snapshot_version}.snapshot.json", snapshot)
        write_durably(self._metadata_dir / "timestamp.json", timestamp)

    def _sign(
        self, metadata: Metadata[Targets] | Metadata[Snapshot] | Metadata[Timestamp], days: int
    ) -> bytes:
        signed = metadata.signed
        signed.version += 1
        signed.expires = self._expiry(days)
        metadata.sign(self._signers[signed.type])
        return metadata.to_bytes(_SERIALIZER)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.wall_ms() // 1000, tz=UTC)

    def _expiry(self, days: int) -> datetime:
        return self._now() + timedelta(days=days)


def rotate_online_keys(
    directory: Path,
    keys_dir: Path,
    *,
    clock: Clock | None = None,
    lifetimes: Lifetimes | None = None,
) -> None:
    """Replace the three online keys under a new root; needs the offline root key, and no other.

    What the old keys signed is refused from the moment that a phone sees the new root. Where the
    program dies in between, rotating again repairs it.

    Raises: IntegrityError: no repository there, or the root key cannot be used.
    """
    root = PublishedReleases(directory).root
    try:
        root_signer = read_signer(root_key_path(keys_dir))
    except (OSError, ValueError) as error:
        raise IntegrityError(f"the root key in {keys_dir} cannot be used: {error}") from error
    for role in ONLINE_ROLES:
        for key_id in list(root.signed.roles[role].keyids):
            root.signed.revoke_key(key_id, role)
        root.signed.add_key(make_signer(online_key_path(keys_dir, role)).public_key, role)
    now_ms = (SystemClock() if clock is None else clock).wall_ms()
    days = (Lifetimes() if lifetimes is None else lifetimes).root_days
    root.signed.expires = datetime.fromtimestamp(now_ms // 1000, tz=UTC) + timedelta(days=days)
    root.signed.version += 1
    root.sign(root_signer)
    path = directory / "metadata" / f"{root.signed.version}.root.json"
    write_durably(path, root.to_bytes(_SERIALIZER))
    Repository(directory, keys_dir, clock=clock, lifetimes=lifetimes).renew()


def _initialise(metadata_dir: Path, keys_dir: Path, now_ms: int, lifetimes: Lifetimes) -> None:
    """New keys, and the first root, targets, snapshot and timestamp, all of version 1."""
    now = datetime.fromtimestamp(now_ms // 1000, tz=UTC)
    root = Root(expires=now + timedelta(days=lifetimes.root_days), consistent_snapshot=True)
    root_signer = make_signer(root_key_path(keys_dir))
    root.add_key(root_signer.public_key, Root.type)
    signers = {role: make_signer(online_key_path(keys_dir, role)) for role in ONLINE_ROLES}
    for role, signer in signers.items():
        root.add_key(signer.public_key, role)
    targets = _signed(
        Targets(expires=now + timedelta(days=lifetimes.targets_days)), signers["targets"]
    )
    snapshot = Snapshot(expires=now + timedelta(days=lifetimes.snapshot_days))
    snapshot.meta["targets.json"] = MetaFile.from_data(1, targets, ["sha256"])
    snapshot_data = _signed(snapshot, signers["snapshot"])
    timestamp = Timestamp(expires=now + timedelta(days=lifetimes.timestamp_days))
    timestamp.snapshot_meta = MetaFile.from_data(1, snapshot_data, ["sha256"])
    write_durably(metadata_dir / "1.root.json", _signed(root, root_signer))
    write_durably(metadata_dir / "1.targets.json", targets)
    write_durably(metadata_dir / "1.snapshot.json", snapshot_data)
    write_durably(metadata_dir / "timestamp.json", _signed(timestamp, signers["timestamp"]))


def _signed(role: _Role, signer: CryptoSigner) -> bytes:
    metadata = Metadata[_Role](role)
    metadata.sign(signer)
    return metadata.to_bytes(_SERIALIZER)
