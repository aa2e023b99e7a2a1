"""The devices of a fleet as rows for people, programs and filters; read page by page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Select, select

from cloud_learner import device_rows
from cloud_learner.errors import UnknownRowError
from cloud_learner.fleet_filter import Condition, Facts, meets, parse_filter
from cloud_learner.store import Database
from cloud_learner.tables import DEVICES, PHONES
from sync.clock import Clock
from sync.errors import RejectedError

Fields = dict[str, Any]  # a row with JSON values, as the API gives it

ALARM_MS: Final = 3_600_000
"""How long after a device's double was last seen the alarm stands."""
_READ_AT_ONCE: Final = 1000
_OF_PHONES: Final = (
    PHONES.c.role,
    PHONES.c.seats,
    PHONES.c.online,
    PHONES.c.channel,
    PHONES.c.release_id,
    PHONES.c.base_digest,
    PHONES.c.health,
    PHONES.c.first_seen_ms,
    PHONES.c.last_seen_ms,
)
_HEALTH: Final = (
    "battery_percent",
    "temperature_c",
    "free_disk_bytes",
    "outbox_depth",
    "outbox_parked",
    "oldest_unsent_s",
    "episodes",
    "env_errors",
    "uptime_s",
)


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which devices somebody means; `everyone` must be said, so that nobody says it by mistake.

    Attributes:
        where: a filter; see fleet_filter.
    """

    devices: tuple[str, ...] = ()
    where: str = ""
    everyone: bool = False


class FleetList:
    """Reads the fleet's devices; safe to use from any thread."""

    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def page(self, where: str = "", *, after: str = "", limit: int = 100) -> list[Fields]:
        """At most `limit` devices that meet a filter, in order of names, from after a name on.

        Raises: RejectedError: the filter cannot be read.
        """
        conditions = parse_filter(where)
        found: list[Fields] = []
        for row in self._rows(after, conditions, limit if not conditions else _READ_AT_ONCE):
            found.append(row)
            if len(found) == limit:
                break
        return found

    def names(self, chosen: Chosen) -> tuple[str, ...]:
        """The devices that are meant, in order of names, revoked ones left out.

        Raises:
            UnknownRowError: one that is named is not there.
            RejectedError: one that is named was revoked, or the filter cannot be read.
        """
        if chosen.devices:
            return self._named(chosen.devices)
        if not (chosen.where or chosen.everyone):
            return ()
        rows = self._rows("", parse_filter(chosen.where))
        return tuple(row["device_id"] for row in rows if not row["revoked_at_ms"])

    def _named(self, names: Sequence[str]) -> tuple[str, ...]:
        wanted = select(DEVICES.c.device_id, DEVICES.c.revoked_at_ms)
        with self._database.read() as connection:
            rows = connection.execute(wanted.where(DEVICES.c.device_id.in_(names))).all()
        revoked_at_ms = {row.device_id: row.revoked_at_ms for row in rows}
        for name in names:
            if name not in revoked_at_ms:
                raise UnknownRowError("device", name)
            if revoked_at_ms[name]:
                raise RejectedError(
                    f"{name} was revoked: leave it out, or enrol it anew", reason="not_enrolled"
                )
        return tuple(sorted(revoked_at_ms))

    def device(self, device_id: str) -> Fields:
        """One device.

        Raises: UnknownRowError: there is none of that name.
        """
        for row in self._read(_joined().where(DEVICES.c.device_id == device_id)):
            return row
        raise UnknownRowError("device", device_id)

    def changes(
        self, revision: int, *, where: str = "", limit: int = 1000
    ) -> tuple[list[Fields], int]:
        """Devices that changed after a revision and meet a filter, and the revision reached.

        Raises: RejectedError: the filter cannot be read.
        """
        conditions = parse_filter(where)
        rows = self._read(
            _joined().where(DEVICES.c.revision > revision).order_by(DEVICES.c.revision).limit(limit)
        )
        reached = max((row["revision"] for row in rows), default=revision)
        return [row for row in rows if meets(facts_of(row), conditions)], reached

    def latest_revision(self) -> int:
        """The revision of the newest change."""
        with self._database.read() as connection:
            return device_rows.latest_revision(connection)

    def _rows(
        self, after: str, conditions: tuple[Condition, ...], at_once: int = _READ_AT_ONCE
    ) -> Iterator[Fields]:
        while True:
            page = self._read(
                _joined()
                .where(DEVICES.c.device_id > after)
                .order_by(DEVICES.c.device_id)
                .limit(at_once)
            )
            for row in page:
                if meets(facts_of(row), conditions):
                    yield row
            if len(page) < at_once:
                return
            after = page[-1]["device_id"]

    def _read(self, statement: Select[Any]) -> list[Fields]:  # Any: columns of any type
        now_ms = self._clock.wall_ms()
        with self._database.read() as connection:
            return [_fields(row, now_ms) for row in connection.execute(statement).mappings()]


