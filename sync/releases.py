"""What a release says of itself, the file it travels in, and which release may follow which.

A release is a description (`release.json`) and an adapter (`adapter.bin`), both signed as targets
of a TUF repository (`sync.trust`), as is a base network (`base.zip`) that phones have not got. A
bundle is one zip, `DIR/releases/ID.zip`, with these and the metadata that proves them without a
network; the base is in the bundle of the first release that belongs to it. Nothing in a bundle is
believed before it verified against the root that a phone was enrolled with; this module only reads,
and judges by rules.
"""

from __future__ import annotations

import dataclasses
import io
import json
import re
import zipfile
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

import msgspec

from sync.cohorts import CohortPhone, StagedOffer
from sync.errors import RejectedError
from sync.runtime_level import RUNTIME_LEVEL
from sync.vocabulary import Release, ReleaseId

SCHEMA_VERSION = 1
CHANNELS = ("canary", "beta", "stable")
RELEASE_ENTRY = "release.json"
ADAPTER_ENTRY = "adapter.bin"
BASE_ENTRY = "base.zip"
METADATA_PREFIX = "metadata/"
TARGETS_PREFIX = "targets/"

MAX_DESCRIPTION_BYTES = 64 * 1024
MAX_BUNDLE_BYTES = 128 * 1024 * 1024
MAX_ENTRY_BYTES = 64 * 1024 * 1024
MAX_ENTRIES = 300
MAX_BASE_BYTES = MAX_ENTRY_BYTES

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_\-]{0,63}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_METADATA_ENTRY = re.compile(
    r"metadata/(timestamp|[1-9][0-9]{0,8}\.(root|snapshot|targets|archive-[0-9a-f]{2}))\.json"
)
_T = TypeVar("_T")
_ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)


class Reason(StrEnum):
    """Why a release is not installed, or was taken back; told to the cloud and to the operator."""

    TAMPERED = "tampered"
    WRONG_KEY = "wrong_key"
    OLDER_VERSION = "older_version"
    EXPIRED = "expired"
    BASE_MISMATCH = "base_mismatch"
    POLICY_IO_MISMATCH = "policy_io_mismatch"
    RUNTIME_TOO_OLD = "runtime_too_old"
    NO_SPACE = "no_space"
    MALFORMED = "malformed"
    TOO_LARGE = "too_large"
    NOT_FINITE = "not_finite"
    UNKNOWN_RELEASE = "unknown_release"
    PROBE_FAILED = "probe_failed"
    CRASH_LOOP = "crash_loop"
    DAMAGED = "damaged"
    TOO_SLOW = "too_slow"
    ONE_ACTION = "one_action"
    IMPOSSIBLE_ACTIONS = "impossible_actions"


class _Description(msgspec.Struct, frozen=True):
    """The signed form: the release's fields beside the version of the form itself."""

    schema_version: int
    release: Release


@dataclass(frozen=True, slots=True)
class ChannelPointer:
    """Which release a channel asks its phones to run.

    Attributes:
        staged: another release, for part of them.
    """

    channel: str
    release_id: ReleaseId
    version: int
    schema_version: int = SCHEMA_VERSION
    staged: StagedOffer | None = None

    def offering(self, offer: StagedOffer | None) -> ChannelPointer:
        """The same pointer with another offer beside it, or with none."""
        return dataclasses.replace(self, staged=offer)

    def for_phone(self, phone: CohortPhone | None) -> tuple[ReleaseId, int]:
        """Id and version of the release that the channel has for `phone`; None: for any."""
        if self.staged is not None and phone is not None and self.staged.includes(phone):
            return self.staged.release_id, self.staged.version
        return self.release_id, self.version


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle's parts as they were read: nothing of it is trusted.

    Attributes:
        description: bytes of release.json.
        adapter: bytes of adapter.bin.
        metadata: TUF metadata by entry name ("metadata/timestamp.json", "metadata/3.targets.json").
        base: bytes of base.zip (`sync.base_file`); None where the bundle brings no base.
    """

    description: bytes
    adapter: bytes
    metadata: Mapping[str, bytes]
    base: bytes | None = None

    def release(self) -> Release:
        """What the bundle claims to be.

        Raises: RejectedError: "malformed".
        """
        return release_from_json(self.description)


def release_to_json(release: Release) -> bytes:
    """The release's description as canonical JSON: the bytes that are signed.

    Raises: RejectedError: a field that no phone would accept ("malformed").
    """
    _require_sound(release)
    return _canonical(_Description(schema_version=SCHEMA_VERSION, release=release))


def release_from_json(data: bytes) -> Release:
    """The release that `data` describes; fields from a later program are passed over.

    Raises: RejectedError: "malformed" or "too_large".
    """
    described = _decode(data, _Description)
    if described.schema_version != SCHEMA_VERSION:
        raise _rejected(f"version {described.schema_version} is unknown here", Reason.MALFORMED)
    _require_sound(described.release)
    return described.release


def pointer_to_json(pointer: ChannelPointer) -> bytes:
    """The channel's pointer as canonical JSON."""
    require_channel(pointer.channel)
    fields = msgspec.to_builtins(pointer)
    return _canonical({name: value for name, value in fields.items() if value is not None})


