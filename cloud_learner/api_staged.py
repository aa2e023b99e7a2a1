"""Staged releases under /v1/staged-releases: plan, approve, watch, pause, resume, abort."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from pydantic import Field

from cloud_learner.api_guard import signed_for
from cloud_learner.staged_desk import StagedDesk, StagingOrder
from cloud_learner.staged_release import Abort, Approve, Pause, Resume

Fields = dict[str, Any]  # JSON
Guard = Callable[..., None]
Who = Annotated[str, Field(min_length=1, max_length=64)]
Why = Annotated[str, Field(min_length=1, max_length=500)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonsWord:
    """What a person says to a staged release, and why."""

    who: Who
    reason: Why


def reading_staged(desk: StagedDesk, *, guarded_by: Guard = lambda: None) -> APIRouter:
    """How staged releases stand."""
    router = APIRouter(prefix="/v1/staged-releases", dependencies=[Depends(guarded_by)])

    @router.get("")
    def all_staged() -> list[Fields]:
        """Every staged release, the oldest first."""
        return desk.all()

    @router.get("/{release_id}")
    def one_staged(release_id: str) -> Fields:
        """One staged release: its plan, where it stands, its phones, its latest figures."""
        return desk.status(release_id)

    @router.get("/{release_id}/audit-log")
    def audit_log(release_id: str) -> Fields:
        """Who did what, when and why; and whether the log is as it was written."""
        return desk.audit_log(release_id)

    @router.post("/{release_id}/preview")
    def preview(release_id: str, order: StagingOrder) -> Fields:
        """What a plan would come to: phones of each stage, tasks and days. Changes nothing."""
        return desk.preview(release_id, order)

    return router


def operating_staged(desk: StagedDesk, *, guarded_by: Guard = lambda: None) -> APIRouter:
    """What a person may do to them."""
    router = APIRouter(prefix="/v1/staged-releases", dependencies=[Depends(guarded_by)])

    @router.post("/{release_id}")
    def stage(release_id: str, order: StagingOrder, request: Request) -> Fields:
        """Draft a staged release, and approve it where that is said."""
        return desk.stage(release_id, replace(order, who=signed_for(request, order.who)))

    @router.post("/{release_id}/approve")
    def approve(release_id: str, word: PersonsWord, request: Request) -> Fields:
        """Agree to a draft."""
        return desk.tell(release_id, Approve(signed_for(request, word.who), word.reason))

    @router.post("/{release_id}/pause")
    def pause(release_id: str, word: PersonsWord, request: Request) -> Fields:
        """Stop it from widening; who has it keeps it."""
        return desk.tell(release_id, Pause(signed_for(request, word.who), word.reason))

    @router.post("/{release_id}/resume")
    def resume(release_id: str, word: PersonsWord, request: Request) -> Fields:
        """Let it go on."""
        return desk.tell(release_id, Resume(signed_for(request, word.who), word.reason))

    @router.post("/{release_id}/abort")
    def abort(release_id: str, word: PersonsWord, request: Request) -> Fields:
        """Take it back."""
        return desk.tell(release_id, Abort(signed_for(request, word.who), word.reason))

    return router
