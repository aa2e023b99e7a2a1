"""The cloud service's API under /v1: what the fleet did and how the campaign stands. Read only.

/health and /metrics are open; everything under /v1 needs the bearer token. Handlers are plain
functions that read the database, so FastAPI runs them in its thread pool.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated

import msgspec
from fastapi import Depends, FastAPI, HTTPException, Query, Request, Response
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from cloud_learner.errors import UnknownRowError
from cloud_learner.release_store import ReleaseRow, ReleaseStore
from cloud_learner.report_store import EpisodeFilter, Fields, ReportStore
from cloud_learner.summary import JsonObject, curve
from cloud_learner.tokens import TokenFile
from sync.errors import TransientError

_BEARER = HTTPBearer(auto_error=False)
Limit = Annotated[int, Query(ge=1, le=1000)]
After = Annotated[int, Query(ge=0)]


@dataclass(frozen=True, slots=True)
class ApiParts:
    """What the API reads from.

    Attributes:
        broker_connected: whether the service has a connection to the broker now.
        summary: the campaign's figures so far; None before one began.
    """

    reports: ReportStore
    releases: ReleaseStore
    token: TokenFile
    broker_connected: Callable[[], bool]
    summary: Callable[[], JsonObject | None]


def build_api(parts: ApiParts) -> FastAPI:
    """The application, ready to be served."""
    app = FastAPI(title="Outrider cloud service", version="1", docs_url=None, redoc_url=None)
    app.exception_handler(UnknownRowError)(_unknown)
    app.exception_handler(TransientError)(_unavailable)
    _add_open(app, parts)
    _add_fleet(app, parts)
    _add_campaign(app, parts)
    return app


def _guard(token: TokenFile) -> Callable[[HTTPAuthorizationCredentials | None], None]:
    def check(
        credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)],
    ) -> None:
        if credentials is None or not token.accepts(credentials.credentials):
            raise HTTPException(
                status_code=401,
                detail="send the bearer token of this service; `outrider cloud token` makes one",
                headers={"WWW-Authenticate": "Bearer"},
            )

    return check


def _add_open(app: FastAPI, parts: ApiParts) -> None:
    @app.get("/health")
    def health() -> Response:
        """Whether the service can do its work: database and broker."""
        connected = parts.broker_connected()
        found = parts.reports.campaign()
        content = {
            "status": "ok" if connected else "degraded",
            "broker_connected": connected,
            "phase": None if found is None else found[1].phase.value,
        }
        return JSONResponse(content, status_code=200 if connected else 503)

    @app.get("/metrics")
    def metrics() -> Response:
        """Counters and gauges in Prometheus' text form."""
        return Response(_prometheus(parts), media_type="text/plain; version=0.0.4")


def _add_fleet(app: FastAPI, parts: ApiParts) -> None:
    guarded = [Depends(_guard(parts.token))]

    @app.get("/v1/phones", dependencies=guarded)
    def phones() -> list[Fields]:
        """Every device, its releases, and whether it is online."""
        return parts.reports.phones()

    @app.get("/v1/phones/{device_id}", dependencies=guarded)
    def phone(device_id: str) -> Fields:
        """One device."""
        for row in parts.reports.phones():
            if row["device_id"] == device_id:
                return row
        raise UnknownRowError("phone", device_id)

    @app.get("/v1/episodes", dependencies=guarded)
    def episodes(
        wanted: Annotated[EpisodeFilter, Depends()], after: After = 0, limit: Limit = 100
    ) -> list[Fields]:
        """Episodes in the order in which they were stored, without their steps."""
        return parts.reports.episodes(wanted, after=after, limit=limit)

    @app.get("/v1/episodes/{episode_id}", dependencies=guarded)
    def episode(episode_id: str) -> Fields:
        """One episode with its steps and verdicts."""
        stored = parts.reports.episode(episode_id)
        return {
            **stored.row,
            "verdicts": list(stored.verdicts),
            "episode": msgspec.to_builtins(stored.episode),
        }

    @app.get("/v1/events", dependencies=guarded)
    def events(after: After = 0, limit: Limit = 100) -> list[Fields]:
        """What devices reported: installs, reverts, refusals."""
        return parts.reports.events(after=after, limit=limit)


def _add_campaign(app: FastAPI, parts: ApiParts) -> None:
    guarded = [Depends(_guard(parts.token))]

    @app.get("/v1/releases", dependencies=guarded)
    def releases() -> list[Fields]:
        """Every release with what its gate decided."""
        return [_release(row) for row in parts.releases.all()]

    @app.get("/v1/releases/{release_id}", dependencies=guarded)
    def release(release_id: str) -> Fields:
        """One release."""
        return _release(parts.releases.get(release_id))

    @app.get("/v1/campaign", dependencies=guarded)
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

    @app.get("/v1/learner", dependencies=guarded)
    def learner(after: After = 0, limit: Limit = 200) -> list[Fields]:
        """The learner's metrics by round."""
        return parts.reports.learner_metrics(after=after, limit=limit)

    @app.get("/v1/summary", dependencies=guarded)
    def summary() -> JsonObject:
        """The campaign's figures so far, as `outrider up --json` prints them at its end."""
        found = parts.summary()
        if found is None:
            raise UnknownRowError("campaign", "1")
        return found


def _release(row: ReleaseRow) -> Fields:
    return {**asdict(row), "state": row.state.value}


def _unknown(_request: Request, error: Exception) -> Response:
    return JSONResponse({"detail": str(error)}, status_code=404)


def _unavailable(_request: Request, error: Exception) -> Response:
    return JSONResponse({"detail": str(error)}, status_code=503)


def _prometheus(parts: ApiParts) -> str:
    """Every count of the store as a metric of its own."""
    learner = parts.reports.learner()
    values: dict[str, float] = dict(parts.reports.counts())
    values["releases"] = len(parts.releases.all())
    values["broker_connected"] = float(parts.broker_connected())
    values["learner_cpu_seconds"] = float(learner.get("cpu_s", 0.0))
    values["learner_rounds"] = float(learner.get("round", 0))
    lines = []
    for name, value in sorted(values.items()):
        lines.append(f"# TYPE outrider_{name} gauge")
        lines.append(f"outrider_{name} {value:g}")
    return "\n".join(lines) + "\n"
