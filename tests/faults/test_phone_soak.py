"""Many steps over a real adb server on a link that breaks at random: all episodes accounted for.

None is lost, none is counted twice, and none whose phone was lost counts as a success or as zero.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field

import pytest

from apps_mock.actors import Actors
from apps_mock.adb_clone import AdbClone
from apps_mock.adb_faults import Fault, FaultKind, WireFaults
from apps_mock.phone import MockPhone
from apps_mock.tasks import templates
from device_runtime.adb_phone import AdbPhoneSettings
from device_runtime.gestures import KeyPress, Pause, input_events
from device_runtime.seats import Played, SeatPhone, Seats
from device_runtime.trajectory_log import TrajectoryLog
from sync.clock import SystemClock
from sync.vocabulary import Assignment, AssignmentId, DeviceId, EndReason, new_uuid7

BAD_LINK = (
    Fault(FaultKind.DROP, times=None, share=0.03),
    Fault(FaultKind.DROP, amount=0, times=None, share=0.02, only="input "),
    Fault(FaultKind.OFFLINE, amount=150, times=None, share=0.01),
    Fault(FaultKind.SLOW, amount=30, times=None, share=0.02),
    Fault(FaultKind.MUTE, times=None, share=0.003),
    Fault(FaultKind.HANG, times=None, share=0.003),
)
SETTINGS = AdbPhoneSettings(
    settle_s=0.0, retry_pause_s=0.01, timeout_s=1.5, reconnect_s=5.0, verifies_text=False
)


class CountedPhone(MockPhone):
    """A clone that counts what fingers and keys did to it."""

    inputs = 0

    def touch(self, x_px, y_px, *, duration_ms=0):
        self.inputs += 1
        return super().touch(x_px, y_px, duration_ms=duration_ms)

    def swipe(self, x1, y1, x2, y2, *, duration_ms=300):
        self.inputs += 1
        return super().swipe(x1, y1, x2, y2, duration_ms=duration_ms)

    def type_text(self, text):
        self.inputs += 1
        return super().type_text(text)

    def press(self, keycode, *, times=1):
        self.inputs += times
        return super().press(keycode, times=times)

    def open_app(self, name):
        self.inputs += 1
        return super().open_app(name)


@dataclass
class WatchedPhone:
    """A clone over ADB that checks after every action that no part of it came twice."""

    clone: AdbClone
    repeated: list[str] = field(default_factory=list)
    seen: object = None

    def observe(self):
        self.seen = self.clone.observe()
        return self.seen

    def act(self, action):
        meant = sum(
            event.times if isinstance(event, KeyPress) else not isinstance(event, Pause)
            for event in _events(action, self.seen)
        )
        before = self.clone.phone.inputs
        try:
            return self.clone.act(action)
        finally:
            # typing may come in two pieces, since a literal "%s" is split
            if self.clone.phone.inputs - before > meant + (str(action.text or "").count("%s")):
                self.repeated.append(str(action))

    def __getattr__(self, name):
        return getattr(self.clone, name)


def _events(action, seen):
    try:
        return input_events(action, seen)
    except Exception:  # noqa: BLE001 - an invalid action has none
        return ()


def assignments():
    """Tasks in turn, played by the oracle and, every third time, at random."""
    names = [template.name for template in templates() if template.counts]
    number = 0
    while True:
        yield Assignment(
            AssignmentId(f"soak-{number}"),
            template=names[(7 * number) % len(names)],
            seed=number,
            look=number,
            actor="random" if number % 3 == 2 else "oracle",
            step_budget=12,
        )
        number += 1


def soak(tmp_path, steps, seed):
    """Play so many steps; what was played, by whom it was asked, and the log."""
    clock = SystemClock()
    clone = AdbClone(
        tmp_path / "adb",
        phone=CountedPhone(),
        settings=SETTINGS,
        faults=WireFaults(BAD_LINK, seed=seed),
    )
    clone.start()
    phone, actors = WatchedPhone(clone), Actors()
    seats = Seats(
        [SeatPhone(phone, clone)],
        lambda assignment, _phone: actors.policy_for(assignment, clone),
        device_id=DeviceId("phone"),
        clock=clock,
        new_id=new_uuid7,
    )
    log = TrajectoryLog.open(tmp_path / "log.db", clock=clock, new_id=new_uuid7)
    played: list[Played] = []
    started = []
    todo = assignments()
    try:
        while seats.env_steps < steps or seats.busy:
            if seats.free and seats.env_steps < steps:
                started.append(next(todo))
                seats.start(started[-1])
            for one in seats.turn():
                log.append(one.episode, one.verdicts)
                log.append(one.episode, one.verdicts)  # a restart that does not know it did
                played.append(one)
    finally:
        os.kill(clone.server.pid, 0)  # nobody has ended the server
        clone.close()
    return started, played, log, phone


def require_accounted(started, played, log, phone):
    asked = [assignment.id for assignment in started]
    assert Counter(one.episode.assignment.id for one in played) == Counter(asked)
    logged = list(log.episodes())
    assert Counter(episode.assignment.id for episode, _ in logged) == Counter(asked)
    assert sum(log.outbox_counts()) == len(asked)
    assert phone.repeated == []
    for episode, verdicts in logged:
        if episode.end_reason is EndReason.ENV_ERROR:
            assert verdicts == ()
            assert episode.end_detail
        else:
            assert len(verdicts) == 1
        if episode.assignment.actor == "oracle" and episode.end_reason.terminated:
            assert verdicts[0].success
    cut_off = [episode for episode, _ in logged if episode.end_reason is EndReason.ENV_ERROR]
    assert phone.clone.daemon.faults.injected
    assert cut_off


def test_hundred_steps_on_a_bad_link_are_all_accounted_for(tmp_path):
    started, played, log, phone = soak(tmp_path, 150, seed=1)

    require_accounted(started, played, log, phone)
    log.close()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_two_thousand_steps_on_a_bad_link_are_all_accounted_for(tmp_path):
    started, played, log, phone = soak(tmp_path, 2000, seed=2)

    require_accounted(started, played, log, phone)
    kinds = {struck.kind for struck in phone.clone.daemon.faults.injected}
    assert kinds == {fault.kind for fault in BAD_LINK}
    assert sum(len(one.episode.steps) for one in played) >= 1900
    log.close()
