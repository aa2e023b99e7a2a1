"""Who may use the API: bearer tokens, and what each may do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, HTTPException
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from cloud_learner.tokens import Scope, TokenFile

_BEARER = HTTPBearer(auto_error=False)


def guard(token: TokenFile, wanted: Scope) -> Callable[[HTTPAuthorizationCredentials | None], None]:
    """A dependency that lets only tokens through that may do what is wanted."""

    def check(
        credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)],
    ) -> None:
        scope = None if credentials is None else token.scope_of(credentials.credentials)
        if scope is None:
            raise HTTPException(
                status_code=401,
                detail="send the bearer token of this service; `outrider cloud token` makes one",
                headers={"WWW-Authenticate": "Bearer"},
            )
        if not scope.covers(wanted):
            raise HTTPException(
                status_code=403,
                detail=f"this token may only {scope.value}; "
                f"`outrider cloud token --scope {wanted.value}` makes one that may more",
            )

    return check
