"""The published releases as files: what serves them, lists them and packs bundles; needs no key.

tuf/metadata/{N.root,N.targets,N.archive-XX,N.snapshot,timestamp}.json
tuf/targets/releases/ID/HASH.{release.json,adapter.bin}, tuf/targets/channels/HASH.NAME.json,
tuf/targets/bases/DIGEST/HASH.base.zip
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TypeVar

from tuf.api.exceptions import RepositoryError
from tuf.api.metadata import Metadata, Root, Snapshot, Targets, Timestamp

from sync.errors import IntegrityError, RejectedError
from sync.release_archive import archive_role_of
from sync.releases import (
    ADAPTER_ENTRY,
    BASE_ENTRY,
    METADATA_PREFIX,
    RELEASE_ENTRY,
    TARGETS_PREFIX,
    Bundle,
    ChannelPointer,
    Reason,
    pointer_from_json,
    release_from_json,
    require_channel,
    write_bundle,
)
from sync.vocabulary import Release, ReleaseId

_SERVED = re.compile(r"(metadata|targets)(/[A-Za-z0-9_\-][A-Za-z0-9_.\-]*){1,3}")
_BEFORE_THE_ROOT = {"1.targets.json", "1.snapshot.json", "timestamp.json"}
_Role = TypeVar("_Role", Root, Targets, Snapshot, Timestamp)


def is_made(directory: Path) -> bool:
    """Whether a repository was ever made in a folder; where that was cut off, it was not.

    One that has published and lost files was made all the same: nobody is to make another one in
    its place.
    """
    names = {path.name for path in (directory / "metadata").glob("[!.]*.json")}
    return bool(names - _BEFORE_THE_ROOT) or any((directory / "targets").glob("*"))


class PublishedReleases:
    """One state of the repository in `directory`, as it was when this was made.

    Raises: IntegrityError: (on creation) the folder holds no repository, or not a whole one.
    """

    def __init__(self, directory: Path) -> None:
        self._metadata_dir = directory / "metadata"
        self._targets_dir = directory / "targets"
        if not self._metadata_dir.is_dir():
            raise IntegrityError(
                f"{directory} holds no whole release repository: outrider keys init makes one"
            )
        try:
            self._load()
        except (OSError, ValueError, KeyError, RejectedError, RepositoryError) as error:
            raise IntegrityError(
                f"{directory} holds no whole release repository ({error}): restore it from a copy"
            ) from error

    @property
    def root(self) -> Metadata[Root]:
        """The newest root metadata."""
        return self._root

    @property
    def root_bytes(self) -> bytes:
        """The newest root metadata as it was signed: what a phone is enrolled with."""
        return (self._metadata_dir / f"{self._root.signed.version}.root.json").read_bytes()

    def signed_roles(self) -> dict[str, Root | Targets | Snapshot | Timestamp]:
        """The newest metadata of each top-level role, the root first."""
        return {
            Root.type: self._root.signed,
            Targets.type: self._targets.signed,
            Snapshot.type: self._snapshot.signed,
            Timestamp.type: self._timestamp.signed,
        }

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
                f"release: {release_id!r} was never published; `outrider release list` shows all",
                reason=Reason.UNKNOWN_RELEASE,
            ) from None

    def adapter(self, release_id: ReleaseId | str) -> bytes:
        """The adapter file of a published release.

        Raises: RejectedError: "unknown_release".
        """
        return self._read_target(adapter_path(self.release(release_id).id))

    def base(self, digest: str) -> bytes | None:
        """The packed base network of that digest; None where it was never published."""
        path = base_path(digest)
        return self._read_target(path) if path in self._targets.signed.targets else None

    def root_history(self) -> list[bytes]:
        """Every root metadata from the first on, as it was signed: how old phones follow."""
        return [
            (self._metadata_dir / f"{version}.root.json").read_bytes()
            for version in range(1, self._root.signed.version + 1)
        ]

    def channel(self, channel: str) -> ChannelPointer | None:
        """Where `channel` points, or None while it points nowhere."""
        require_channel(channel)
        path = channel_path(channel)
        if path not in self._targets.signed.targets:
            return None
        return pointer_from_json(self._read_target(path))

    def bundle(self, release_id: ReleaseId | str) -> bytes:
        """The bundle of a published release under the newest metadata, as zip bytes.

        It brings its base where that was published, and no release before belongs to it.

        Raises: RejectedError: "unknown_release".
        """
        release = self.release(release_id)
        names = [f"{version}.root" for version in range(1, self._root.signed.version + 1)]
        names += [
            "timestamp",
            f"{self._snapshot.signed.version}.snapshot",
            f"{self._targets.signed.version}.targets",
        ]
        if not self._is_listed(release):
            for role in {archive_role_of(path) for path in _paths_of(release)}:
                names.append(f"{self._archive[role].signed.version}.{role}")
        return write_bundle(
            Bundle(
                description=self._read_target(release_path(release.id)),
                adapter=self._read_target(adapter_path(release.id)),
                base=self.base(release.base_digest) if self._is_first_of_base(release) else None,
                metadata={
                    f"{METADATA_PREFIX}{name}.json": (
                        self._metadata_dir / f"{name}.json"
                    ).read_bytes()
                    for name in names
                },
            )
        )

    def _is_listed(self, release: Release) -> bool:
        """Whether the newest metadata itself lists a release; the archive does where not."""
        return release_path(release.id) in self._targets.signed.targets

    def _is_first_of_base(self, release: Release) -> bool:
        same = [one for one in self.releases() if one.base_digest == release.base_digest]
        return same[0] == release

    def read(self, path: str) -> bytes:
        """A served file by its path ("metadata/timestamp.json", "targets/…"), for any phone.

        Raises: FileNotFoundError: no such file, or a path that leads out of the repository.
        """
        return read_served(self._metadata_dir.parent, path)

    def _load(self) -> None:
        newest = newest_root(self._metadata_dir)
        self._root = _parse(Root, self._metadata_dir / f"{newest}.root.json")
        self._timestamp = _parse(Timestamp, self._metadata_dir / "timestamp.json")
        snapshot_version = self._timestamp.signed.snapshot_meta.version
        self._snapshot = _parse(Snapshot, self._metadata_dir / f"{snapshot_version}.snapshot.json")
        targets_version = self._snapshot.signed.meta["targets.json"].version
        self._targets = _parse(Targets, self._metadata_dir / f"{targets_version}.targets.json")
        self._archive: dict[str, Metadata[Targets]] = {}
        for role, about in self._snapshot.signed.meta.items():
            if role != "targets.json":
                file = self._metadata_dir / f"{about.version}.{role}"
                self._archive[role.removesuffix(".json")] = _parse(Targets, file)
        self._releases: dict[ReleaseId, Release] = {}
        for metadata in (self._targets, *self._archive.values()):
            for path in metadata.signed.targets:
                if path.startswith("releases/") and path.endswith("/" + RELEASE_ENTRY):
                    release = release_from_json(self._read_target(path))
                    self._releases[release.id] = release

    def _read_target(self, path: str) -> bytes:
        target = self._targets.signed.targets.get(path)
        if target is None:
            target = self._archive[archive_role_of(path)].signed.targets[path]
        data = (self._targets_dir / target.get_prefixed_paths()[0]).read_bytes()
        target.verify_length_and_hashes(data)
        return data


def read_served(directory: Path, path: str) -> bytes:
    """A file of the repository in `directory` by its served path; needs no key.

    Raises: FileNotFoundError: no such file, or a path that leads out of the repository.
    """
    return served_path(directory, path).read_bytes()


def newest_root(metadata_dir: Path) -> int:
    """The highest version of root metadata.

    Raises: ValueError: there is none.
    """
    roots = [int(path.name.split(".")[0]) for path in metadata_dir.glob("*.root.json")]
    if not roots:
        raise ValueError("it has no root metadata")
    return max(roots)


def served_path(directory: Path, path: str) -> Path:
    """Where a served file of the repository in `directory` is.

    Raises: FileNotFoundError: no such file, or a path that leads out of the repository.
    """
    if not _SERVED.fullmatch(path) or not (directory / path).is_file():
        raise FileNotFoundError(path)
    return directory / path


def _parse(role: type[_Role], path: Path) -> Metadata[_Role]:
    try:
        metadata = Metadata[_Role].from_bytes(path.read_bytes())
    except RepositoryError as error:
        raise ValueError(f"{path.name} is damaged") from error
    if metadata.signed.type != role.type:
        raise ValueError(f"{path.name} is no {role.type} metadata")
    return metadata


def _paths_of(release: Release) -> tuple[str, str]:
    return release_path(release.id), adapter_path(release.id)


def release_path(release_id: ReleaseId) -> str:
    """The target that describes a release."""
    return f"releases/{release_id}/{RELEASE_ENTRY}"


def adapter_path(release_id: ReleaseId) -> str:
    """The target that is a release's adapter file."""
    return f"releases/{release_id}/{ADAPTER_ENTRY}"


def base_path(digest: str) -> str:
    """The target that is a base network."""
    return f"bases/{digest}/{BASE_ENTRY}"


def is_large_target(path: str) -> bool:
    """Whether a served file is an adapter or a base: what is worth going on with after a break."""
    return path.startswith(TARGETS_PREFIX) and path.endswith(
        (f".{ADAPTER_ENTRY}", f".{BASE_ENTRY}")
    )


def channel_path(channel: str) -> str:
    """The target that says where a channel points."""
    return f"channels/{channel}.json"
