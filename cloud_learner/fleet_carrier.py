"""Carries out what the operator wants of devices: tells them, and changes the broker's accounts.

One thread calls `tick` again and again. What is wanted stands in the database as `pending`, and
only stops being so when it was carried out; a kill in between carries it out again, which changes
nothing: every message has a version or an id, every account change is idempotent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import structlog

from cloud_learner.device_store import ControlKind, DeviceStore
from cloud_learner.ports import Downlink
from cloud_learner.task_store import TaskStore
from sync.broker_accounts import BrokerAccounts, random_password
from sync.clock import Clock
from sync.durable_file import write_durably
from sync.errors import BrokerError
from sync.messages import Cancel, DesiredSettings, DownMessage, NewCredentials, Start, Stop
from sync.vocabulary import AssignmentId

Row = Mapping[str, Any]  # column name to value

_log = structlog.get_logger()
_AT_ONCE: Final = 500
LOOK_S: Final = 1.0
"""How often deadlines are looked at."""
RETRY_S: Final = 5.0
"""How long after the broker refused to change a device's account that is tried again."""


class FleetCarrier:
    """Tells devices and the broker; used by one thread.

    Args:
        accounts: of the broker; None where somebody else keeps them.
        secrets_dir: where new passwords lie until their device has taken them.
    """

    def __init__(
        self,
        devices: DeviceStore,
        tasks: TaskStore,
        *,
        downlink: Downlink,
        accounts: BrokerAccounts | None,
        secrets_dir: Path,
        clock: Clock,
    ) -> None:
        self._devices = devices
        self._tasks = tasks
        self._downlink = downlink
        self._accounts = accounts
        self._secrets_dir = secrets_dir
        self._clock = clock
        self._look_at_s = clock.monotonic_s()
        self._retry_at_s: dict[str, float] = {}

    def tick(self) -> int:
        """Carry out what is pending; for how many devices.

        Raises: TransientError: there is no connection, or the database is busy; call again.
        """
        now_s = self._clock.monotonic_s()
        if now_s >= self._look_at_s:
            self._look_at_s = now_s + LOOK_S
            self._tasks.expire()
            if untaken := self._devices.end_overdue_rotations():
                _log.warning("credentials_ended_untaken", device_ids=untaken)
        rows = [
            row
            for row in self._devices.pending(_AT_ONCE)
            if now_s >= self._retry_at_s.get(row["device_id"], now_s)
        ]
        revoked = self._done([row for row in rows if row["revoked_at_ms"]], self._lock_out)
        others = [row for row in rows if not row["revoked_at_ms"]]
        return len(self._done([*revoked, *others], self._carry))

    def _done(self, rows: Sequence[Row], deed: Callable[[Row], None]) -> list[Row]:
        """Do something for devices; those for which the broker took it.

        An account that the broker does not change holds up no other device, unless that takes long.
        """
        done = []
        began_s = self._clock.monotonic_s()
        for row in rows:
            device_id = row["device_id"]
            try:
                deed(row)
            except BrokerError as error:
                _log.warning("account_unchanged", device_id=device_id, error=str(error))
                now_s = self._clock.monotonic_s()
                self._retry_at_s[device_id] = now_s + RETRY_S
                if now_s - began_s > RETRY_S:
                    break
            else:
                done.append(row)
                self._retry_at_s.pop(device_id, None)
        return done

    def _lock_out(self, row: Row) -> None:
        """End what a revoked device can connect with; no connection of ours is needed for that."""
        if self._accounts is not None:
            self._accounts.remove_device(row["device_id"])
        self._secret_file(row["device_id"]).unlink(missing_ok=True)

    def _carry(self, row: Row) -> None:
        if row["revoked_at_ms"]:
            self._downlink.forget(row["device_id"])
        else:
            self._tell(row)
        self._devices.settle(row)

    def _tell(self, row: Row) -> None:
        for message in self._messages(row):
            self._downlink.send(row["device_id"], message)
        if row["next_credentials"]:
            self._rotate(row)
        else:
            self._secret_file(row["device_id"]).unlink(missing_ok=True)

    def _messages(self, row: Row) -> list[DownMessage]:
        messages: list[DownMessage] = []
        if row["control"] and not row["control_heard"]:
            messages.append(_control(row["control"]))
        if row["desired_version"] > row["reported_version"]:
            messages.append(
                DesiredSettings(
                    version=row["desired_version"],
                    values=row["desired"],
                    at_ms=self._clock.wall_ms(),
                )
            )
        if cancelled := self._tasks.cancelled(row["device_id"]):
            messages.append(Cancel(assignment_ids=tuple(map(AssignmentId, cancelled))))
        return messages

    def _rotate(self, row: Row) -> None:
        """Offer new credentials; make them valid once the device has them on disk."""
        device_id, version = row["device_id"], row["next_credentials"]
        password = self._secret(device_id, version)
        if row["credentials"] < version:
            self._downlink.send(device_id, NewCredentials(version=version, password=password))
        elif self._accounts is not None:
            self._accounts.set_password(device_id, password)

    def _secret(self, device_id: str, version: int) -> str:
        """The new password of a device, made once."""
        path = self._secret_file(device_id)
        try:
            known = msgspec.json.decode(path.read_bytes(), type=_Secret)
            if known.version == version:
                return known.password
        except (FileNotFoundError, msgspec.MsgspecError):
            pass
        fresh = _Secret(version, random_password())
        self._secrets_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_durably(path, msgspec.json.encode(fresh), mode=0o600)
        return fresh.password

    def _secret_file(self, device_id: str) -> Path:
        return self._secrets_dir / f"{device_id}.json"


class _Secret(msgspec.Struct, frozen=True):
    """A password that a device is to take."""

    version: int
    password: str


def _control(said: Row) -> Stop | Start:
    if said["kind"] == ControlKind.STOP:
        return Stop(control_id=said["control_id"], reason=said["reason"], at_ms=said["at_ms"])
    return Start(control_id=said["control_id"], until_ms=said["until_ms"], at_ms=said["at_ms"])
