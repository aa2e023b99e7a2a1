"""Blobs over HTTP: the pictures that stored episodes name, by their digest."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Path, Response

from cloud_learner.api_guard import guard
from cloud_learner.blob_store import BlobStore
from cloud_learner.errors import UnknownRowError
from cloud_learner.tokens import Scope, TokenFile

Fields = dict[str, Any]  # JSON
Digest = Annotated[str, Path(pattern="^[0-9a-f]{64}$")]
_FOR_EVER: Final = "private, max-age=31536000, immutable"
"""A digest names the same bytes for ever; a shared cache knows no token."""


def blob_routes(blobs: BlobStore, token: TokenFile) -> APIRouter:
    """Blobs and the screens that they are pictures of."""
    router = APIRouter(dependencies=[Depends(guard(token, Scope.READ))])

    @router.get("/v1/blobs")
    def counts() -> Fields:
        """How many blobs are stored, wanted and refused, and their bytes."""
        return dict(blobs.counts())

    @router.get("/v1/blobs/{digest}", response_class=Response)
    def blob(digest: Digest) -> Response:
        """The bytes of a blob, their digest checked."""
        found = blobs.read(bytes.fromhex(digest))
        if found is None:
            raise UnknownRowError("blob", digest)
        headers = {
            "Cache-Control": _FOR_EVER,
            "ETag": f'"{digest}"',
            "X-Content-Type-Options": "nosniff",
        }
        return Response(found.data, media_type=found.media_type, headers=headers)

    @router.get("/v1/episodes/{episode_id}/screens")
    def screens(episode_id: str) -> Fields:
        """Which blob holds the picture of each screen that the episode's steps name."""
        return dict(blobs.screens_of(episode_id))

    return router
