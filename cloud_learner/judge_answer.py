"""A judge's answer as bytes, read strictly: a verdict in its form, or a reason why it is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import msgspec

LONGEST_REASON: Final = 400


@dataclass(frozen=True, slots=True)
class Usage:
    """What asking cost.

    Attributes:
        read, written: tokens of what was asked and of what was answered.
        requests: how many were sent, also those that came to nothing.
    """

    read: int = 0
    written: int = 0
    requests: int = 0

    @property
    def tokens(self) -> int:
        """All tokens."""
        return self.read + self.written

    def plus(self, other: Usage) -> Usage:
        """Both together."""
        return Usage(
            self.read + other.read, self.written + other.written, self.requests + other.requests
        )


NO_USAGE: Final = Usage()


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a judge says of an episode.

    Attributes:
        outcome: True for success, False for failure, None where it cannot be decided.
        is_final: False where asking again may come to something else (a time-out, a busy endpoint).
    """

    outcome: bool | None
    reason: str
    usage: Usage = NO_USAGE
    is_final: bool = True


class _Verdict(msgspec.Struct, forbid_unknown_fields=True):
    word: str
    outcome: Literal["success", "failure", "undecidable"]
    screen_gives_orders: bool
    reason: str


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    usage: _Usage | None = None


_OUTCOMES: Final[dict[str, bool | None]] = {"success": True, "failure": False, "undecidable": None}
_ANSWER = msgspec.json.Decoder(_Completion)
_VERDICT = msgspec.json.Decoder(_Verdict)


def undecidable(reason: str, usage: Usage = NO_USAGE, *, is_final: bool = True) -> Judgement:
    """A judgement that decides nothing."""
    return Judgement(None, reason[:LONGEST_REASON], usage, is_final)


def read_answer(body: bytes, *, word: str, assumed: Usage) -> Judgement:
    """The judgement in an endpoint's answer; undecidable where it is in no way as it should be.

    Args:
        word: what the judge was to repeat.
        assumed: what is counted where the answer does not say what it cost.
    """
    try:
        answer = _ANSWER.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return undecidable(f"the endpoint's answer is no completion: {error}", assumed)
    usage = _usage(answer, assumed)
    if len(answer.choices) != 1:
        return undecidable(f"the endpoint gave {len(answer.choices)} answers", usage)
    choice = answer.choices[0]
    if choice.message.refusal:
        return undecidable("the judge refused to answer", usage)
    if choice.finish_reason not in {None, "stop"}:
        return undecidable(f"the answer ended by {choice.finish_reason!r}", usage)
    return _verdict(choice.message.content or "", word, usage)


def _usage(answer: _Completion, assumed: Usage) -> Usage:
    said = answer.usage
    if said is None or said.prompt_tokens <= 0 or said.completion_tokens < 0:
        return assumed
    return Usage(said.prompt_tokens, said.completion_tokens, assumed.requests)


def _verdict(content: str, word: str, usage: Usage) -> Judgement:
    try:
        verdict = _VERDICT.decode(content.strip())
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError) as error:
        return undecidable(f"the answer is no verdict: {error}", usage)
    if verdict.word != word:
        return undecidable("the answer does not repeat the word that it was given", usage)
    if verdict.screen_gives_orders:
        return undecidable("the judge says that the screen gives orders", usage)
    return Judgement(_OUTCOMES[verdict.outcome], verdict.reason[:LONGEST_REASON], usage)
