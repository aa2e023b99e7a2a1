"""What devices say of themselves, kept for who watches and steers the fleet.

Every function works inside the caller's transaction. Ingest calls `note` for each message; what a
device must be told again (a broker that forgot, a stop that it has not heard) is marked `pending`
and carried out by `fleet_carrier`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, func, select, update

from cloud_learner.store import counted, insert_new, one
from cloud_learner.tables import DEVICE_EVENTS, DEVICES, FLEET_TASKS, PHONES
from sync.enrolment import bounded_attributes
from sync.messages import AssignmentsAccepted, Birth, Event, Health, Offline, ReportedSettings
from sync.session import Received

Values = Mapping[str, Any]  # column name to value
_REVISION = "fleet_revision"
_CLOUD_EVENTS = "cloud_events"
CLOUD = "cloud"
"""Where an event comes from that no device reported: its `install_id`."""
_CLOCK_STEP_MS = 2_000


def new_row(device_id: str) -> dict[str, Any]:  # Any: as above
    """The row of a device that nobody said anything of."""
    return {
        "device_id": device_id,
        "public_key": "",
        "labels": {},
        "attributes": {},
        "install_id": "",
        "clock_offset_ms": None,
        "desired_version": 0,
        "desired": {},
        "reported_version": 0,
        "reported": {},
        "refused": {},
        "control": {},
        "control_heard": True,
        "credentials": 0,
        "next_credentials": 0,
        "rotate_until_ms": 0,
        "enrolled_at_ms": 0,
        "revoked_at_ms": 0,
        "revoke_reason": "",
        "exclude_from_training": False,
        "doubled_at_ms": 0,
        "pending": False,
        "revision": 0,
    }


def find(connection: Connection, device_id: str) -> Values | None:
    """A device's row, or None."""
    rows = connection.execute(select(DEVICES).where(DEVICES.c.device_id == device_id))
    found = rows.mappings().first()
    return None if found is None else dict(found)


def ensure(connection: Connection, device_id: str) -> Values:
    """A device's row, made where there is none."""
    found = find(connection, device_id)
    if found is not None:
        return found
    row = new_row(device_id)
    insert_new(connection, DEVICES, row)
    return row


def change(connection: Connection, device_ids: Iterable[str], **values: object) -> None:
    """Set columns of devices and let who watches see it."""
    names = list(device_ids)
    if names:
        connection.execute(
            update(DEVICES)
            .where(DEVICES.c.device_id.in_(names))
            .values(revision=counted(connection, _REVISION), **values)
        )


def latest_revision(connection: Connection) -> int:
    """The highest revision of any device."""
    return int(one(connection, select(func.max(DEVICES.c.revision))) or 0)


def record_cloud_event(
    connection: Connection, device_id: str, kind: str, fields: Mapping[str, str], *, now_ms: int
) -> None:
    """Something that the cloud noticed about a device, among what devices report."""
    row = {
        "device_id": device_id,
        "install_id": CLOUD,
        "seq": counted(connection, _CLOUD_EVENTS),
        "kind": kind,
        "fields": dict(fields),
        "at_ms": now_ms,
        "received_at_ms": now_ms,
    }
    insert_new(connection, DEVICE_EVENTS, row)


def revoked_among(connection: Connection, device_ids: Iterable[str]) -> frozenset[str]:
    """Those of some devices whose messages are not taken any more."""
    statement = select(DEVICES.c.device_id).where(
        DEVICES.c.device_id.in_(list(device_ids)), DEVICES.c.revoked_at_ms > 0
    )
    return frozenset(connection.execute(statement).scalars())


