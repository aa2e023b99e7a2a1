"""The device process on scripted phones, with its real database and a real session in memory."""

import threading
from itertools import count
from random import Random

import pytest

from device_runtime.assignments import AssignmentQueue
from device_runtime.release_shelf import ReleaseShelf
from device_runtime.remote_settings import RemoteSettings
from device_runtime.scripted import TEMPLATE, FunctionPolicy, ScriptedPhone
from device_runtime.seats import SeatPhone, Seats
from device_runtime.settings import Settings
from device_runtime.supervisor import DeviceParts, Supervisor
from device_runtime.trajectory_log import TrajectoryLog
from sync.clock import SystemClock
from sync.loopback import LoopbackBroker
from sync.messages import (
    AssignmentBatch,
    Birth,
    Cancel,
    DesiredSettings,
    EpisodeUpload,
    Event,
    ReleaseAnnouncement,
)
from sync.session import CloudSession, DeviceSession
from sync.vocabulary import (
    OWN_TEMPERATURE,
    Assignment,
    AssignmentId,
    DeviceId,
    ReleaseId,
    finish,
    tap,
    wait,
)

FARM = DeviceId("farm-1")
CLOCK = SystemClock()


class ScriptedWire:
    """A wire that hands out what it was given, and nothing ever comes back."""

    def __init__(self, *messages):
        self.messages = list(messages)
        self.births = []
        self.sent = []
        self.closed = False
        self.when_empty = lambda: None

    def start(self):
        pass

    def next_message(self, timeout_s):
        if self.messages:
            return self.messages.pop(0)
        if timeout_s:
            self.when_empty()
        return None

    def wake(self):
        pass

    def send(self, message):
        self.sent.append(message)

    def announce(self, birth):
        self.births.append(birth)

    def wait_drained(self, timeout_s):
        return False

    def close(self):
        self.closed = True


class FakeShelf(ReleaseShelf):
    """A shelf whose releases are decided by the test."""

    def __init__(self, *, ready=(), unavailable=()):
        super().__init__(None, None, channel="stable", clock=CLOCK)
        self.ready = set(ready)
        self.unavailable = list(unavailable)
        self.looks = 0
        self.within_s = 0.0

    def is_ready(self, release_id):
        return release_id in self.ready

    def look(self, *, within_s=0.0):
        self.looks += 1
        self.within_s = within_s

    def settle(self, in_use):
        missing, self.unavailable = self.unavailable, []
        return False, missing


def an_assignment(number, **changes):
    options = {"template": TEMPLATE, "actor": "release", "step_budget": 4, **changes}
    return Assignment(AssignmentId(f"a-{number}"), **options)


def turner(request):
    return finish() if request.observation.elements[0].text == "page 2" else tap(0.5, 0.12)


class Bench:
    """One device in a folder; each `device` call is a new process on it."""

    def __init__(self, folder):
        self.settings = Settings(
            device_id=FARM, data_dir=folder, seats=2, pin_patience_s=1e-6, health_every_s=1.0
        )
        self.reports = []

    def device(self, wire, *, policy=None, shelf=None, phones=None):
        log = TrajectoryLog.open(self.settings.database, clock=CLOCK, new_id=_ids("install"))
        phones = phones or [ScriptedPhone(), ScriptedPhone()]
        acting = policy or FunctionPolicy(turner)
        parts = DeviceParts(
            log=log,
            queue=AssignmentQueue(log.connection, clock=CLOCK),
            seats=Seats(
                [SeatPhone(phone, phone) for phone in phones],
                lambda assignment, phone: acting,
                device_id=FARM,
                clock=CLOCK,
                new_id=_ids(f"episode-{Random().random()}"),
            ),
            shelf=shelf or FakeShelf(),
            wire=wire,
            birth=Birth(device_id=FARM),
            remote=self.remote(),
        )
        return Supervisor(parts, self.settings, clock=CLOCK, report=self._report)

    def remote(self):
        """What is set from afar, as a device's process opens it."""
        own = {"health_every_s": self.settings.health_every_s}
        self.settings.phone_dir.mkdir(parents=True, exist_ok=True)
        return RemoteSettings(self.settings.phone_dir, clock=CLOCK, own=own)

    def logged(self):
        log = TrajectoryLog.open(self.settings.database, clock=CLOCK, new_id=_ids("install"))
        try:
            return [episode.assignment.id for episode, _ in log.episodes()]
        finally:
            log.close()

    def accept(self, *assignments):
        """What the session does when assignments arrive."""
        log = TrajectoryLog.open(self.settings.database, clock=CLOCK, new_id=_ids("install"))
        AssignmentQueue(log.connection, clock=CLOCK).accept(assignments)
        log.close()

    def events(self, name):
        return [fields for event, fields in self.reports if event == name]

    def _report(self, event, **fields):
        self.reports.append((event, fields))


