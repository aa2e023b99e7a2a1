"""What the fleet said, as rows: births, episodes with verdicts, device events, dead letters.

Every function works inside the caller's transaction and may be called twice with the same message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Table, func, insert, or_, select, update

from cloud_learner import device_rows
from cloud_learner.blob_store import record_screens
from cloud_learner.drop_store import record_drops
from cloud_learner.store import count, insert_new, one, upsert
from cloud_learner.tables import (
    ASSIGNMENTS,
    DEAD_LETTERS,
    DEVICE_EVENTS,
    DEVICES,
    EPISODE_BODIES,
    EPISODES,
    INSTALLATIONS,
    PHONES,
    RELEASES,
)
from cloud_learner.verdict_store import (
    claimed_complete,
    deciding_verdict,
    record_verdict,
    store_more_verdicts,
)
from sync.codec import encode_episode
from sync.drop_rules import DROPPED_EVENT, dropped_totals
from sync.errors import RejectedError
from sync.installation import SEQUENCE_TAKEN
from sync.messages import (
    AssignmentsAccepted,
    Birth,
    EpisodeUpload,
    Event,
    Health,
    Offline,
    OwnerQuestion,
    ReportedSettings,
    Role,
)
from sync.session import Received, Repeated
from sync.vocabulary import (
    Episode,
    Purpose,
    TemplateInfo,
    Verdict,
)

DEAD_LETTERS_KEPT = 10_000
"""The newest letters stay for somebody to look at; all are counted."""

_INSTALLED = frozenset({"trial", "committed"})
"""States of an update in which its release plays."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a durable message came from: the key by which it is stored once."""

    device_id: str
    install_id: str
    seq: int
    received_at_ms: int


def record_message(connection: Connection, received: Received, *, now_ms: int) -> None:
    """Store one message of any kind, and count it where it was sent before.

    Raises: RejectedError: its row number stands for something else (reason "sequence_taken"): two
        devices share a copied database; or it plays what only another device may ("wrong_device").
        Nothing of it was stored.
    """
    origin = Origin(received.device_id, received.install_id, received.seq, now_ms)
    device_rows.note(connection, received, now_ms=now_ms)
    match received.message:
        case Birth():
            record_birth(connection, received.message, received.install_id, now_ms=now_ms)
        case Offline():
            record_offline(connection, received.message)
        case Health():
            record_health(connection, received.device_id, received.message)
            record_drops(
                connection,
                received.device_id,
                received.install_id,
                received.message.drops,
                now_ms=now_ms,
            )
        case EpisodeUpload() | Event() | Repeated():
            _record_row(connection, origin, received)
        case AssignmentsAccepted():
            pass  # safe in the device's inbox; until it is played, nothing changes here
        case OwnerQuestion() | ReportedSettings():
            pass  # between a phone and its owner
        case _:
            count(connection, "unexpected_messages")


def _record_row(connection: Connection, origin: Origin, received: Received) -> None:
    """Store what stands in a device's outbox, and count it where it was sent before."""
    match received.message:
        case EpisodeUpload() as upload:
            counter, is_new = "redelivered", record_episode(connection, origin, upload)
        case Event() as event:
            counter, is_new = "redelivered_events", record_event(connection, origin, event)
        case Repeated(of=of):
            counter, is_new = "redelivered" if of is EpisodeUpload else "redelivered_events", False
        case _:
            return
    if received.redelivered or not is_new:
        count(connection, counter)


