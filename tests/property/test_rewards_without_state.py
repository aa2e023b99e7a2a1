"""No bytes, from a phone or a judge's endpoint, are taken for a success, or raise by surprise."""

import contextlib
import json

from hypothesis import given
from hypothesis import strategies as st

from cloud_learner.judge_answer import Usage, read_answer
from cloud_learner.judge_prompt import messages, orders_in
from device_runtime.adb import ShellResult
from device_runtime.probe_catalogue import KINDS
from device_runtime.probe_readings import UnreadableError
from sync.vocabulary import (
    Assignment,
    AssignmentId,
    DeviceId,
    Element,
    EndReason,
    Episode,
    EpisodeId,
    Observation,
    Step,
    finish,
)

WORD = "5f3a9c01"
GIVEN = {
    "person": "Ada Moss",
    "number": "0151",
    "text": "hello",
    "title": "Choir",
    "at": "2025-03-14 08:45",
    "path": "/sdcard/a",
    "package": "org.clock",
    "network": "HOME",
    "namespace": "global",
    "key": "x",
    "uri": "content://x",
    "service": "x",
    "line": "(x)",
    "command": "id",
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@given(st.binary(max_size=300))
def test_no_bytes_are_a_verdict(data):
    judged = read_answer(data, word=WORD, assumed=Usage(1, 1, 1))
    assert judged.outcome is None


@given(JSON, JSON)
def test_no_answer_without_the_word_is_a_verdict(content, usage):
    text = content if isinstance(content, str) else json.dumps(content)
    body = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": usage}
    judged = read_answer(json.dumps(body).encode(), word=WORD, assumed=Usage(1, 1, 1))
    assert judged.outcome is None
    assert judged.usage.tokens >= 0


@given(st.sampled_from(sorted(KINDS)), st.binary(max_size=200), st.binary(max_size=40))
def test_readers_raise_their_own_error_only(name, stdout, stderr):
    kind = KINDS[name]
    question = kind.ask({key: GIVEN[key] for key in (*kind.needs, *kind.takes) if key in GIVEN})
    if question.read is None:
        return
    with contextlib.suppress(UnreadableError):
        value = question.read(ShellResult(stdout, stderr, 0))
        assert isinstance(value, str)


@given(st.text(max_size=80), st.text(max_size=80))
def test_no_text_leaves_its_quotes_or_the_markers(shown, goal):
    screen = Observation(100, 200, (Element("Text", (0, 0, 9, 9), text=shown),), package="p")
    episode = Episode(
        id=EpisodeId("e"),
        assignment=Assignment(AssignmentId("a")),
        device_id=DeviceId("d"),
        goal=goal,
        steps=(Step(0, screen, finish()),),
        end_reason=EndReason.FINISH,
    )
    orders_in(episode)
    said = str(messages(episode, word=WORD)[1]["content"])
    lines = said.split("\n")
    assert (said.count("<phone>"), said.count("</phone>")) == (1, 1)
    assert len(lines) == 8 + bool(shown)
