"""The fleet under /v1/fleet, and the way in under /v1/enrolment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from cloud_learner.device_store import ControlKind
from cloud_learner.enroller import Enroller
from cloud_learner.fleet_desk import FleetDesk, Invitation, Which
from cloud_learner.order_limits import (
    MOST_DAYS,
    MOST_INT,
    check_labels,
    check_text,
    check_values,
    check_whole,
)
from cloud_learner.task_store import TaskOrder
from sync.enrolment import MAX_REQUEST_BYTES, encode_enrolment, read_request
from sync.errors import RejectedError
from sync.messages import SettingValue

Fields = dict[str, Any]  # JSON
Guard = Callable[..., None]
"""A dependency that raises where somebody may not; whoever has the database needs none."""
Limit = Annotated[int, Query(ge=1, le=1000)]
Revision = Annotated[int, Query(ge=-1, le=MOST_INT)]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelOrder:
    """Labels of devices; null takes one away."""

    which: Which
    labels: dict[str, str | None]

    def __post_init__(self) -> None:
        check_labels(self.labels)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsOrder:
    """Settings that devices are to have; null takes one away.

    `expected_version` guards against a change meanwhile.
    """

    which: Which
    values: dict[str, SettingValue | None]
    expected_version: int | None = None

    def __post_init__(self) -> None:
        check_values(self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlOrder:
    """A stop or start; a start ends by itself at `until_ms` where that is not 0."""

    which: Which
    reason: str = ""
    until_ms: int = 0

    def __post_init__(self) -> None:
        check_text(self.reason, "reason")
        check_whole(self.until_ms, "until_ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenTask:
    """Something to do, and for whom."""

    which: Which
    order: TaskOrder


@dataclass(frozen=True, slots=True, kw_only=True)
class RotateOrder:
    """After how many days the old credentials end, taken or not."""

    days: float = 7.0

    def __post_init__(self) -> None:
        if not 0 <= self.days <= MOST_DAYS:
            raise ValueError(f"days: from 0 to {MOST_DAYS:.0f}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeOrder:
    """Why a device is let in no more, and whether what it sent is still trained on."""

    reason: str = ""
    forget_data: bool = False

    def __post_init__(self) -> None:
        check_text(self.reason, "reason")


def reading(desk: FleetDesk, *, guarded_by: Guard = lambda: None) -> APIRouter:
    """What the fleet is like."""
    router = APIRouter(prefix="/v1/fleet", dependencies=[Depends(guarded_by)])

    @router.get("/devices")
    def devices(where: str = "", after: str = "", limit: Limit = 100) -> Fields:
        """One page of devices that meet a filter, in order of names."""
        return desk.devices(where=where, after=after, limit=limit)

    @router.get("/devices/{device_id}")
    def device(device_id: str) -> Fields:
        """One device."""
        return desk.device(device_id)

    @router.get("/changes")
    def changes(after: Revision = 0, where: str = "", limit: Limit = 1000) -> Fields:
        """Devices that changed after a revision; -1 asks for the revision only."""
        return desk.changes(after=after, where=where, limit=limit)

    @router.get("/tasks")
    def tasks(device_id: str = "", limit: Limit = 100) -> list[Fields]:
        """The newest tasks, of all devices or of one."""
        return desk.tasks(device_id=device_id, limit=limit)

    @router.get("/tasks/{task_id}")
    def task(task_id: str) -> Fields:
        """How far a task is on each device."""
        return desk.task(task_id)

    @router.get("/devices/{device_id}/revocation")
    def preview(device_id: str) -> Fields:
        """What revoking a device would touch."""
        return desk.preview_revoke(device_id)

    return router


def operating(desk: FleetDesk, *, guarded_by: Guard = lambda: None) -> APIRouter:
    """What an operator wants of the fleet."""
    router = APIRouter(prefix="/v1/fleet", dependencies=[Depends(guarded_by)])

    @router.post("/labels")
    def label(order: LabelOrder) -> Fields:
        """Set or take away labels."""
        return desk.label(order.which, order.labels)

    @router.post("/settings")
    def desire(order: SettingsOrder) -> Fields:
        """Change settings; the device checks each and reports what it took."""
        return desk.desire(order.which, order.values, expected_version=order.expected_version)

    @router.post("/control/{kind}")
    def control(kind: ControlKind, order: ControlOrder) -> Fields:
        """Stop or start devices; who is away hears of it on coming back."""
        return desk.control(order.which, kind, reason=order.reason, until_ms=order.until_ms)

    @router.post("/tasks/{task_id}/cancellation")
    def cancel(task_id: str) -> Fields:
        """Let a task go where it was not played."""
        return desk.cancel(task_id)

    @router.post("/devices/{device_id}/rotation")
    def rotate(device_id: str, order: RotateOrder) -> Fields:
        """Ask for new credentials of a device."""
        return desk.rotate(device_id, days=order.days)

    @router.post("/devices/{device_id}/revocation")
    def revoke(device_id: str, order: RevokeOrder) -> Fields:
        """Let a device in no more, for good."""
        return desk.revoke(device_id, reason=order.reason, forget_data=order.forget_data)

    @router.post("/tasks")
    def give(given: GivenTask) -> Fields:
        """Give devices something to do, each once."""
        return desk.give(given.which, given.order)

    @router.post("/invitations")
    def invite(invitation: Invitation) -> list[Fields]:
        """Make claim tokens; they are shown this once."""
        return desk.invite(invitation)

    return router


def entering(enroller: Enroller) -> APIRouter:
    """The way in: open to whoever has a claim token."""
    router = APIRouter(prefix="/v1")

    @router.post("/enrolment")
    async def enrol(request: Request) -> Response:
        """Let a phone in that shows a claim token and signs with its own key."""
        data = b""
        async for piece in request.stream():
            data += piece
            if len(data) > MAX_REQUEST_BYTES:
                raise RejectedError("an enrolment request is at most 16 kB", reason="too_large")
        asked = read_request(data)
        given = await run_in_threadpool(enroller.enrol, asked)
        return Response(encode_enrolment(given), media_type="application/json")

    return router
