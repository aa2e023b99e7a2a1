"""What the fleet's operator wants of devices: labels, settings, stop and start, new credentials.

Each method is one transaction, and idempotent where it is called twice with the same words. What a
device or the broker has to be told is left `pending` for `fleet_carrier`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import func, select, update

from cloud_learner import device_rows
from cloud_learner.errors import UnknownRowError
from cloud_learner.store import Database, row_count
from cloud_learner.tables import ASSIGNMENTS, DEVICES, EPISODES, PHONES
from sync.boot_watch import Double
from sync.clock import Clock
from sync.errors import RejectedError
from sync.settings_change import SettingsChange, changed

DAY_MS = 86_400_000


class ControlKind(StrEnum):
    """What an operator says to a device at once."""

    STOP = "stop"
    START = "start"


@dataclass(frozen=True, slots=True)
class RevokePreview:
    """What would become of a device's data and work."""

    device_id: str
    online: bool
    episodes: int
    env_steps: int
    unplayed: int


class DeviceStore:
    """The operator's view of the cloud database; safe to use from any thread."""

    def __init__(self, database: Database, *, clock: Clock, new_id: Callable[[], str]) -> None:
        self._database = database
        self._clock = clock
        self._new_id = new_id

    def label(self, device_ids: Sequence[str], labels: Mapping[str, str | None]) -> None:
        """Set labels of devices; None takes one away."""
        with self._database.write() as connection:
            for device_id in device_ids:
                known = {**device_rows.ensure(connection, device_id)["labels"], **labels}
                kept = {name: value for name, value in known.items() if value is not None}
                device_rows.change(connection, [device_id], labels=kept)

    def desire(
        self,
        device_ids: Sequence[str],
        values: SettingsChange,
        *,
        expected_version: int | None = None,
    ) -> dict[str, int]:
        """Change some of the settings that devices are to have; the new version of each.

        Args:
            expected_version: of the settings that the change was made from; None takes any.

        Raises: RejectedError: somebody else changed them meanwhile (reason "conflict"); nothing
            was changed.
        """
        versions: dict[str, int] = {}
        with self._database.write() as connection:
            for device_id in device_ids:
                row = device_rows.ensure(connection, device_id)
                if expected_version not in {None, row["desired_version"]}:
                    raise RejectedError(
                        f"{device_id} is at version {row['desired_version']}, not "
                        f"{expected_version}: look again, then set",
                        reason="conflict",
                    )
                versions[device_id] = max(row["desired_version"], row["reported_version"]) + 1
                device_rows.change(
                    connection,
                    [device_id],
                    desired=changed(row["desired"], values),
                    desired_version=versions[device_id],
                    pending=True,
                )
        return versions

    def control(
        self, device_ids: Sequence[str], kind: ControlKind, *, reason: str = "", until_ms: int = 0
    ) -> str:
        """Stop or start devices, now or when they come back; the id of the command."""
        control = {
            "kind": kind.value,
            "control_id": self._new_id(),
            "reason": reason,
            "until_ms": until_ms,
            "at_ms": self._clock.wall_ms(),
        }
        with self._database.write() as connection:
            for device_id in device_ids:
                device_rows.ensure(connection, device_id)
            device_rows.change(
                connection, device_ids, control=control, control_heard=False, pending=True
            )
        return str(control["control_id"])

    def public_key(self, device_id: str) -> bytes | None:
        """The key of an enrolled device; None for any other, and once it was revoked."""
        with self._database.read() as connection:
            row = device_rows.find(connection, device_id)
        if row is None or not row["public_key"] or row["revoked_at_ms"]:
            return None
        return bytes.fromhex(row["public_key"])

    def rotate(self, device_id: str, *, days: float) -> int:
        """Ask for new credentials of an enrolled device; the version that they will have.

        Args:
            days: after which the old ones end, even where the new ones were never taken.

        Raises:
            UnknownRowError: no such device.
            RejectedError: it was never enrolled, or was revoked.
        """
        with self._database.write() as connection:
            row = device_rows.find(connection, device_id)
            if row is None:
                raise UnknownRowError("device", device_id)
            if not row["enrolled_at_ms"] or row["revoked_at_ms"]:
                raise RejectedError(
                    f"{device_id} has no credentials of its own: enrol it with outrider fleet "
                    "invite and outrider phone enroll",
                    reason="not_enrolled",
                )
            version = int(row["next_credentials"]) or int(row["credentials"]) + 1
            device_rows.change(
                connection,
                [device_id],
                next_credentials=version,
                rotate_until_ms=self._clock.wall_ms() + round(days * DAY_MS),
                pending=True,
            )
        return version

    def preview_revoke(self, device_id: str) -> RevokePreview:
        """What revoking a device would touch.

        Raises: UnknownRowError: no such device.
        """
        with self._database.read() as connection:
            if device_rows.find(connection, device_id) is None:
                raise UnknownRowError("device", device_id)
            mine = EPISODES.c.device_id == device_id
            steps = connection.execute(select(func.sum(EPISODES.c.n_steps)).where(mine)).scalar()
            return RevokePreview(
                device_id=device_id,
                online=row_count(
                    connection, PHONES, PHONES.c.device_id == device_id, PHONES.c.online.is_(True)
                )
                > 0,
                episodes=row_count(connection, EPISODES, mine),
                env_steps=int(steps or 0),
                unplayed=row_count(connection, ASSIGNMENTS, *_unplayed(device_id)),
            )

    def revoke(self, device_id: str, *, reason: str, forget_data: bool) -> None:
        """Let a device in no more, for good. Idempotent; `forget_data` can be added later.

        Args:
            forget_data: nothing that it sent is trained on from now on.

        Raises: UnknownRowError: no such device.
        """
        now_ms = self._clock.wall_ms()
        with self._database.write() as connection:
            row = device_rows.find(connection, device_id)
            if row is None:
                raise UnknownRowError("device", device_id)
            excluded = bool(row["exclude_from_training"]) or forget_data
            device_rows.change(
                connection,
                [device_id],
                revoked_at_ms=row["revoked_at_ms"] or now_ms,
                revoke_reason=reason or row["revoke_reason"],
                exclude_from_training=excluded,
                next_credentials=0,
                pending=True,
            )
            connection.execute(
                update(ASSIGNMENTS)
                .where(*_unplayed(device_id), ASSIGNMENTS.c.reserved_for != device_id)
                .values(state="open", device_id="")
            )
            connection.execute(
                update(ASSIGNMENTS)
                .where(
                    ASSIGNMENTS.c.reserved_for == device_id,
                    ASSIGNMENTS.c.state.in_(["open", "sent"]),
                )
                .values(state="cancelled")
            )
            connection.execute(
                update(PHONES).where(PHONES.c.device_id == device_id).values(online=False)
            )
            if not row["revoked_at_ms"]:
                fields = {"reason": reason, "data_excluded": str(excluded).lower()}
                device_rows.record_cloud_event(
                    connection, device_id, "revoked", fields, now_ms=now_ms
                )

    def note_double(self, double: Double) -> None:
        """Two processes use one device's name: raise the alarm."""
        now_ms = self._clock.wall_ms()
        fields = {
            "how": double.how,
            "boot_id": double.boot_id,
            "other_boot_id": double.other_boot_id,
        }
        with self._database.write() as connection:
            device_rows.ensure(connection, double.device_id)
            device_rows.change(connection, [double.device_id], doubled_at_ms=now_ms)
            device_rows.record_cloud_event(
                connection, double.device_id, "device_doubled", fields, now_ms=now_ms
            )

    def pending(self, limit: int) -> list[device_rows.Values]:
        """Devices that they, or the broker, have yet to be told something of."""
        statement = select(DEVICES).where(DEVICES.c.pending.is_(True)).limit(limit)
        with self._database.read() as connection:
            return [dict(row) for row in connection.execute(statement).mappings()]

    def settle(self, row: device_rows.Values) -> None:
        """What was pending in `row` is done, unless something was wanted meanwhile."""
        with self._database.write() as connection:
            connection.execute(
                update(DEVICES)
                .where(
                    DEVICES.c.device_id == row["device_id"],
                    DEVICES.c.revision == row["revision"],
                )
                .values(pending=False)
            )

    def end_overdue_rotations(self) -> list[str]:
        """Let old credentials end whose deadline has passed, taken or not; of which devices."""
        overdue = (
            DEVICES.c.next_credentials > DEVICES.c.credentials,
            DEVICES.c.rotate_until_ms < self._clock.wall_ms(),
        )
        with self._database.read() as connection:
            found = connection.execute(select(DEVICES.c.device_id).where(*overdue)).scalars().all()
        if found:
            with self._database.write() as connection:
                connection.execute(
                    update(DEVICES)
                    .where(DEVICES.c.device_id.in_(found), *overdue)
                    .values(credentials=DEVICES.c.next_credentials, pending=True)
                )
        return list(found)

    def counts(self) -> dict[str, int]:
        """How many devices are how, for the metrics."""
        since_ms = self._clock.wall_ms() - DAY_MS // 24
        behind = DEVICES.c.desired_version > DEVICES.c.reported_version
        with self._database.read() as connection:
            return {
                "devices": row_count(connection, DEVICES),
                "devices_enrolled": row_count(connection, DEVICES, DEVICES.c.enrolled_at_ms > 0),
                "devices_revoked": row_count(connection, DEVICES, DEVICES.c.revoked_at_ms > 0),
                "devices_doubled": row_count(
                    connection, DEVICES, DEVICES.c.doubled_at_ms > since_ms
                ),
                "devices_behind_settings": row_count(connection, DEVICES, behind),
                "devices_pending": row_count(connection, DEVICES, DEVICES.c.pending.is_(True)),
            }


def _unplayed(device_id: str) -> tuple[Any, ...]:  # Any: SQL expressions
    return (ASSIGNMENTS.c.device_id == device_id, ASSIGNMENTS.c.state == "sent")