def record_birth(
    connection: Connection, birth: Birth, install_id: str = "", *, now_ms: int
) -> None:
    """A device is there. A birth that was overtaken by a newer one changes nothing.

    A device with a new database (wiped, or damaged) counts its epochs anew: nothing is known of its
    installation yet. Who came in by a claim is a phone, whatever it says: farms are asked what
    becomes of a release.
    """
    known = connection.execute(
        select(PHONES.c.boot_id, PHONES.c.epoch).where(PHONES.c.device_id == birth.device_id)
    ).first()
    is_older = known is not None and birth.epoch < known.epoch
    is_same = known is not None and birth.boot_id == known.boot_id
    if is_older and (is_same or _is_known_install(connection, birth.device_id, install_id)):
        return
    if known is not None and known.boot_id != birth.boot_id:
        reopen_assignments(connection, birth.device_id)
    role, seats = birth.role, birth.seats
    if role is Role.FARM and _was_let_in(connection, birth.device_id):
        count(connection, "farms_refused")
        role, seats = Role.PHONE, 1
    row: dict[str, Any] = {
        "device_id": birth.device_id,
        "role": role.value,
        "seats": seats,
        "boot_id": birth.boot_id,
        "epoch": birth.epoch,
        "online": True,
        "suite_version": birth.suite_version,
        "policy_io_version": birth.policy_io_version,
        "base_digest": birth.base_digest,
        "channel": birth.channel,
        "release_id": birth.release_id,
        "templates": msgspec.to_builtins(birth.templates),
        "health": {},
        "first_seen_ms": now_ms,
        "last_seen_ms": now_ms,
    }
    upsert(connection, PHONES, row, keep=("first_seen_ms", "health"))
    record_installation(connection, birth.device_id, birth.release_id, now_ms=now_ms)


def _was_let_in(connection: Connection, device_id: str) -> bool:
    """Whether a device showed a claim; the others have accounts that the operator made by hand."""
    of = select(DEVICES.c.enrolled_at_ms).where(DEVICES.c.device_id == device_id)
    return bool(connection.execute(of).scalar())


def _is_known_install(connection: Connection, device_id: str, install_id: str) -> bool:
    """Whether a row of this installation is stored; one without a name counts as known."""
    if not install_id:
        return True
    return any(
        connection.execute(
            select(table.c.seq)
            .where(table.c.device_id == device_id, table.c.install_id == install_id)
            .limit(1)
        ).first()
        for table in (EPISODES, DEVICE_EVENTS)
    )


def record_offline(connection: Connection, offline: Offline) -> None:
    """A device left; a will of an earlier connection changes nothing."""
    left = connection.execute(
        update(PHONES)
        .where(
            PHONES.c.device_id == offline.device_id,
            PHONES.c.boot_id == offline.boot_id,
            PHONES.c.epoch <= offline.epoch,
        )
        .values(online=False)
    )
    if left.rowcount:
        reopen_assignments(connection, offline.device_id)


def record_health(connection: Connection, device_id: str, health: Health) -> None:
    """How a device does; only the latest is kept."""
    connection.execute(
        update(PHONES)
        .where(PHONES.c.device_id == device_id)
        .values(health=msgspec.to_builtins(health))
    )


def record_seen(connection: Connection, device_ids: Sequence[str], *, now_ms: int) -> None:
    """These devices sent something just now."""
    connection.execute(
        update(PHONES).where(PHONES.c.device_id.in_(device_ids)).values(last_seen_ms=now_ms)
    )


