"""The fleet as its operator meets it, behind the API and the command line: values in and out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field

from cloud_learner.device_store import ControlKind, DeviceStore
from cloud_learner.enrolment_store import EnrolmentStore
from cloud_learner.fleet_list import Chosen, Fields, FleetList
from cloud_learner.order_limits import check_labels
from cloud_learner.store import Database
from cloud_learner.task_store import ENDED, TaskOrder, TaskStore
from sync.clock import Clock
from sync.errors import RejectedError
from sync.settings_change import SettingsChange

MOST_INVITED = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Which:
    """Which devices an order is for: names, a filter, or all of them."""

    devices: list[str] = field(default_factory=list)
    where: str = ""
    everyone: bool = False

    def chosen(self) -> Chosen:
        """The choice, checked.

        Raises: RejectedError: not exactly one of the three is said.
        """
        if bool(self.devices) + bool(self.where) + self.everyone != 1:
            raise RejectedError(
                "say which devices: names, a filter, or everyone", reason="malformed"
            )
        return Chosen(tuple(self.devices), self.where, self.everyone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """How many phones may come in, and what they are to be called by."""

    count: int = 1
    minutes: float = 60.0
    labels: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not (1 <= self.count <= MOST_INVITED and 0 < self.minutes <= 60 * 24 * 7):
            raise ValueError(f"1 to {MOST_INVITED} tokens, for at most a week")
        check_labels(self.labels)


class FleetDesk:
    """Every order of the fleet's operator; safe to use from any thread.

    Methods raise `RejectedError` with a reason code: "unknown", "malformed", "conflict",
    "not_enrolled".
    """

    def __init__(self, database: Database, *, clock: Clock, new_id: Callable[[], str]) -> None:
        self.list = FleetList(database, clock=clock)
        self.store = DeviceStore(database, clock=clock, new_id=new_id)
        self.claims = EnrolmentStore(database, clock=clock)
        self.task_store = TaskStore(database, clock=clock, new_id=new_id)

    def devices(self, *, where: str = "", after: str = "", limit: int = 100) -> Fields:
        """One page of devices; `next` is where the following one begins, "" at the end."""
        rows = self.list.page(where, after=after, limit=limit)
        is_full = len(rows) == limit
        return {"devices": rows, "next": rows[-1]["device_id"] if is_full else ""}

    def device(self, device_id: str) -> Fields:
        """One device."""
        return self.list.device(device_id)

    def changes(self, *, after: int = 0, where: str = "", limit: int = 1000) -> Fields:
        """Devices that changed after a revision; negative starts at what is now."""
        if after < 0:
            return {"devices": [], "revision": self.list.latest_revision()}
        rows, revision = self.list.changes(after, where=where, limit=limit)
        return {"devices": rows, "revision": revision}

    def label(self, which: Which, labels: Mapping[str, str | None]) -> Fields:
        """Set labels; None takes one away."""
        names = self.list.names(which.chosen())
        self.store.label(names, labels)
        return {"devices": list(names)}

    def desire(
        self,
        which: Which,
        values: SettingsChange,
        *,
        expected_version: int | None = None,
    ) -> Fields:
        """Change settings that devices are to have; the new version of each."""
        names = self.list.names(which.chosen())
        versions = self.store.desire(names, values, expected_version=expected_version)
        return {"versions": versions}

    def control(
        self, which: Which, kind: ControlKind, *, reason: str = "", until_ms: int = 0
    ) -> Fields:
        """Stop or start devices."""
        names = self.list.names(which.chosen())
        control_id = self.store.control(names, kind, reason=reason, until_ms=until_ms)
        return {"devices": list(names), "control_id": control_id}

    def give(self, which: Which, order: TaskOrder) -> Fields:
        """Give devices something to do."""
        names = self.list.names(which.chosen())
        if not names:
            raise RejectedError("no device is meant: see outrider fleet list", reason="unknown")
        return {"task_id": self.task_store.give(names, order), "devices": list(names)}

    def task(self, task_id: str) -> Fields:
        """How far a task is."""
        rows = self.task_store.rows(task_id)
        return {
            "task_id": task_id,
            "ended": all(row["state"] in ENDED for row in rows),
            "devices": rows,
        }

    def tasks(self, *, device_id: str = "", limit: int = 100) -> list[Fields]:
        """The newest tasks."""
        return self.task_store.latest(device_id=device_id, limit=limit)

    def cancel(self, task_id: str) -> Fields:
        """Let a task go where it was not played."""
        return {"task_id": task_id, "cancelled": self.task_store.cancel(task_id)}

    def invite(self, invitation: Invitation) -> list[Fields]:
        """Tokens that let phones in; they are shown this once."""
        claims = self.claims.invite(
            invitation.count, minutes=invitation.minutes, labels=invitation.labels
        )
        return [asdict(claim) for claim in claims]

    def rotate(self, device_id: str, *, days: float) -> Fields:
        """Ask for new credentials of a device."""
        return {"device_id": device_id, "version": self.store.rotate(device_id, days=days)}

    def preview_revoke(self, device_id: str) -> Fields:
        """What revoking a device would touch."""
        return asdict(self.store.preview_revoke(device_id))

    def revoke(self, device_id: str, *, reason: str = "", forget_data: bool = False) -> Fields:
        """Let a device in no more."""
        self.store.revoke(device_id, reason=reason, forget_data=forget_data)
        return self.list.device(device_id)

    def counts(self) -> dict[str, int]:
        """Figures for the metrics."""
        return {
            **self.store.counts(),
            **self.task_store.counts(),
            "claims_open": self.claims.open_claims(),
        }
