"""How commands reach a fleet's cloud: over HTTP with a token, or through its folder's database.

Both speak the API of `cloud_learner.api_fleet`, so that a command does the same either way. The way
over HTTP needs nothing but this package's smallest installation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol
from urllib.parse import quote, urlencode, urlsplit

import typer

from outrider.cloud_database import DATABASE_VARIABLE, cloud_database
from outrider.errors import CommandError, MisuseError

if TYPE_CHECKING:
    import ssl
    from urllib.request import Request

DataDir = Annotated[Path | None, typer.Option("--data", help="Folder of a fleet on this machine.")]
Database = Annotated[
    str | None,
    typer.Option(
        "--database",
        envvar=DATABASE_VARIABLE,
        show_envvar=False,
        help=f"Its cloud's database, where that is elsewhere; or {DATABASE_VARIABLE}.",
    ),
]
Url = Annotated[str | None, typer.Option("--url", help="The cloud's API: http(s)://host:port.")]
Token = Annotated[
    str | None,
    typer.Option("--token", envvar="OUTRIDER_TOKEN", help="Its bearer token; or OUTRIDER_TOKEN."),
]
Authority = Annotated[
    Path | None, typer.Option("--ca", help="Certificate authority of an https:// address.")
]
Devices = Annotated[list[str] | None, typer.Option("--device", help="A device's name; repeatable.")]
Where = Annotated[
    str, typer.Option("--where", help="Filter: model=Pixel*,android>=13,online=true.")
]
Everyone = Annotated[bool, typer.Option("--all", help="Every device of the fleet.")]

TIMEOUT_S = 30.0
_NOT_FOUND = 404
_UNPROCESSABLE = 422
_NO_SUCH_PATH = "Not Found"  # what a service says of a path that it does not serve
Json = Any  # a decoded JSON document


class Api(Protocol):
    """A way to the fleet's API.

    Both methods raise CommandError where it refuses or does not answer.
    """

    def get(self, path: str, **query: object) -> Json:
        """What is at a path."""
        ...

    def post(self, path: str, body: Mapping[str, object]) -> Json:
        """What comes of an order."""
        ...


class HttpApi:
    """The API of a running service.

    Args:
        authority: certificate authority of an https:// address; the machine's own by default.
    """

    def __init__(self, url: str, token: str, *, authority: Path | None = None) -> None:
        self._url = checked_url(url)
        self._token = _checked_token(token)
        self._authority = authority

    def get(self, path: str, **query: object) -> Json:
        """See Api."""
        words = {name: value for name, value in query.items() if value not in {None, ""}}
        return self._ask("GET", f"{path}?{urlencode(words)}" if words else path, None)

    def post(self, path: str, body: Mapping[str, object]) -> Json:
        """See Api."""
        return self._ask("POST", path, json.dumps(body).encode())

    def _ask(self, method: str, path: str, data: bytes | None) -> Json:
        from urllib.request import Request

        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        request = Request(self._url + path, data, headers, method=method)  # noqa: S310 - checked
        return json.loads(asked(request, self._authority))


class LocalApi:
    """The same API on the database of a fleet's folder, in this process and without a network."""

    def __init__(self, app: Any) -> None:  # Any: an ASGI application
        self._app = app

    def get(self, path: str, **query: object) -> Json:
        """See Api."""
        words = {name: value for name, value in query.items() if value not in {None, ""}}
        return self._ask("GET", path, params=words)

    def post(self, path: str, body: Mapping[str, object]) -> Json:
        """See Api."""
        sent = json.dumps(dict(body)).encode()
        return self._ask("POST", path, content=sent, headers={"Content-Type": "application/json"})

    def _ask(self, method: str, path: str, **what: Any) -> Json:  # Any: httpx's own arguments
        import asyncio

        import httpx

        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self._app)
            async with httpx.AsyncClient(transport=transport, base_url="http://fleet") as client:
                return await client.request(method, path, timeout=None, **what)

        answer = asyncio.run(ask())
        if answer.is_error:
            raise _refusal(answer.status_code, _detail(answer.content))
        return answer.json()


