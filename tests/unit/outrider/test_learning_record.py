"""What a run in the arena has on disk is enough to go on, whichever checkpoint is read."""

from __future__ import annotations

from dataclasses import replace

from outrider.learning_record import (
    KEPT_ROUNDS,
    Outcome,
    RunRecord,
    played_rounds,
    read_outcomes,
    read_record,
    write_outcomes,
)
from sync.vocabulary import (
    Action,
    ActionKind,
    Assignment,
    AssignmentId,
    DeviceId,
    EndReason,
    Episode,
    EpisodeId,
    Observation,
    Step,
)

STEP = Step(0, Observation(10, 20), Action(ActionKind.WAIT))
EPISODE = Episode(
    EpisodeId("e"),
    Assignment(AssignmentId("a"), template="t"),
    DeviceId("d"),
    "goal",
    (STEP, STEP),
    EndReason.BUDGET,
)


def outcome(name, *, success=False, template="t"):
    assignment = replace(EPISODE.assignment, template=template)
    return Outcome(replace(EPISODE, id=EpisodeId(name), assignment=assignment), success)


def names(outcomes):
    return [(one.episode.id, one.success) for one in outcomes]


def test_outcomes_are_read_as_they_were_written(tmp_path):
    file = tmp_path / "some.bin"
    write_outcomes(file, [outcome("a", success=True), outcome("b")])

    assert names(read_outcomes(file)) == [("a", True), ("b", False)]
    assert read_outcomes(tmp_path / "none.bin") == []


def test_a_record_counts_steps_and_what_came_of_each_template():
    record = RunRecord()
    record.count_shown(outcome("s").episode)
    record.add_round(1, [outcome("a", success=True), outcome("b", template="other")])

    assert (record.env_steps, record.episodes) == (4, 2)
    tally = record.records()["t"]
    assert (tally.outcomes, tally.shown, tally.played_since_shown) == ((True,), 1, 1)
    assert record.records()["other"].outcomes == (False,)


def test_showing_a_template_again_begins_its_count_anew():
    record = RunRecord()
    record.add_round(1, [outcome("a"), outcome("b")])
    record.add_shown(outcome("s", success=True))

    assert record.records()["t"].played_since_shown == 0
    assert names(record.shown) == [("s", True)]


def test_a_run_goes_on_from_the_record_of_the_checkpoint_that_is_there(tmp_path):
    record = RunRecord()
    record.add_round(1, [outcome("a")])
    record.save(tmp_path, 1)
    record.add_shown(outcome("s", success=True))
    record.add_round(2, [outcome("b", success=True)])
    record.save(tmp_path, 2)

    first, second = read_record(tmp_path, 1), read_record(tmp_path, 2)

    assert (first.episodes, second.episodes) == (1, 2)
    assert first.shown == []
    assert names(second.shown) == [("s", True)]
    assert second.records() == record.records()
    assert [number for number, _ in played_rounds(tmp_path, 1)] == [1]
    assert [names(some) for _, some in played_rounds(tmp_path, 2)] == [
        [("a", False)],
        [("b", True)],
    ]


def test_nothing_on_disk_is_a_new_run(tmp_path):
    assert read_record(tmp_path, 0) == RunRecord()
    assert list(played_rounds(tmp_path, 0)) == []


def test_only_what_a_checkpoint_still_needs_is_kept(tmp_path):
    record = RunRecord()
    for number in range(1, KEPT_ROUNDS + 6):
        record.add_round(number, [outcome(f"e{number}")])
        record.save(tmp_path, number)
    record.forget_before(tmp_path, KEPT_ROUNDS + 4)

    assert read_record(tmp_path, KEPT_ROUNDS + 3) == RunRecord()
    assert read_record(tmp_path, KEPT_ROUNDS + 4).episodes == KEPT_ROUNDS + 4
    kept = [number for number, _ in played_rounds(tmp_path, KEPT_ROUNDS + 5)]
    assert kept == list(range(5, KEPT_ROUNDS + 6))
