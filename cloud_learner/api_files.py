"""Release files over HTTP, whole or in byte ranges: for enrolled devices, and for readers.

The same files under the same paths as over MQTT. What they hold is signed; a pass or a token only
keeps strangers from downloading the fleet's networks.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Header, HTTPException
from fastapi.responses import FileResponse

from cloud_learner.device_store import DeviceStore
from cloud_learner.tokens import TokenFile
from sync.clock import Clock
from sync.errors import RejectedError
from sync.file_pass import SCHEME, check_file_pass
from sync.published import served_path


def file_routes(
    directory: Path, *, devices: DeviceStore, token: TokenFile, clock: Clock
) -> APIRouter:
    """The files of the repository in `directory`."""
    router = APIRouter()

    @router.get("/v1/files/{path:path}")
    def file(path: str, authorization: Annotated[str, Header()] = "") -> FileResponse:
        """One file; with a Range header, a part of it."""
        if not _may_read(authorization, path):
            raise HTTPException(
                status_code=401,
                detail="send a device's pass or the bearer token of this service",
                headers={"WWW-Authenticate": f"{SCHEME}, Bearer"},
            )
        try:
            return FileResponse(served_path(directory, path))
        except FileNotFoundError as error:
            raise HTTPException(status_code=404, detail="there is no such file") from error

    def _may_read(authorization: str, path: str) -> bool:
        scheme, _, value = authorization.partition(" ")
        if scheme.lower() == "bearer":
            return token.accepts(value)
        try:
            now_ms = clock.wall_ms()
            check_file_pass(authorization, path, key_of=devices.public_key, now_ms=now_ms)
        except RejectedError:
            return False
        return True

    return router
