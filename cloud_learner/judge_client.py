"""Asks an OpenAI-compatible endpoint (`/chat/completions`) and reads its answer, bounded in all.

Whatever the endpoint does becomes a judgement: slow, busy, broken, endless or senseless answers are
undecidable. Only what concerns every request alike (a key that is refused, an address that does not
exist) is an error. The key travels in one header; it is in no error, log or judgement.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

import httpx

from cloud_learner.errors import JudgeUnusableError
from cloud_learner.judge_answer import Judgement, Usage, read_answer, undecidable
from cloud_learner.judge_budget import Budget
from cloud_learner.judge_prompt import ANSWER_SCHEMA
from cloud_learner.judge_settings import JudgeSettings
from sync.clock import Clock

_TRY_AGAIN: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_WRONG_SET_UP: Final = frozenset({401, 403, 404, 405})
_SLICE_S: Final = 0.2
_BYTES_PER_TOKEN: Final = 2
"""Bytes of UTF-8 that make up a token at the least, as a careful bound."""
_PICTURE_TOKENS: Final = 3000
"""More than common endpoints charge for one screen."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """A request that came to nothing.

    Attributes:
        wait_s: what the endpoint asked to wait.
        retries: whether another request may come to something.
        costs: whether the endpoint may charge for it: an answer was begun, or is still written.
    """

    reason: str
    wait_s: float = 0.0
    retries: bool = True
    costs: bool = False


_SLOW: Final = _Failure("no whole answer in time", costs=True)


class JudgeClient:
    """One endpoint with its key; safe to use from several threads.

    Args:
        key: sent as bearer token; empty for none.
        random: spreads the waits.
    """

    def __init__(
        self,
        settings: JudgeSettings,
        *,
        key: str,
        budget: Budget,
        clock: Clock,
        random: Random,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._settings = settings
        self._budget = budget
        self._clock = clock
        self._random = random
        self._http = httpx.Client(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=httpx.Timeout(settings.timeout_s, connect=settings.connect_timeout_s),
            limits=httpx.Limits(max_connections=settings.concurrency),
            follow_redirects=False,
            trust_env=False,
            transport=transport,
        )

    def close(self) -> None:
        """End all connections. Idempotent."""
        self._http.close()

    def ask(
        self, chat: list[dict[str, object]], *, word: str, stopped: Callable[[], bool]
    ) -> Judgement | None:
        """What the endpoint judges; None where the budget does not reach, or it was stopped.

        Args:
            word: what the judge has to repeat.
            stopped: looked at between requests.
        Raises: JudgeUnusableError: the endpoint refuses the key or does not exist.
        """
        body = self._body(chat)
        most = Usage(_bound(chat), self._settings.answer_tokens, 1)
        used = Usage()
        failure = _Failure("nothing was sent")
        for attempt in range(self._settings.attempts):
            if stopped() or not self._budget.hold(most):
                return undecidable(failure.reason, used, is_final=False) if attempt else None
            answer = self._once(body)
            if isinstance(answer, bytes):
                judged = read_answer(answer, word=word, assumed=most)
                one = Usage(judged.usage.read, judged.usage.written, 1)
                self._budget.settle(most, one)
                return Judgement(judged.outcome, judged.reason, used.plus(one), judged.is_final)
            failure, one = answer, most if answer.costs else Usage(requests=1)
            self._budget.settle(most, one)
            used = used.plus(one)
            if not failure.retries:
                break
            if attempt + 1 < self._settings.attempts:
                self._pause(self._wait_s(attempt, failure), stopped)
        return undecidable(failure.reason, used, is_final=False)

    def _body(self, chat: list[dict[str, object]]) -> bytes:
        request: dict[str, object] = {
            "model": self._settings.model,
            "messages": chat,
            "temperature": 0,
            "max_tokens": self._settings.answer_tokens,
        }
        match self._settings.answer_form:
            case "json_schema":
                request["response_format"] = {"type": "json_schema", "json_schema": ANSWER_SCHEMA}
            case "json_object":
                request["response_format"] = {"type": "json_object"}
            case "text":
                pass
        return json.dumps(request).encode()

    def _once(self, body: bytes) -> bytes | _Failure:
        """The body of one good answer, or why there is none.

        Raises: JudgeUnusableError: see `ask`.
        """
        url = f"{self._settings.url.rstrip('/')}/chat/completions"
        deadline_s = self._clock.monotonic_s() + self._settings.timeout_s
        try:
            with self._http.stream(
                "POST", url, content=body, headers={"Content-Type": "application/json"}
            ) as response:
                if response.status_code != httpx.codes.OK:
                    return _refused(response, url)
                return self._read(response, deadline_s)
        except httpx.ConnectTimeout:
            return _Failure("the endpoint could not be reached in time")
        except httpx.TimeoutException:
            return _SLOW
        except httpx.InvalidURL as error:
            raise JudgeUnusableError(f"the judge's url {url} is none: correct it") from error
        except httpx.HTTPError as error:
            return _Failure(f"the connection failed: {type(error).__name__}")

    def _read(self, response: httpx.Response, deadline_s: float) -> bytes | _Failure:
        """The whole answer, within its size and its time, however slowly it drips."""
        data = bytearray()
        for part in response.iter_bytes():
            data += part
            if len(data) > self._settings.answer_bytes:
                most = self._settings.answer_bytes
                return _Failure(
                    f"the answer is longer than {most} bytes", retries=False, costs=True
                )
            if self._clock.monotonic_s() > deadline_s:
                return _SLOW
        return bytes(data)

    def _wait_s(self, attempt: int, failure: _Failure) -> float:
        settings = self._settings
        ceiling_s = min(settings.longest_wait_s, settings.first_wait_s * 2.0**attempt)
        wait_s = self._random.uniform(ceiling_s / 2, ceiling_s)
        return min(max(wait_s, failure.wait_s), settings.longest_wait_s)

    def _pause(self, wait_s: float, stopped: Callable[[], bool]) -> None:
        """Wait, but not on when it is stopped."""
        until_s = self._clock.monotonic_s() + wait_s
        while not stopped() and (left_s := until_s - self._clock.monotonic_s()) > 0:
            self._clock.sleep(min(left_s, _SLICE_S))


def _refused(response: httpx.Response, url: str) -> _Failure:
    """What an answer that is no success means.

    Raises: JudgeUnusableError: every further request would be refused alike.
    """
    status = response.status_code
    if status in _WRONG_SET_UP:
        what = "refuses the key" if status in {401, 403} else "has no chat completions"
        raise JudgeUnusableError(f"the judge at {url} {what} (HTTP {status}); check [judge]")
    wait_s = _asked_wait_s(response.headers.get("Retry-After", ""))
    return _Failure(f"HTTP {status}", wait_s, retries=status in _TRY_AGAIN)


def _asked_wait_s(header: str) -> float:
    """Seconds in a Retry-After header; 0 where it has none, or names a date."""
    return float(header) if header.strip().isdecimal() and len(header) < 9 else 0.0


def _bound(chat: list[dict[str, object]]) -> int:
    """More tokens than a chat can have."""
    return sum(_size(message["content"]) for message in chat) + 50


def _size(content: object) -> int:
    if isinstance(content, str):
        return len(content.encode()) // _BYTES_PER_TOKEN + 1
    assert isinstance(content, list)
    return sum(
        _PICTURE_TOKENS if part["type"] == "image_url" else _size(part["text"]) for part in content
    )
