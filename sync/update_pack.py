"""The small signed files of an update in one piece, so that a phone asks once and not six times.

The cloud makes a pack of a channel from its repository; a phone takes from it what it would have
asked for file by file. Nothing is believed because it came in a pack: each file proves itself as
ever (`sync.trust`), and what is not in it, or does not verify, is asked for by itself.

    packs/CHANNEL   zlib of msgpack: newest root version; timestamp, snapshot, targets, the
                    channel's pointer, and the descriptions of the releases that it names
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec
from tuf.api.exceptions import RepositoryError
from tuf.api.metadata import Metadata, Snapshot, Targets, Timestamp

from sync.errors import RejectedError, TransientError
from sync.fetch import DirectoryFiles, Fetch
from sync.ports import FilePart
from sync.published import channel_path, newest_root, read_served, release_path
from sync.releases import CHANNELS, METADATA_PREFIX, TARGETS_PREFIX, Reason, pointer_from_json

PREFIX: Final = "packs/"
MAX_PACKED_BYTES: Final = 1024 * 1024
MAX_PACK_BYTES: Final = 4 * 1024 * 1024


class UpdatePack(msgspec.Struct, frozen=True):
    """What a pack holds.

    Attributes:
        root: version of the newest root metadata.
        files: contents by served path.
    """

    root: int
    files: dict[str, bytes]


def pack_path(channel: str) -> str:
    """The served path of a channel's pack."""
    return PREFIX + channel


class RepositoryFiles:
    """A FileSource over a release repository: its files, and a pack of each channel.

    Args:
        directory: the repository's folder.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._files = DirectoryFiles(directory)
        self._packs: dict[str, tuple[str, bytes]] = {}

    def read(self, path: str, offset: int, length: int) -> FilePart | None:
        """See FileSource."""
        if not path.startswith(PREFIX):
            return self._files.read(path, offset, length)
        channel = path.removeprefix(PREFIX)
        if channel not in CHANNELS:
            return None
        try:
            state, pack = self._pack(channel)
        except (OSError, ValueError, KeyError, RejectedError, RepositoryError):
            return None  # between two states, or damaged: whoever asks reads file by file
        return FilePart(pack[offset : offset + length], len(pack), state)

    def _pack(self, channel: str) -> tuple[str, bytes]:
        """The state of the repository, and the pack that was made of it."""
        about = (self._directory / METADATA_PREFIX / "timestamp.json").stat()
        state = f"{about.st_mtime_ns:x}-{about.st_ino:x}"
        known = self._packs.get(channel)
        if known is None or known[0] != state:
            known = self._packs[channel] = (state, written(pack_of(self._directory, channel)))
        return known


def pack_of(directory: Path, channel: str) -> UpdatePack:
    """The pack of `channel`, from the repository in `directory`.

    Raises: OSError, ValueError, KeyError, RejectedError, RepositoryError: it is not whole.
    """
    files: dict[str, bytes] = {}

    def taken(path: str) -> bytes:
        files[path] = read_served(directory, path)
        return files[path]

    timestamp = Metadata[Timestamp].from_bytes(taken(f"{METADATA_PREFIX}timestamp.json"))
    version = timestamp.signed.snapshot_meta.version
    snapshot = Metadata[Snapshot].from_bytes(taken(f"{METADATA_PREFIX}{version}.snapshot.json"))
    version = snapshot.signed.meta["targets.json"].version
    targets = Metadata[Targets].from_bytes(taken(f"{METADATA_PREFIX}{version}.targets.json"))

    def target(path: str) -> bytes:
        return taken(TARGETS_PREFIX + targets.signed.targets[path].get_prefixed_paths()[0])

    if channel_path(channel) in targets.signed.targets:
        pointer = pointer_from_json(target(channel_path(channel)))
        target(release_path(pointer.release_id))
        if pointer.staged is not None:
            target(release_path(pointer.staged.release_id))
    return UpdatePack(root=newest_root(directory / METADATA_PREFIX), files=files)


def written(pack: UpdatePack) -> bytes:
    """A pack as it is served."""
    return zlib.compress(msgspec.msgpack.encode(pack), 9)


def read_pack(data: bytes) -> UpdatePack:
    """The pack in `data`.

    Raises: RejectedError: "malformed" or "too_large".
    """
    inflater = zlib.decompressobj()
    try:
        plain = inflater.decompress(data, MAX_PACK_BYTES)
        if not inflater.eof:
            raise _rejected("it is longer than any pack, or cut off", Reason.TOO_LARGE)
        return msgspec.msgpack.decode(plain, type=UpdatePack)
    except (zlib.error, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _rejected(f"it cannot be read: {error}", Reason.MALFORMED) from error


def packed_fetch(fetch: Fetch, channel: str) -> Fetch:
    """A `Fetch` that has a channel's pack at hand, and asks for the rest; `fetch` without one."""
    try:
        pack = read_pack(_whole(fetch(pack_path(channel))))
    except (RejectedError, TransientError, OSError):
        return fetch

    def at_hand(path: str) -> Iterable[bytes]:
        if path in pack.files:
            return [pack.files[path]]
        if path == f"{METADATA_PREFIX}{pack.root + 1}.root.json":
            raise FileNotFoundError(path)
        return fetch(path)

    return at_hand


def _whole(chunks: Iterable[bytes]) -> bytes:
    data = bytearray()
    for chunk in chunks:
        data += chunk
        if len(data) > MAX_PACKED_BYTES:
            raise _rejected("it does not end", Reason.TOO_LARGE)
    return bytes(data)


def _rejected(why: str, reason: Reason) -> RejectedError:
    return RejectedError(f"pack: {why}", reason=reason)
