"""The log of a phone that runs for years: bounded, and still exact about what was played."""

import sqlite3
from contextlib import closing

import pytest

from cloud_learner.audit import audit
from cloud_learner.phone_logs import read_index, read_uploads
from cloud_learner.report_store import ReportStore
from cloud_learner.store import Database, sqlite_url
from device_runtime.log_quota import QUOTA_BYTES, log_bytes
from device_runtime.trajectory_log import TrajectoryLog
from sync.clock import ManualClock
from sync.vocabulary import (
    Assignment,
    AssignmentId,
    DeviceId,
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
    with closing(open_log(path)) as opened:
        yield opened


def open_log(path):
    return TrajectoryLog.open(path, clock=ManualClock(), new_id=lambda: "install")


def an_episode(number):
    return Episode(
        id=EpisodeId(f"e-{number}"),
        assignment=Assignment(AssignmentId(f"a-{number}"), template="t"),
        device_id=DeviceId("p"),
        goal=f"buy {number}",
        steps=(Step(0, Observation(1080, 2400, ()), finish()),),
        end_reason=EndReason.FINISH,
    )


def a_verdict(number, verifier="bought"):
    return Verdict(EpisodeId(f"e-{number}"), verifier, "1", VerdictSource.CODE, score=1.0)


def acknowledge(log, *numbers):
    for number in numbers:
        log.connection.execute(
            "DELETE FROM outbox WHERE seq = (SELECT upload_seq FROM episodes WHERE id = ?)",
            (f"e-{number}",),
        )


def with_steps(log):
    return [episode.id for episode, _ in log.episodes()]


def size_of_one(log):
    log.append(an_episode(0), [a_verdict(0)])
    return log_bytes(log.connection)


def test_oldest_acknowledged_episodes_give_up_their_steps_and_keep_their_line(log):
    size = size_of_one(log)
    log.append_many([(an_episode(number), [a_verdict(number)]) for number in range(1, 4)])
    acknowledge(log, 0, 1, 2)
    log.set_quotas(outbox_bytes=10**9, log_bytes=3 * size + size // 2)
    log.append(an_episode(4), [a_verdict(4)])

    assert with_steps(log) == ["e-2", "e-3", "e-4"]
    assert log_bytes(log.connection) <= 3 * size + size // 2
    assert log.read(EpisodeId("e-1")) is None
    assert [one.id for one in log.summaries()] == ["e-4", "e-3", "e-2", "e-1", "e-0"]
    assert (log.counts().logged, log.counts().acknowledged, log.counts().env_steps) == (5, 3, 5)


def test_what_the_cloud_has_not_committed_stays_whole_whatever_the_limit(log):
    size_of_one(log)
    log.set_quotas(outbox_bytes=10**9, log_bytes=1)
    log.append_many([(an_episode(number), ()) for number in range(1, 200)])

    assert len(with_steps(log)) == 200


def test_an_emptied_episode_is_not_logged_a_second_time(log):
    size_of_one(log)
    acknowledge(log, 0)
    log.set_quotas(outbox_bytes=10**9, log_bytes=1)
    log.append(an_episode(1))
    log.append(an_episode(0))

    assert log.counts().logged == 2
    assert with_steps(log) == ["e-1"]
    assert not log.judge_again(a_verdict(0, "owner"))


def test_a_log_of_the_version_before_is_measured_and_bounded(path):
    with closing(open_log(path)) as log:
        size_of_one(log)
        held = log_bytes(log.connection)
    with closing(sqlite3.connect(path)) as raw:
        for kind, name in raw.execute(
            "SELECT type, name FROM sqlite_master "
            "WHERE name GLOB 'log_*' OR name = 'episodes_with_body'"
        ).fetchall():
            raw.execute(f"DROP {kind} {name}")
        raw.execute("PRAGMA user_version = 1")
        raw.commit()

    with closing(open_log(path)) as log:
        assert log_bytes(log.connection) == held
        log.append(an_episode(1))
        assert log_bytes(log.connection) > held


def test_a_log_without_a_limit_of_its_own_keeps_some_hundred_thousand_episodes(log):
    assert QUOTA_BYTES // size_of_one(log) > 100_000


def test_the_clouds_checks_tell_emptied_episodes_from_lost_ones(log, path):
    size_of_one(log)
    acknowledge(log, 0)
    log.set_quotas(outbox_bytes=10**9, log_bytes=1)
    log.append(an_episode(1))
    index = read_index(path)

    assert index.emptied == {"e-0"}
    assert index.acknowledged == {"e-0"}
    assert [one.episode.id for one in read_uploads(path)] == ["e-1"]


def test_the_audit_still_finds_an_emptied_episode_that_the_cloud_lost(log, tmp_path):
    size_of_one(log)
    acknowledge(log, 0)
    log.set_quotas(outbox_bytes=10**9, log_bytes=1)
    log.append(an_episode(1))
    with closing(Database(sqlite_url(tmp_path / "cloud.db"))) as database:
        found = audit(ReportStore(database), tmp_path / "phones", installed={})

    assert found.counts["emptied"] == 1
    assert [(one.what, one.episode_id) for one in found.differences] == [
        ("missing_in_store", "e-0")
    ]