def pointer_from_json(data: bytes) -> ChannelPointer:
    """The channel's pointer in `data`.

    Raises: RejectedError: "malformed" or "too_large".
    """
    pointer = _decode(data, ChannelPointer)
    named = [pointer.release_id] + ([pointer.staged.release_id] if pointer.staged else [])
    if pointer.schema_version != SCHEMA_VERSION or not all(map(_ID.fullmatch, named)):
        raise _rejected("the channel's pointer cannot be used", Reason.MALFORMED)
    return pointer


def require_channel(channel: str) -> None:
    """Nothing where `channel` is one of `CHANNELS`; misuse otherwise.

    Raises: ValueError: no such channel.
    """
    if channel not in CHANNELS:
        raise ValueError(f"no channel {channel!r}; use one of {', '.join(CHANNELS)}")


def require_fits(
    release: Release,
    *,
    base_digest: str,
    policy_io_version: str,
    others: Collection[str] = (),
    runtime: int = RUNTIME_LEVEL,
) -> None:
    """Nothing where a phone with this base, encoding and program can run `release`.

    Args:
        others: digests of further bases that the phone has, or can have.
        runtime: level of the phone's program.

    Raises: RejectedError: "base_mismatch", "policy_io_mismatch" or "runtime_too_old".
    """
    if release.base_digest != base_digest and release.base_digest not in others:
        raise _rejected(
            f"it needs base {release.base_digest[:12]}, "
            f"this phone has {base_digest[:12] or 'none'}",
            Reason.BASE_MISMATCH,
        )
    if release.policy_io_version != policy_io_version:
        raise _rejected(
            f"it needs policy_io {release.policy_io_version}, this phone has {policy_io_version}",
            Reason.POLICY_IO_MISMATCH,
        )
    if release.min_runtime > runtime:
        raise _rejected(
            f"it needs a phone's program of level {release.min_runtime}, this one has {runtime}: "
            "update the program",
            Reason.RUNTIME_TOO_OLD,
        )


def require_newer(release: Release, *, installed: Release | None, floor: int) -> None:
    """Nothing where `release` may be installed over what a phone has and has seen.

    Args:
        installed: what runs now; the very same release may be applied again.
        floor: highest version that this phone ever put on trial.

    Raises: RejectedError: "older_version".
    """
    if installed is not None and installed == release:
        return
    lowest = max(floor, 0 if installed is None else installed.version + 1)
    if release.version < lowest:
        raise _rejected(
            f"version {release.version} is below {lowest}, the lowest this phone takes; "
            "a roll-back is a new, higher version that points at the old adapter",
            Reason.OLDER_VERSION,
        )


def roll_back_of(release: Release, *, new_id: ReleaseId, version: int, now_ms: int) -> Release:
    """A new release with the adapter of an old one: how a fleet goes back.

    Raises: ValueError: `version` is not higher than the old one's.
    """
    if version <= release.version:
        raise ValueError(f"a roll-back of version {release.version} needs more than {version}")
    return dataclasses.replace(
        release,
        id=new_id,
        version=version,
        created_at_ms=now_ms,
        extra={**release.extra, "rolls_back_to": release.id},
    )


