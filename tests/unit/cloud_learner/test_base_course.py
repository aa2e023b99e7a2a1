"""The course of base training: chunks on time, checks, focus, early end, and going on."""

import itertools

import pytest
import torch

from apps_mock.actors import Actors
from apps_mock.evaluation import instances, templates_of
from apps_mock.farm import play
from cloud_learner.base_course import BaseCourse, CourseSettings, Shown, Watch
from cloud_learner.base_training import BaseTraining, BaseTrainingSettings
from cloud_learner.budget import Budget
from cloud_learner.demonstration_window import Demonstration
from cloud_learner.errors import CheckpointError
from exporters.base import base_digest
from exporters.families.layout_t5 import LayoutT5Config
from sync.vocabulary import Split

SMALL = LayoutT5Config(d_model=16, d_ff=16, heads=2, encoder_layers=1)
UPDATES = 12


class KilledError(Exception):
    """The process died here."""


@pytest.fixture(scope="module")
def chunks():
    """Four chunks with a demonstration of two templates each."""
    wanted = instances(
        templates_of("clock")[:2], count=8, seed_base=0, split=Split.TRAIN, actor="oracle"
    )
    played = sorted(
        play(wanted, Actors().policy_for, seats=1),
        key=lambda one: (one.episode.assignment.seed, one.episode.assignment.template),
    )
    shown = [Demonstration(one.episode, "clock") for one in played]
    return [Shown(shown[at : at + 2], played=3) for at in range(0, 8, 2)]


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Recorder:
    """Writes down what a course tells, and kills it where it is asked to."""

    def __init__(self, *, kill_at=None):
        self.updates, self.shown, self.checks, self.resumed, self.rates = [], [], [], [], []
        self._kill_at = kill_at

    def watch(self):
        return Watch(self._updated, self.checks.append, self._shown, self.resumed.append)

    def _updated(self, course, loss, learning_rate):
        self.updates.append((course.training.updates, round(loss, 6)))
        self.rates.append(learning_rate)
        if course.training.updates == self._kill_at:
            raise KilledError

    def _shown(self, number, counts):
        self.shown.append((number, len(self.updates), counts.played, counts.kept))


def course_of(chunks, *, success=None, budget=None, **settings):
    """A course over `chunks`; `success` gives each check's outcome."""
    training = BaseTraining(
        BaseTrainingSettings(updates=UPDATES, batch_steps=6, window_chunks=2, config=SMALL)
    )
    outcomes = iter(success or [])
    return BaseCourse(
        training,
        CourseSettings(chunks=len(chunks), **settings),
        play=chunks.__getitem__,
        check=lambda network: dict.fromkeys(("clock_toggle", "clock_delete"), next(outcomes)),
        budget=budget or Budget(),
    )


def test_chunks_come_evenly_over_the_schedule(chunks):
    seen = Recorder()
    course_of(chunks).run(seen.watch())
    assert [(number, at) for number, at, _, _ in seen.shown] == [(0, 0), (1, 3), (2, 6), (3, 9)]
    assert [(played, kept) for _, _, played, kept in seen.shown] == [
        (3, 2),
        (6, 4),
        (9, 6),
        (12, 8),
    ]
    assert seen.updates[-1][0] == UPDATES


def test_rate_falls_over_the_whole_course_not_chunk_by_chunk(chunks):
    seen = Recorder()
    course_of(chunks).run(seen.watch())
    assert seen.rates == sorted(seen.rates, reverse=True)
    assert seen.rates[0] == pytest.approx(1e-3)
    assert seen.rates[-1] < 0.2e-3