def _ids(prefix):
    numbers = count()
    return lambda: f"{prefix}-{next(numbers)}"


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def test_what_waits_is_played_and_logged(bench):
    bench.accept(*[an_assignment(number) for number in range(5)])
    wire = ScriptedWire()

    counts = bench.device(wire).run(threading.Event(), until_idle=True)

    assert sorted(bench.logged()) == [f"a-{number}" for number in range(5)]
    assert (counts.logged, counts.acknowledged, counts.env_errors) == (5, 0, 0)
    assert [fields["score"] for fields in bench.events("episode")] == [1.0] * 5
    assert wire.closed


def test_stop_takes_effect_within_one_step_and_the_episode_is_played_at_the_next_start(bench):
    bench.accept(an_assignment(0, step_budget=1000))
    stop = threading.Event()
    steps = count()

    def stop_at_the_third(request):
        if next(steps) == 2:
            stop.set()
        return wait()

    bench.device(ScriptedWire(), policy=FunctionPolicy(stop_at_the_third)).run(stop)
    played_before = bench.logged()
    bench.device(ScriptedWire()).run(threading.Event(), until_idle=True)

    assert next(steps) == 3
    assert played_before == []
    assert bench.logged() == ["a-0"]


def test_crash_between_two_steps_loses_no_assignment_and_plays_none_twice(bench):
    class PowerCutError(Exception):
        pass

    bench.accept(*[an_assignment(number) for number in range(4)])
    steps = count()

    def cut_off(request):
        if next(steps) == 8:
            raise PowerCutError
        return turner(request)

    with pytest.raises(PowerCutError):
        bench.device(ScriptedWire(), policy=FunctionPolicy(cut_off)).run(threading.Event())
    before = bench.logged()
    bench.device(ScriptedWire()).run(threading.Event(), until_idle=True)

    assert 0 < len(before) < 4
    assert sorted(bench.logged()) == ["a-0", "a-1", "a-2", "a-3"]


def test_assignment_that_nobody_can_play_is_rejected_and_the_rest_is_played(bench):
    bench.accept(an_assignment(0, template="unheard of"), an_assignment(1))

    bench.device(ScriptedWire()).run(threading.Event(), until_idle=True)

    assert bench.logged() == ["a-1"]
    assert [fields["reason"] for fields in bench.events("assignment_rejected")] == ["unknown_task"]


def test_pinned_assignment_waits_while_others_are_played(bench):
    bench.accept(an_assignment(0, release_id="r-9"), an_assignment(1))
    shelf = FakeShelf()
    wire = ScriptedWire()
    device = bench.device(wire, shelf=shelf)
    bench.settings = Settings(device_id=FARM, data_dir=bench.settings.data_dir)
    device._settings = bench.settings
    wire.when_empty = lambda: shelf.ready.add("r-9") if bench.events("episode") else None

    device.run(threading.Event(), until_idle=True)

    assert bench.logged() == ["a-1", "a-0"]
    assert bench.events("episode")[1]["release_id"] == "r-9"


def test_pinned_release_that_never_comes_is_given_up(bench):
    bench.accept(an_assignment(0, release_id="r-9"))

    bench.device(ScriptedWire()).run(threading.Event(), until_idle=True)

    [rejected] = bench.events("assignment_rejected")
    assert (rejected["assignment_id"], rejected["reason"]) == ("a-0", "unknown_release")
    assert bench.logged() == []


