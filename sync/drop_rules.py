"""What a device gives up when it has no room left, in which order, and how that is counted.

Every rule has a name that travels: in `health`, in the event `storage_dropped`, in the cloud's
store and its metrics. A drop is a row of the table `drops`, written in the transaction that drops,
so that the audit can say: rows of the phone = rows of the cloud + declared drops.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from sync.database import read_meta, write_meta
from sync.messages import DurableMessage, EpisodeUpload, Event
from sync.vocabulary import EndReason

TOLD_BEFORE: Final = "drops_before"
"""Where the totals stand that were told under the names of earlier installations."""
DROPPED_EVENT: Final = "storage_dropped"
"""Kind of the event that tells the totals of one rule: `rule`, `count` and `bytes`."""


class DropRule(StrEnum):
    """By what something was given up."""

    BLOB_OLDEST = "blob_oldest"
    BLOB_DAMAGED = "blob_damaged"
    BLOB_REFUSED = "blob_refused"
    PARKED_OLDEST = "parked_oldest"
    EPISODE_BROKEN = "episode_broken"
    EPISODE_UNJUDGED = "episode_unjudged"
    EPISODE_OLDEST = "episode_oldest"
    EVENT_OLDEST = "event_oldest"


RULES: Final[Mapping[DropRule, str]] = MappingProxyType(
    {
        DropRule.BLOB_OLDEST: "pictures of screens over the quota of pictures, oldest first; such "
        "as the cloud holds are let go of before and are no drop",
        DropRule.BLOB_DAMAGED: "a picture whose file is gone or holds something else",
        DropRule.BLOB_REFUSED: "a picture that the cloud will never take",
        DropRule.PARKED_OLDEST: "rows that the cloud rejected for good, oldest first",
        DropRule.EPISODE_BROKEN: "unsent episodes that the environment ended, oldest first: nobody "
        "learns from them",
        DropRule.EPISODE_UNJUDGED: "unsent episodes without a verdict, oldest first",
        DropRule.EPISODE_OLDEST: "unsent episodes, oldest first",
        DropRule.EVENT_OLDEST: "unsent events, oldest first",
    }
)
"""What each rule gives up. Rows of the outbox go in this order: what is worth least goes first."""

OUTBOX_ORDER: Final = (
    DropRule.PARKED_OLDEST,
    DropRule.EPISODE_BROKEN,
    DropRule.EPISODE_UNJUDGED,
    DropRule.EPISODE_OLDEST,
    DropRule.EVENT_OLDEST,
)


def rule_of(message: DurableMessage) -> DropRule:
    """By which rule a message is given up while it waits to be sent."""
    if not isinstance(message, EpisodeUpload):
        return DropRule.EVENT_OLDEST
    if message.episode.end_reason is EndReason.ENV_ERROR:
        return DropRule.EPISODE_BROKEN
    return DropRule.EPISODE_OLDEST if message.verdicts else DropRule.EPISODE_UNJUDGED


def totals(conn: sqlite3.Connection) -> dict[str, tuple[int, int]]:
    """By rule: how many things were given up in this installation, and how many bytes."""
    before = json.loads(read_meta(conn, TOLD_BEFORE) or "{}")
    found = {}
    for rule, (items, size_bytes) in _ever(conn).items():
        items_before, bytes_before = before.get(rule, (0, 0))
        if items > items_before:
            found[rule] = (items - items_before, size_bytes - bytes_before)
    return found


def begin_totals(conn: sqlite3.Connection) -> None:
    """Count from here on, inside the caller's transaction: a new installation begins."""
    write_meta(conn, TOLD_BEFORE, json.dumps(_ever(conn)))


def _ever(conn: sqlite3.Connection) -> dict[str, tuple[int, int]]:
    rows = conn.execute("SELECT part, items, bytes FROM storage WHERE part GLOB 'drop:*'")
    return {part.removeprefix("drop:"): (items, size) for part, items, size in rows}


def dropped_event(rule: str, total: tuple[int, int], *, at_ms: int) -> Event:
    """The event that tells the totals of one rule."""
    fields = {"rule": rule, "count": str(total[0]), "bytes": str(total[1])}
    return Event(kind=DROPPED_EVENT, fields=fields, at_ms=at_ms)


def dropped_totals(event: Event) -> dict[str, tuple[int, int]]:
    """What such an event tells; nothing where it cannot be read."""
    count, size_bytes = event.fields.get("count", ""), event.fields.get("bytes", "")
    if not (count.isdecimal() and size_bytes.isdecimal()):
        return {}
    return {event.fields.get("rule", ""): (int(count), int(size_bytes))}


def note_drop(
    conn: sqlite3.Connection, rule: DropRule, subject: str, *, size_bytes: int, now_ms: int
) -> None:
    """Declare that something was given up, inside the caller's transaction. Once per subject."""
    conn.execute(
        "INSERT INTO drops VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (rule, subject, size_bytes, now_ms),
    )
