"""Shadow scoring: figures, what makes a candidate broken, limits, and going on after a death."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from device_runtime.candidate import ATTEMPTS, CandidateFolder
from device_runtime.conditions import Conditions
from device_runtime.errors import InstallError, PhoneLostError, ShadowPostponedError
from device_runtime.shadow import (
    Answer,
    Screen,
    ShadowFigures,
    ShadowLimits,
    ShadowRow,
    figures_of,
    judged,
    scored,
)
from device_runtime.shadow_run import Shadow, logged_screens, weakness
from device_runtime.shadow_sides import shown_in
from device_runtime.trajectory_log import TrajectoryLog
from device_runtime.transitions import InstallState, Transition
from sync.adapter_file import pack, unpack
from sync.clock import ManualClock
from sync.codec import encode_body
from sync.policy_io import POLICY_IO_VERSION, encode
from sync.releases import Reason
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

LIMITS = ShadowLimits()


def no_pictures(_digest):
    return None


def observed(number):
    button = Element("android.widget.Button", (0, 0, 90, 90), text=f"Save {number}", clickable=True)
    return Observation(100, 200, (button,), package="org.app")


def screens(count):
    return [Screen(f"e:{index}", encode(observed(index), "save it")) for index in range(count)]


@dataclass
class FakeSide:
    """Answers by rule; each answer takes `takes_s` on the clock."""

    clock: ManualClock
    choose: Callable[[int], tuple[int, ...]] = lambda index: (index % 3, index)
    takes_s: float = 0.01
    finite: bool = True
    masked: bool = False
    log_p: float = -1.0
    answered: list[str] = field(default_factory=list)

    def answer(self, screen):
        self.clock.advance(self.takes_s)
        self.answered.append(screen.digest)
        choices = self.choose(len(self.answered) - 1)
        return Answer(choices, is_finite=self.finite, is_masked=self.masked)

    def log_prob(self, screen, choices):
        assert choices
        return self.log_p


def rows_of(count=10, candidate=None, active=None):
    clock = ManualClock()
    made = scored(
        screens(count),
        FakeSide(clock, **(candidate or {})),
        FakeSide(clock, **(active or {})),
        clock=clock,
    )
    return list(made)


def test_figures_are_shares_and_quantiles_of_the_rows():
    rows = rows_of(
        candidate={"choose": lambda index: (0, index if index < 6 else 99), "log_p": -1.5},
        active={"choose": lambda index: (0, index), "takes_s": 0.02},
    )

    figures = figures_of(rows)

    assert figures.screens == 10
    assert figures.agreement == 0.6
    assert figures.log_prob_difference_p50 == pytest.approx(0.5)
    assert figures.alike == 0.4
    assert figures.active_alike == 0.1
    assert figures.latency_ms_p50 == pytest.approx(10.0)
    assert figures.active_latency_ms_p50 == pytest.approx(20.0)
    assert figures.not_finite == figures.masked == 0.0


def test_no_screens_say_nothing_and_refuse_nothing():
    assert judged(figures_of([]), LIMITS).reason is None
    assert figures_of([]) == ShadowFigures()


def test_a_policy_that_learnt_to_act_otherwise_may_be_tried():
    rows = rows_of(candidate={"choose": lambda index: (9, index)})
    figures = figures_of(rows)
    assert figures.agreement == 0.0
    assert judged(figures, LIMITS).reason is None


@pytest.mark.parametrize(
    ("candidate", "reason"),
    [
        ({"finite": False}, Reason.NOT_FINITE),
        ({"log_p": float("nan")}, Reason.NOT_FINITE),
        ({"log_p": float("-inf")}, Reason.NOT_FINITE),
        ({"takes_s": 0.3}, Reason.TOO_SLOW),
        ({"choose": lambda _: (9,)}, Reason.ONE_ACTION),
        ({"masked": True}, Reason.IMPOSSIBLE_ACTIONS),
    ],
)
def test_a_broken_candidate_is_refused_with_its_reason(candidate, reason):
    outcome = judged(figures_of(rows_of(candidate=candidate)), LIMITS)
    assert outcome.reason is reason
    assert "\n" not in outcome.detail
    assert len(outcome.detail) > 20


@pytest.mark.parametrize(
    ("candidate", "active"),
    [
        ({"takes_s": 0.3}, {"takes_s": 0.2}),  # this phone is slow with any policy
        ({"takes_s": 0.2}, {"takes_s": 0.01}),  # slower, but quick enough
        ({"choose": lambda _: (9,)}, {"choose": lambda _: (9,)}),  # one screen needs one action
        ({"masked": True}, {"masked": True}),
    ],
)
def test_what_the_active_policy_does_too_is_no_reason(candidate, active):
    assert judged(figures_of(rows_of(candidate=candidate, active=active)), LIMITS).reason is None


def test_above_the_hard_limit_a_slow_policy_is_refused_wherever_it_is():
    rows = rows_of(candidate={"takes_s": 6.0}, active={"takes_s": 5.0})
    assert judged(figures_of(rows), LIMITS).reason is Reason.TOO_SLOW


def test_few_screens_judge_numbers_and_time_but_no_shares():
    assert judged(figures_of(rows_of(3, {"choose": lambda _: (9,)})), LIMITS).reason is None
    assert judged(figures_of(rows_of(3, {"masked": True})), LIMITS).reason is None
    assert judged(figures_of(rows_of(1, {"finite": False})), LIMITS).reason is Reason.NOT_FINITE


def adapter_of(seed):
    values = np.random.default_rng(seed).normal(size=(4, 2)).astype(np.float32)
    return unpack(pack({"layer.A": values}, base_digest="b" * 64, policy_io_version="1"))


@dataclass
class Scene:
    """A phone that scores; its sides are fakes, its folder is real."""

    folder: CandidateFolder
    clock: ManualClock = field(default_factory=ManualClock)
    limits: ShadowLimits = LIMITS
    screens: int = 12
    conditions: object = None
    candidate: FakeSide | None = None

    def __post_init__(self):
        self.candidate = self.candidate or FakeSide(self.clock)
        self.active = FakeSide(self.clock)

    @contextmanager
    def sides(self, candidate, active):
        yield self.candidate, self.active

    def score(self, seed=1):
        shadow = Shadow(
            self.folder,
            lambda count: iter(screens(self.screens)[:count]),
            self.sides,
            limits=self.limits,
            clock=self.clock,
            read_conditions=self.conditions,
        )
        return shadow(adapter_of(seed), None)


@pytest.fixture
def scene(tmp_path):
    return Scene(CandidateFolder(tmp_path / "phone"))


def test_no_more_screens_are_scored_than_allowed(scene):
    scene.limits = replace(LIMITS, screens=5)
    assert scene.score().figures.screens == 5
    assert len(scene.candidate.answered) == 5


def test_scoring_ends_when_its_time_is_over(scene):
    scene.candidate.takes_s = 4.0
    scene.limits = replace(LIMITS, seconds=10.0)
    assert scene.score().figures.screens == 3


def test_the_first_number_that_is_none_ends_scoring(scene):
    scene.candidate.finite = False
    assert scene.score().reason is Reason.NOT_FINITE
    assert len(scene.candidate.answered) == 1


def test_a_candidate_that_cannot_be_loaded_is_refused_with_the_loaders_reason(scene):
    @contextmanager
    def sides(candidate, active):
        raise InstallError("it fits another base", reason="base_mismatch")
        yield

    scene.sides = sides
    outcome = scene.score()
    assert (outcome.reason, outcome.detail) == (Reason.BASE_MISMATCH, "it fits another base")


def die_after(scene, answers):
    """Score in a child that is killed with its candidate after so many answers; its exit signal."""
    child = os.fork()
    if child == 0:
        scene.candidate.answered = []
        scene.candidate.choose = lambda index: (
            os.kill(os.getpid(), signal.SIGKILL) if index == answers else (index % 3, index)
        )
        scene.score()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_process_that_died_goes_on_where_it_was(scene):
    assert die_after(scene, 9) == -signal.SIGKILL

    outcome = scene.score()

    assert outcome.figures.screens == 12
    assert len(scene.candidate.answered) == 4  # eight rows were on disk


def test_rows_of_another_candidate_do_not_count(scene):
    assert die_after(scene, 9) == -signal.SIGKILL
    assert scene.score(seed=2).figures.screens == 12
    assert len(scene.candidate.answered) == 12


def test_rows_that_cannot_be_read_are_made_again(scene):
    assert die_after(scene, 9) == -signal.SIGKILL
    scene.folder.rows_file.write_bytes(b'{"pair": 1')
    assert scene.score().figures.screens == 12


def test_a_candidate_that_kills_its_process_each_time_is_given_up(scene):
    for _ in range(ATTEMPTS):
        assert die_after(scene, 0) == -signal.SIGKILL

    outcome = scene.score()

    assert outcome.reason is Reason.CRASH_LOOP
    assert scene.candidate.answered == []


def test_attempts_that_were_survived_do_not_count(scene):
    for _ in range(ATTEMPTS):
        assert scene.score(seed=2).reason is None
    for _ in range(ATTEMPTS - 1):
        assert die_after(scene, 0) == -signal.SIGKILL
    assert scene.score().reason is None


@pytest.mark.parametrize(
    ("conditions", "said"),
    [
        (Conditions(battery_percent=19.0, charging=False), "19 %, 20 % are needed"),
        (Conditions(battery_percent=90.0, temperature_c=44.0, charging=True), "44.0 °C"),
    ],
)
def test_a_weak_or_hot_phone_scores_later_and_loses_no_attempt(scene, conditions, said):
    scene.conditions = lambda: conditions
    for _ in range(ATTEMPTS + 1):
        with pytest.raises(ShadowPostponedError, match=said):
            scene.score()
    assert scene.candidate.answered == []

    scene.conditions = Conditions
    assert scene.score().reason is None


def test_a_phone_that_does_not_answer_scores_later(scene):
    def lost():
        raise PhoneLostError("no server")

    scene.conditions = lost
    with pytest.raises(ShadowPostponedError, match="no server"):
        scene.score()


@pytest.mark.parametrize(
    "conditions",
    [
        Conditions(),
        Conditions(battery_percent=5.0, charging=True),
        Conditions(battery_percent=20.0, temperature_c=43.0, charging=False),
    ],
)
def test_charging_and_silence_are_no_reason_to_wait(conditions):
    assert weakness(conditions, LIMITS) == ""


def episode(number, steps):
    return Episode(
        id=EpisodeId(f"episode-{number}"),
        assignment=Assignment(AssignmentId(f"a-{number}")),
        device_id=DeviceId("p1"),
        goal="save it",
        steps=tuple(Step(index, observed(10 * number + index), finish()) for index in range(steps)),
        end_reason=EndReason.FINISH,
    )


def test_screens_come_from_the_log_newest_first_each_once(tmp_path):
    log = TrajectoryLog.open(tmp_path / "phone.db", clock=ManualClock(), new_id=lambda: "i")
    for number in (1, 2, 3):
        log.append(episode(number, 2))
    log.append(replace(episode(3, 2), id=EpisodeId("the same again")))
    log.close()
    read = logged_screens(
        tmp_path / "phone.db", ManualClock(), shown_in(POLICY_IO_VERSION, no_pictures)
    )

    assert [one.id for one in read(5)] == [
        "the same again:0",
        "the same again:1",
        "episode-2:0",
        "episode-2:1",
        "episode-1:0",
    ]


def test_a_phone_without_a_log_has_no_screens(tmp_path):
    read = logged_screens(
        tmp_path / "phone.db", ManualClock(), shown_in(POLICY_IO_VERSION, no_pictures)
    )
    assert list(read(5)) == []
    assert not (tmp_path / "phone.db").exists()


def test_the_bytes_that_tell_the_cloud_stay_what_they_are():
    """Version 1 of the figures: fields may be added, none may change its name or form."""
    figures = ShadowFigures(screens=16, agreement=0.9375, log_prob_difference_p50=0.0123456)
    event = Transition(InstallState.TRIAL, "r7", 7, "d" * 8, at_ms=5, figures=figures).event()

    body = encode_body(event)

    assert (body.kind, body.enc) == ("event", "msgpack")
    assert body.data == GOLDEN


GOLDEN = (
    b"\x84\xa4kind\xb5release_state_entered\xa6fields\xde\x00\x13"
    b"\xa5state\xa5trial\xaarelease_id\xa2r7\xa7version\xa17\xaeadapter_digest\xa8dddddddd"
    b"\xa6reason\xa0\xa6detail\xa0"
    b"\xaeshadow_version\xa11\xaeshadow_screens\xa216\xb0shadow_agreement\xa60.9375"
    b"\xbeshadow_log_prob_difference_p50\xa70.01235\xbeshadow_log_prob_difference_p95\xa10"
    b"\xb1shadow_not_finite\xa10\xadshadow_masked\xa10\xb4shadow_active_masked\xa10"
    b"\xacshadow_alike\xa10\xb3shadow_active_alike\xa10\xb5shadow_latency_ms_p50\xa10"
    b"\xb5shadow_latency_ms_p95\xa10\xbcshadow_active_latency_ms_p50\xa10"
    b"\xa5at_ms\x05\xaeschema_version\x01"
)


def test_a_transition_without_scoring_has_no_such_fields():
    fields = Transition(InstallState.TRIAL, "r7", 7).fields()
    assert not [name for name in fields if name.startswith("shadow_")]


def test_rows_survive_their_file_as_they_are():
    (row,) = rows_of(1)
    assert isinstance(row, ShadowRow)
    assert row.difference == 0.0
