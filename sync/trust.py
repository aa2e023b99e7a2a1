"""The phone's side of trust: nothing is installed that does not lead back to the enrolled root.

Files from the network or out of a bundle → python-tuf's client workflow (root → timestamp →
snapshot → targets → file: signatures, versions, expiry, lengths, hashes) → a `Release` and the
bytes of its adapter. This module adds where the files come from, and turns each failure into one
reason code.

    trust/root.json       what the phone was enrolled with; never replaced by anything received
    trust/metadata/       newest metadata that verified: the memory that stops replays

Expiry is judged by the clock that is given: on a device the cloud's time, so that a wrong clock of
its own decides nothing. It stops new installs; what runs goes on running.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from tuf.api import exceptions
from tuf.api.metadata import Metadata, Root
from tuf.ngclient import Updater, UpdaterConfig

from sync.adapter_file import MAX_FILE_BYTES, adapter_digest
from sync.clock import Clock, SystemClock
from sync.cohorts import CohortPhone
from sync.durable_file import exclusive, write_durably
from sync.errors import IntegrityError, RejectedError, TransientError
from sync.fetch import Fetch
from sync.key_rotation import rotate_online_keys
from sync.published import base_path
from sync.releases import (
    ADAPTER_ENTRY,
    BASE_ENTRY,
    MAX_BASE_BYTES,
    MAX_DESCRIPTION_BYTES,
    METADATA_PREFIX,
    RELEASE_ENTRY,
    TARGETS_PREFIX,
    Bundle,
    Reason,
    pointer_from_json,
    release_from_json,
)
from sync.repository import Repository
from sync.repository_fetcher import RepositoryFetcher
from sync.role_signing import Lifetimes, date_of
from sync.update_pack import packed_fetch
from sync.vocabulary import Release

__all__ = [
    "Fetch",
    "Lifetimes",
    "Repository",
    "TrustedClient",
    "enrol_root",
    "no_network",
    "rotate_online_keys",
]

_MOST_DESCRIBED = 16
_CONFIG = UpdaterConfig(
    max_root_rotations=64,
    root_max_length=64 * 1024,
    timestamp_max_length=16 * 1024,
    snapshot_max_length=64 * 1024,
    targets_max_length=4 * 1024 * 1024,
)


def no_network(path: str) -> Iterable[bytes]:
    """A `Fetch` for phones that only take bundles."""
    raise TransientError(f"there is no network here to fetch {path} from")


def enrol_root(trust_dir: Path, root: bytes, history: Iterable[bytes] = ()) -> None:
    """Lay the root that this phone will trust. Idempotent, also for later roots of that fleet.

    A phone that is enrolled keeps its root: newer ones reach it by the client workflow.

    Args:
        history: the roots before `root`, in order, where they are at hand: they show that it
            follows from what the phone trusts, however often the fleet's keys were replaced.

    Raises:
        RejectedError: "malformed" where `root` is no root metadata that signs itself.
        IntegrityError: the phone trusts another fleet already.
    """
    offered = _self_signed(root)
    path = trust_dir / "root.json"
    if not path.exists():
        write_durably(path, root)
        return
    trusted = _self_signed(path.read_bytes())
    known = sorted((trust_dir / "metadata" / "root_history").glob("*.root.json"))
    between = [_self_signed(one) for one in (*history, *(file.read_bytes() for file in known))]
    chain = [trusted]
    for one in sorted(between, key=lambda metadata: metadata.signed.version):
        if one.signed.version == chain[-1].signed.version + 1 and _follows(one, chain[-1]):
            chain.append(one)
    near = [one for one in chain if offered.signed.version <= one.signed.version + 1]
    if not any(_follows(offered, one) for one in near):
        raise IntegrityError(
            f"{path} is another fleet's root; remove the phone's folder to start over"
        )


def _follows(later: Metadata[Root], earlier: Metadata[Root]) -> bool:
    """Whether the keys of `earlier` signed `later`."""
    try:
        earlier.signed.verify_delegate(Root.type, later.signed_bytes, later.signatures)
    except exceptions.RepositoryError:
        return False
    return True


def _self_signed(root: bytes) -> Metadata[Root]:
    try:
        metadata = Metadata[Root].from_bytes(root)
        metadata.signed.verify_delegate(Root.type, metadata.signed_bytes, metadata.signatures)
    except (exceptions.RepositoryError, AttributeError, ValueError) as error:
        raise _rejected(f"this is no root metadata: {error}", Reason.MALFORMED) from error
    return metadata


class TrustedClient:
    """Releases that verified, from the network (`fetch`) or from a bundle.

    Args:
        directory: the phone's trust folder; holds root.json unless `root` is given.
        fetch: where served files come from.
        root: the root to enrol with, where that was not done yet (`enrol_root`).
        clock: judges expiry; the machine's own by default.

    Raises:
        RejectedError: (every method) with a `Reason`, where what came must not be used.
        TransientError: (every method) the network or the disk failed; try again later.
    """

    def __init__(
        self,
        directory: Path,
        fetch: Fetch = no_network,
        root: bytes | None = None,
        *,
        clock: Clock | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        if root is not None:
            enrol_root(directory, root)
        self._metadata_dir = directory / "metadata"
        self._directory = directory
        try:
            self._root = (directory / "root.json").read_bytes()
        except OSError as error:
            raise IntegrityError(
                f"{directory} holds no root.json: enrol the phone first (outrider phone enroll)"
            ) from error
        self._fetch = fetch
        self._session: _Session | None = None
        self._described: dict[str, bytes] = {}

    def refresh(self) -> None:
        """Bring the trusted metadata up to date; `release` and `adapter` answer from it."""
        with self._exclusive():
            self._start_session()

    def channel(
        self, name: str, phone: CohortPhone | None = None, *, announced: bool = False
    ) -> Release | None:
        """What channel `name` has for `phone` now, after a refresh; None while it points nowhere.

        Args:
            phone: who asks, where the channel may offer a staged release to part of its phones.
            announced: there is news, so its files are asked for in one piece (`sync.update_pack`);
                where these do not verify, each is asked for by itself before anything is refused.
        """
        with self._exclusive():
            if announced:
                with suppress(RejectedError):
                    return self._pointed_at(packed_fetch(self._fetch, name), name, phone)
            return self._pointed_at(self._fetch, name, phone)

    def _pointed_at(self, fetch: Fetch, name: str, phone: CohortPhone | None) -> Release | None:
        session = self._start_session(fetch)
        data = session.description(f"channels/{name}.json")
        if data is None:
            return None
        pointer = pointer_from_json(data)
        release_id, version = pointer.for_phone(phone)
        release = session.release(release_id)
        if pointer.channel != name or release.version != version:
            raise _rejected(f"the pointer of {name} contradicts itself", Reason.TAMPERED)
        return release

    def release(self, release_id: str) -> Release:
        """The description of any published release, after a refresh where it is not known yet."""
        with self._exclusive():
            try:
                return self._current_session().release(release_id)
            except RejectedError as error:
                if error.reason != Reason.UNKNOWN_RELEASE:
                    raise
            return self._start_session().release(release_id)

    def targets_keys(self) -> frozenset[str]:
        """Ids of the keys that may sign releases, by the newest root that this phone knows."""
        newest = self._metadata_dir / "root.json"
        data = newest.read_bytes() if newest.exists() else self._root
        return frozenset(json.loads(data)["signed"]["roles"]["targets"]["keyids"])

    def adapter(self, release: Release) -> bytes:
        """The adapter file of `release`, verified."""
        with self._exclusive():
            return self._current_session().adapter(release)

    def base_size_bytes(self, digest: str) -> int | None:
        """Size of the packed base network of that digest; None where none is signed."""
        with self._exclusive():
            return self._current_session().size_of(base_path(digest))

    def base(self, digest: str) -> bytes:
        """The packed base network of that digest (`sync.base_file`), verified."""
        with self._exclusive():
            return self._current_session().base(digest)

    def verify_bundle(self, bundle: Bundle) -> Release:
        """The release in `bundle`, whose description, adapter and base verified against the root.

        Judges the bundle by itself: signatures, expiry and content, under the newest root that
        this phone knows. Whether the release may follow the installed one is the caller's rule
        (`releases.require_newer`), because the metadata in a bundle is as old as the bundle.
        """
        fetcher = RepositoryFetcher(_bundle_source(bundle), bundle.metadata)
        with self._exclusive():
            with TemporaryDirectory(dir=self._directory, prefix=".check-") as scratch:
                known_roots = self._metadata_dir / "root_history"
                if known_roots.is_dir():
                    shutil.copytree(known_roots, Path(scratch) / "root_history")
                session = self._opened(Path(scratch), fetcher, offline=True)
                session.refresh()
                release = _described(session, bundle)
                session.adapter(release)
                if bundle.base is not None:
                    session.base(release.base_digest)
            with suppress(RejectedError):  # this phone may know newer metadata already
                self._opened(self._metadata_dir, fetcher, offline=True).refresh()
        return release

    def _opened(
        self, folder: Path, fetcher: RepositoryFetcher, *, offline: bool = False
    ) -> _Session:
        now_ms = self._clock.wall_ms()
        return _Session(
            folder,
            self._root,
            fetcher,
            now_ms=now_ms,
            offline=offline,
            described={} if offline else self._described,
        )

    def _exclusive(self) -> AbstractContextManager[None]:
        return exclusive(self._directory / "lock")

    def _start_session(self, fetch: Fetch | None = None) -> _Session:
        session = self._opened(self._metadata_dir, RepositoryFetcher(fetch or self._fetch))
        session.refresh()
        self._session = session
        return session

    def _current_session(self) -> _Session:
        return self._start_session() if self._session is None else self._session


class _Session:
    """One run of the client workflow over one consistent state of the repository.

    Args:
        described: descriptions by target path that came before: one that is still what is signed
            is not asked for again.
    """

    def __init__(
        self,
        metadata_dir: Path,
        root: bytes,
        fetcher: RepositoryFetcher,
        *,
        now_ms: int,
        offline: bool,
        described: dict[str, bytes],
    ) -> None:
        metadata_dir.mkdir(parents=True, exist_ok=True)
        self._metadata_dir = metadata_dir
        self._fetcher = fetcher
        self._offline = offline
        self._described = described
        with self._reasons():
            try:
                self._updater = Updater(
                    str(metadata_dir),
                    METADATA_PREFIX,
                    fetcher=fetcher,
                    config=_CONFIG,
                    bootstrap=root,
                )
            except exceptions.RepositoryError as error:
                raise _rejected(
                    f"this phone's own root.json is damaged ({error}): restore it, or enrol the "
                    "phone anew in another folder",
                    Reason.MALFORMED,
                ) from error
        known = self._updater._trusted_set  # noqa: SLF001 - its time has no public way in
        known.reference_time = date_of(now_ms)

    def refresh(self) -> None:
        with self._reasons():
            self._updater.refresh()

    def release(self, release_id: str) -> Release:
        path = f"releases/{release_id}/{RELEASE_ENTRY}"
        data = self.description(path)
        if data is None:
            raise _rejected(f"{release_id} is not a signed release", Reason.UNKNOWN_RELEASE)
        release = release_from_json(data)
        if release.id != release_id:
            raise _rejected(f"{release_id} describes {release.id}", Reason.TAMPERED)
        return release

    def adapter(self, release: Release) -> bytes:
        data = self.target(f"releases/{release.id}/{ADAPTER_ENTRY}", MAX_FILE_BYTES)
        if data is None:
            raise _rejected(f"{release.id} has no signed adapter", Reason.UNKNOWN_RELEASE)
        if adapter_digest(data) != release.adapter_digest:
            raise _rejected(f"{release.id} describes another adapter", Reason.TAMPERED)
        return data

    def base(self, digest: str) -> bytes:
        data = self.target(base_path(digest), MAX_BASE_BYTES)
        if data is None:
            raise _rejected(f"base {digest[:12]} is not signed", Reason.BASE_MISMATCH)
        return data

    def size_of(self, path: str) -> int | None:
        """Size of target `path` as it is signed; None where no such target is."""
        with self._reasons():
            info = self._updater.get_targetinfo(path)
            return None if info is None else int(info.length)

    def description(self, path: str) -> bytes | None:
        """The verified bytes of a small target; None where no such target is signed."""
        with self._reasons(), suppress(exceptions.LengthOrHashMismatchError):
            info, known = self._updater.get_targetinfo(path), self._described.get(path)
            if info is not None and known is not None:
                info.verify_length_and_hashes(known)
                return known
        data = self.target(path, MAX_DESCRIPTION_BYTES)
        if data is not None:
            while len(self._described) >= _MOST_DESCRIBED:
                del self._described[next(iter(self._described))]
            self._described[path] = data
        return data

    def target(self, path: str, max_length: int) -> bytes | None:
        """The verified bytes of target `path`; None where no such target is signed."""
        with self._reasons():
            info = self._updater.get_targetinfo(path)
            if info is None:
                return None
            if info.length > max_length:
                raise _rejected(f"{path} has {info.length} bytes", Reason.TOO_LARGE)
            served = TARGETS_PREFIX + info.get_prefixed_paths()[0]
            data = self._fetcher.download_bytes(served, info.length)
            info.verify_length_and_hashes(data)
            return data

    @contextmanager
    def _reasons(self) -> Iterator[None]:
        """Each failure of the workflow as one of this project's errors."""
        try:
            yield
        except exceptions.ExpiredMetadataError as error:
            raise _rejected(f"{error}; sign again or set the clock", Reason.EXPIRED) from error
        except exceptions.BadVersionNumberError as error:
            raise _rejected(f"replayed: {error}", Reason.OLDER_VERSION) from error
        except (
            exceptions.LengthOrHashMismatchError,
            exceptions.UnsignedMetadataError,
        ) as error:
            raise _rejected(str(error), self._tampered_or_wrong_key()) from error
        except exceptions.RepositoryError as error:
            raise _rejected(str(error), Reason.MALFORMED) from error
        except exceptions.DownloadError as error:
            raise self._download_failure(error) from error
        except OSError as error:
            raise TransientError(f"trust: the phone's disk failed: {error}") from error

    def _tampered_or_wrong_key(self) -> Reason:
        root = json.loads((self._metadata_dir / "root.json").read_bytes())
        trusted = {name: set(role["keyids"]) for name, role in root["signed"]["roles"].items()}
        if any(_is_foreign(data, trusted) for data in self._fetcher.suspects()):
            return Reason.WRONG_KEY
        return Reason.TAMPERED

    def _download_failure(self, error: exceptions.DownloadError) -> RejectedError | TransientError:
        if self._offline:
            return _rejected(f"its parts do not belong together: {error}", Reason.TAMPERED)
        if isinstance(error, exceptions.DownloadLengthMismatchError):
            return _rejected(str(error), Reason.TOO_LARGE)
        return TransientError(f"trust: {error}")