def test_cancelled_assignment_is_not_played(bench):
    bench.accept(an_assignment(0), an_assignment(1))
    wire = ScriptedWire(Cancel(assignment_ids=(AssignmentId("a-0"),)))

    bench.device(wire).run(threading.Event(), until_idle=True)

    assert bench.logged() == ["a-1"]


def test_announcement_makes_the_shelf_look(bench):
    shelf = FakeShelf()
    wire = ScriptedWire(
        ReleaseAnnouncement(channel="stable", release_id=ReleaseId("r-1"), version=1, spread_s=7.0)
    )

    bench.device(wire, shelf=shelf).run(threading.Event(), until_idle=True)

    assert (shelf.looks, shelf.within_s) == (1, 7.0)


def test_env_errors_are_logged_counted_and_never_judged(bench):
    bench.accept(an_assignment(0))
    phone = ScriptedPhone(lost_at=1)

    counts = bench.device(ScriptedWire(), phones=[phone]).run(threading.Event(), until_idle=True)

    [episode] = bench.events("episode")
    assert (episode["end_reason"], episode["score"]) == ("env_error", None)
    assert counts.env_errors == 1


def test_device_says_which_release_acts_and_how_it_does(bench):
    wire = ScriptedWire()

    bench.device(wire).run(threading.Event(), until_idle=True)

    assert [birth.release_id for birth in wire.births] == ["factory"]
    assert [message.release_id for message in wire.sent] == ["factory"]
    assert bench.events("installed")[0]["release_id"] == "factory"


def test_an_assignment_of_its_own_is_played_with_the_temperature_that_was_set_from_afar(bench):
    bench.remote().take(DesiredSettings(version=1, values={"temperature": 0.7}))
    bench.accept(
        an_assignment("own", temperature=OWN_TEMPERATURE), an_assignment("told", temperature=0.2)
    )

    bench.device(ScriptedWire()).run(threading.Event(), until_idle=True)

    log = TrajectoryLog.open(bench.settings.database, clock=CLOCK, new_id=_ids("install"))
    played = {str(one.assignment.id): one for one, _ in log.episodes()}
    log.close()
    assert played["a-own"].assignment.temperature == 0.7
    assert {step.temperature for step in played["a-own"].steps} == {0.7}
    assert played["a-told"].assignment.temperature == 0.2


def test_episodes_reach_the_cloud_and_are_acknowledged(bench, tmp_path):
    broker = LoopbackBroker()
    received, committed = [], threading.Event()

    def ingest(batch):
        received.extend(item.message for item in batch)
        uploads = [item for item in received if isinstance(item, EpisodeUpload)]
        rejections = [item for item in received if isinstance(item, Event)]
        if len(uploads) == 3 and rejections:
            committed.set()
        if any(isinstance(item, Birth) for item in received) and not given:
            given.append(True)
            batch = AssignmentBatch(
                assignments=(
                    *(an_assignment(number) for number in range(3)),
                    an_assignment(9, template="unheard of"),
                )
            )
            cloud.send(FARM, batch)
        return {}

    given = []
    bench.accept()
    cloud = CloudSession(
        transport=broker.transport("cloud", service=True),
        fleet="home",
        ingest=ingest,
        files=None,
    )
    cloud.start()
    assert cloud.wait_connected(10)
    session = DeviceSession(
        transport=broker.transport(FARM),
        database=bench.settings.database,
        fleet="home",
        birth=Birth(device_id=FARM),
    )
    stop = threading.Event()
    device = bench.device(session)
    results = []
    thread = threading.Thread(target=lambda: results.append(device.run(stop)))
    thread.start()
    try:
        assert committed.wait(20)
    finally:
        stop.set()
        thread.join(20)
        cloud.close()

    [counts] = results
    assert (counts.logged, counts.acknowledged) == (3, 3)
    uploads = [item for item in received if isinstance(item, EpisodeUpload)]
    assert sorted(item.episode.assignment.id for item in uploads) == ["a-0", "a-1", "a-2"]
    assert all(item.verdicts[0].success for item in uploads)
