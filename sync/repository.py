"""The signing side of releases: a TUF repository in a folder, with its keys apart.

Publishing → `Repository` → metadata and targets as files → served by path over MQTT or HTTP, and
packed into bundles → `sync.trust.TrustedClient` on the phone.

    keys/root/root.pem                      offline: only for creation and rotation
    keys/online/{targets,snapshot,timestamp}.pem
    tuf/metadata/{N.root,N.targets,N.snapshot,timestamp}.json
    tuf/targets/releases/ID/HASH.{release.json,adapter.bin}, tuf/targets/channels/HASH.NAME.json

Each change writes new files first and replaces `timestamp.json` last, by rename: a reader sees the
old state or the new one, and a crash in between leaves the old one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from securesystemslib.signer import CryptoSigner
from tuf.api.metadata import Metadata, MetaFile, Root, Snapshot, TargetFile, Targets, Timestamp
from tuf.api.serialization.json import JSONSerializer

from sync.adapter_file import adapter_digest
from sync.clock import Clock, SystemClock
from sync.durable_file import write_durably
from sync.errors import IntegrityError, RejectedError
from sync.releases import (
    ADAPTER_ENTRY,
    METADATA_PREFIX,
    RELEASE_ENTRY,
    Bundle,
    ChannelPointer,
    Reason,
    pointer_from_json,
    pointer_to_json,
    release_from_json,
    release_to_json,
    require_channel,
    write_bundle,
)
from sync.signing_keys import (
    ONLINE_ROLES,
    make_signer,
    online_key_path,
    read_signer,
    root_key_path,
)
from sync.vocabulary import Release, ReleaseId

_SERVED = re.compile(r"(metadata|targets)(/[A-Za-z0-9_\-][A-Za-z0-9_.\-]*){1,3}")
_SERIALIZER = JSONSerializer(compact=True)
_Role = TypeVar("_Role", Root, Targets, Snapshot, Timestamp)


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long each role's signature is good for, in days."""

    root_days: int = 1825
    targets_days: int = 365
    snapshot_days: int = 60
    timestamp_days: int = 30


