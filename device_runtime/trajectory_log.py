"""The trajectory log: every ended episode in SQLite, in the same transaction as its upload.

Closing an episode is one fact: the log row, its verdicts, the outbox row that brings it to the
cloud and the end of its assignment commit together or not at all. A process that is killed at any
moment leaves whole episodes behind, and plays again what it had not closed.

The log is bounded (`device_runtime.log_quota`): the oldest episodes that the cloud has lose their
steps, and keep the line about them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Final

from device_runtime.errors import TrajectoryLogError
from device_runtime.log_quota import let_go, set_log_quota
from sync import blob_rows, inbox
from sync.clock import Clock
from sync.codec import EncodedBody, decode_body, decode_verdict, encode_verdict
from sync.database import (
    cannot_write,
    create_schema,
    open_database,
    statements,
    transaction,
)
from sync.drop_rules import totals
from sync.errors import RejectedError
from sync.installation import install_id, short_name
from sync.messages import EpisodeUpload, Event, ScreenPicture
from sync.outbox import depth, enqueue, parked
from sync.outbox_quota import OutboxQuota, set_quota
from sync.vocabulary import Episode, EpisodeId, Verdict

SCHEMA_VERSION: Final = 2
_SUMMARY: Final = (
    "seq, id, assignment_id, template, purpose, split, actor, release_id, end_reason, steps, "
    "score, started_at_ms, ended_at_ms"
)


@dataclass(frozen=True, slots=True)
class EpisodeSummary:
    """One line about a logged episode.

    Attributes:
        seq: its place in this log; rises with each episode.
        score: of the verdict it was logged with; None where it was not judged.
    """

    seq: int
    id: str
    assignment_id: str
    template: str
    purpose: str
    split: str
    actor: str
    release_id: str
    end_reason: str
    steps: int
    score: float | None
    started_at_ms: int
    ended_at_ms: int


@dataclass(frozen=True, slots=True)
class LogCounts:
    """How much was played, and how much of it the cloud has committed.

    Attributes:
        logged: episodes in the log.
        acknowledged: episodes whose upload the cloud has committed.
        parked: episodes whose upload the cloud refused for good.
        env_errors: episodes that ended because the environment broke.
        env_steps: steps of all logged episodes.
        refused: episodes that a rule or the owner ended; like env_errors they are judged by nobody.
        dropped: episodes that were given up unsent for want of room; the log still has them.
    """

    logged: int
    acknowledged: int
    parked: int
    env_errors: int
    env_steps: int
    refused: int
    dropped: int = 0


class TrajectoryLog:
    """One device's log. Used by one thread; other connections may read and write beside it."""

    def __init__(self, connection: sqlite3.Connection, *, clock: Clock) -> None:
        self.connection = connection
        self._clock = clock

    @classmethod
    def open(cls, path: Path, *, clock: Clock, new_id: Callable[[], str]) -> TrajectoryLog:
        """The log in the file at `path`, created where there is none.

        Args:
            new_id: names the installation, once, when the file is created.
        Raises: TrajectoryLogError: the file is no log, is damaged, or is newer than this program.
        """
        connection = open_database_file(path)
        try:
            _migrate(connection)
            with transaction(connection):
                create_schema(connection, install_id=short_name(new_id()))
        except sqlite3.DatabaseError as error:
            connection.close()
            raise TrajectoryLogError(f"{path} is no usable log ({error}): move it away") from error
        except BaseException:
            connection.close()
            raise
        return cls(connection, clock=clock)

    @property
    def install_id(self) -> str:
        """Names this database; a wiped device gets another."""
        return install_id(self.connection)

    def append(self, episode: Episode, verdicts: Sequence[Verdict] = ()) -> None:
        """Store one ended episode; see `append_many`."""
        self.append_many([(episode, verdicts)])

    def append_many(
        self,
        ended: Iterable[tuple[Episode, Sequence[Verdict]]],
        *,
        screens: Mapping[EpisodeId, tuple[ScreenPicture, ...]] = MappingProxyType({}),
    ) -> None:
        """Store ended episodes, their uploads and the end of their assignments in one transaction.

        The blobs of `screens` that an episode names are noted with it, so that a crash leaves
        neither without the other. What was stored outlasts a loss of power.

        Idempotent by episode id. An episode that is too large to be ever sent is not kept: an
        event tells the cloud, and its assignment counts as played.
        """
        rows = list(ended)
        if not rows:
            return
        with transaction(self.connection, durable=True):
            for episode, verdicts in rows:
                self._append(episode, tuple(verdicts), screens.get(episode.id, ()))
            let_go(self.connection)

    def judge_again(self, verdict: Verdict) -> bool:
        """Store a later verdict on a logged episode, and queue it for the cloud with its episode.

        Whoever said something under the same verifier, version and source says it anew: what was
        said first stays. In one transaction; the episode travels along, so that the order in which
        messages arrive does not matter.

        Returns: False where nothing is new: it was said before, or the log has no such episode, or
            not its steps any more.
        """
        with transaction(self.connection):
            row = self._body(verdict.episode_id)
            if row is None or not store_verdict(self.connection, verdict):
                return False
            enqueue(
                self.connection,
                replace(_upload(*row), verdicts=self._verdicts(verdict.episode_id)),
                created_at_ms=self._clock.wall_ms(),
            )
            return True

    def record(self, event: Event) -> None:
        """Queue an event for the cloud."""
        with transaction(self.connection):
            enqueue(self.connection, event, created_at_ms=self._clock.wall_ms())

    def read(self, episode_id: EpisodeId) -> tuple[Episode, tuple[Verdict, ...]] | None:
        """A logged episode and every verdict on it; None where the log has not, or no more.

        Raises: TrajectoryLogError: the row cannot be read.
        """
        row = self._body(episode_id)
        return None if row is None else (_episode(*row), self._verdicts(episode_id))

    def episodes(self) -> Iterator[tuple[Episode, tuple[Verdict, ...]]]:
        """Every logged episode that has its steps still, with its verdicts, oldest first.

        Raises: TrajectoryLogError: a row cannot be read.
        """
        for enc, body in self.connection.execute(
            "SELECT enc, body FROM episodes WHERE enc <> '' ORDER BY seq"
        ):
            episode = _episode(enc, body)
            yield episode, self._verdicts(episode.id)

    def summaries(self, *, limit: int | None = None) -> list[EpisodeSummary]:
        """One line per episode, newest first."""
        rows = self.connection.execute(
            f"SELECT {_SUMMARY} FROM episodes ORDER BY seq DESC LIMIT ?",  # noqa: S608 - constant
            (-1 if limit is None else limit,),
        )
        return [EpisodeSummary(*row) for row in rows]

    def counts(self) -> LogCounts:
        """How much was played, and how much of it the cloud has committed."""
        logged, env_errors, env_steps, refused = self.connection.execute(
            "SELECT count(*), coalesce(sum(end_reason = 'env_error'), 0), coalesce(sum(steps), 0), "
            "coalesce(sum(end_reason = 'guard'), 0) FROM episodes"
        ).fetchone()
        waiting, parked = self.connection.execute(
            "SELECT count(*), coalesce(sum(parked_reason IS NOT NULL), 0) FROM outbox "
            "WHERE seq IN (SELECT upload_seq FROM episodes)"
        ).fetchone()
        dropped = self.connection.execute(
            "SELECT count(*) FROM drops JOIN episodes ON subject = CAST(upload_seq AS TEXT) "
            "WHERE rule NOT GLOB 'blob_*'"
        ).fetchone()[0]
        acknowledged = logged - waiting - dropped
        return LogCounts(logged, acknowledged, parked, env_errors, env_steps, refused, dropped)

    def outbox_counts(self) -> tuple[int, int]:
        """Messages that the cloud has not committed yet, and those it refused for good."""
        return depth(self.connection), len(parked(self.connection))

    def drops(self) -> dict[str, tuple[int, int]]:
        """What was given up for want of room: by rule, how many things and how many bytes."""
        return totals(self.connection)

    def set_quotas(self, *, outbox_bytes: int, log_bytes: int) -> bool:
        """Let outbox and log hold that much from now on; False where the disk takes nothing now."""
        try:
            with transaction(self.connection):
                set_quota(self.connection, OutboxQuota(quota_bytes=outbox_bytes))
                set_log_quota(self.connection, log_bytes)
        except sqlite3.OperationalError as error:
            if not cannot_write(error):
                raise
            return False
        return True

    def close(self) -> None:
        """Let go of the file. Idempotent."""
        self.connection.close()

    def _append(
        self,
        episode: Episode,
        verdicts: tuple[Verdict, ...],
        screens: tuple[ScreenPicture, ...],
    ) -> None:
        conn = self.connection
        inbox.finish(conn, episode.assignment.id)
        if conn.execute("SELECT 1 FROM episodes WHERE id = ?", (episode.id,)).fetchone():
            return
        now_ms = self._clock.wall_ms()
        try:
            upload_seq = enqueue(
                conn,
                EpisodeUpload(episode=episode, verdicts=verdicts, screens=screens),
                created_at_ms=now_ms,
            )
        except RejectedError as error:
            fields = {"episode_id": episode.id, "reason": error.reason}
            enqueue(
                conn,
                Event(kind="episode_dropped", fields=fields, at_ms=now_ms),
                created_at_ms=now_ms,
            )
            return
        conn.execute(
            f"INSERT INTO episodes ({_SUMMARY}, upload_seq, enc, body) "  # noqa: S608 - constant
            "SELECT NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, seq, enc, body "
            "FROM outbox WHERE seq = ?",
            (*_facts(episode, verdicts), upload_seq),
        )
        for verdict in verdicts:
            store_verdict(conn, verdict)
        if screens:
            blob_rows.record(conn, screens, upload_seq=upload_seq, now_ms=now_ms)

    def _body(self, episode_id: EpisodeId) -> tuple[str, bytes] | None:
        """An episode as it was uploaded; None where its steps are not here (any more)."""
        row: tuple[str, bytes] | None = self.connection.execute(
            "SELECT enc, body FROM episodes WHERE id = ? AND enc <> ''", (episode_id,)
        ).fetchone()
        return row

    def _verdicts(self, episode_id: EpisodeId) -> tuple[Verdict, ...]:
        rows = self.connection.execute(
            "SELECT body FROM verdicts WHERE episode_id = ?", (episode_id,)
        )
        return tuple(decode_verdict(body) for (body,) in rows)


