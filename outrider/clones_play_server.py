"""The page on which a person plays a clone, served to this machine alone.

Every address begins with a token that nobody can guess, and requests have to name this machine as
their host, so that neither other people nor other pages in the browser can play along.
"""

from __future__ import annotations

import json
import secrets
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, Final

from outrider.clones_play_page import PAGE, SCRIPT, STYLE
from outrider.clones_play_session import PlayError, PlaySession
from outrider.errors import CommandError

ADDRESS: Final = "127.0.0.1"
_MOST_BODY_BYTES: Final = 64 * 1024
_TIMEOUT_S: Final = 30
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
        "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class PlayServer:
    """Serves one session until it is stopped.

    Args:
        port: 0 takes any that is free.
        token: first part of every address.
    Raises: CommandError: the port is taken.
    """

    def __init__(self, session: PlaySession, *, port: int = 0, token: str | None = None) -> None:
        self.session = session
        self.token = token or secrets.token_urlsafe(24)
        self.lock = Lock()
        try:
            self._http = _Server((ADDRESS, port), _Handler)
        except OSError as error:
            reason = error.strerror or error
            raise CommandError(
                f"cannot listen on port {port} ({reason}); leave --port out to take a free one"
            ) from error
        self._http.play = self
        self._thread = Thread(target=self._http.serve_forever, name="play", daemon=True)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{ADDRESS}:{self.port}/{self.token}/"

    def start(self) -> None:
        """Begin to answer, in a thread of its own."""
        self._thread.start()

    def wait(self) -> None:
        """Block until it is stopped, or Ctrl-C."""
        while self._thread.is_alive():
            self._thread.join(0.5)

    def stop(self) -> None:
        """Answer no more; running answers are finished."""
        if self._thread.is_alive():
            self._http.shutdown()
            self._thread.join()
        self._http.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    play: PlayServer


class _Handler(BaseHTTPRequestHandler):
    """Answers one connection's requests."""

    protocol_version = "HTTP/1.1"
    timeout = _TIMEOUT_S
    server: _Server

    def do_GET(self) -> None:
        """The page and its parts, the picture, everything that is shown."""
        path = self._permitted_path()
        play = self.server.play
        match path:
            case None:
                return
            case "":
                self._answer(PAGE.encode(), "text/html; charset=utf-8")
            case "page.css":
                self._answer(STYLE.encode(), "text/css; charset=utf-8")
            case "page.js":
                self._answer(SCRIPT.encode(), "text/javascript; charset=utf-8")
            case "view":
                with play.lock:
                    view = play.session.view()
                self._answer_json(view)
            case "screen.png":
                with play.lock:
                    picture = play.session.picture()
                self._answer(picture, "image/png")
            case "screen.svg":
                with play.lock:
                    drawing = play.session.svg()
                self._answer(drawing.encode(), "image/svg+xml; charset=utf-8")
            case _:
                self._refuse(HTTPStatus.NOT_FOUND, "there is no such page")

    def do_POST(self) -> None:
        """A move of the player; answers what shows after it."""
        path = self._permitted_path()
        if path is None:
            return
        if path != "act":
            self._refuse(HTTPStatus.NOT_FOUND, "moves go to act")
            return
        move = self._move()
        if move is None:
            return
        play = self.server.play
        try:
            with play.lock:
                play.session.act(move)
                view = play.session.view()
        except PlayError as error:
            self._refuse(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))
            return
        self._answer_json(view)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what is no GET or POST, or no request at all."""
        del explain
        if code == HTTPStatus.NOT_IMPLEMENTED:
            reason = f"there is no {self.command} here: GET shows, POST to act moves"
            self._refuse(HTTPStatus.METHOD_NOT_ALLOWED, reason)
            return
        self._refuse(HTTPStatus(code), message or HTTPStatus(code).phrase)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Nothing: the page shows what happens."""

    def _permitted_path(self) -> str | None:
        """What follows the token; None where the request was refused."""
        play = self.server.play
        here = {f"{ADDRESS}:{play.port}", f"localhost:{play.port}"}
        origin = self.headers.get("Origin")
        foreign = origin is not None and origin.removeprefix("http://") not in here
        if self.headers.get("Host", "") not in here or foreign:
            self._refuse(HTTPStatus.FORBIDDEN, "this page is for this machine alone")
            return None
        token, slash, rest = self.path.partition("?")[0].removeprefix("/").partition("/")
        if not slash or not secrets.compare_digest(token.encode(), play.token.encode()):
            self._refuse(HTTPStatus.FORBIDDEN, "open the address that the command printed")
            return None
        return rest

    def _move(self) -> dict[str, Any] | None:
        """The body as a JSON object; None where the request was refused."""
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit() or int(length) > _MOST_BODY_BYTES:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "a move is a short JSON object")
            return None
        body = self.rfile.read(int(length))
        if self.headers.get_content_type() != "application/json":
            self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "a move is sent as application/json")
            return None
        try:
            move = json.loads(body)
        except ValueError:
            move = None
        if not isinstance(move, dict):
            self._refuse(HTTPStatus.BAD_REQUEST, "a move is a JSON object")
            return None
        return move

    def _answer_json(self, value: object, status: HTTPStatus = HTTPStatus.OK) -> None:
        body = json.dumps(value, ensure_ascii=False, default=str).encode("utf-8", "replace")
        self._answer(body, "application/json; charset=utf-8", status)

    def _refuse(self, status: HTTPStatus, reason: str) -> None:
        self.close_connection = True
        self._answer_json({"error": reason}, status)

    def _answer(self, body: bytes, content_type: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
