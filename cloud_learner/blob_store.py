"""Blobs in the cloud: files by content beside the database, and a row for each that is named.

    episode committed ─► rows in `blobs` (wanted) and `episode_screens`
    chunks ─► incoming/<digest> ─► digest checked ─► fsync ─► rename ─► row `stored`

Files are written without the database's lock: a slow disk holds no episode back. What was done to
files is noted in one short transaction by `commit`, and nobody is told before. A crash in between
leaves a file whose row says `wanted`: it is found when the blob is offered again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import structlog
from sqlalchemy import Connection, func, select, update

from cloud_learner.store import Database, count, insert_all_new
from cloud_learner.tables import BLOBS, EPISODE_SCREENS, EPISODES
from sync.blob_folder import BlobFolder
from sync.blob_shelf import BlobRecord, BlobState
from sync.blobs import DIGEST_BYTES, is_sendable, packed, unpacked
from sync.clock import Clock
from sync.durable_file import write_durably
from sync.messages import ScreenPicture

STORE_FILE: Final = "STORE"
SCREENS_MOST: Final = 512
"""Pictures that one episode may name; the rest is counted and left out."""
_SCREEN_LETTERS: Final = 64
_MEDIA_TYPES: Final = frozenset({"image/webp", "image/png"})

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class StoredBlob:
    """A blob's bytes and what they are."""

    data: bytes
    media_type: str


def record_screens(
    connection: Connection, episode_row: int, screens: Iterable[ScreenPicture], *, now_ms: int
) -> None:
    """Note the pictures that a new episode names, inside its transaction. Idempotent.

    A picture that no phone may send is noted as refused; one that cannot be noted is counted.
    """
    named = list(screens)
    sound = [one for one in named[:SCREENS_MOST] if _is_sound(one)]
    if len(sound) < len(named):
        count(connection, "screens_refused", len(named) - len(sound))
    blobs = [
        {
            "digest": one.blob.hex(),
            "bytes": one.size_bytes,
            "media_type": one.media_type,
            "state": (BlobState.WANTED if is_sendable(one.size_bytes) else BlobState.REFUSED).value,
            "reason": "" if is_sendable(one.size_bytes) else "too_large",
            "received": b"",
            "sender": "",
            "named_at_ms": now_ms,
            "stored_at_ms": 0,
        }
        for one in sound
    ]
    insert_all_new(connection, BLOBS, blobs)
    places = [
        {"episode_row": episode_row, "screen": one.screen, "blob": one.blob.hex()} for one in sound
    ]
    insert_all_new(connection, EPISODE_SCREENS, places)


