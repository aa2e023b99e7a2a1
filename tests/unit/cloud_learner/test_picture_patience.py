"""Rows wait for their pictures, all at the same time, and not for ever."""

from __future__ import annotations

from cloud_learner.learner_store import LearnerEpisode
from cloud_learner.picture_patience import PicturePatience
from sync.vocabulary import Assignment, AssignmentId, DeviceId, EndReason, Episode, EpisodeId


def row(number):
    episode = Episode(
        id=EpisodeId(str(number)),
        assignment=Assignment(AssignmentId("a")),
        device_id=DeviceId("d"),
        goal="",
        steps=(),
        end_reason=EndReason.FINISH,
    )
    return LearnerEpisode(number, episode, "", success=True, progress=1.0)


def test_rows_are_taken_in_order_once_their_pictures_are_here_or_were_waited_for():
    now, missing = [0.0], {"2", "4"}
    patience = PicturePatience(
        lambda episode: episode.id not in missing, now_s=lambda: now[0], patience_s=10.0
    )
    rows = [row(number) for number in (1, 2, 3, 4, 5)]

    assert patience.ready(rows) == rows[:1]
    assert patience.holds
    missing.remove("2")
    now[0] = 5.0
    assert patience.ready(rows[1:]) == rows[1:3]
    now[0] = 10.0  # the fourth has waited since it was first read
    assert patience.ready(rows[3:]) == rows[3:]
    assert not patience.holds


def test_what_was_held_back_is_held_until_it_is_asked_for_again():
    """Whoever looks a moment later must not take rows for read that were not."""
    now = [0.0]
    patience = PicturePatience(lambda _episode: False, now_s=lambda: now[0], patience_s=10.0)
    assert patience.ready([row(1)]) == []

    now[0] = 10.0
    assert patience.holds
    assert patience.ready([row(1)]) == [row(1)]
    assert not patience.holds
