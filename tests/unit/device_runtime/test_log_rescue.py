"""A damaged log does not stop a phone: it is kept aside, and what can be read goes on."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from random import Random

import pytest

from cloud_learner.phone_logs import read_index
from device_runtime.errors import TrajectoryLogError
from device_runtime.log_quota import let_go, set_log_quota
from device_runtime.log_rescue import KEPT, RESCUED_EVENT, damaged_copies, open_log
from outrider.fault_deeds import PAGE_BYTES, overwrite_pages
from sync import blob_rows, inbox, outbox
from sync.clock import ManualClock
from sync.codec import EncodedBody, decode_body, encode_body
from sync.database import read_meta, transaction, write_meta
from sync.drop_rules import DropRule, note_drop
from sync.messages import ScreenPicture
from sync.outbox_quota import OutboxQuota, set_quota
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


def damage(place):
    """Spoil a page that holds no row of what is looked at here."""
    [first] = _pages_of(place.path, "inbox")[:1]
    _overwrite(place.path, first)


def test_lines_of_episodes_whose_steps_were_let_go_stay(place):
    place.fill()
    with closing(place.open()) as log, transaction(log.connection):
        set_log_quota(log.connection, 1)
        assert let_go(log.connection) == ACKNOWLEDGED
    damage(place)
    with closing(place.open()) as log:
        assert told(log)["sent_again"] == str(EPISODES - ACKNOWLEDGED)
        index = read_index(place.path)
        assert len(index.logged) == EPISODES
        assert len(index.emptied) == len(index.acknowledged) == ACKNOWLEDGED
        judged = log.connection.execute("SELECT count(DISTINCT episode_id) FROM verdicts")
        assert judged.fetchone() == (EPISODES,)


def test_what_was_given_up_for_want_of_room_gets_another_try(place):
    place.fill()
    with closing(place.open()) as log, transaction(log.connection):
        note_drop(log.connection, DropRule.EPISODE_OLDEST, "11", size_bytes=1, now_ms=1)
        log.connection.execute("DELETE FROM outbox WHERE seq = 11")
    damage(place)
    with closing(place.open()) as log:
        sent = [one for one in messages(log) if hasattr(one, "episode")]
        assert sent[0].episode.id == "episode-010"
        assert log.counts().dropped == 0


def test_what_the_cloud_has_pushes_nothing_out_of_the_outbox(place):
    place.fill()
    with closing(place.open()) as log:
        unsent = EPISODES - ACKNOWLEDGED
        size = len(encode_body(messages(log)[0]).data)
        quota = OutboxQuota(quota_bytes=(unsent + 1) * size, floor_bytes=0)
        with transaction(log.connection):
            set_quota(log.connection, quota)
    damage(place)
    with closing(place.open()) as log:
        assert log.drops() == {}
        assert len(messages(log)) == unsent + 1


def test_pictures_of_episodes_that_are_sent_again_are_offered_again(place):
    played = upload(1).episode
    picture = ScreenPicture(screen="s", blob=b"d" * 32, size_bytes=7)
    with closing(place.open()) as log:
        log.append_many([(played, ())], screens={played.id: (picture,)})
    damage(place)
    with closing(place.open()) as log:
        [sent] = [one for one in messages(log) if hasattr(one, "episode")]
        assert sent.screens == (picture,)
        assert blob_rows.waiting(log.connection) == (1, 7)


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
