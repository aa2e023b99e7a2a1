"""The cloud service's API: what the fleet did and how the campaign stands, and the fleet's helm.

/health and /metrics are open, and /v1/enrolment is open to claim tokens; everything else under /v1
needs a bearer token: to read, or to operate. Each topic has its routes in a module of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import structlog
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from cloud_learner import api_blobs, api_files, api_fleet, api_lineage, api_reports, api_staged
from cloud_learner.api_guard import guard
from cloud_learner.api_reports import Sources
from cloud_learner.blob_store import BlobStore
from cloud_learner.enroller import Enroller
from cloud_learner.errors import StoreUnavailableError
from cloud_learner.fleet_desk import FleetDesk
from cloud_learner.lineage_store import LineageStore
from cloud_learner.staged_desk import StagedDesk
from cloud_learner.tokens import Scope
from sync.clock import Clock
from sync.errors import BrokerError, RejectedError, TransientError

_log = structlog.get_logger()
_STATUS = {
    "unknown": 404,
    "conflict": 409,
    "not_enrolled": 409,
    "malformed": 422,
    "not_possible": 409,
    "too_large": 413,
    "unmanaged": 503,
}
"""HTTP status of a refusal by its reason; others are 403."""


@dataclass(frozen=True, slots=True)
class ApiParts:
    """What the API stands on."""

    sources: Sources
    enroller: Enroller
    lineage: LineageStore
    tuf_dir: Path
    clock: Clock
    blobs: BlobStore
    staged: StagedDesk


def build_api(parts: ApiParts) -> FastAPI:
    """The application, ready to be served."""
    sources = parts.sources
    reads, operates = (guard(sources.token, scope) for scope in (Scope.READ, Scope.OPERATE))
    return _app(
        api_reports.open_routes(sources),
        api_reports.data_routes(sources),
        api_reports.campaign_routes(sources),
        api_fleet.entering(parts.enroller),
        api_fleet.reading(sources.desk, guarded_by=reads),
        api_fleet.operating(sources.desk, guarded_by=operates),
        api_lineage.lineage_routes(parts.lineage, sources.token),
        api_files.file_routes(
            parts.tuf_dir, devices=sources.desk.store, token=sources.token, clock=parts.clock
        ),
        api_staged.reading_staged(parts.staged, guarded_by=reads),
        api_staged.operating_staged(parts.staged, guarded_by=operates),
        api_blobs.blob_routes(parts.blobs, sources.token),
    )


def build_fleet_api(desk: FleetDesk) -> FastAPI:
    """The fleet's part alone, for whoever has the database itself; never to be served."""
    return _app(api_fleet.reading(desk), api_fleet.operating(desk))


def build_staged_api(desk: StagedDesk) -> FastAPI:
    """The part of staged releases alone, for whoever has the database itself; never served."""
    return _app(api_staged.reading_staged(desk), api_staged.operating_staged(desk))


def _app(*routers: APIRouter) -> FastAPI:
    app = FastAPI(title="Outrider cloud service", version="1", docs_url=None, redoc_url=None)
    app.exception_handler(RejectedError)(_refused)
    app.exception_handler(RequestValidationError)(_malformed)
    app.exception_handler(TransientError)(_unavailable)
    app.exception_handler(BrokerError)(_unavailable)
    for router in routers:
        app.include_router(router)
    return app


def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RejectedError)
    status = _STATUS.get(error.reason, 403)
    return JSONResponse({"detail": str(error), "reason": error.reason}, status_code=status)


def _malformed(_request: Request, error: Exception) -> Response:
    """What of a request cannot be; what was sent is not said back, it may be a secret."""
    assert isinstance(error, RequestValidationError)
    said = []
    for one in error.errors():
        place = ".".join(map(str, one["loc"][1:]))
        why = one["msg"].removeprefix("Value error, ")
        said.append(f"{place}: {why}" if place and one["type"] != "value_error" else why)
    return JSONResponse({"detail": "; ".join(said), "reason": "malformed"}, status_code=422)


def _unavailable(_request: Request, error: Exception) -> Response:
    if isinstance(error, StoreUnavailableError):  # it names the server and its user: for us only
        _log.warning("store_unavailable", error=str(error))
        return JSONResponse(
            {"detail": "the cloud's database cannot be used now; retry"}, status_code=503
        )
    return JSONResponse({"detail": str(error)}, status_code=503)
