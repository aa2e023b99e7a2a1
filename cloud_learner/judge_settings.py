"""How a judge behind an OpenAI-compatible endpoint is asked, and what it may cost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cloud_learner.errors import SettingsError

ScreenForm = Literal["text", "picture", "both"]
AnswerForm = Literal["json_schema", "json_object", "text"]


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """One judge; the table [judge] of a settings file.

    Attributes:
        url: of the API, up to `/v1`; empty for no judge.
        model: what the endpoint calls the network that judges.
        key_file: file with the API's key on its first line; None where it needs none.
        screen: how the last screen is shown; a picture needs somebody who can draw it.
        answer_form: how the endpoint is told to answer with JSON: by schema, as any object, or by
            the prompt alone, for endpoints that know neither.
        connect_timeout_s, timeout_s: for the connection, and for the whole answer of one request.
        attempts: requests for one episode where the endpoint is busy, slow or broken.
        first_wait_s, longest_wait_s: pauses between them double from the first to the longest.
        concurrency: requests at a time.
        answer_bytes: an answer that is longer is nonsense.
        answer_tokens: what the endpoint may write at most.
        token_budget: tokens over all runs, read and written; None for no limit.
        money_budget: cost over all runs in `currency`; None for no limit.
        price_read, price_written: of a million tokens.
    """

    url: str = ""
    model: str = ""
    key_file: Path | None = None
    screen: ScreenForm = "text"
    answer_form: AnswerForm = "json_schema"
    connect_timeout_s: float = 10.0
    timeout_s: float = 60.0
    attempts: int = 4
    first_wait_s: float = 1.0
    longest_wait_s: float = 30.0
    concurrency: int = 4
    answer_bytes: int = 65_536
    answer_tokens: int = 300
    token_budget: int | None = None
    money_budget: float | None = None
    price_read: float = 0.0
    price_written: float = 0.0
    currency: str = "EUR"

    def __post_init__(self) -> None:
        if self.url and not self.url.startswith(("http://", "https://")):
            raise ValueError(f"url is http:// or https://, got {self.url!r}")
        if self.url and not self.model:
            raise ValueError("a judge with a url needs a model")
        least = min(self.attempts, self.concurrency, self.answer_bytes, self.answer_tokens)
        if least < 1:
            raise ValueError("attempts, concurrency, answer_bytes and answer_tokens are 1 at least")
        if min(self.connect_timeout_s, self.timeout_s, self.first_wait_s) <= 0:
            raise ValueError("times are above 0")
        if min(self.price_read, self.price_written) < 0:
            raise ValueError("prices are not negative")
        if self.money_budget is not None and not (self.price_read or self.price_written):
            raise ValueError("a money_budget needs price_read and price_written")


def read_key(file: Path) -> str:
    """The key on the first line of a file.

    Raises: SettingsError: there is none; the text never holds what the file holds.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"the judge's key file {file} cannot be read: check its path"
        ) from error
    key = lines[0].strip() if lines else ""
    if not key or not key.isascii() or not key.isprintable():
        raise SettingsError(f"the judge's key file {file} holds no key on its first line")
    return key
