"""Who may use the API: bearer tokens, and what each may do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from cloud_learner.tokens import Scope, TokenFile

_BEARER = HTTPBearer(auto_error=False)
_LONGEST = 64  # what an audit log keeps of a name


def guard(token: TokenFile, wanted: Scope) -> Callable[..., None]:
    """A dependency that lets only tokens through that may do what is wanted.

    It notes down whose token came: see `signed_for`.
    """

    def check(
        request: Request,
        credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)],
    ) -> None:
        holder = None if credentials is None else token.holder_of(credentials.credentials)
        if holder is None:
            raise HTTPException(
                status_code=401,
                detail="send the bearer token of this service; `outrider cloud token` makes one",
                headers={"WWW-Authenticate": "Bearer"},
            )
        if not holder.scope.covers(wanted):
            raise HTTPException(
                status_code=403,
                detail=f"this token may only {holder.scope.value}; "
                f"`outrider cloud token --scope {wanted.value}` makes one that may more",
            )
        request.state.token_name = holder.name

    return check


def signed_for(request: Request, says: str) -> str:
    """Who orders something: whose token it is, and in brackets who the caller says to be.

    Without a token, which is where somebody has the database itself, what the caller says.
    """
    name = getattr(request.state, "token_name", "")
    if not name or says == name:
        return says[:_LONGEST]
    return f"{name} ({says[: _LONGEST - len(name) - 3]})"
