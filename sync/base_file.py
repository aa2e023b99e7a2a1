"""A base network as one file: what a phone runs of it, zipped; deterministic bytes.

Exported base → `pack_base` → signed target → phone → `unpack_base` → its folder of graphs. The file
is named by the base's digest, which is also what adapters are made for; `base.json` inside lists
every other file with its SHA-256.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
import zlib
from pathlib import Path

from sync.errors import RejectedError
from sync.releases import MAX_BASE_BYTES, Reason

DESCRIPTION = "base.json"
_MOST_FILES = 32
_MOST_BYTES = 4 * MAX_BASE_BYTES
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}")
_ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)


def pack_base(graphs: Path) -> bytes:
    """The exported base in the folder `graphs` as one file; the same base gives the same bytes.

    Raises: RejectedError: "malformed" where the folder is not whole, or "too_large".
    """
    try:
        listed = _listed((graphs / DESCRIPTION).read_bytes())
        contents = {name: (graphs / name).read_bytes() for name in (*sorted(listed), DESCRIPTION)}
    except OSError as error:
        raise _rejected(f"{graphs} is no exported base ({error})", Reason.MALFORMED) from error
    _require_listed(contents, listed)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, data in contents.items():
            info = zipfile.ZipInfo(name, date_time=_ZIP_EPOCH)
            info.external_attr = 0o644 << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    packed = buffer.getvalue()
    if len(packed) > MAX_BASE_BYTES:
        raise _rejected(f"a base of {len(packed)} bytes", Reason.TOO_LARGE)
    return packed


def packed_base_digest(data: bytes) -> str:
    """The digest of the base in `data`, which must be whole.

    Raises: RejectedError: as `unpack_base`.
    """
    return _digest_in(_contents(data)[DESCRIPTION])


def packed_base_facts(data: bytes) -> tuple[str, str]:
    """Digest and policy_io version of the base in `data`, which must be whole.

    Raises: RejectedError: as `unpack_base`; "malformed" where it does not say them.
    """
    described = json.loads(_contents(data)[DESCRIPTION])
    digest, version = described.get("digest"), described.get("policy_io_version")
    if not isinstance(digest, str) or not isinstance(version, str) or not version:
        raise _rejected(f"{DESCRIPTION} names no digest or encoding", Reason.MALFORMED)
    return digest, version


def unpack_base(data: bytes, folder: Path, *, digest: str) -> None:
    """Put the files of a base into a new folder.

    Args:
        digest: of the base that it must be.

    Raises:
        RejectedError: "malformed", "tampered" where files are not those that are listed,
            "too_large", or "base_mismatch" where it is another base.
        OSError: the disk failed.
    """
    contents = _contents(data)
    found = _digest_in(contents[DESCRIPTION])
    if found != digest:
        raise _rejected(f"it is base {found[:12]}, not {digest[:12]}", Reason.BASE_MISMATCH)
    folder.mkdir(parents=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)


def is_whole(folder: Path, *, digest: str) -> bool:
    """Whether a folder holds that base, every file as it is listed."""
    try:
        description = (folder / DESCRIPTION).read_bytes()
        listed = _listed(description)
        _require_listed({name: (folder / name).read_bytes() for name in listed}, listed)
        return _digest_in(description) == digest
    except (OSError, RejectedError):
        return False


def _contents(data: bytes) -> dict[str, bytes]:
    """The files in a packed base, by name, every one as it is listed."""
    if len(data) > MAX_BASE_BYTES:
        raise _rejected(f"a base of {len(data)} bytes", Reason.TOO_LARGE)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            if len(entries) > _MOST_FILES or sum(one.file_size for one in entries) > _MOST_BYTES:
                raise _rejected("it unpacks to more than a base has", Reason.TOO_LARGE)
            contents = {one.filename: _inflated(archive, one) for one in entries}
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError) as error:
        raise _rejected(f"it cannot be read: {error}", Reason.MALFORMED) from error
    if DESCRIPTION not in contents or not all(map(_NAME.fullmatch, contents)):
        raise _rejected(f"it has no {DESCRIPTION}, or names that no base has", Reason.MALFORMED)
    _require_listed(contents, _listed(contents[DESCRIPTION]))
    return contents


def _inflated(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    with archive.open(entry) as stream:
        data = stream.read(entry.file_size + 1)
    if len(data) != entry.file_size:
        raise _rejected(f"{entry.filename} is longer than it says", Reason.TOO_LARGE)
    return data


def _listed(description: bytes) -> dict[str, str]:
    """SHA-256 by file of a base's description."""
    try:
        files = json.loads(description)["files"]
        listed = {str(name): str(digest) for name, digest in files.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _rejected(f"{DESCRIPTION} cannot be read: {error}", Reason.MALFORMED) from error
    if not listed or not all(map(_NAME.fullmatch, listed)):
        raise _rejected(f"{DESCRIPTION} lists names that no base has", Reason.MALFORMED)
    return listed


def _digest_in(description: bytes) -> str:
    return str(json.loads(description).get("digest", ""))


def _require_listed(contents: dict[str, bytes], listed: dict[str, str]) -> None:
    for name, digest in listed.items():
        if name not in contents or hashlib.sha256(contents[name]).hexdigest() != digest:
            raise _rejected(f"{name} is not the file that {DESCRIPTION} lists", Reason.TAMPERED)


def _rejected(message: str, reason: Reason) -> RejectedError:
    return RejectedError(f"base: {message}", reason=reason)
