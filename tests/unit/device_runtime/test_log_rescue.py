"""A damaged log does not stop a phone: it is kept aside, and what can be read goes on."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from random import Random

import pytest

from device_runtime.errors import TrajectoryLogError
from device_runtime.log_rescue import KEPT, RESCUED_EVENT, damaged_copies, open_log
from outrider.fault_deeds import PAGE_BYTES, overwrite_pages
from sync import inbox, outbox
from sync.clock import ManualClock
from sync.codec import EncodedBody, decode_body
from sync.database import read_meta, transaction, write_meta
from sync.vocabulary import Assignment, AssignmentId, EpisodeId
from tests.wire import upload

EPISODES = 30
ACKNOWLEDGED = 10


class Place:
    """A log's file, and how it is opened."""

    def __init__(self, folder):
        self.path = folder / "phone.db"
        self.clock = ManualClock()
        self._installs = iter(f"install-{number}" for number in range(99))

    def open(self):
        return open_log(self.path, clock=self.clock, new_id=lambda: next(self._installs))

    def fill(self):
        with closing(self.open()) as log:
            for number in range(EPISODES):
                one = upload(number, steps=6)
                played = replace(one.episode, id=EpisodeId(f"episode-{number:03d}"))
                verdicts = [replace(each, episode_id=played.id) for each in one.verdicts]
                log.append(played, verdicts)
            with transaction(log.connection):
                write_meta(log.connection, "epoch", "57")
                log.connection.execute("DELETE FROM outbox WHERE seq <= ?", (ACKNOWLEDGED,))
                inbox.accept(
                    log.connection, [Assignment(AssignmentId("waiting"))], received_at_ms=1
                )
            return log.install_id


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def messages(log):
    rows = log.connection.execute("SELECT kind, enc, body FROM outbox ORDER BY seq")
    return [decode_body(EncodedBody(*row)) for row in rows]


def told(log):
    """The fields of the one event that tells of the rescue."""
    [event] = [one for one in messages(log) if getattr(one, "kind", "") == RESCUED_EVENT]
    return event.fields


def test_a_sound_log_is_opened_as_it_is(place):
    install = place.fill()
    with closing(place.open()) as log:
        assert log.install_id == install
        assert outbox.depth(log.connection) == EPISODES - ACKNOWLEDGED
    assert damaged_copies(place.path) == []


def test_a_new_log_is_made_where_there_is_none(place):
    with closing(place.open()) as log:
        assert log.counts().logged == 0


@pytest.mark.parametrize("seed", range(6))
def test_a_damaged_log_is_kept_and_what_is_readable_goes_on(place, seed):
    install = place.fill()
    overwrite_pages(place.path, Random(seed))
    before = place.path.read_bytes()

    with closing(place.open()) as log:
        fields = told(log)
        assert log.install_id != install
        assert log.counts().logged == int(fields["episodes"])
        assert outbox.depth(log.connection) == int(fields["sent_again"]) + 1 + int(
            fields["other_messages"]
        )
        log.append(upload(999).episode)
        assert len(list(log.episodes())) == int(fields["episodes"]) + 1
    [kept] = damaged_copies(place.path)
    assert kept.read_bytes() == before
    with closing(place.open()) as again:  # it is sound now
        assert again.counts().logged == int(fields["episodes"]) + 1


def test_only_what_the_cloud_may_lack_is_sent_again(place):
    place.fill()
    [first] = _pages_of(place.path, "verdicts")
    _overwrite(place.path, first)

    with closing(place.open()) as log:
        fields = told(log)
        assert (fields["episodes"], fields["sent_again"]) == (
            str(EPISODES),
            str(EPISODES - ACKNOWLEDGED),
        )
        sent = [one for one in messages(log) if hasattr(one, "episode")]
        assert [one.episode.id for one in sent] == [
            f"episode-{number:03d}" for number in range(ACKNOWLEDGED, EPISODES)
        ]
        assert all(len(one.verdicts) == 1 for one in sent)
        assert [one.id for one in inbox.pending(log.connection)] == ["waiting"]
        assert read_meta(log.connection, "epoch") == "57"


@pytest.mark.parametrize("contents", [b"", b"not a database at all" * 400, bytes(8192)])
def test_a_file_of_noise_is_moved_away_and_an_empty_one_is_used(place, contents):
    place.path.write_bytes(contents)
    with closing(place.open()) as log:
        assert log.counts().logged == 0
    assert len(damaged_copies(place.path)) == bool(contents)


def test_damaged_files_do_not_fill_the_disk(place):
    for _ in range(KEPT + 2):
        place.path.write_bytes(b"not a database at all" * 400)
        place.clock.advance(1.0)
        place.open().close()
    assert len(damaged_copies(place.path)) == KEPT


def test_a_log_of_a_newer_program_is_no_damage(place):
    place.fill()
    with closing(sqlite3.connect(place.path)) as conn:
        conn.execute("PRAGMA user_version = 99")
    with pytest.raises(TrajectoryLogError, match="update"):
        place.open()
    assert damaged_copies(place.path) == []


def _pages_of(path, table):
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return conn.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)
        ).fetchall()


def _overwrite(path, page):
    with path.open("r+b") as file:
        file.seek((page[0] - 1) * PAGE_BYTES)
        file.write(Random(1).randbytes(PAGE_BYTES))