def store_verdict(conn: sqlite3.Connection, verdict: Verdict) -> bool:
    """Store a verdict inside the caller's transaction; False where its verifier spoke before."""
    cursor = conn.execute(
        "INSERT INTO verdicts VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            verdict.episode_id,
            verdict.verifier,
            verdict.verifier_version,
            verdict.source.value,
            encode_verdict(verdict),
        ),
    )
    return cursor.rowcount == 1


def open_database_file(path: Path) -> sqlite3.Connection:
    """A connection to the device's database file, with its folder made.

    Raises: TrajectoryLogError: the file cannot be opened.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return open_database(path)
    except (sqlite3.Error, OSError) as error:
        raise TrajectoryLogError(f"{path} cannot be opened ({error}): check the folder") from error


def _migrate(connection: sqlite3.Connection) -> None:
    """Bring the log's own tables to `SCHEMA_VERSION`, one numbered file at a time."""
    with transaction(connection):
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if version > SCHEMA_VERSION:
            raise TrajectoryLogError(
                f"the log has version {version}, this program knows {SCHEMA_VERSION}: update it"
            )
        for script in _scripts()[version:]:
            for statement in statements(script):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _scripts() -> list[str]:
    folder = files("device_runtime").joinpath("schema")
    scripts = sorted(
        (item for item in folder.iterdir() if item.name.endswith(".sql")),
        key=lambda item: item.name,
    )
    return [item.read_text("utf-8") for item in scripts]


def _facts(episode: Episode, verdicts: tuple[Verdict, ...]) -> tuple[str | int | float | None, ...]:
    assignment = episode.assignment
    return (
        episode.id,
        assignment.id,
        assignment.template,
        assignment.purpose.value,
        assignment.split.value,
        assignment.actor,
        episode.release_id,
        episode.end_reason.value,
        len(episode.steps),
        verdicts[0].score if verdicts else None,
        episode.started_at_ms,
        episode.ended_at_ms,
    )


def _episode(enc: str, body: bytes) -> Episode:
    return _upload(enc, body).episode


def _upload(enc: str, body: bytes) -> EpisodeUpload:
    try:
        message = decode_body(EncodedBody("episode_upload", enc, body))
    except RejectedError as error:
        raise TrajectoryLogError(f"a logged episode cannot be read: {error}") from error
    assert isinstance(message, EpisodeUpload)
    return message
