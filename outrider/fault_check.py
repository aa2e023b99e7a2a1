"""What must hold after everything went wrong: rows of the phones = rows of the cloud, each once.

The phones' own databases are read, and the cloud's; nothing that a process counted is believed.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from cloud_learner.report_store import ReportStore
from cloud_learner.store import Database
from outrider.fault_parts import EVENT, EVENT_ID, WITNESS
from sync.codec import EncodedBody, decode_body, encode_episode
from sync.messages import EpisodeUpload

_ALL: Final = 10**9


@dataclass(frozen=True, slots=True)
class PhoneRows:
    """What a phone's own database says.

    Attributes:
        episodes: SHA-256 of each logged episode, by its id; "" where the phone let its steps go.
        waiting, parked: rows that the cloud has not answered for, and those that it refused.
        dropped: rows that the phone gave up and declared.
        events: names of the events that it queued.
    """

    device_id: str
    episodes: Mapping[str, str]
    waiting: int
    parked: int
    dropped: int
    events: frozenset[str]


@dataclass(frozen=True, slots=True)
class Findings:
    """What the check found; it is clean where `broken` is empty.

    Attributes:
        broken: one line for each rule that does not hold.
        redelivered: episodes that the cloud was sent more than once and stored once.
        declared: rows that never reached the cloud, and of which the phone says so.
    """

    broken: tuple[str, ...]
    episodes: int
    events: int
    redelivered: int
    dead_lettered: int
    declared: int


def read_phone(database: Path, device_id: str) -> PhoneRows:
    """A phone's rows.

    Raises: sqlite3.Error: it is no readable log.
    """
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as conn:
        episodes = {}
        for name, enc, body in conn.execute("SELECT id, enc, body FROM episodes"):
            episodes[name] = _digest(EncodedBody("episode_upload", enc, body)) if enc else ""
        counted = "SELECT coalesce(sum(parked_reason IS NULL), 0), count(parked_reason) FROM outbox"
        waiting, parked = conn.execute(counted).fetchone()
        has_witness = conn.execute(
            "SELECT 1 FROM sqlite_master WHERE name = ?", (WITNESS,)
        ).fetchone()
        events = conn.execute(f"SELECT id FROM {WITNESS}") if has_witness else ()  # noqa: S608 - constant
        dropped = conn.execute("SELECT count(*) FROM drops").fetchone()[0]
        return PhoneRows(
            *(device_id, episodes, int(waiting), int(parked), int(dropped)),
            frozenset(name for (name,) in events),
        )


def _digest(body: EncodedBody) -> str:
    upload = decode_body(body)
    assert isinstance(upload, EpisodeUpload)
    return sha256(encode_episode(upload.episode)).hexdigest()


def check(phones: Iterable[PhoneRows], database_url: str, *, lost: frozenset[str]) -> Findings:
    """Compare all phones' rows with the cloud's.

    Args:
        lost: episodes that stood in a database before it was damaged on purpose: they may be on
            one side only.
    """
    phones = list(phones)
    database = Database(database_url, migrate=False)
    try:
        reports = ReportStore(database)
        stored = list(reports.stored_episodes())
        events = [row for row in reports.events(limit=_ALL) if row["kind"] == EVENT]
        counters = reports.counts()
    finally:
        database.close()
    broken = [
        *_episodes_broken(phones, {str(one.row["id"]): one.digest for one in stored}, lost),
        *_events_broken(phones, events, lost=bool(lost)),
    ]
    played = Counter(str(one.row["assignment_id"]) for one in stored if not one.row["duplicate"])
    broken += [f"{name} counts {n} times" for name, n in played.items() if n > 1]
    return Findings(
        broken=tuple(broken),
        episodes=len(stored),
        events=len(events),
        redelivered=counters["redelivered"],
        dead_lettered=counters["dead_letters"],
        declared=sum(phone.dropped for phone in phones),
    )


def _episodes_broken(
    phones: list[PhoneRows], stored: Mapping[str, str], lost: frozenset[str]
) -> list[str]:
    logged = {name: digest for phone in phones for name, digest in phone.episodes.items()}
    waiting = sum(phone.waiting for phone in phones)
    parked = sum(phone.parked for phone in phones)
    dropped = sum(phone.dropped for phone in phones)
    missing = logged.keys() - stored.keys() - lost
    invented = stored.keys() - logged.keys() - lost
    altered = [
        name for name in logged.keys() & stored.keys() if logged[name] not in {"", stored[name]}
    ]
    said = [
        (waiting, f"{waiting} rows still wait to be sent"),
        (parked, f"{parked} rows were refused for good"),
        (len(missing) > dropped, f"{len(missing)} episodes are missing in the cloud"),
        (invented, f"{len(invented)} episodes of the cloud are on no phone"),
        (altered, f"{len(altered)} episodes differ"),
    ]
    return [text for wrong, text in said if wrong]


def _name_of(event: Mapping[str, object]) -> str:
    fields = event["fields"]
    assert isinstance(fields, dict)
    return str(fields.get(EVENT_ID, ""))


def _events_broken(
    phones: list[PhoneRows], events: Sequence[Mapping[str, object]], *, lost: bool
) -> list[str]:
    queued = {(phone.device_id, name) for phone in phones for name in phone.events}
    found = Counter((str(row["device_id"]), _name_of(row)) for row in events)
    missing, invented = queued - found.keys(), found.keys() - queued
    doubled = sum(count > 1 for count in found.values())
    said = [
        (missing and not lost, f"{len(missing)} events are missing in the cloud"),
        (invented and not lost, f"{len(invented)} events of the cloud were queued by no phone"),
        (doubled and not lost, f"{doubled} events are in the cloud more than once"),
    ]
    return [text for wrong, text in said if wrong]
