"""What an APK says of itself: its package, read from bytes that anybody may have made.

Only the manifest is looked at, within limits: compressed bytes may be made to grow without end.
"""

from __future__ import annotations

import hashlib
import io
import re
import struct
import zipfile
import zlib
from dataclasses import dataclass
from typing import Final

LARGEST_MANIFEST_BYTES: Final = 1 << 20
MOST_ENTRIES: Final = 65_536
_PACKAGE = re.compile(r"[A-Za-z]\w*(?:\.[A-Za-z]\w*)+", re.ASCII)
_TEXT_MANIFEST = re.compile(rb"<manifest[^>]{0,4000}?\bpackage\s*=\s*[\"']([\w.]{1,200})[\"']")
_MAGIC: Final = b"PK\x03\x04"
_BINARY: Final = b"\x03\x00\x08\x00"
_STRING_POOL: Final = 0x0001
_START_ELEMENT: Final = 0x0102
_UTF8: Final = 1 << 8


class NotAnApkError(ValueError):
    """Bytes that no phone would install."""


@dataclass(frozen=True, slots=True)
class Apk:
    """What is known of an APK."""

    package: str
    size_bytes: int


def read_apk(data: bytes) -> Apk:
    """The APK in `data`; one without a manifest is called by its digest.

    Raises: NotAnApkError: it is no archive, or a damaged one.
    """
    if not data.startswith(_MAGIC):
        raise NotAnApkError("no archive")
    try:
        manifest = _manifest_of(data)
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError) as error:
        raise NotAnApkError("damaged archive") from error
    except (RuntimeError, struct.error, OSError) as error:
        raise NotAnApkError("archive that cannot be read") from error
    package = _package_of(manifest)
    if not _PACKAGE.fullmatch(package):
        package = f"fake.x{hashlib.sha256(data).hexdigest()[:12]}"
    return Apk(package, len(data))


def _manifest_of(data: bytes) -> bytes:
    """The manifest, or nothing where the archive has none."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if len(archive.filelist) > MOST_ENTRIES:
            raise NotAnApkError("too many entries")
        try:
            entry = archive.getinfo("AndroidManifest.xml")
        except KeyError:
            return b""
        with archive.open(entry) as file:
            return file.read(LARGEST_MANIFEST_BYTES)


def _package_of(manifest: bytes) -> str:
    if not manifest.startswith(_BINARY):
        match = _TEXT_MANIFEST.search(manifest)
        return match[1].decode() if match else ""
    try:
        return _binary_package(manifest)
    except (struct.error, IndexError, UnicodeDecodeError):
        return ""


def _binary_package(manifest: bytes) -> str:
    """The attribute `package` of the first element in Android's binary XML."""
    strings: list[str] = []
    position = 8
    while position + 8 <= len(manifest):
        kind, _, size = struct.unpack_from("<HHI", manifest, position)
        if kind == _STRING_POOL:
            strings = _strings(manifest[position : position + size])
        elif kind == _START_ELEMENT:
            return _attribute(manifest, position, strings, "package")
        position += max(size, 8)
    return ""


def _attribute(manifest: bytes, position: int, strings: list[str], wanted: str) -> str:
    start, size, count = struct.unpack_from("<3H", manifest, position + 24)
    for number in range(count):
        at = position + 16 + start + number * max(size, 20)
        _, name, raw = map(int, struct.unpack_from("<3I", manifest, at))
        if name < len(strings) and strings[name] == wanted and raw < len(strings):
            return strings[raw]
    return ""


def _strings(pool: bytes) -> list[str]:
    count, _, flags, start = struct.unpack_from("<4I", pool, 8)
    offsets = [
        struct.unpack_from("<I", pool, 28 + 4 * number)[0]
        for number in range(min(count, len(pool) // 4))
    ]
    return [_string(pool, start + offset, is_utf8=bool(flags & _UTF8)) for offset in offsets]


def _string(pool: bytes, position: int, *, is_utf8: bool) -> str:
    if is_utf8:
        position += 2 if pool[position] & 0x80 else 1
        length = pool[position]
        position += 1
        if length & 0x80:
            length = (length & 0x7F) << 8 | pool[position]
            position += 1
        return pool[position : position + length].decode(errors="replace")
    (length,) = struct.unpack_from("<H", pool, position)
    text = pool[position + 2 : position + 2 + 2 * int(length)]
    return text.decode("utf-16-le", errors="replace")
