import sqlite3
from dataclasses import replace
from itertools import count

import pytest

from device_runtime.assignments import AssignmentQueue
from device_runtime.errors import TrajectoryLogError
from device_runtime.scripted import TEMPLATE
from device_runtime.trajectory_log import TrajectoryLog
from sync.clock import ManualClock
from sync.codec import MAX_BODY_BYTES
from sync.database import open_database
from sync.messages import Event
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
    Verdict,
    VerdictSource,
    finish,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "phones" / "p" / "phone.db"


@pytest.fixture
def log(path):
    opened = open_log(path)
    yield opened
    opened.close()


def open_log(path):
    numbers = count()
    return TrajectoryLog.open(path, clock=ManualClock(), new_id=lambda: f"install-{next(numbers)}")


def an_assignment(number=0):
    return Assignment(AssignmentId(f"a-{number}"), template=TEMPLATE)


def an_episode(number=0, **changes):
    element = Element("android.widget.Button", (0, 0, 10, 10), text="Buy a ticket ✓")
    step = Step(0, Observation(1080, 2400, (element,)), finish(), log_prob=-0.25)
    episode = Episode(
        id=EpisodeId(f"e-{number}"),
        assignment=an_assignment(number),
        device_id=DeviceId("phone-1"),
        goal="buy",
        steps=(step,),
        end_reason=EndReason.FINISH,
    )
    return replace(episode, **changes)


def a_verdict(number=0, **changes):
    verdict = Verdict(
        EpisodeId(f"e-{number}"), "bought", "1", VerdictSource.CODE, score=1.0, progress=1.0
    )
    return replace(verdict, **changes)


def outbox_kinds(log):
    return [row[0] for row in log.connection.execute("SELECT kind FROM outbox ORDER BY seq")]


def test_episode_and_verdict_are_read_back_equal(log):
    log.append(an_episode(), [a_verdict()])

    assert log.read(EpisodeId("e-0")) == (an_episode(), (a_verdict(),))
    assert log.read(EpisodeId("unknown")) is None


def test_an_ended_episode_waits_for_the_disk(log):
    statements = []
    log.connection.set_trace_callback(statements.append)
    log.append(an_episode())
    order = [statements.index(one) for one in ("PRAGMA synchronous = FULL", "COMMIT")]
    assert order == sorted(order)


def test_appending_again_changes_nothing(log):
    log.append(an_episode(), [a_verdict()])
    log.append(an_episode(), [a_verdict(score=0.0)])

    assert log.counts().logged == 1
    assert log.read(EpisodeId("e-0"))[1] == (a_verdict(),)
    assert outbox_kinds(log) == ["episode_upload"]


def test_episode_counts_as_acknowledged_when_its_upload_is_gone(log):
    log.append_many([(an_episode(n), [a_verdict(n)]) for n in range(3)])
    log.connection.execute("DELETE FROM outbox WHERE seq = 1")
    log.connection.execute("UPDATE outbox SET parked_reason = 'malformed' WHERE seq = 2")

    counts = log.counts()

    assert (counts.logged, counts.acknowledged, counts.parked) == (3, 1, 1)
    assert log.read(EpisodeId("e-0")) is not None


def test_env_errors_and_steps_are_counted(log):
    log.append(an_episode(0))
    log.append(an_episode(1, end_reason=EndReason.ENV_ERROR, steps=()))

    assert (log.counts().env_errors, log.counts().env_steps) == (1, 1)


def test_batch_is_stored_whole_or_not_at_all(log):
    class BrokenError(Exception):
        pass

    def broken_batch():
        yield an_episode(0), [a_verdict(0)]
        raise BrokenError

    with pytest.raises(BrokenError):
        log.append_many(broken_batch())
    bad = replace(an_episode(2), assignment=None)
    with pytest.raises(AttributeError):
        log.append_many([(an_episode(1), ()), (bad, ())])

    assert log.counts().logged == 0
    assert outbox_kinds(log) == []


def test_later_verdict_stands_beside_the_first(log):
    log.append(an_episode(), [a_verdict()])
    second = a_verdict(verifier="judge", source=VerdictSource.JUDGE, score=None)

    assert log.judge_again(second)
    assert not log.judge_again(second)

    assert log.read(EpisodeId("e-0"))[1] == (a_verdict(), second)


def test_later_verdict_travels_with_its_episode(log):
    log.append(an_episode(), [a_verdict()])
    log.judge_again(a_verdict(verifier="owner", source=VerdictSource.OWNER))
    log.judge_again(a_verdict(number=9, verifier="owner", source=VerdictSource.OWNER))

    assert outbox_kinds(log) == ["episode_upload", "episode_upload"]
    assert log.counts().acknowledged == 0


