"""Phones and a cloud that exchange blobs on a manual clock, over a link that does harm."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from sync import blob_rows, outbox
from sync.blob_desk import BlobDesk
from sync.blob_folder import BlobFolder
from sync.blob_sender import BlobSender, BlobSettings
from sync.blob_shelf import BlobRecord, BlobState
from sync.blobs import digest_of
from sync.clock import ManualClock
from sync.database import create_schema, open_database, transaction
from sync.messages import BlobChunk, BlobDownMessage, BlobUpMessage, ScreenPicture


def picture(number: int, size_bytes: int = 1000) -> bytes:
    """Bytes that no deflating makes smaller and that depend on `number`."""
    return Random(number).randbytes(size_bytes)


def named(data: bytes) -> ScreenPicture:
    """What an episode says of a blob."""
    return ScreenPicture(
        screen=f"s{digest_of(data).hex()}", blob=digest_of(data), size_bytes=len(data)
    )


class FolderShelf:
    """A shelf over a real folder, with its records in memory."""

    def __init__(self, folder: BlobFolder, store_id: str = "store-1") -> None:
        self.store_id = store_id
        self.folder = folder
        self.records: dict[bytes, BlobRecord] = {}
        self.senders: dict[bytes, str] = {}

    def name(self, *blobs: bytes) -> None:
        """An episode that names these blobs was committed."""
        for data in blobs:
            self.records.setdefault(digest_of(data), BlobRecord(len(data)))

    def look(self, digests: Iterable[bytes]) -> Mapping[bytes, BlobRecord]:
        return {digest: self.records[digest] for digest in digests if digest in self.records}

    def write(self, digest: bytes, index: int, data: bytes, *, received: int) -> None:
        self.folder.write_part(digest, index, data)
        self.records[digest] = replace(self.records[digest], received=received)

    def finish(self, digest: bytes, *, sender: str) -> bool:
        is_true = self.folder.finish(digest)
        state = BlobState.STORED if is_true else BlobState.WANTED
        self.records[digest] = replace(self.records[digest], state=state, received=0)
        if is_true:
            self.senders[digest] = sender
        return is_true

    def stored(self) -> set[bytes]:
        return {digest for digest, one in self.records.items() if one.state is BlobState.STORED}


Mangle = Callable[[str, BlobUpMessage | BlobDownMessage], list[BlobUpMessage | BlobDownMessage]]


@dataclass
class Phone:
    """A phone's database, folder and sender; `allowed` is the owner's word."""

    name: str
    conn: sqlite3.Connection
    folder: BlobFolder
    sender: BlobSender
    sent: list[BlobUpMessage] = field(default_factory=list)
    allowed: list[bool] = field(default_factory=lambda: [True])

    def keep(self, *blobs: bytes, upload_seq: int = 0) -> None:
        """An episode that names these blobs was closed here (and committed in the cloud)."""
        for data in blobs:
            self.folder.put(data)
        with transaction(self.conn):
            blob_rows.record(self.conn, map(named, blobs), upload_seq=upload_seq, now_ms=1)

    @property
    def events(self) -> int:
        return outbox.depth(self.conn)


class BlobWorld:
    """One desk and any number of phones; messages pass when `turn` is called."""

    def __init__(self, directory: Path, *, mangle: Mangle | None = None) -> None:
        self.clock = ManualClock()
        self.shelf = FolderShelf(BlobFolder(directory / "cloud"))
        self.desk = BlobDesk(self.shelf, clock=self.clock)
        self.phones: dict[str, Phone] = {}
        self.is_free = True
        self._directory = directory
        self._mangle = mangle or (lambda _name, message: [message])

    def phone(self, name: str, *, quota_bytes: int = 1 << 30) -> Phone:
        """A phone, or the next process of one that there is already."""
        if name in self.phones:
            self.phones[name].conn.close()
        conn = open_database(self._directory / f"{name}.db")
        create_schema(conn, install_id=f"install-{name}")
        folder = BlobFolder(self._directory / name)
        sent: list[BlobUpMessage] = []
        allowed = [True]

        def publish(message: BlobUpMessage) -> bool:
            sent.append(message)
            return True

        sender = BlobSender(
            conn,
            BlobSettings(folder.directory, lambda: allowed[0], quota_bytes),
            publish=publish,
            clock=self.clock,
            random=Random(1),
        )
        phone = self.phones[name] = Phone(name, conn, folder, sender, sent, allowed)
        return phone

    def restart_cloud(self) -> None:
        """A new process over the same store: it knows no device."""
        self.desk = BlobDesk(self.shelf, clock=self.clock)
        for phone in self.phones.values():
            phone.sender.expect_nothing()

    def turn(self) -> int:
        """Every phone sends what is due, the desk takes it and answers; messages that passed."""
        passed = 0
        for phone in self.phones.values():
            phone.sender.pump(is_free=self.is_free)
            waiting, phone.sent[:] = list(phone.sent), []
            for message in waiting:
                for arrived in self._mangle(phone.name, message):
                    self.desk.take(phone.name, arrived)
                    passed += 1
        self.desk.tick()
        answers = [one for one in self.desk.answers() if one[0] in self.phones]
        for name, answer in answers:
            for arrived in self._mangle(name, answer):
                self.phones[name].sender.take(arrived)
                passed += 1
        return passed

    def settle(self, *, turns: int = 60, advance_s: float = 0.1) -> None:
        """Let messages go to and fro, time passing slowly."""
        for _ in range(turns):
            self.turn()
            self.clock.advance(advance_s)

    def close(self) -> None:
        """Close the phones' databases."""
        for phone in self.phones.values():
            phone.conn.close()

    def bytes_sent(self) -> int:
        """Bytes of blobs that phones sent."""
        return sum(phone.sender.counters.chunk_bytes for phone in self.phones.values())


def corrupted(chunk: BlobChunk, random: Random) -> BlobChunk:
    """The chunk with one bit of its data turned over."""
    data = bytearray(chunk.data)
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return replace(chunk, data=bytes(data))