def record_episode(connection: Connection, origin: Origin, upload: EpisodeUpload) -> bool:
    """Store an episode with its verdicts and close its assignment; False where it came before.

    A second episode of one assignment is stored and marked `duplicate`: it counts nowhere. An
    episode that comes again with a further verdict (its owner's) brings that verdict.
    """
    episode = upload.episode
    assigned = connection.execute(
        select(
            ASSIGNMENTS.c.batch,
            ASSIGNMENTS.c.app,
            ASSIGNMENTS.c.episode_id,
            ASSIGNMENTS.c.device_id,
            ASSIGNMENTS.c.reserved_for,
            ASSIGNMENTS.c.purpose,
        ).where(ASSIGNMENTS.c.id == episode.assignment.id)
    ).first()
    if assigned is not None and not _may_play(connection, origin.device_id, assigned):
        raise RejectedError(
            f"{episode.assignment.id} is for other devices only: drop it", reason="wrong_device"
        )
    row = _episode_row(origin, episode, deciding_verdict(upload.verdicts))
    if assigned is not None:
        row["batch"], row["app"] = assigned.batch, assigned.app
        row["duplicate"] = bool(assigned.episode_id)
    if not insert_new(connection, EPISODES, row):
        known = one(connection, select(EPISODES.c.id).where(*_same_row(EPISODES, origin)))
        if known not in {None, episode.id}:
            raise _sequence_taken(origin)
        return store_more_verdicts(connection, origin.device_id, upload.verdicts)
    number = one(connection, select(EPISODES.c.row).where(EPISODES.c.id == episode.id))
    connection.execute(insert(EPISODE_BODIES).values(row=number, body=encode_episode(episode)))
    record_screens(connection, number, upload.screens, now_ms=origin.received_at_ms)
    for verdict in upload.verdicts:
        record_verdict(connection, verdict)
    if assigned is not None and not assigned.episode_id:
        connection.execute(
            update(ASSIGNMENTS)
            .where(ASSIGNMENTS.c.id == episode.assignment.id)
            .values(state="played", episode_id=episode.id, device_id=origin.device_id)
        )
    elif assigned is not None:
        count(connection, "duplicates")
    return True


def _may_play(connection: Connection, device_id: str, assigned: Any) -> bool:  # Any: its columns
    """Whether a device can have been given an assignment, whose id anybody can guess.

    What it was given may have been given to another meanwhile, because it was away for long.
    """
    if assigned.reserved_for:
        return bool(assigned.reserved_for == device_id)
    if assigned.purpose == Purpose.TRAIN or assigned.device_id == device_id:
        return True
    role = one(connection, select(PHONES.c.role).where(PHONES.c.device_id == device_id))
    return bool(role == Role.FARM)


def record_event(connection: Connection, origin: Origin, event: Event) -> bool:
    """Store a device event and what follows from it; False where it came before."""
    row = {
        "device_id": origin.device_id,
        "install_id": origin.install_id,
        "seq": origin.seq,
        "kind": event.kind,
        "fields": event.fields,
        "at_ms": event.at_ms,
        "received_at_ms": origin.received_at_ms,
    }
    if not insert_new(connection, DEVICE_EVENTS, row):
        of = select(DEVICE_EVENTS.c.kind, DEVICE_EVENTS.c.fields, DEVICE_EVENTS.c.at_ms)
        known = connection.execute(of.where(*_same_row(DEVICE_EVENTS, origin))).one()
        if tuple(known) != (event.kind, event.fields, event.at_ms):
            raise _sequence_taken(origin)
        return False
    if event.kind == "release_state_entered" and event.fields.get("state") in _INSTALLED:
        record_installation(
            connection,
            origin.device_id,
            event.fields.get("release_id", ""),
            now_ms=origin.received_at_ms,
        )
    elif event.kind == DROPPED_EVENT:
        record_drops(
            connection,
            origin.device_id,
            origin.install_id,
            dropped_totals(event),
            now_ms=origin.received_at_ms,
        )
    elif event.kind == "assignment_rejected":
        connection.execute(
            update(ASSIGNMENTS)
            .where(
                ASSIGNMENTS.c.id == event.fields.get("assignment_id", ""),
                ASSIGNMENTS.c.state.in_(["open", "sent"]),
                or_(  # ids can be guessed: nobody refuses what others were given
                    ASSIGNMENTS.c.device_id == origin.device_id,
                    ASSIGNMENTS.c.reserved_for == origin.device_id,
                ),
            )
            .values(state="refused")
        )
    return True


def _same_row(table: Table, origin: Origin) -> tuple[ColumnElement[bool], ...]:
    return (
        table.c.device_id == origin.device_id,
        table.c.install_id == origin.install_id,
        table.c.seq == origin.seq,
    )


