"""A damaged log is moved aside, and what can be read of it is brought into a new one.

A phone whose database was damaged (a worn-out card, a lost power supply) would otherwise stop for
good. Nothing is thrown away: the damaged file stays beside the new one under another name, and an
event tells the cloud what was saved. The new database is another installation, so what is sent
again cannot be taken for something else; the cloud knows an episode by its id and counts it once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import structlog

from device_runtime.errors import TrajectoryLogError
from device_runtime.trajectory_log import TrajectoryLog, store_verdict
from sync.clock import Clock
from sync.codec import EncodedBody, decode_body, decode_verdict
from sync.database import INSTALL_ID, transaction, write_meta
from sync.errors import RejectedError
from sync.messages import EpisodeUpload, Event
from sync.outbox import enqueue
from sync.vocabulary import Verdict

RESCUED_EVENT: Final = "log_rescued"
KEPT: Final = 2
"""How many damaged files stay; older ones go, so that a dying card does not fill up with them."""
_MARK: Final = ".damaged-"
_NOT_CARRIED: Final = frozenset({INSTALL_ID, "schema_version", "drops_told"})
_LINE: Final = (
    "id, assignment_id, template, purpose, split, actor, release_id, end_reason, steps, score, "
    "started_at_ms, ended_at_ms, enc, body"
)
_SENT_BEFORE: Final = 0
"""In the place of the outbox row that brought an episode to the cloud: no row has that number."""

_log = structlog.get_logger()


@dataclass(slots=True)
class _Found:
    """What could be read of a damaged file.

    Attributes:
        unsent: episodes that the cloud may not have, by id.
        lines: rows of the log about episodes that it has, with their steps or without, by id.
        verdicts: what was said of either, as far as it is known.
        rest: other messages that waited to be sent.
    """

    unsent: dict[str, EpisodeUpload]
    lines: dict[str, tuple[Any, ...]]  # Any: columns of any type
    verdicts: list[Verdict]
    rest: list[EncodedBody]
    inbox: list[tuple[Any, ...]]  # Any: columns of any type
    meta: dict[str, str]


def open_log(path: Path, *, clock: Clock, new_id: Callable[[], str]) -> TrajectoryLog:
    """The log in the file at `path`, as `TrajectoryLog.open`; a damaged one is rescued first.

    Raises: TrajectoryLogError: it cannot be opened, or is newer than this program.
    """
    if path.is_file() and _is_damaged(path):
        return _rescue(path, clock=clock, new_id=new_id)
    return TrajectoryLog.open(path, clock=clock, new_id=new_id)


def damaged_copies(path: Path) -> list[Path]:
    """The damaged files that were moved aside for a log, oldest first."""
    found = path.parent.glob(f"{path.name}{_MARK}*")
    return sorted(one for one in found if not one.name.endswith(("-wal", "-shm")))


def _is_damaged(path: Path) -> bool:
    """Whether SQLite finds the file's structure broken; reads all of it."""
    try:
        with closing(sqlite3.connect(path)) as conn:
            said: object = conn.execute("PRAGMA quick_check(1)").fetchone()
            return said != ("ok",)
    except sqlite3.OperationalError:  # locked, or a disk that does not answer: no damage
        return False
    except sqlite3.DatabaseError:
        return True


def _rescue(path: Path, *, clock: Clock, new_id: Callable[[], str]) -> TrajectoryLog:
    kept = _move_aside(path, clock.wall_ms())
    found = _read(kept)
    log = TrajectoryLog.open(path, clock=clock, new_id=new_id)
    try:
        _fill(log, found, now_ms=clock.wall_ms())
        fields = {
            "kept_as": kept.name,
            "episodes": str(len(found.unsent) + len(found.lines)),
            "sent_again": str(len(found.unsent)),
            "other_messages": str(len(found.rest)),
        }
        log.record(Event(kind=RESCUED_EVENT, fields=fields, at_ms=clock.wall_ms()))
    except BaseException:
        log.close()
        raise
    _log.warning("log_rescued", **fields)
    return log


def _move_aside(path: Path, now_ms: int) -> Path:
    """Rename the file and what belongs to it: the newest changes first, they must not be left."""
    kept = path.with_name(f"{path.name}{_MARK}{now_ms}")
    try:
        for ending in ("-wal", "-shm", ""):
            with suppress(FileNotFoundError):
                path.with_name(path.name + ending).rename(kept.with_name(kept.name + ending))
        for old in damaged_copies(path)[:-KEPT]:
            for ending in ("-wal", "-shm", ""):
                old.with_name(old.name + ending).unlink(missing_ok=True)
    except OSError as error:
        raise TrajectoryLogError(
            f"{path} is damaged and cannot be moved away ({error}): check the folder"
        ) from error
    return kept