def _described(session: _Session, bundle: Bundle) -> Release:
    """The signed description of what the bundle claims to be."""
    try:
        return session.release(bundle.release().id)
    except RejectedError as error:
        raise _rejected(
            f"the description is not what was signed: {error}", Reason.TAMPERED
        ) from error


def _bundle_source(bundle: Bundle) -> Fetch:
    def fetch(path: str) -> Iterable[bytes]:
        if path.startswith(METADATA_PREFIX) and path in bundle.metadata:
            return [bundle.metadata[path]]
        if path.startswith(TARGETS_PREFIX) and path.endswith("." + RELEASE_ENTRY):
            return [bundle.description]
        if path.startswith(TARGETS_PREFIX) and path.endswith("." + ADAPTER_ENTRY):
            return [bundle.adapter]
        if bundle.base is not None and path.endswith("." + BASE_ENTRY):
            return [bundle.base]
        raise FileNotFoundError(path)

    return fetch


def _is_foreign(data: bytes, trusted: Mapping[str, set[str]]) -> bool:
    """Whether metadata is signed, and by no key that the root names for its role."""
    try:
        document = json.loads(data)
        signers = {signature["keyid"] for signature in document["signatures"]}
        role = document["signed"]["_type"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return False
    return bool(signers) and not signers & trusted.get(role, set())


def _rejected(message: str, reason: Reason) -> RejectedError:
    return RejectedError(f"trust: {message}", reason=reason)
