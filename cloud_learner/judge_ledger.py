"""What a judge said and what it cost, kept beside the data: no episode is paid for twice.

An SQLite file (DATA/cloud/judge.db) with a row for each episode, judge and version. What is not
final (a time-out, a busy endpoint) is replaced when it is asked again; costs only add up.
"""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from typing import Final

from cloud_learner.errors import JudgeLedgerError
from cloud_learner.judge_answer import Judgement, Usage
from sync.database import open_database, transaction

LEDGER_NAME: Final = "judge.db"
_JUDGEMENTS: Final = (
    "CREATE TABLE IF NOT EXISTS judgements (episode_id TEXT, judge TEXT, version TEXT, "
    "outcome INTEGER, reason TEXT NOT NULL, is_final INTEGER NOT NULL, "
    "tokens_read INTEGER NOT NULL, tokens_written INTEGER NOT NULL, requests INTEGER NOT NULL, "
    "at_ms INTEGER NOT NULL, PRIMARY KEY (episode_id, judge, version)) WITHOUT ROWID"
)
_SPENT: Final = (
    "CREATE TABLE IF NOT EXISTS spent (judge TEXT PRIMARY KEY, tokens_read INTEGER NOT NULL, "
    "tokens_written INTEGER NOT NULL, requests INTEGER NOT NULL) WITHOUT ROWID"
)


class JudgeLedger:
    """One ledger; safe to use from several threads.

    Raises: JudgeLedgerError: the file is none, or cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = open_database(path)
            with transaction(self._connection):
                for statement in (_JUDGEMENTS, _SPENT):
                    self._connection.execute(statement)
        except (sqlite3.Error, OSError) as error:
            raise JudgeLedgerError(path, str(error)) from error

    def close(self) -> None:
        """Let go of the file. Idempotent."""
        self._connection.close()

    def find(self, episode_id: str, judge: str, version: str) -> Judgement | None:
        """What a judge finally said of an episode, or None; what it cost then is not repeated."""
        with self._lock:
            row = self._connection.execute(
                "SELECT outcome, reason FROM judgements "
                "WHERE episode_id = ? AND judge = ? AND version = ? AND is_final",
                (episode_id, judge, version),
            ).fetchone()
        if row is None:
            return None
        return Judgement(None if row[0] is None else bool(row[0]), str(row[1]))

    def keep(
        self, episode_id: str, judge: str, version: str, judged: Judgement, *, at_ms: int
    ) -> None:
        """Remember a judgement and add up what it cost, in one transaction."""
        usage = judged.usage
        outcome = None if judged.outcome is None else int(judged.outcome)
        with self._lock, transaction(self._connection):
            self._connection.execute(
                "INSERT OR REPLACE INTO judgements VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    episode_id, judge, version, outcome, judged.reason, int(judged.is_final),
                    usage.read, usage.written, usage.requests, at_ms,
                ),
            )  # fmt: skip
            self._connection.execute(
                "INSERT INTO spent VALUES (?, ?, ?, ?) ON CONFLICT (judge) DO UPDATE SET "
                "tokens_read = tokens_read + excluded.tokens_read, "
                "tokens_written = tokens_written + excluded.tokens_written, "
                "requests = requests + excluded.requests",
                (judge, usage.read, usage.written, usage.requests),
            )

    def spent(self, judge: str) -> Usage:
        """What a judge has cost so far, in all versions and runs."""
        with self._lock:
            row = self._connection.execute(
                "SELECT tokens_read, tokens_written, requests FROM spent WHERE judge = ?", (judge,)
            ).fetchone()
        return Usage(*row) if row is not None else Usage()