def _read(kept: Path) -> _Found:
    found = _Found({}, {}, [], [], [], {})
    with suppress(sqlite3.Error), closing(sqlite3.connect(kept)) as conn:
        outbox = list(_rows(conn, "outbox", "seq, kind, enc, body, parked_reason"))
        _sort_log(found, conn, outbox)
        for _seq, kind, enc, body, parked_reason in outbox:
            _sort_in(found, EncodedBody(kind, enc, body), is_parked=parked_reason is not None)
        for _episode_id, body in _rows(conn, "verdicts", "episode_id, body"):
            with suppress(RejectedError, TypeError):  # noise where a row stood
                found.verdicts.append(decode_verdict(body))
        columns = "assignment_id, position, state, body, received_at_ms"
        found.inbox = list(_rows(conn, "inbox", columns))
        found.meta = dict(_rows(conn, "wire_meta", "key, value"))
    return found


def _sort_log(found: _Found, conn: sqlite3.Connection, outbox: list[tuple[Any, ...]]) -> None:
    """Tell what the cloud may lack from what it has; what was given up unsent gets another try."""
    waiting = {row[0] for row in outbox if row[4] is None}
    dropped = {
        subject
        for subject, rule in _rows(conn, "drops", "subject, rule")
        if not str(rule).startswith("blob_")
    }
    whole = _is_whole(conn, "outbox")
    for _seq, upload_seq, *line in _rows(conn, "episodes", f"seq, upload_seq, {_LINE}"):
        name, enc, body = line[0], *line[-2:]
        is_dropped = str(upload_seq) in dropped
        upload = _upload(enc, body) if enc else None
        if upload is None:
            if enc == "" and not is_dropped:
                found.lines[name] = tuple(line)
        elif is_dropped or upload_seq in waiting or not whole or name != upload.episode.id:
            found.unsent[upload.episode.id] = upload
        else:
            found.lines[name] = tuple(line)
            found.verdicts += upload.verdicts


def _sort_in(found: _Found, body: EncodedBody, *, is_parked: bool) -> None:
    """Take an outbox row: an episode that its log row no longer tells, or any other message."""
    if is_parked:
        return
    upload = _upload(body.enc, body.data) if body.kind == "episode_upload" else None
    if upload is not None and upload.episode.id not in found.lines:
        known = found.unsent.setdefault(upload.episode.id, upload)
        if upload == known:
            return
    found.rest.append(body)


def _upload(enc: str, body: bytes) -> EpisodeUpload | None:
    try:
        message = decode_body(EncodedBody("episode_upload", enc, body))
    except (RejectedError, TypeError):  # noise where a row stood
        return None
    return message if isinstance(message, EpisodeUpload) else None


def _rows(
    conn: sqlite3.Connection, table: str, columns: str
) -> Iterator[tuple[Any, ...]]:  # Any: columns of any type
    """What can be read of a table from its beginning and from its end, each row once, in order.

    Args:
        columns: the primary key first.
    """
    ways: list[list[tuple[Any, ...]]] = []
    key = columns.partition(",")[0]
    for direction in ("ASC", "DESC"):
        ways.append([])
        with suppress(sqlite3.Error):
            ways[-1].extend(
                conn.execute(f"SELECT {columns} FROM {table} ORDER BY {key} {direction}")  # noqa: S608 - constants
            )
    seen = {row[0] for row in ways[0]}
    yield from ways[0]
    yield from (row for row in reversed(ways[1]) if row[0] not in seen)


def _is_whole(conn: sqlite3.Connection, table: str) -> bool:
    """Whether every row of a table can be read."""
    try:
        for _row in conn.execute(f"SELECT * FROM {table}"):  # noqa: S608 - constant
            pass
    except sqlite3.Error:
        return False
    return True


def _fill(log: TrajectoryLog, found: _Found, *, now_ms: int) -> None:
    conn = log.connection
    with transaction(conn):
        for key in found.meta.keys() - _NOT_CARRIED:  # quotas among them, so they come first
            write_meta(conn, key, found.meta[key])
        _fill_log(conn, found)
    log.append_many(
        ((one.episode, one.verdicts) for one in found.unsent.values()),
        screens={one.episode.id: one.screens for one in found.unsent.values()},
    )
    with transaction(conn):
        for body in found.rest:
            with suppress(RejectedError):  # noise where a row stood
                decode_body(body)
                enqueue(conn, body, created_at_ms=now_ms)
        conn.executemany(
            "INSERT INTO inbox (assignment_id, position, state, body, received_at_ms) "
            "VALUES (?, ?, ?, ?, ?) ON CONFLICT (assignment_id) DO NOTHING",
            found.inbox,
        )


def _fill_log(conn: sqlite3.Connection, found: _Found) -> None:
    """What the cloud has already is here to be seen, and is not sent again."""
    marks = ", ".join("?" * len(_LINE.split(", ")))
    conn.executemany(
        f"INSERT OR IGNORE INTO episodes ({_LINE}, upload_seq) VALUES ({marks}, {_SENT_BEFORE})",  # noqa: S608 - constants
        found.lines.values(),
    )
    for verdict in found.verdicts:
        if verdict.episode_id in found.lines or verdict.episode_id in found.unsent:
            store_verdict(conn, verdict)
