"""The cloud service's API: what the fleet did and how the campaign stands, and the fleet's helm.

/health and /metrics are open, and /v1/enrolment is open to claim tokens; everything else under /v1
needs a bearer token: to read, or to operate. Each topic has its routes in a module of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse

from cloud_learner import api_fleet, api_lineage, api_reports
from cloud_learner.api_reports import Sources
from cloud_learner.enroller import Enroller
from cloud_learner.lineage_store import LineageStore
from sync.errors import BrokerError, RejectedError, TransientError

_STATUS = {
    "unknown": 404,
    "conflict": 409,
    "not_enrolled": 409,
    "malformed": 422,
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


def build_api(parts: ApiParts) -> FastAPI:
    """The application, ready to be served."""
    app = FastAPI(title="Outrider cloud service", version="1", docs_url=None, redoc_url=None)
    app.exception_handler(RejectedError)(_refused)
    app.exception_handler(TransientError)(_unavailable)
    app.exception_handler(BrokerError)(_unavailable)
    sources = parts.sources
    for router in (
        api_reports.open_routes(sources),
        api_reports.data_routes(sources),
        api_reports.campaign_routes(sources),
        api_fleet.entering(parts.enroller),
        api_fleet.reading(sources.desk, sources.token),
        api_fleet.operating(sources.desk, sources.token),
        api_lineage.lineage_routes(parts.lineage, sources.token),
    ):
        app.include_router(router)
    return app


def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RejectedError)
    status = _STATUS.get(error.reason, 403)
    return JSONResponse({"detail": str(error), "reason": error.reason}, status_code=status)


def _unavailable(_request: Request, error: Exception) -> Response:
    return JSONResponse({"detail": str(error)}, status_code=503)