class Repository:
    """The fleet's releases, signed. One writer at a time; readers need only the files.

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
        self._metadata_dir = directory / "metadata"
        self._targets_dir = directory / "targets"
        self._bundles_dir = directory.parent / "releases" if bundles_dir is None else bundles_dir
        self._keys_dir = keys_dir
        self._clock = SystemClock() if clock is None else clock
        self._lifetimes = Lifetimes() if lifetimes is None else lifetimes
        try:
            self._load()
        except (OSError, ValueError, KeyError) as error:
            raise IntegrityError(
                f"{directory} holds no release repository that {keys_dir} can sign: {error}"
            ) from error

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

    @property
    def root_bytes(self) -> bytes:
        """The newest root metadata: what a phone is enrolled with."""
        return (self._metadata_dir / f"{self._root.signed.version}.root.json").read_bytes()

    @property
    def latest_version(self) -> int:
        """The highest release version that was published; 0 where there is none."""
        return max((release.version for release in self.releases()), default=0)

    def releases(self) -> list[Release]:
        """All published releases, by version."""
        return sorted(self._releases.values(), key=lambda release: release.version)

    def release(self, release_id: ReleaseId | str) -> Release:
        """One published release.

        Raises: RejectedError: "unknown_release".
        """
        try:
            return self._releases[ReleaseId(release_id)]
        except KeyError:
            raise RejectedError(
                f"release: {release_id} was never published; `outrider release list` shows all",
                reason=Reason.UNKNOWN_RELEASE,
            ) from None

    def adapter(self, release_id: ReleaseId | str) -> bytes:
        """The adapter file of a published release.

        Raises: RejectedError: "unknown_release".
        """
        return self._read_target(_adapter_path(self.release(release_id).id))

    def channel(self, channel: str) -> ChannelPointer | None:
        """Where `channel` points, or None while it points nowhere."""
        require_channel(channel)
        path = _channel_path(channel)
        if path not in self._targets.signed.targets:
            return None
        return pointer_from_json(self._read_target(path))

    def publish(self, release: Release, adapter: bytes, channel: str | None = None) -> Path:
        """Sign `release` and point `channel` at it; returns the bundle's path.

        Publishing the very same release again changes nothing but the channel.

        Raises:
            RejectedError: "older_version" where its version is not above all published ones;
                "tampered" where the adapter is not the described one; "malformed".
        """
        description = release_to_json(release)
        if adapter_digest(adapter) != release.adapter_digest:
            raise RejectedError(
                f"release: {release.id} describes another adapter file", reason=Reason.TAMPERED
            )
        if self._releases.get(release.id) != release:
            if release.version <= self.latest_version:
                raise RejectedError(
                    f"release: version {release.version} must be above {self.latest_version}",
                    reason=Reason.OLDER_VERSION,
                )
            self._add_target(_adapter_path(release.id), adapter)
            self._add_target(_release_path(release.id), description)
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

    def renew(self, *, within_days: int = 7) -> bool:
        """Sign again what expires soon; True where something was. Call it about once a day."""
        soon = self._now() + timedelta(days=within_days)
        roles = (self._targets, self._snapshot, self._timestamp)
        if all(role.signed.expires > soon for role in roles):
            return False
        self._sign_all()
        return True

    def rotate_online_keys(self) -> None:
        """Replace the three online keys under a new root; needs the offline root key."""
        root_signer = read_signer(root_key_path(self._keys_dir))
        root = self._root.signed
        for role in ONLINE_ROLES:
            for key_id in list(root.roles[role].keyids):
                root.revoke_key(key_id, role)
            signer = make_signer(online_key_path(self._keys_dir, role))
            root.add_key(signer.public_key, role)
        root.version += 1
        root.expires = self._expiry(self._lifetimes.root_days)
        self._root.sign(root_signer)
        write_durably(
            self._metadata_dir / f"{root.version}.root.json", self._root.to_bytes(_SERIALIZER)
        )
        self._load_signers()
        self._sign_all()

    def bundle(self, release_id: ReleaseId | str) -> bytes:
        """The bundle of a published release under the newest metadata, as zip bytes.

        Raises: RejectedError: "unknown_release".
        """
        release = self.release(release_id)
        names = [f"{version}.root" for version in range(1, self._root.signed.version + 1)]
        names += [
            "timestamp",
            f"{self._snapshot.signed.version}.snapshot",
            f"{self._targets.signed.version}.targets",
        ]
        return write_bundle(
            Bundle(
                description=self._read_target(_release_path(release.id)),
                adapter=self._read_target(_adapter_path(release.id)),
                metadata={
                    f"{METADATA_PREFIX}{name}.json": (
                        self._metadata_dir / f"{name}.json"
                    ).read_bytes()
                    for name in names
                },
            )
        )

    def read(self, path: str) -> bytes:
        """A served file by its path ("metadata/timestamp.json", "targets/…"), for any phone.

        Raises: FileNotFoundError: no such file, or a path that leads out of the repository.
        """
        return read_served(self._metadata_dir.parent, path)

    def _load(self) -> None:
        newest = max(
            int(path.name.split(".")[0]) for path in self._metadata_dir.glob("*.root.json")
        )
        self._root = _parse(Root, self._metadata_dir / f"{newest}.root.json")
        self._timestamp = _parse(Timestamp, self._metadata_dir / "timestamp.json")
        snapshot_version = self._timestamp.signed.snapshot_meta.version
        self._snapshot = _parse(Snapshot, self._metadata_dir / f"{snapshot_version}.snapshot.json")
        targets_version = self._snapshot.signed.meta["targets.json"].version
        self._targets = _parse(Targets, self._metadata_dir / f"{targets_version}.targets.json")
        self._load_signers()
        self._releases: dict[ReleaseId, Release] = {}
        for path in self._targets.signed.targets:
            if path.startswith("releases/") and path.endswith("/" + RELEASE_ENTRY):
                release = release_from_json(self._read_target(path))
                self._releases[release.id] = release

    def _load_signers(self) -> None:
        self._signers: dict[str, CryptoSigner] = {}
        for role in ONLINE_ROLES:
            signer = read_signer(online_key_path(self._keys_dir, role))
            if signer.public_key.keyid not in self._root.signed.roles[role].keyids:
                raise ValueError(f"the root does not know the {role} key")
            self._signers[role] = signer

    def _point(self, channel: str, release: Release) -> None:
        current = self.channel(channel)
        if current is not None and release.version < current.version:
            raise RejectedError(
                f"release: {channel} is at version {current.version}; publish a roll-back with a "
                f"higher version instead of going to {release.version}",
                reason=Reason.OLDER_VERSION,
            )
        pointer = ChannelPointer(channel=channel, release_id=release.id, version=release.version)
        self._add_target(_channel_path(channel), pointer_to_json(pointer))

    def _add_target(self, path: str, data: bytes) -> None:
        target = TargetFile.from_data(path, data, ["sha256"])
        write_durably(self._targets_dir / target.get_prefixed_paths()[0], data)
        self._targets.signed.targets[path] = target

    def _read_target(self, path: str) -> bytes:
        target = self._targets.signed.targets[path]
        data = (self._targets_dir / target.get_prefixed_paths()[0]).read_bytes()
        target.verify_length_and_hashes(data)
        return data

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


def read_served(directory: Path, path: str) -> bytes:
    """A file of the repository in `directory` by its served path; needs no key.

    Raises: FileNotFoundError: no such file, or a path that leads out of the repository.
    """
    if not _SERVED.fullmatch(path):
        raise FileNotFoundError(path)
    return (directory / path).read_bytes()


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


def _parse(role: type[_Role], path: Path) -> Metadata[_Role]:
    metadata = Metadata[_Role].from_bytes(path.read_bytes())
    if metadata.signed.type != role.type:
        raise ValueError(f"{path.name} is no {role.type} metadata")
    return metadata


def _release_path(release_id: ReleaseId) -> str:
    return f"releases/{release_id}/{RELEASE_ENTRY}"


def _adapter_path(release_id: ReleaseId) -> str:
    return f"releases/{release_id}/{ADAPTER_ENTRY}"


def _channel_path(channel: str) -> str:
    return f"channels/{channel}.json"