def note(connection: Connection, received: Received, *, now_ms: int) -> None:
    """Keep what a message says of its device's state."""
    device_id = received.device_id
    match received.message:
        case Birth():
            _note_birth(connection, received, received.message, now_ms=now_ms)
        case Offline():
            change(connection, [device_id])
        case Health():
            _note_health(connection, device_id, received.message)
        case ReportedSettings():
            _note_reported(connection, device_id, received.message)
        case Event(kind="credentials_stored", fields=fields):
            _note_stored(connection, device_id, fields.get("version", ""))
        case Event(kind="assignment_rejected", fields=fields):
            why = f"{fields.get('reason', '')}: {fields.get('detail', '')}"
            connection.execute(
                update(FLEET_TASKS)
                .where(
                    FLEET_TASKS.c.assignment_id == fields.get("assignment_id", ""),
                    FLEET_TASKS.c.device_id == device_id,
                )
                .values(detail=why[:500])
            )
        case AssignmentsAccepted(assignment_ids=ids):
            connection.execute(
                update(FLEET_TASKS)
                .where(
                    FLEET_TASKS.c.assignment_id.in_(ids),
                    FLEET_TASKS.c.device_id == device_id,
                    FLEET_TASKS.c.accepted_at_ms == 0,
                )
                .values(accepted_at_ms=now_ms)
            )
        case _:
            pass


def _note_birth(connection: Connection, received: Received, birth: Birth, *, now_ms: int) -> None:
    device_id = received.device_id
    row = ensure(connection, device_id)
    apps = " ".join(sorted({template.app for template in birth.templates}))
    values: dict[str, Any] = {
        "install_id": received.install_id,
        "attributes": {**bounded_attributes(birth.attributes), "apps": apps},
    }
    if row["install_id"] not in {"", received.install_id}:
        fields = {"before": row["install_id"], "after": received.install_id}
        record_cloud_event(connection, device_id, "install_changed", fields, now_ms=now_ms)
        values["reported_version"] = 0  # a wiped device knows no settings from afar
    values |= _credentials_of(birth, row)
    if _must_be_told({**row, **values}):
        values["pending"] = True
    change(connection, [device_id], **values)


def _credentials_of(birth: Birth, row: Values) -> dict[str, Any]:  # Any: as above
    """What a birth changes about its device's credentials.

    The broker takes new ones only after the device said that it stored them: who claims them before
    holds the old ones, and may be whom they were changed for.
    """
    upcoming = row["next_credentials"]
    if not birth.credentials or row["credentials"] < upcoming <= birth.credentials:
        return {}
    if birth.credentials < upcoming:
        return {"credentials": birth.credentials}
    return {
        "credentials": birth.credentials,
        "next_credentials": 0,
        "rotate_until_ms": 0,
        "pending": bool(upcoming),
    }


def _must_be_told(row: Values) -> bool:
    """Whether a device that just connected may not know something: the broker may have forgotten.

    A stop or start is only repeated until the device said once that it heard it.
    """
    behind = row["desired_version"] > row["reported_version"]
    return bool(behind or not row["control_heard"] or row["next_credentials"])


def _note_health(connection: Connection, device_id: str, health: Health) -> None:
    row = ensure(connection, device_id)
    values: dict[str, Any] = {}
    if _has_moved(row["clock_offset_ms"], health.clock_offset_ms):
        values["clock_offset_ms"] = health.clock_offset_ms
    if health.control_id and health.control_id == row["control"].get("control_id"):
        values["control_heard"] = True
    before = one(connection, select(PHONES.c.health).where(PHONES.c.device_id == device_id)) or {}
    changed = any(
        before.get(name) != getattr(health, name) for name in ("stopped", "release_id", "contended")
    )
    if changed or _is_news(row, values):
        change(connection, [device_id], **values)


def _has_moved(before: int | None, now: int | None) -> bool:
    return now is not None and (before is None or abs(now - before) >= _CLOCK_STEP_MS)


def _is_news(row: Values, values: Values) -> bool:
    return any(row[name] != value for name, value in values.items())


def _note_reported(connection: Connection, device_id: str, said: ReportedSettings) -> None:
    row = ensure(connection, device_id)
    values: dict[str, Any] = {
        "reported_version": said.version,
        "reported": dict(said.values),
        "refused": dict(said.refused),
    }
    if said.version > row["desired_version"]:  # its owner set it past the cloud
        values |= {"desired_version": said.version, "desired": dict(said.values)}
    if _is_news(row, values):
        change(connection, [device_id], **values)


def _note_stored(connection: Connection, device_id: str, version: str) -> None:
    """New credentials are on the device's disk: now the broker may take them."""
    row = ensure(connection, device_id)
    if version.isdecimal() and int(version) == row["next_credentials"] > row["credentials"]:
        change(connection, [device_id], credentials=int(version), pending=True)