def test_summaries_come_newest_first(log):
    log.append_many([(an_episode(0), [a_verdict(0)]), (an_episode(1), ())])

    newest, oldest = log.summaries()

    assert (newest.id, newest.score, oldest.id, oldest.score) == ("e-1", None, "e-0", 1.0)
    assert [item.id for item in log.summaries(limit=1)] == ["e-1"]
    assert [episode.id for episode, _ in log.episodes()] == ["e-0", "e-1"]


def test_reopened_log_keeps_its_installation_and_its_rows(path):
    first = open_log(path)
    first.append(an_episode())
    first.close()

    second = open_log(path)

    assert second.install_id == "install-0"
    assert second.counts().logged == 1
    second.close()


def test_log_of_a_newer_program_is_refused(path):
    open_log(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()

    with pytest.raises(TrajectoryLogError, match="update"):
        open_log(path)


def test_file_that_is_no_database_is_refused(path):
    path.parent.mkdir(parents=True)
    path.write_bytes(b"this is no database, and long enough to be read as one" * 100)

    with pytest.raises(TrajectoryLogError, match=r"phone\.db"):
        open_log(path)


def test_damaged_row_is_named_as_such(log):
    log.append(an_episode())
    log.connection.execute("UPDATE episodes SET body = x'00'")

    with pytest.raises(TrajectoryLogError, match="cannot be read"):
        log.read(EpisodeId("e-0"))


def test_episode_that_can_never_be_sent_is_dropped_with_an_event(log, monkeypatch):
    queue = AssignmentQueue(log.connection, clock=ManualClock())
    queue.accept([an_assignment(0)])
    huge = "x" * (MAX_BODY_BYTES + 1)

    log.append(an_episode(0, end_detail=huge))

    assert outbox_kinds(log) == ["event"]
    assert log.counts().logged == 0
    assert len(AssignmentQueue(log.connection, clock=ManualClock())) == 0


def test_event_waits_in_the_outbox(log):
    log.record(Event(kind="release_installed", fields={"release_id": "r-1"}, at_ms=5))

    assert outbox_kinds(log) == ["event"]


def test_assignment_that_was_taken_and_not_played_comes_back_after_a_crash(path):
    first = open_log(path)
    queue = AssignmentQueue(first.connection, clock=ManualClock())
    queue.accept([an_assignment(0), an_assignment(1)])
    taken = [queue.take(ready=lambda _: True) for _ in range(2)]
    first.append(an_episode(0))
    first.close()

    second = open_log(path)
    again = AssignmentQueue(second.connection, clock=ManualClock())

    assert [item.id for item in taken] == ["a-0", "a-1"]
    assert again.take(ready=lambda _: True).id == "a-1"
    assert again.take(ready=lambda _: True) is None
    second.close()


def test_assignment_that_was_played_does_not_come_back_when_it_is_sent_again(log):
    queue = AssignmentQueue(log.connection, clock=ManualClock())
    queue.accept([an_assignment(0)])
    queue.take(ready=lambda _: True)
    log.append(an_episode(0))

    queue.accept([an_assignment(0)])

    assert len(queue) == 0


def test_assignment_that_waited_at_the_start_is_not_offered_twice(path):
    first = open_log(path)
    AssignmentQueue(first.connection, clock=ManualClock()).accept([an_assignment(0)])
    queue = AssignmentQueue(first.connection, clock=ManualClock())
    queue.take(ready=lambda _: True)

    queue.offer([an_assignment(0), an_assignment(1)])

    assert queue.take(ready=lambda _: True).id == "a-1"
    assert len(queue) == 0
    first.close()


def test_assignment_that_is_not_ready_lets_others_pass(log):
    queue = AssignmentQueue(log.connection, clock=ManualClock())
    queue.accept([an_assignment(0), an_assignment(1)])

    taken = queue.take(ready=lambda item: item.id != "a-0")

    assert taken.id == "a-1"
    assert len(queue) == 1


def test_cancelled_assignment_is_not_played(log):
    queue = AssignmentQueue(log.connection, clock=ManualClock())
    queue.accept([an_assignment(0), an_assignment(1)])

    queue.cancel([AssignmentId("a-0")])

    assert queue.take(ready=lambda _: True).id == "a-1"
    assert len(queue) == 0


def test_rejected_assignment_tells_the_cloud_why_and_never_comes_back(log):
    queue = AssignmentQueue(log.connection, clock=ManualClock())
    queue.accept([an_assignment(0)])
    taken = queue.take(ready=lambda _: True)

    queue.reject(taken, reason="unknown_task", detail="no such template")
    queue.reject(taken, reason="unknown_task", detail="no such template")

    assert outbox_kinds(log) == ["event"]
    assert len(AssignmentQueue(log.connection, clock=ManualClock())) == 0


def test_other_connections_read_while_the_log_writes(log, path):
    reader = open_database(path)
    log.append(an_episode())

    assert reader.execute("SELECT count(*) FROM episodes").fetchone() == (1,)
    reader.close()
