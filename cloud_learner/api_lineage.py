"""Lineage over HTTP: from a logged step to data, from a release to steps, from a device to both."""

from __future__ import annotations

from dataclasses import asdict
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query

from cloud_learner.api_guard import guard
from cloud_learner.lineage_store import LineageStore
from cloud_learner.tokens import Scope, TokenFile

Fields = dict[str, Any]  # JSON


def lineage_routes(lineage: LineageStore, token: TokenFile) -> APIRouter:
    """What releases were trained on, and what their policies did."""
    router = APIRouter(dependencies=[Depends(guard(token, Scope.READ))])

    @router.get("/v1/releases/{release_id}/lineage")
    def release(release_id: str) -> list[Fields]:
        """What a release was trained on, adapter by adapter, its own first."""
        return [asdict(one) for one in lineage.of_release(release_id)]

    @router.get("/v1/releases/{release_id}/trained")
    def trained(
        release_id: str,
        after: Annotated[int, Query(ge=0)] = 0,
        limit: Annotated[int, Query(ge=1, le=1000)] = 1000,
    ) -> list[Fields]:
        """The episodes whose steps it was trained on, page by page: `after` is the last row."""
        found = lineage.episodes_of(release_id, after=after)
        return [asdict(one) for one in islice(found, limit)]

    @router.get("/v1/episodes/{episode_id}/lineage")
    def step(episode_id: str, step: int | None = None) -> Fields:
        """Which release acted in a step, what that was trained on, and who learnt from it."""
        return asdict(lineage.of_step(episode_id, step))

    @router.get("/v1/phones/{device_id}/lineage")
    def device(device_id: str) -> Fields:
        """Which adapters and releases ever learnt from a device's episodes."""
        return asdict(lineage.of_device(device_id))

    return router
