"""Ingest: what the devices send becomes rows, batch by batch, before it is acknowledged.

session → `Ingest.commit` → store → (return) → acknowledgement. A batch that cannot be committed is
not acknowledged, so the devices send it again; a message that will never be accepted is a dead
letter with a reason, and does not hold back its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import structlog

from cloud_learner.device_rows import revoked_among
from cloud_learner.ingest_store import record_dead_letter, record_message, record_seen
from cloud_learner.store import Database
from sync.clock import Clock
from sync.errors import RejectedError, TransientError
from sync.messages import Birth, EpisodeUpload, Offline
from sync.session import DeadLetter, Received

_log = structlog.get_logger()


class Ingest:
    """Commits batches of messages; called on the session's thread."""

    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def commit(self, batch: Sequence[Received]) -> dict[int, str]:
        """Store a batch; index → reason of the messages that were refused for good.

        Raises: StoreUnavailableError: nothing of it was stored.
        """
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
                    refused[index] = "revoked"
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
            present = {one.device_id for one in batch if not isinstance(one.message, Offline)}
            record_seen(connection, sorted(present), now_ms=now_ms)
        return refused

    def bury(self, letter: DeadLetter) -> None:
        """Count and keep a payload that could not even be read (its reason, not its bytes)."""
        _log.warning("dead_letter_received", topic=letter.topic, reason=letter.reason)
        with suppress(TransientError), self._database.write() as connection:  # it is logged
            record_dead_letter(
                connection,
                device_id="",
                reason=letter.reason,
                detail=f"{letter.topic} ({len(letter.payload)} bytes)",
                now_ms=self._clock.wall_ms(),
            )


def _refusal(received: Received) -> str | None:
    """Why a decoded message is never accepted, or None."""
    match received.message:
        case Birth() | Offline() if received.message.device_id != received.device_id:
            return "wrong_device"
        case EpisodeUpload(episode=episode, verdicts=verdicts):
            if episode.device_id != received.device_id:
                return "wrong_device"
            if any(verdict.episode_id != episode.id for verdict in verdicts):
                return "wrong_episode"
            return None if episode.id else "malformed"
        case _:
            return None