class BlobStore:
    """The cloud's blobs; implements `sync.blob_shelf.BlobShelf`.

    The shelf's calls and `commit` come from one thread, `read` and the counts from any.

    Args:
        directory: where the files lie; a new one names a new store, and all is wanted again.
    """

    def __init__(
        self, database: Database, directory: Path, *, clock: Clock, new_id: Callable[[], str]
    ) -> None:
        self._database = database
        self._folder = BlobFolder(directory)
        self._clock = clock
        self._noted: dict[bytes, BlobRecord] = {}
        self._senders: dict[bytes, str] = {}
        self._store_id = self._open(new_id)

    @property
    def store_id(self) -> str:
        """Names the store; another one holds nothing of what was sent to this one."""
        return self._store_id

    def look(self, digests: Iterable[bytes]) -> Mapping[bytes, BlobRecord]:
        """What is known of these; blobs that no committed episode names are left out."""
        asked = set(digests)
        found = {digest: self._noted[digest] for digest in asked if digest in self._noted}
        rest = [digest.hex() for digest in asked if digest not in found]
        with self._database.read() as connection:
            rows = connection.execute(
                select(
                    BLOBS.c.digest, BLOBS.c.bytes, BLOBS.c.state, BLOBS.c.received, BLOBS.c.reason
                ).where(BLOBS.c.digest.in_(rest))
            ).all()
        for row in rows:
            digest = bytes.fromhex(row.digest)
            found[digest] = self._adopted(
                digest,
                BlobRecord(row.bytes, BlobState(row.state), unpacked(row.received), row.reason),
            )
        return found

    def write(self, digest: bytes, index: int, data: bytes, *, received: int) -> None:
        """Keep a chunk; see `BlobShelf`."""
        self._folder.write_part(digest, index, data)
        known = self.look([digest])[digest]
        self._noted[digest] = replace(known, received=received)

    def finish(self, digest: bytes, *, sender: str) -> bool:
        """Believe a blob whose chunks are all here, or not; see `BlobShelf`."""
        is_true = self._folder.finish(digest)
        known = self.look([digest])[digest]
        state = BlobState.STORED if is_true else BlobState.WANTED
        self._noted[digest] = replace(known, state=state, received=0)
        self._senders[digest] = sender
        return is_true

    def commit(self) -> None:
        """Note in the database what was done to files since the last call.

        Raises: StoreUnavailableError: nothing was noted; call again.
        """
        if not self._noted:
            return
        now_ms = self._clock.wall_ms()
        with self._database.write() as connection:
            for digest, record in self._noted.items():
                is_stored = record.state is BlobState.STORED
                connection.execute(
                    update(BLOBS)
                    .where(BLOBS.c.digest == digest.hex())
                    .values(
                        state=record.state.value,
                        received=packed(record.received),
                        sender=self._senders.get(digest, "") if is_stored else "",
                        stored_at_ms=now_ms if is_stored else 0,
                    )
                )
        self._noted.clear()
        self._senders.clear()

    def read(self, digest: bytes) -> StoredBlob | None:
        """A blob that is stored, its digest checked; None where it is not here.

        One whose file was harmed is wanted again: a phone that still has it is asked.
        """
        statement = select(BLOBS.c.media_type, BLOBS.c.state).where(BLOBS.c.digest == digest.hex())
        with self._database.read() as connection:
            row = connection.execute(statement).first()
        if row is None or row.state != BlobState.STORED.value:
            return None
        data = self._folder.read(digest)
        if data is not None:
            return StoredBlob(data, row.media_type)
        _log.warning("blob_harmed", digest=digest.hex())
        with self._database.write() as connection:
            connection.execute(
                update(BLOBS)
                .where(BLOBS.c.digest == digest.hex())
                .values(state=BlobState.WANTED.value, received=b"", stored_at_ms=0)
            )
            count(connection, "blobs_harmed")
        return None

    def screens_of(self, episode_id: str) -> dict[str, dict[str, str | int]]:
        """The pictures that an episode names: screen digest → blob, bytes, type and state."""
        return screens_of(self._database, episode_id)

    def counts(self) -> dict[str, int]:
        """Blobs and bytes by state, and the screens that name them."""
        statement = select(
            BLOBS.c.state, func.count(), func.coalesce(func.sum(BLOBS.c.bytes), 0)
        ).group_by(BLOBS.c.state)
        with self._database.read() as connection:
            rows = connection.execute(statement).all()
            screens = connection.execute(
                select(func.count()).select_from(EPISODE_SCREENS)
            ).scalar_one()
        counts = {"blob_screens": int(screens)}
        for state in BlobState:
            counts[f"blobs_{state.value}"] = counts[f"blob_bytes_{state.value}"] = 0
        for state, items, size_bytes in rows:
            counts[f"blobs_{state}"], counts[f"blob_bytes_{state}"] = int(items), int(size_bytes)
        return counts

    def _adopted(self, digest: bytes, record: BlobRecord) -> BlobRecord:
        """The record of a blob whose file is here although its row does not say so: a crash."""
        if record.state is not BlobState.WANTED or not self._folder.exists(digest):
            return record
        if self._folder.read(digest) is None:
            self._folder.discard(digest)
            return replace(record, received=0)
        self._noted[digest] = replace(record, state=BlobState.STORED, received=0)
        return self._noted[digest]

    def _open(self, new_id: Callable[[], str]) -> str:
        """The store's name; a folder that has none is a new store, which holds nothing."""
        path = self._folder.directory / STORE_FILE
        try:
            return path.read_text("utf-8").strip()
        except FileNotFoundError:
            store_id = new_id()
        with self._database.write() as connection:
            connection.execute(
                update(BLOBS)
                .where(BLOBS.c.state == BlobState.STORED.value)
                .values(state=BlobState.WANTED.value, received=b"", sender="", stored_at_ms=0)
            )
            connection.execute(
                update(BLOBS).where(BLOBS.c.state == BlobState.WANTED.value).values(received=b"")
            )
        write_durably(path, store_id.encode())
        return store_id


def screens_of(database: Database, episode_id: str) -> dict[str, dict[str, str | int]]:
    """The pictures that an episode names: screen digest → blob, bytes, type and state."""
    statement = (
        select(
            EPISODE_SCREENS.c.screen,
            BLOBS.c.digest,
            BLOBS.c.bytes,
            BLOBS.c.media_type,
            BLOBS.c.state,
        )
        .join(EPISODES, EPISODES.c.row == EPISODE_SCREENS.c.episode_row)
        .join(BLOBS, BLOBS.c.digest == EPISODE_SCREENS.c.blob)
        .where(EPISODES.c.id == episode_id)
    )
    with database.read() as connection:
        rows = connection.execute(statement).all()
    return {
        row.screen: {
            "blob": row.digest,
            "bytes": row.bytes,
            "media_type": row.media_type,
            "state": row.state,
        }
        for row in rows
    }


def _is_sound(one: ScreenPicture) -> bool:
    return (
        len(one.blob) == DIGEST_BYTES
        and 0 < len(one.screen) <= _SCREEN_LETTERS
        and one.media_type in _MEDIA_TYPES
        and one.size_bytes >= 0
    )
