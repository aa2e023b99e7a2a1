"""What the service says about itself: health, metrics, episodes, events, campaign, releases.

/health and /metrics are open. Handlers are plain functions that read the database, so FastAPI runs
them in its thread pool.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated

import msgspec
import structlog
from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse

from cloud_learner.api_guard import guard
from cloud_learner.errors import StoreUnavailableError, UnknownRowError
from cloud_learner.fleet_desk import FleetDesk
from cloud_learner.release_store import ReleaseRow, ReleaseStore
from cloud_learner.report_store import EpisodeFilter, Fields, ReportStore
from cloud_learner.summary import JsonObject, curve
from cloud_learner.tokens import Scope, TokenFile
from sync.cloud_link import CloudCounters

_log = structlog.get_logger()
Limit = Annotated[int, Query(ge=1, le=1000)]
After = Annotated[int, Query(ge=0)]


@dataclass(frozen=True, slots=True)
class Sources:
    """What the API reads from.

    Attributes:
        broker_connected: whether the service has a connection to the broker now.
        summary: the campaign's figures so far; None before one began.
        wire: what the service's session counted since its start.
        blobs: what is kept of pictures, and what was taken of them since the start.
    """

    reports: ReportStore
    releases: ReleaseStore
    desk: FleetDesk
    token: TokenFile
    broker_connected: Callable[[], bool]
    summary: Callable[[], JsonObject | None]
    wire: Callable[[], CloudCounters]
    blobs: Callable[[], dict[str, int]]


def open_routes(parts: Sources) -> APIRouter:
    """Health and metrics, for machines that ask; open."""
    router = APIRouter()

    @router.get("/health")
    def health() -> Response:
        """Whether the service can do its work: database and broker."""
        connected = parts.broker_connected()
        found, reachable = None, True
        try:
            found = parts.reports.campaign()
        except StoreUnavailableError as error:
            _log.warning("store_unavailable", error=str(error))
            reachable = False
        is_well = connected and reachable
        content = {
            "status": "ok" if is_well else "degraded",
            "broker_connected": connected,
            "database_reachable": reachable,
            "phase": None if found is None else found[1].phase.value,
        }
        return JSONResponse(content, status_code=200 if is_well else 503)

    @router.get("/metrics")
    def metrics() -> Response:
        """Counters and gauges in Prometheus' text form."""
        return Response(_prometheus(parts), media_type="text/plain; version=0.0.4")

    return router


def data_routes(parts: Sources) -> APIRouter:
    """Phones, episodes and events."""
    router = APIRouter(dependencies=[Depends(guard(parts.token, Scope.READ))])

    @router.get("/v1/phones")
    def phones() -> list[Fields]:
        """Every device, its releases, and whether it is online."""
        return parts.reports.phones()

    @router.get("/v1/phones/{device_id}")
    def phone(device_id: str) -> Fields:
        """One device."""
        for row in parts.reports.phones():
            if row["device_id"] == device_id:
                return row
        raise UnknownRowError("phone", device_id)

    @router.get("/v1/episodes")
    def episodes(
        wanted: Annotated[EpisodeFilter, Depends()], after: After = 0, limit: Limit = 100
    ) -> list[Fields]:
        """Episodes in the order in which they were stored, without their steps."""
        return parts.reports.episodes(wanted, after=after, limit=limit)

    @router.get("/v1/episodes/{episode_id}")
    def episode(episode_id: str) -> Fields:
        """One episode with its steps and verdicts."""
        stored = parts.reports.episode(episode_id)
        return {
            **stored.row,
            "verdicts": list(stored.verdicts),
            "episode": msgspec.to_builtins(stored.episode),
        }

    @router.get("/v1/events")
    def events(after: After = 0, limit: Limit = 100) -> list[Fields]:
        """What devices reported: installs, reverts, refusals."""
        return parts.reports.events(after=after, limit=limit)

    return router


def campaign_routes(parts: Sources) -> APIRouter:
    """The campaign, the learner and the releases."""
    router = APIRouter(dependencies=[Depends(guard(parts.token, Scope.READ))])

    @router.get("/v1/releases")
    def releases() -> list[Fields]:
        """Every release with what its gate decided."""
        return [_release(row) for row in parts.releases.all()]

    @router.get("/v1/releases/{release_id}")
    def release(release_id: str) -> Fields:
        """One release."""
        return _release(parts.releases.get(release_id))

    @router.get("/v1/campaign")
    def campaign() -> Fields:
        """Phase, counts, learner and the curve so far."""
        found = parts.reports.campaign()
        if found is None:
            raise UnknownRowError("campaign", "1")
        settings, state, active_s = found
        return {
            "settings": msgspec.to_builtins(settings),
            "phase": state.phase.value,
            "promoted": state.promoted,
            "candidate": state.candidate,
            "notes": list(state.notes),
            "active_s": active_s,
            "batches": {name: asdict(tally) for name, tally in parts.reports.tallies().items()},
            "counts": parts.reports.counts(),
            "learner": parts.reports.learner(),
            "curve": curve(parts.releases.all()),
        }

    @router.get("/v1/learner")
    def learner(after: After = 0, limit: Limit = 200) -> list[Fields]:
        """The learner's metrics by round."""
        return parts.reports.learner_metrics(after=after, limit=limit)

    @router.get("/v1/summary")
    def summary() -> JsonObject:
        """The campaign's figures so far, as `outrider up --json` prints them at its end."""
        found = parts.summary()
        if found is None:
            raise UnknownRowError("campaign", "1")
        return found

    return router


def _release(row: ReleaseRow) -> Fields:
    return {**asdict(row), "state": row.state.value}


def _prometheus(parts: Sources) -> str:
    """Every count of the store as a metric of its own."""
    learner = parts.reports.learner()
    values: dict[str, float] = dict(parts.reports.counts())
    values |= parts.desk.counts()
    values |= {f"wire_{name}": count for name, count in asdict(parts.wire()).items()}
    values |= parts.blobs()
    values["releases"] = len(parts.releases.all())
    values["broker_connected"] = float(parts.broker_connected())
    values["learner_cpu_seconds"] = float(learner.get("cpu_s", 0.0))
    values["learner_rounds"] = float(learner.get("round", 0))
    lines = []
    for name, value in sorted(values.items()):
        lines.append(f"# TYPE outrider_{name} gauge")
        lines.append(f"outrider_{name} {value:g}")
    return "\n".join(lines) + "\n"