def facts_of(row: Mapping[str, Any]) -> Facts:
    """What a filter can ask of a device: its own facts, its attributes, and the operator's labels.

    Labels go before attributes, and both before nothing: a device's own facts cannot be relabelled.
    """
    facts: dict[str, str | tuple[str, ...]] = {}
    for said in (row["attributes"], row["labels"]):
        facts |= {name.lower(): str(value) for name, value in said.items()}
    health = row["health"]
    own = {
        "id": row["device_id"],
        "role": row["role"],
        "online": row["online"],
        "channel": row["channel"],
        "release": row["release_id"],
        "stopped": bool(row["stopped"]),
        "alarm": row["alarm"] or False,
        "revoked": bool(row["revoked_at_ms"]),
        "enrolled": bool(row["enrolled_at_ms"]),
        "in_step": row["in_step"],
        "battery": health.get("battery_percent"),
        "temperature": health.get("temperature_c"),
        "outbox": health.get("outbox_depth"),
        "oldest_s": health.get("oldest_unsent_s"),
        "clock_offset_ms": row["clock_offset_ms"],
    }
    facts |= {name: _word(value) for name, value in own.items() if value is not None}
    facts["app"] = tuple(row["apps"])
    return facts


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _joined() -> Select[Any]:  # Any: as above
    return select(DEVICES, *_OF_PHONES).select_from(
        DEVICES.outerjoin(PHONES, PHONES.c.device_id == DEVICES.c.device_id)
    )


def _fields(row: Mapping[Any, Any], now_ms: int) -> Fields:
    health = row["health"] or {}
    attributes = {name: value for name, value in row["attributes"].items() if name != "apps"}
    is_doubled = row["doubled_at_ms"] and now_ms - row["doubled_at_ms"] < ALARM_MS
    return {
        "device_id": row["device_id"],
        "role": row["role"] or "phone",
        "online": bool(row["online"]) and not row["revoked_at_ms"],
        "seats": row["seats"] or 0,
        "channel": row["channel"] or "",
        "release_id": row["release_id"] or "",
        "base_digest": row["base_digest"] or "",
        "apps": row["attributes"].get("apps", "").split(),
        "attributes": attributes,
        "labels": row["labels"],
        "stopped": health.get("stopped", ""),
        "health": {name: health.get(name) for name in _HEALTH if health.get(name) is not None},
        "clock_offset_ms": row["clock_offset_ms"],
        "alarm": "double" if is_doubled else "",
        "desired": {"version": row["desired_version"], "values": row["desired"]},
        "reported": {
            "version": row["reported_version"],
            "values": row["reported"],
            "refused": row["refused"],
        },
        "in_step": row["desired_version"] == row["reported_version"],
        "control": row["control"],
        "control_heard": row["control_heard"],
        "credentials": row["credentials"],
        "rotating": row["next_credentials"] > 0,
        "enrolled_at_ms": row["enrolled_at_ms"],
        "revoked_at_ms": row["revoked_at_ms"],
        "revoke_reason": row["revoke_reason"],
        "exclude_from_training": row["exclude_from_training"],
        "first_seen_ms": row["first_seen_ms"] or 0,
        "last_seen_ms": row["last_seen_ms"] or 0,
        "pending": row["pending"],
        "revision": row["revision"],
    }
