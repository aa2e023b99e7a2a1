"""The signing side of releases: a TUF repository in a folder, with its keys apart.

Publishing → `Repository` → metadata and targets as files → served by path over MQTT or HTTP, and
packed into bundles → `sync.trust.TrustedClient` on the phone.

    keys/root/*.pem                                 offline: only for creation and rotation
    keys/online/{targets,snapshot,timestamp}.pem    held by whoever publishes

Each change writes new files first and replaces `timestamp.json` last, by rename: a reader sees the
old state or the new one, and a crash in between leaves the old one. What the newest metadata lists,
and where older releases stand, is `sync.release_archive`'s rule. Of each role's files the newest
`KEPT_VERSIONS` stay, and every root: a phone that was off follows from its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from tuf.api.metadata import Metadata, MetaFile, Snapshot, TargetFile, Targets, Timestamp

from sync.adapter_file import adapter_digest
from sync.base_file import packed_base_digest
from sync.clock import Clock, SystemClock
from sync.cohorts import StagedOffer
from sync.durable_file import write_all_durably, write_durably
from sync.errors import IntegrityError, RejectedError
from sync.published import (
    PublishedReleases,
    adapter_path,
    base_path,
    channel_path,
    is_made,
    release_path,
)
from sync.release_archive import (
    LEAST_LISTED,
    MOST_LISTED,
    archive_delegations,
    archive_role_of,
    archive_roles,
)
from sync.releases import (
    CHANNELS,
    ChannelPointer,
    Reason,
    pointer_to_json,
    release_to_json,
)
from sync.role_signing import SERIALIZER, Lifetimes, RootKeys, date_of, initialise
from sync.signing_keys import ONLINE_ROLES, adopt_online_signer
from sync.vocabulary import Release, ReleaseId

KEPT_VERSIONS: Final = 16
"""So many of the newest files of each role stay, for phones that are reading just now."""

_Online = Metadata[Targets] | Metadata[Snapshot] | Metadata[Timestamp]


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
                role: adopt_online_signer(keys_dir, role, self._root.signed.roles[role].keyids)
                for role in ONLINE_ROLES
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
        root_keys: RootKeys | None = None,
    ) -> Repository:
        """A repository in `directory`, made with new keys unless it is there already.

        Raises: IntegrityError: what is there is not whole, or a key that is there cannot be used.
        """
        if not is_made(directory):
            try:
                initialise(
                    directory / "metadata",
                    keys_dir,
                    now_ms=(SystemClock() if clock is None else clock).wall_ms(),
                    lifetimes=lifetimes or Lifetimes(),
                    root_keys=root_keys or RootKeys(),
                )
            except ValueError as error:
                raise IntegrityError(f"the keys in {keys_dir} cannot be used: {error}") from error
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

        Call it at every start and about once an hour.
        """
        soon = self._now() + timedelta(days=within_days)

        def is_due(metadata: _Online) -> bool:
            return metadata.signed.expires <= soon or self._is_foreign(metadata)

        current: tuple[_Online, ...] = (self._targets, self._snapshot, self._timestamp)
        stale = [name for name, one in self._archive.items() if is_due(one)]
        if not stale and not any(map(is_due, current)):
            return False
        self._sign_all(changed=stale)
        return True

    def _is_foreign(self, metadata: _Online) -> bool:
        """Whether another key signed it than the one that signs today."""
        return self._signers[metadata.signed.type].public_key.keyid not in metadata.signatures

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

    def _archive_old(self) -> set[str]:
        """Move old releases out of the newest metadata; names of the roles that they went to."""
        listed = [one for one in self.releases() if self._is_listed(one)]
        if len(listed) <= MOST_LISTED:
            return set()
        pointed: set[ReleaseId] = set()
        for pointer in map(self.channel, CHANNELS):
            if pointer is not None:
                pointed.add(pointer.release_id)
                pointed.update([] if pointer.staged is None else [pointer.staged.release_id])
        changed = set()
        if not self._archive:
            changed.update(archive_roles())
            self._archive = {name: Metadata(Targets()) for name in changed}
            for one in self._archive.values():
                one.signed.version = 0  # signing makes it 1
        for release in listed[:-LEAST_LISTED]:
            if release.id in pointed:
                continue
            for path in (release_path(release.id), adapter_path(release.id)):
                name = archive_role_of(path)
                self._archive[name].signed.targets[path] = self._targets.signed.targets.pop(path)
                changed.add(name)
        return changed

    def _sign_all(self, changed: Iterable[str] = ()) -> None:
        """Sign a new state of everything.

        Args:
            changed: archive roles that are to be signed again; the others stay as they are.
        """
        days = self._lifetimes
        files: dict[str, bytes] = {}
        foreign = [name for name, one in self._archive.items() if self._is_foreign(one)]
        for name in sorted({*changed, *foreign, *self._archive_old()}):
            data = self._sign(self._archive[name], days.targets_days)
            version = self._archive[name].signed.version
            self._snapshot.signed.meta[f"{name}.json"] = MetaFile(version)
            files[f"{version}.{name}.json"] = data
        if self._archive:
            key = self._signers[Targets.type].public_key
            self._targets.signed.delegations = archive_delegations(key)
        targets = self._sign(self._targets, days.targets_days)
        version = self._targets.signed.version
        self._snapshot.signed.meta["targets.json"] = MetaFile.from_data(
            version, targets, ["sha256"]
        )
        files[f"{version}.targets.json"] = targets
        snapshot = self._sign(self._snapshot, days.snapshot_days)
        version = self._snapshot.signed.version
        self._timestamp.signed.snapshot_meta = MetaFile.from_data(version, snapshot, ["sha256"])
        files[f"{version}.snapshot.json"] = snapshot
        timestamp = self._sign(self._timestamp, days.timestamp_days)
        write_all_durably(self._metadata_dir, files)
        write_durably(self._metadata_dir / "timestamp.json", timestamp)
        self._remove_superseded()

    def _remove_superseded(self) -> None:
        versions = {name: one.signed.version for name, one in self._archive.items()}
        versions[Targets.type] = self._targets.signed.version
        versions[Snapshot.type] = self._snapshot.signed.version
        for name, newest in versions.items():
            for path in self._metadata_dir.glob(f"*.{name}.json"):
                if int(path.name.split(".")[0]) <= newest - KEPT_VERSIONS:
                    path.unlink(missing_ok=True)

    def _sign(self, metadata: _Online, days: int) -> bytes:
        signed = metadata.signed
        signed.version += 1
        signed.expires = self._expiry(days)
        metadata.sign(self._signers[signed.type])
        return metadata.to_bytes(SERIALIZER)

    def _now(self) -> datetime:
        return date_of(self._clock.wall_ms())

    def _expiry(self, days: int) -> datetime:
        return self._now() + timedelta(days=days)