@contextmanager
def fleet_api(
    *,
    data: Path | None,
    database: str | None = None,
    url: str | None = None,
    token: str | None = None,
    authority: Path | None = None,
) -> Iterator[Api]:
    """The way that a command's options name.

    Raises: MisuseError: none, both, or one that cannot be.
    """
    if url is not None:
        if not token:
            raise MisuseError("--url needs the API's token: --token or OUTRIDER_TOKEN")
        yield HttpApi(url, token, authority=authority)
        return
    if data is None and not database:
        raise MisuseError("name the cloud: --url URL --token TOKEN, or its folder with --data")
    with _local(data, database) as local:
        yield local


def which(devices: list[str] | None, where: str, *, everyone: bool) -> dict[str, object]:
    """The devices that a command's options mean, as the API takes them.

    Raises: MisuseError: none or more than one way to say it.
    """
    if bool(devices) + bool(where) + everyone != 1:
        raise MisuseError("say which: --device NAME, --where FILTER, or --all of the fleet")
    return {"devices": list(devices or ()), "where": where, "everyone": everyone}


def named(name: str) -> str:
    """A device's, a task's or a release's name as a part of a path.

    Raises: MisuseError: nothing can be called so.
    """
    if not name.strip(".") or not name.isprintable():
        raise MisuseError(f"nothing is called {name!r}: give a name as the lists show it")
    return quote(name, safe="")


def checked_url(url: str) -> str:
    """A cloud's address without its last slash.

    Raises: MisuseError: it is no http(s) address.
    """
    try:
        parts = urlsplit(url)
        is_one = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets that are not closed, a port beyond the last one
        is_one = False
    if not is_one or not url.isascii() or not url.isprintable() or " " in url:
        raise MisuseError(f"{url!r} is no address such as http://127.0.0.1:8080")
    return url.rstrip("/")


def _checked_token(token: str) -> str:
    if not (token.isascii() and token.isprintable()):
        raise MisuseError("--token holds what no token does: copy it again, without line breaks")
    return token


def asked(request: Request, authority: Path | None = None) -> bytes:
    """The body of the answer to a request.

    Raises: CommandError: it was refused, or nobody answered; the text says which.
    """
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import urlopen

    context = None
    if request.type == "https":
        context = _trusting(authority)
    try:
        with urlopen(request, timeout=TIMEOUT_S, context=context) as answer:  # noqa: S310 - checked
            return bytes(answer.read())
    except HTTPError as error:
        with error:
            said = _detail(error.read()) or f"{error.code} {error.reason}"
        raise _refusal(error.code, said) from error
    except (URLError, OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise CommandError(
            f"no cloud answers at {request.host} ({reason}): start it or correct --url"
        ) from error


def _trusting(authority: Path | None) -> ssl.SSLContext:
    import ssl

    try:
        return ssl.create_default_context(cafile=None if authority is None else str(authority))
    except OSError as error:  # an SSLError is one, too
        raise MisuseError(
            f"{authority} holds no certificates that can be read ({error.strerror or error}): "
            "name a PEM file with --ca"
        ) from error


@contextmanager
def _local(data: Path | None, database: str | None) -> Iterator[Api]:
    try:
        from cloud_learner.api import build_fleet_api
        from cloud_learner.fleet_desk import FleetDesk
    except ModuleNotFoundError as error:
        raise MisuseError(
            f"--data needs the cloud's packages ({error.name}): use --url and --token here"
        ) from error
    from sync.clock import SystemClock
    from sync.vocabulary import new_uuid7

    if data is not None and not data.is_dir():
        raise MisuseError(f"{data} is no folder: name the fleet's with --data")
    with cloud_database(data, database) as opened:
        desk = FleetDesk(opened, clock=SystemClock(), new_id=new_uuid7)
        yield LocalApi(build_fleet_api(desk))


def _refusal(status: int, said: str) -> CommandError:
    """The error of a command whose order was refused: misuse, where it could not be meant."""
    if status == _NOT_FOUND and said == _NO_SUCH_PATH:
        said = "the cloud has nothing of that name; correct it, or the address in --url"
    return (MisuseError if status == _UNPROCESSABLE else CommandError)(said)


def _detail(content: bytes) -> str:
    """What a refusal says, in one line."""
    try:
        detail = json.loads(content)["detail"]
    except (ValueError, KeyError, TypeError):
        return content.decode(errors="replace")[:300]
    if isinstance(detail, str):
        return detail
    return "; ".join(f"{'.'.join(map(str, one['loc'][1:]))}: {one['msg']}" for one in detail)
