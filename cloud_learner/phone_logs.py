"""The phones' own logs as the cloud's checks read them: their SQLite files, opened read-only.

Only for logs that lie on this machine (`DIR/phones/ID/phone.db`): the whole loop on one machine, or
copies that were brought together. Nothing here writes, and no code of the phone side is needed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cloud_learner.errors import PhoneLogError
from sync.codec import EncodedBody, decode_body
from sync.errors import RejectedError
from sync.messages import EpisodeUpload

LOG_NAME = "phone.db"


@dataclass(frozen=True, slots=True)
class LogIndex:
    """Which episodes a phone logged, and what became of their uploads.

    Attributes:
        logged: episode ids.
        waiting: of these, those that the cloud has not acknowledged.
        parked: of these, those that the cloud refused for good.
        dropped: of these, those that the phone gave up unsent for want of room, as it declared.
        emptied: of these, those whose steps the phone let go of once the cloud had them.
    """

    device_id: str
    logged: frozenset[str]
    waiting: frozenset[str]
    parked: frozenset[str]
    dropped: frozenset[str] = frozenset()
    emptied: frozenset[str] = frozenset()

    @property
    def acknowledged(self) -> frozenset[str]:
        """Episodes that the cloud said it had committed."""
        return self.logged - self.waiting - self.parked - self.dropped


def find_logs(phones_dir: Path) -> list[Path]:
    """The logs of all phones below a folder, by device id."""
    return sorted(phones_dir.glob(f"*/{LOG_NAME}"))


def read_index(path: Path) -> LogIndex:
    """Which episodes a log holds; bodies are not read.

    Raises: PhoneLogError: the file is no log.
    """
    query = (
        "SELECT e.id, o.seq IS NOT NULL, o.parked_reason IS NOT NULL, e.enc = '' FROM episodes e "
        "LEFT JOIN outbox o ON o.seq = e.upload_seq"
    )
    rows = list(_rows(path, query))
    return LogIndex(
        device_id=path.parent.name,
        logged=frozenset(str(row[0]) for row in rows),
        waiting=frozenset(str(row[0]) for row in rows if row[1] and not row[2]),
        parked=frozenset(str(row[0]) for row in rows if row[2]),
        dropped=_dropped(path),
        emptied=frozenset(str(row[0]) for row in rows if row[3]),
    )


def _dropped(path: Path) -> frozenset[str]:
    """Episodes whose upload was given up; logs of before there were drops have none."""
    known = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'drops'"
    if not list(_rows(path, known)):
        return frozenset()
    query = (
        "SELECT e.id FROM episodes e JOIN drops d ON d.subject = CAST(e.upload_seq AS TEXT) "
        "WHERE d.rule NOT GLOB 'blob_*'"
    )
    return frozenset(str(row[0]) for row in _rows(path, query))


def read_uploads(path: Path) -> Iterator[EpisodeUpload]:
    """Every logged episode with the verdicts it was uploaded with, oldest first.

    Steps that a phone let go of for want of room are not here; `LogIndex.emptied` names them.

    Raises: PhoneLogError: the file is no log, or a row cannot be read.
    """
    for enc, body in _rows(path, "SELECT enc, body FROM episodes WHERE enc <> '' ORDER BY seq"):
        try:
            message = decode_body(EncodedBody("episode_upload", enc, body))
        except RejectedError as error:
            raise PhoneLogError(path, str(error)) from error
        assert isinstance(message, EpisodeUpload)
        yield message


def _rows(path: Path, query: str) -> Iterator[tuple[Any, ...]]:  # Any: columns of any type
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            yield from connection.execute(query)
    except sqlite3.Error as error:
        raise PhoneLogError(path, str(error)) from error