def write_bundle(bundle: Bundle) -> bytes:
    """The bundle as zip; the same parts give the same bytes."""
    entries = {
        RELEASE_ENTRY: bundle.description,
        ADAPTER_ENTRY: bundle.adapter,
        **({} if bundle.base is None else {BASE_ENTRY: bundle.base}),
        **dict(sorted(bundle.metadata.items())),
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, data in entries.items():
            info = zipfile.ZipInfo(name, date_time=_ZIP_EPOCH)
            info.external_attr = 0o644 << 16
            archive.writestr(info, data)
    return buffer.getvalue()


def read_bundle(path: Path) -> Bundle:
    """The parts of the bundle at `path`, unverified.

    Raises:
        RejectedError: "malformed", "too_large", or "tampered" where an entry's checksum is wrong.
        OSError: the file cannot be read.
    """
    if path.stat().st_size > MAX_BUNDLE_BYTES:
        raise _rejected(f"{path.name} is larger than any bundle", Reason.TOO_LARGE)
    try:
        with zipfile.ZipFile(path) as archive:
            parts = {info.filename: _read_entry(archive, info) for info in _known(archive)}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError) as error:
        raise _rejected(f"{path.name} is not a readable zip: {error}", Reason.MALFORMED) from error
    for name in (RELEASE_ENTRY, ADAPTER_ENTRY, METADATA_PREFIX + "timestamp.json"):
        if name not in parts:
            raise _rejected(f"{path.name} holds no {name}", Reason.MALFORMED)
    return Bundle(
        description=parts.pop(RELEASE_ENTRY),
        adapter=parts.pop(ADAPTER_ENTRY),
        base=parts.pop(BASE_ENTRY, None),
        metadata=parts,
    )


def _known(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """The entries that a bundle has; anything else in the zip is passed over."""
    entries = archive.infolist()
    if len(entries) > MAX_ENTRIES:
        raise _rejected(f"{len(entries)} entries are more than a bundle has", Reason.TOO_LARGE)
    known = [
        entry
        for entry in entries
        if entry.filename in {RELEASE_ENTRY, ADAPTER_ENTRY, BASE_ENTRY}
        or _METADATA_ENTRY.fullmatch(entry.filename)
    ]
    if len({entry.filename for entry in known}) != len(known):
        raise _rejected("an entry occurs twice", Reason.MALFORMED)
    if sum(entry.file_size for entry in known) > MAX_BUNDLE_BYTES:
        raise _rejected("its entries are larger than any bundle", Reason.TOO_LARGE)
    return known


def _read_entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    if info.file_size > MAX_ENTRY_BYTES:
        raise _rejected(f"{info.filename} is {info.file_size} bytes", Reason.TOO_LARGE)
    with archive.open(info) as stream:
        try:
            data = stream.read(MAX_ENTRY_BYTES + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise _rejected(f"{info.filename} is damaged: {error}", Reason.TAMPERED) from error
    if len(data) > MAX_ENTRY_BYTES:
        raise _rejected(f"{info.filename} is longer than it says", Reason.TOO_LARGE)
    return data


def _require_sound(release: Release) -> None:
    digests = (release.base_digest, release.adapter_digest)
    if not _ID.fullmatch(release.id):
        raise _rejected(f"{release.id[:80]!r} is no release id", Reason.MALFORMED)
    if not all(_DIGEST.fullmatch(digest) for digest in digests):
        raise _rejected("a digest is not 64 hex digits", Reason.MALFORMED)
    if release.version < 1 or release.adapter_size_bytes < 1 or release.min_runtime < 0:
        raise _rejected("version and size start at 1", Reason.MALFORMED)


def _decode(data: bytes, kind: type[_T]) -> _T:
    if len(data) > MAX_DESCRIPTION_BYTES:
        raise _rejected(f"a description of {len(data)} bytes", Reason.TOO_LARGE)
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _rejected(f"it cannot be read: {error}", Reason.MALFORMED) from error


def _canonical(value: object) -> bytes:
    """JSON with sorted keys and no spaces, in ASCII: one value, one form."""
    return json.dumps(
        msgspec.to_builtins(value), sort_keys=True, separators=(",", ":"), allow_nan=False
    ).encode("ascii")


def _rejected(message: str, reason: Reason) -> RejectedError:
    return RejectedError(f"release: {message}", reason=reason)
