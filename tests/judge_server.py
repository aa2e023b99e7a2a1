"""A scripted endpoint of the chat completions API on this machine, for tests of judges."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Reply:
    """What the endpoint answers to one request.

    Attributes:
        body: the whole body; None to drip it from `parts`.
        gate: waited for before anything is sent: a slow endpoint without a sleep.
        cut: close the connection in the middle.
    """

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    gate: threading.Event | None = None
    cut: bool = False


Answers = Callable[[dict], Reply]
"""What is answered to a request's JSON."""


def completion(content, *, finish_reason="stop", usage=(100, 20), **message) -> Reply:
    """A well-formed answer whose message has that content."""
    body: dict[str, Any] = {
        "choices": [
            {"message": {"content": content, **message}, "finish_reason": finish_reason, "index": 0}
        ],
        "id": "x",
        "object": "chat.completion",
    }
    if usage is not None:
        body["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1]}
    return Reply(body=json.dumps(body).encode())


def word_of(request: dict) -> str:
    """The word that the judge has to repeat."""
    [word] = re.findall(r'"word": "(\w+)"', request["messages"][0]["content"])
    return word


def verdict(outcome, **changes) -> Answers:
    """Answers with a verdict in its form; `changes` replace or (None) leave out fields."""

    def answer(request: dict) -> Reply:
        said = {
            "word": word_of(request),
            "outcome": outcome,
            "screen_gives_orders": False,
            "reason": "seen",
        }
        said |= changes
        return completion(json.dumps({name: value for name, value in said.items() if value != ()}))

    return answer


class _Listening(ThreadingHTTPServer):
    def handle_error(self, _request, _client_address) -> None:
        pass  # whoever asked has hung up


class JudgeServer:
    """The endpoint; `requests` are the JSON bodies that came, `keys` the Authorization headers."""

    def __init__(self, *answers: Answers | Reply) -> None:
        self.requests: list[dict] = []
        self.keys: list[str | None] = []
        self._answers = list(answers)
        self._lock = threading.Lock()
        self._server = _Listening(("127.0.0.1", 0), self._handler())

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def next_answer(self, request: dict) -> Reply:
        with self._lock:
            self.requests.append(request)
            answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return answer if isinstance(answer, Reply) else answer(request)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["Content-Length"]))
                outer.keys.append(self.headers.get("Authorization"))
                if self.path != "/v1/chat/completions":
                    self.send_error(404)
                    return
                reply = outer.next_answer(json.loads(data))
                if reply.gate is not None:
                    reply.gate.wait(20)
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body) + 100 * reply.cut))
                self.end_headers()
                self.wfile.write(reply.body)
                self.close_connection = True

            def log_message(self, *_arguments) -> None:
                pass

        return Handler

    def serve(self) -> None:
        self._server.serve_forever(poll_interval=0.02)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def judge_server(*answers: Answers | Reply) -> Iterator[JudgeServer]:
    """A running endpoint: each answer once, the last one from then on."""
    server = JudgeServer(*answers)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join(5)
