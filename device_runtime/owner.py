"""How the owner of a phone is asked before a sensitive action, and answers: silence is a no.

    the guard asks ─► Desk ─► question file, and message up ─► owner ─► answer file, or message down

A question waits for one answer, ends at its deadline, and ends at once where the phone is stopped.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from device_runtime.stop import StopSwitch
from sync.clock import Clock
from sync.durable_file import write_durably
from sync.messages import LiveMessage, OwnerAnswer, OwnerQuestion, QuestionState
from sync.vocabulary import Action

QUESTION_FILE: Final = "question.json"
ANSWER_FILE: Final = "answer.json"
_LOOK_EVERY_S: Final = 0.1
_SAY_AGAIN_S: Final = 5.0
"""A question that was lost on the way up is said again."""


@dataclass(frozen=True, slots=True)
class DeskRules:
    """How a desk asks.

    Attributes:
        timeout_s: how long an answer may take.
        folder: the phone's folder, for answers from its own machine.
    """

    timeout_s: float
    folder: Path


class Desk:
    """Asks over MQTT and through files, for phones that run without a terminal. Thread-safe.

    Args:
        send: publishes a message that may be lost.
        new_id: makes the questions' ids, short enough to type.
    """

    def __init__(
        self,
        rules: DeskRules,
        *,
        switch: StopSwitch,
        send: Callable[[LiveMessage], None],
        clock: Clock,
        new_id: Callable[[], str],
    ) -> None:
        self._rules = rules
        self._switch = switch
        self._send = send
        self._clock = clock
        self._new_id = new_id
        self._lock = threading.Lock()
        self._asked = ""
        self._answer: bool | None = None

    def __call__(self, question: str, action: Action) -> bool:
        """Whether the owner agreed in time."""
        now_ms = self._clock.wall_ms()
        asked = OwnerQuestion(
            question_id=self._new_id(),
            text=question,
            action=action.kind.value,
            asked_at_ms=now_ms,
            expires_at_ms=now_ms + round(self._rules.timeout_s * 1000),
        )
        with self._lock:
            self._asked, self._answer = asked.question_id, None
        self._forget(ANSWER_FILE)
        self._write(asked)
        try:
            answer = self._wait(asked)
        finally:
            with self._lock:
                self._asked = ""
            self._forget(QUESTION_FILE)
        self._send(_settled(asked, answer))
        return answer is True

    def take(self, answer: OwnerAnswer) -> None:
        """Take an answer, from any thread; one to another question, or a second one, is nothing."""
        with self._lock:
            if answer.question_id == self._asked and self._answer is None:
                self._answer = answer.agreed

    def _wait(self, asked: OwnerQuestion) -> bool | None:
        """The answer; None where the time ran out or the phone was stopped."""
        deadline_s = self._clock.monotonic_s() + self._rules.timeout_s
        say_at_s = self._clock.monotonic_s()
        while (now_s := self._clock.monotonic_s()) < deadline_s and not self._switch.reason():
            if now_s >= say_at_s:
                self._send(asked)
                say_at_s = now_s + _SAY_AGAIN_S
            self._read_answer(asked)
            with self._lock:
                if self._answer is not None:
                    return self._answer
            self._clock.sleep(_LOOK_EVERY_S)
        return None

    def _read_answer(self, asked: OwnerQuestion) -> None:
        try:
            said: Any = json.loads((self._rules.folder / ANSWER_FILE).read_bytes())  # Any: JSON
            if said["question_id"] == asked.question_id and isinstance(said["agreed"], bool):
                self.take(OwnerAnswer(question_id=asked.question_id, agreed=said["agreed"]))
        except (OSError, ValueError, KeyError, TypeError):
            return

    def _write(self, asked: OwnerQuestion) -> None:
        text = json.dumps(
            {
                "question_id": asked.question_id,
                "text": asked.text,
                "action": asked.action,
                "expires_at_ms": asked.expires_at_ms,
            },
            ensure_ascii=False,
        )
        write_durably(self._rules.folder / QUESTION_FILE, text.encode())

    def _forget(self, name: str) -> None:
        with suppress(FileNotFoundError):
            (self._rules.folder / name).unlink()


def open_question(folder: Path, *, now_ms: int) -> dict[str, Any] | None:  # Any: JSON
    """The question that a phone's folder holds; None where none waits for an answer."""
    try:
        said: dict[str, Any] = json.loads((folder / QUESTION_FILE).read_bytes())
        return said if said["expires_at_ms"] > now_ms else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_answer(folder: Path, question_id: str, *, agreed: bool) -> None:
    """Answer a question of the phone in `folder`."""
    text = json.dumps({"question_id": question_id, "agreed": agreed})
    write_durably(folder / ANSWER_FILE, text.encode())


def _settled(asked: OwnerQuestion, answer: bool | None) -> OwnerQuestion:  # noqa: FBT001 - a value
    states = {True: QuestionState.AGREED, False: QuestionState.REFUSED, None: QuestionState.EXPIRED}
    return OwnerQuestion(
        question_id=asked.question_id,
        text=asked.text,
        action=asked.action,
        state=states[answer],
        asked_at_ms=asked.asked_at_ms,
        expires_at_ms=asked.expires_at_ms,
    )