def _sequence_taken(origin: Origin) -> RejectedError:
    return RejectedError(
        f"row {origin.seq} of {origin.device_id} is another message's: its database was copied",
        reason=SEQUENCE_TAKEN,
    )


def record_installation(
    connection: Connection, device_id: str, release_id: str, *, now_ms: int
) -> None:
    """A device plays with a published release; others (the factory's) are no installation."""
    digest = one(connection, select(RELEASES.c.digest).where(RELEASES.c.id == release_id))
    if digest is None:
        return
    insert_new(
        connection,
        INSTALLATIONS,
        {
            "device_id": device_id,
            "release_id": release_id,
            "digest": digest,
            "installed_at_ms": now_ms,
        },
    )


def record_dead_letter(
    connection: Connection, *, device_id: str, reason: str, detail: str, now_ms: int
) -> None:
    """A message was refused for good."""
    connection.execute(
        insert(DEAD_LETTERS).values(
            device_id=device_id, reason=reason, detail=detail[:500], received_at_ms=now_ms
        )
    )
    count(connection, "dead_lettered")
    newest = select(func.max(DEAD_LETTERS.c.row)).scalar_subquery()
    connection.execute(
        DEAD_LETTERS.delete().where(DEAD_LETTERS.c.row <= newest - DEAD_LETTERS_KEPT)
    )


def reopen_assignments(connection: Connection, device_id: str) -> None:
    """What a device has not played may be sent again, to it or to another."""
    connection.execute(
        update(ASSIGNMENTS)
        .where(ASSIGNMENTS.c.device_id == device_id, ASSIGNMENTS.c.state == "sent")
        .values(state="open", device_id="")
    )


def announced_templates(rows: Sequence[Mapping[Any, Any]]) -> tuple[TemplateInfo, ...]:
    """The templates of several devices, each name once, in order of names.

    Args:
        rows: of PHONES. What a farm says of a template stands above what a phone says of it.
    """
    farms_last = sorted(rows, key=lambda row: row["role"] == Role.FARM)
    infos = (
        msgspec.convert(entry, TemplateInfo) for row in farms_last for entry in row["templates"]
    )
    by_name = {info.name: info for info in infos}
    return tuple(by_name[name] for name in sorted(by_name))


def _episode_row(origin: Origin, episode: Episode, verdict: Verdict | None) -> dict[str, Any]:
    assignment = episode.assignment
    decided = verdict is not None and verdict.score is not None
    success = verdict.success if verdict is not None and decided else None
    return {
        "id": episode.id,
        "device_id": origin.device_id,
        "install_id": origin.install_id,
        "seq": origin.seq,
        "assignment_id": assignment.id,
        "batch": "",
        "purpose": assignment.purpose.value,
        "actor": assignment.actor,
        "template": assignment.template,
        "app": assignment.suite,
        "suite": assignment.suite,
        "suite_version": episode.suite_version,
        "seed": assignment.seed,
        "split": assignment.split.value,
        "look": assignment.look,
        "temperature": assignment.temperature,
        "release_id": episode.release_id,
        "seat": episode.seat,
        "end_reason": episode.end_reason.value,
        "n_steps": len(episode.steps),
        "success": success,
        "score": verdict.score if verdict is not None else None,
        "progress": verdict.progress if verdict is not None else 0.0,
        "goal_reached": verdict.goal_reached if verdict is not None else False,
        "false_finish": claimed_complete(episode) and success is False,
        "duplicate": False,
        "started_at_ms": episode.started_at_ms,
        "ended_at_ms": episode.ended_at_ms,
        "received_at_ms": origin.received_at_ms,
        "invalid_steps": sum(not step.valid for step in episode.steps),
        "decide_ms_p95": _p95([step.decide_ms for step in episode.steps]),
    }


def _p95(values: Sequence[float]) -> float:
    """The 95th percentile of some values, one of them; 0 where there are none."""
    ordered = sorted(values)
    return ordered[(len(ordered) * 95 - 1) // 100] if ordered else 0.0