@pytest.mark.parametrize("killed_at", [4, 7, 11])
def test_killed_course_comes_to_the_same_weights(chunks, tmp_path, killed_at):
    options = {"save_every": 2, "check_every": 3, "focus": 2.0}
    whole = Recorder()
    wanted = course_of(chunks, success=[0.1, 0.4, 0.2, 0.3], **options).run(whole.watch())

    state, first, second = tmp_path / "training.pt", Recorder(kill_at=killed_at), Recorder()
    with pytest.raises(KilledError):
        course_of(chunks, success=[0.1, 0.4, 0.2, 0.3], **options).run(first.watch(), state, "a")
    torch.rand(5)
    resumed_at = 2 * ((killed_at - 1) // 2)
    left = [0.1, 0.4, 0.2, 0.3][resumed_at // 3 :]
    network = course_of(chunks, success=left, **options).run(second.watch(), state, "a")

    assert second.resumed == [resumed_at]
    assert second.updates == whole.updates[resumed_at:]
    assert base_digest(network) == base_digest(wanted)


def test_course_that_was_killed_while_it_was_tested_learns_nothing_again(chunks, tmp_path):
    state, again = tmp_path / "training.pt", Recorder()
    options = {"check_every": 6, "patience": 5}
    wanted = course_of(chunks, success=[0.6, 0.5], **options).run(Recorder().watch(), state, "a")
    digest = base_digest(wanted)
    network = course_of(chunks, **options).run(again.watch(), state, "a")

    assert (again.resumed, again.updates, again.checks) == ([UPDATES], [], [])
    assert base_digest(network) == digest


def test_state_is_saved_by_cpu_time_where_updates_are_slow(chunks, tmp_path):
    state, first, second = tmp_path / "training.pt", Recorder(kill_at=8), Recorder()
    seconds = itertools.count(0.0, 5.0)
    budget = Budget(cpu_clock=lambda: next(seconds))
    with pytest.raises(KilledError):
        course_of(chunks, budget=budget).run(first.watch(), state, "a")
    course_of(chunks).run(second.watch(), state, "a")

    assert 0 < second.resumed[0] < 8


def test_course_that_gets_no_better_ends_with_its_best_weights(chunks):
    seen = Recorder()
    kept = {}

    def remember(course, loss, rate):
        if course.training.updates == 4:
            kept["digest"] = base_digest(course.training.network)

    course = course_of(chunks, success=[0.2, 0.6, 0.5, 0.4, 0.9], check_every=2, patience=2)
    network = course.run(Watch(remember, seen.checks.append, lambda *_: None, lambda _: None))
    assert course.ended_early
    assert [one.updates for one in seen.checks] == [2, 4, 6, 8]
    assert base_digest(network) == kept["digest"]


def test_course_without_patience_keeps_its_last_weights(chunks):
    course = course_of(chunks, success=[0.9, 0.5, 0.4], check_every=4)
    network = course.run(Recorder().watch())
    assert not course.ended_early
    assert course.training.updates == UPDATES
    assert [one.success for one in course.checks] == [0.9, 0.5, 0.4]
    assert base_digest(network) == base_digest(course.training.network)


def test_last_weights_are_checked_where_no_check_was_due(chunks):
    seen = Recorder()
    course_of(chunks, success=[0.1, 0.2, 0.3], check_every=5).run(seen.watch())
    assert [one.updates for one in seen.checks] == [5, 10, 12]


def test_failing_templates_weigh_more(chunks):
    training = BaseTraining(
        BaseTrainingSettings(updates=4, batch_steps=6, window_chunks=2, config=SMALL)
    )
    found = iter(
        [{"clock_toggle": 1.0, "clock_delete": 0.0}, {"clock_toggle": 1.0, "clock_delete": 1.0}]
    )
    course = BaseCourse(
        training,
        CourseSettings(check_every=2, focus=3.0),
        play=lambda _: chunks[0],
        check=lambda _: next(found),
        budget=Budget(),
    )
    weights = []
    course.run(
        Watch(
            lambda *_: None,
            lambda _: weights.append(dict(training._window._weights)),
            lambda *_: None,
            lambda _: None,
        )
    )
    assert weights[0] == {"clock_toggle": 1.0, "clock_delete": 4.0}
    assert weights[1] == {"clock_toggle": 1.0, "clock_delete": 2.5}


def test_budget_moves_the_schedule_on_and_ends_the_course(chunks):
    clock = iter(range(1000))
    budget = Budget(cpu_s=8.0, cpu_clock=lambda: float(next(clock)))
    seen = Recorder()
    course = course_of(chunks, budget=budget)
    course.run(seen.watch())
    assert course.training.updates < UPDATES
    assert course.progress == 1.0
    assert [number for number, *_ in seen.shown] == [0, 1, 2, 3]
    assert seen.rates == sorted(seen.rates, reverse=True)
    assert seen.rates[-1] < 0.3e-3


@pytest.mark.parametrize("spoil", ["damage", "rename"])
def test_state_that_cannot_be_gone_on_from_is_refused(chunks, tmp_path, spoil):
    state = tmp_path / "training.pt"
    with pytest.raises(KilledError):
        course_of(chunks, save_every=2).run(Recorder(kill_at=5).watch(), state, "a")
    if spoil == "damage":
        state.write_bytes(state.read_bytes()[:-200])
    with pytest.raises(CheckpointError, match="remove it"):
        course_of(chunks).run(Recorder().watch(), state, "a" if spoil == "damage" else "b")


def test_state_counts_what_the_killed_process_took(chunks, tmp_path):
    clock = iter(range(1000))
    state = tmp_path / "training.pt"
    with pytest.raises(KilledError):
        course_of(chunks, save_every=2, budget=Budget(cpu_clock=lambda: float(next(clock)))).run(
            Recorder(kill_at=5).watch(), state, "a"
        )
    course = course_of(chunks, budget=Budget(cpu_clock=lambda: 0.0))
    course.run(Recorder().watch(), state, "a")
    assert course.budget.cpu_s > 0.0
