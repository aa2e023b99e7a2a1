"""Ingest: what the devices send becomes rows, batch by batch, before it is acknowledged.

session → `Ingest.commit` → store → (return) → acknowledgement. A batch that cannot be committed now
is put off, so the devices send it again; a message that will never be accepted is a dead
letter with a reason, and does not hold back its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import structlog

from cloud_learner.device_rows import revoked_among
from cloud_learner.errors import StoreDamagedError, StoreRefusedError
from cloud_learner.ingest_store import record_dead_letter, record_message, record_seen
from cloud_learner.store import Database, count
from sync.clock import Clock
from sync.cloud_link import REVOKED
from sync.errors import RejectedError, TransientError
from sync.messages import Birth, EpisodeUpload, Offline, ReportedSettings
from sync.session import DeadLetter, Received

_log = structlog.get_logger()
UNSTORABLE: Final = "unstorable"
"""Reason code of a message that can be read and that the database cannot hold."""
LETTERS_PER_S: Final = 50
"""How many unreadable payloads a second are kept for somebody to look at; all are counted."""
_HIGHEST_VERSION: Final = 1 << 53
"""Of what is counted one by one; the operator's next change must still have a number."""


class Ingest:
    """Commits batches of messages; called on the session's thread."""

    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._letters = 0
        self._letters_since_s = float("-inf")
        self._uncounted = 0

    def commit(self, batch: Sequence[Received]) -> dict[int, str]:
        """Store a batch; index → reason of the messages that were refused for good.

        A message that breaks the transaction is found by halves and becomes a dead letter; all
        others are stored.

        Raises:
            StoreUnavailableError: the database takes nothing now. What was stored of the batch
                before that is known when it comes again.
            StoreDamagedError, StoreRefusedError: it takes nothing until somebody mends it.
        """
        try:
            return self._commit(batch)
        except (TransientError, StoreDamagedError, StoreRefusedError):
            raise  # no message is to blame
        except Exception as error:  # noqa: BLE001 - no message may hold back the others
            if len(batch) == 1:
                return self._poisoned(batch[0], error)
        middle = len(batch) // 2
        refused = self.commit(batch[:middle])
        later = self.commit(batch[middle:])
        return {**refused, **{middle + index: reason for index, reason in later.items()}}

    def _poisoned(self, received: Received, error: Exception) -> dict[int, str]:
        """A message that no database takes: too large a number, a character it does not have."""
        _log.error(
            "message_not_storable",
            device_id=received.device_id,
            seq=received.seq,
            error=type(error).__name__,
        )
        with self._database.write() as connection:
            record_dead_letter(
                connection,
                device_id=received.device_id,
                reason=UNSTORABLE,
                detail=f"{type(received.message).__name__}: {type(error).__name__}",
                now_ms=self._clock.wall_ms(),
            )
        return {0: UNSTORABLE}

    def _commit(self, batch: Sequence[Received]) -> dict[int, str]:
        """Store a batch in one transaction, or nothing of it."""
        refused = {
            index: reason
            for index, received in enumerate(batch)
            if (reason := _refusal(received)) is not None
        }
        now_ms = self._clock.wall_ms()
        with self._database.write() as connection:
            revoked = revoked_among(connection, {one.device_id for one in batch})
            for index, received in enumerate(batch):
                if received.device_id in revoked:
                    refused[index] = REVOKED
                if index not in refused:
                    try:
                        record_message(connection, received, now_ms=now_ms)
                    except RejectedError as error:
                        refused[index] = error.reason
                if index in refused:
                    record_dead_letter(
                        connection,
                        device_id=received.device_id,
                        reason=refused[index],
                        detail=f"{type(received.message).__name__} seq {received.seq}",
                        now_ms=now_ms,
                    )
            uncounted = self._uncounted
            if uncounted:
                count(connection, "dead_lettered", uncounted)
            present = {one.device_id for one in batch if not isinstance(one.message, Offline)}
            record_seen(connection, sorted(present), now_ms=now_ms)
        self._uncounted -= uncounted
        return refused

    def bury(self, letter: DeadLetter) -> None:
        """Count and keep a payload that could not even be read (its reason, not its bytes).

        Each costs a commit, for which everybody waits: of a flood only so many a second are kept.
        """
        now_s = self._clock.monotonic_s()
        if now_s - self._letters_since_s >= 1.0:
            self._letters_since_s, self._letters = now_s, 0
        self._letters += 1
        self._uncounted += 1
        if self._letters > LETTERS_PER_S:
            return
        _log.warning("dead_letter_received", topic=letter.topic, reason=letter.reason)
        with suppress(TransientError), self._database.write() as connection:  # it is logged
            record_dead_letter(
                connection,
                device_id="",
                reason=letter.reason,
                detail=f"{letter.topic} ({len(letter.payload)} bytes)",
                now_ms=self._clock.wall_ms(),
            )
            self._uncounted -= 1


def _refusal(received: Received) -> str | None:
    """Why a decoded message is never accepted, or None."""
    match received.message:
        case Birth() | Offline() if received.message.device_id != received.device_id:
            return "wrong_device"
        case Birth(credentials=version) | ReportedSettings(version=version):
            return None if 0 <= version <= _HIGHEST_VERSION else "malformed"
        case EpisodeUpload(episode=episode, verdicts=verdicts):
            if episode.device_id != received.device_id:
                return "wrong_device"
            if any(verdict.episode_id != episode.id for verdict in verdicts):
                return "wrong_episode"
            return None if episode.id else "malformed"
        case _:
            return None
