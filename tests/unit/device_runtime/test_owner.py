import pytest

from device_runtime.owner import (
    ANSWER_FILE,
    QUESTION_FILE,
    Desk,
    DeskRules,
    open_question,
    write_answer,
)
from device_runtime.stop import StopSwitch
from sync.clock import ManualClock
from sync.messages import OwnerAnswer, QuestionState
from sync.vocabulary import tap

TAP = tap(0.5, 0.5)


class Watched(ManualClock):
    """A clock that lets somebody act while another waits."""

    meanwhile = staticmethod(lambda: None)

    def sleep(self, duration_s):
        super().sleep(duration_s)
        self.meanwhile()


@pytest.fixture
def clock():
    return Watched()


@pytest.fixture
def sent():
    return []


@pytest.fixture
def desk(tmp_path, clock, sent):
    return Desk(
        DeskRules(30.0, tmp_path),
        switch=StopSwitch(tmp_path, clock=clock),
        send=sent.append,
        clock=clock,
        new_id=lambda: "q1",
    )


def test_a_message_answers_a_question(desk, clock, sent):
    for agreed in (True, False):
        clock.meanwhile = lambda agreed=agreed: desk.take(
            OwnerAnswer(question_id="q1", agreed=agreed)
        )
        assert desk("May I?", TAP) is agreed
    assert [one.state for one in sent] == [
        QuestionState.ASKED,
        QuestionState.AGREED,
        QuestionState.ASKED,
        QuestionState.REFUSED,
    ]
    assert sent[0].text == "May I?"


def test_a_file_answers_a_question(desk, clock, tmp_path):
    clock.meanwhile = lambda: write_answer(tmp_path, "q1", agreed=True)

    assert desk("May I?", TAP)


def test_an_open_question_can_be_read_and_a_settled_one_is_gone(desk, clock, tmp_path):
    seen = []

    def look():
        seen.append(open_question(tmp_path, now_ms=clock.wall_ms()) or {})
        desk.take(OwnerAnswer(question_id="q1", agreed=False))

    clock.meanwhile = look
    desk("May I?", TAP)

    assert (seen[0]["question_id"], seen[0]["text"]) == ("q1", "May I?")
    assert not (tmp_path / QUESTION_FILE).exists()


@pytest.mark.requirement("OR-OWN-3")
def test_silence_is_a_no_and_the_question_is_said_again_meanwhile(desk, clock, sent):
    started_s = clock.monotonic_s()

    assert not desk("May I?", TAP)

    assert 29.9 <= clock.monotonic_s() - started_s <= 30.5
    assert [one.state for one in sent].count(QuestionState.ASKED) == 6
    assert sent[-1].state is QuestionState.EXPIRED


def test_answers_to_other_questions_and_old_answers_are_nothing(desk, clock, tmp_path):
    write_answer(tmp_path, "q1", agreed=True)
    desk.take(OwnerAnswer(question_id="q1", agreed=True))
    clock.meanwhile = lambda: desk.take(OwnerAnswer(question_id="q2", agreed=True))

    assert not desk("May I?", TAP)


@pytest.mark.parametrize("said", ["", "[]", '{"question_id": "q1", "agreed": "yes"}'])
def test_a_damaged_answer_is_no_yes(desk, clock, tmp_path, said):
    clock.meanwhile = lambda: (tmp_path / ANSWER_FILE).write_text(said)

    assert not desk("May I?", TAP)


@pytest.mark.requirement("OR-OWN-3")
def test_the_first_answer_counts(desk, clock):
    def both():
        desk.take(OwnerAnswer(question_id="q1", agreed=False))
        desk.take(OwnerAnswer(question_id="q1", agreed=True))

    clock.meanwhile = both

    assert not desk("May I?", TAP)


def test_a_stop_ends_the_question_with_no(desk, clock, tmp_path):
    clock.meanwhile = lambda: StopSwitch(tmp_path, clock=clock).stop("enough")
    started_s = clock.monotonic_s()

    assert not desk("May I?", TAP)

    assert clock.monotonic_s() - started_s < 1.0
