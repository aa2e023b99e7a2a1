"""An owner and a running phone: every way to stop it and to answer it, over the real broker."""

from __future__ import annotations

import json
import queue
import threading
from contextlib import closing
from dataclasses import replace
from functools import partial

import pytest

from apps_mock.actors import Actors
from apps_mock.farm import FarmRecipe, mock_phone
from device_runtime.safety import leave_home
from device_runtime.scripted import FunctionPolicy
from device_runtime.settings import Settings
from device_runtime.stop import STOP_FILE
from device_runtime.supervisor import Supervisor
from device_runtime.trajectory_log import TrajectoryLog
from device_runtime.workers import Workers
from outrider import cli
from outrider.device_wiring import assemble, local_seats
from outrider.owned_phone import free_phone, guarded_phone, owner_rules
from sync.broker import OWNER, BrokerProcess
from sync.clock import SystemClock
from sync.fetch import DirectoryFiles
from sync.messages import AssignmentBatch, Role
from sync.mqtt import PahoTransport
from sync.owner_client import OwnerClient
from sync.session import CloudSession
from sync.vocabulary import (
    Assignment,
    AssignmentId,
    DeviceId,
    EndReason,
    new_uuid7,
    open_app,
    wait,
)

PHONE = "phone-1"
WAIT_S = 60.0
QUIET_S = 0.6
HOME = "org.outrider.clones.launcher"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A fleet's folder whose broker runs."""
    folder = tmp_path_factory.mktemp("fleet")
    broker = BrokerProcess(folder / "broker", fleet="home")
    broker.start()
    yield folder, broker
    broker.stop()


def farm_seats(settings, policy):
    """Two seats in a process of their own, for assignments that name the file of a policy."""
    return Workers(
        FarmRecipe(settings.device_id, files=(policy,), folder=settings.phone_dir),
        workers=1,
        seats=2,
        device_id=settings.device_id,
        clock=SystemClock(),
        new_id=new_uuid7,
        lease_s=60.0,
    )


def leave_home_and_wait(request):
    return open_app("Clock") if request.observation.package == HOME else wait(1)


class Running:
    """A phone that is run in a thread, and the cloud that gives it things to play."""

    def __init__(self, data, name, *, permit_s=0.0, policy=None, farm=None, cloud=None):
        self.folder, broker = data
        self.name = name
        self.reports = queue.SimpleQueue()
        self.interrupt = threading.Event()
        self.seat = mock_phone()
        credentials = self.folder / f"{name}.txt"
        credentials.write_text(broker.add_device(name).password)
        self.settings = Settings(
            device_id=DeviceId(name),
            data_dir=self.folder,
            broker_url=f"mqtt://127.0.0.1:{broker.port}",
            credentials_file=credentials,
            permit_s=permit_s,
        )
        rules = owner_rules(None)
        rules = replace(rules, guard=replace(rules.guard, actions_a_minute=600))
        if farm:
            self.owned = free_phone(self.settings)
            self.seats = farm_seats(self.settings, farm)
        else:
            self.owned = guarded_phone(self.settings, rules, interrupt=self.interrupt)
            self.seats = local_seats(
                self.settings,
                [self.seat],
                policy or (lambda assignment, phone: FunctionPolicy(leave_home_and_wait)),
                safety=self.owned.safety,
            )
        parts = assemble(
            self.settings,
            role=Role.FARM if farm else Role.PHONE,
            table=self.seats,
            seats=1,
            policy=None,
            host=None,
            owner=self.owned.owner,
            gate=self.owned.gate,
            rest=(lambda: None) if farm else partial(leave_home, self.seat.phone),
        )
        self.wire = parts.wire
        supervisor = Supervisor(
            parts,
            self.settings,
            clock=SystemClock(),
            report=lambda event, **fields: self.reports.put((event, fields)),
        )
        self.thread = threading.Thread(target=supervisor.run, args=(self.interrupt,))
        self.cloud = cloud or CloudSession(
            transport=PahoTransport(broker.address()),
            fleet="home",
            ingest=lambda batch: {},
            files=DirectoryFiles(self.folder),
        )
        if cloud is None:
            self.cloud.start()
        assert self.cloud.wait_connected(WAIT_S)
        self.thread.start()
        assert parts.wire.wait_connected(WAIT_S)

    def assign(self, template="contacts_search", *, actor="release", steps=5000):
        item = Assignment(
            AssignmentId(new_uuid7()), template=template, actor=actor, step_budget=steps, seed=4
        )
        self.assigned = AssignmentBatch(assignments=(item,))
        self.cloud.send(self.name, self.assigned)

    def wait_for(self, wanted):
        return self.wait_for_all(wanted)[wanted]

    def wait_for_all(self, *wanted):
        """The first of each of these events, in whatever order they come."""
        found = {}
        while len(found) < len(wanted):
            event, fields = self.reports.get(timeout=WAIT_S)
            if event in wanted:
                found.setdefault(event, fields)
        return found

    def wait_playing(self):
        """Wait for three steps; an assignment that met no subscription yet is sent again."""
        before = self.seats.env_steps
        for _ in range(600):
            if self.seats.env_steps >= before + 3:
                return
            threading.Event().wait(0.1)
            self.cloud.send(self.name, self.assigned)
        pytest.fail("nothing is played")

    def wait_busy(self):
        """As `wait_playing`, for seats that tell their steps only at the end."""
        for _ in range(600):
            if self.seats.busy:
                return
            threading.Event().wait(0.1)
            self.cloud.send(self.name, self.assigned)
        pytest.fail("nothing is played")

    def last_episode(self):
        log = TrajectoryLog.open(self.settings.database, clock=SystemClock(), new_id=new_uuid7)
        with closing(log):
            assert log.counts().refused >= 1
            return list(log.episodes())[-1]

    @property
    def is_at_home(self):
        return self.seat.phone.observe().package == HOME

    def close(self):
        self.interrupt.set()
        self.thread.join(WAIT_S)
        self.cloud.close()


@pytest.fixture
def running(data, request):
    phones = []

    def start(**options):
        name = f"phone-{abs(hash(request.node.name)) % 10**6}-{len(phones)}"
        phones.append(Running(data, name, **options))
        return phones[-1]

    yield start
    for phone in phones:
        phone.close()


def run(capsys, *words):
    code = cli.run([*map(str, words), "--json"])
    captured = capsys.readouterr()
    return code, [json.loads(line) for line in captured.out.splitlines()], captured.err


def require_stopped(phone, detail, *also):
    """Require that an episode ended so; `also` are events before or after its own."""
    ended = phone.wait_for_all("episode", *also)["episode"]
    assert ended["end_reason"] is EndReason.GUARD
    assert ended["score"] is None
    episode, verdicts = phone.last_episode()
    assert episode.end_reason.truncated
    assert detail in episode.end_detail
    assert verdicts == ()
    assert phone.is_at_home


def test_the_command_stops_a_phone_until_it_is_started(running, capsys):
    phone = running()
    phone.assign()
    phone.wait_playing()

    code, rows, _ = run(capsys, "phone", "stop", "--id", phone.name, "--data", phone.folder)
    assert (code, rows[-1]["by_file"]) == (0, True)
    require_stopped(phone, "stopped: stopped by its owner", "stopped")
    phone.assign()
    steps = phone.seats.env_steps
    threading.Event().wait(QUIET_S)
    assert phone.seats.env_steps == steps

    assert run(capsys, "phone", "start", "--id", phone.name, "--data", phone.folder)[0] == 0
    phone.wait_for("started_again")
    phone.wait_playing()


def test_a_phone_that_is_stopped_between_two_episodes_is_left_at_home(running):
    phone = running()
    phone.assign(steps=200)
    phone.wait_playing()
    phone.wait_for("episode")
    assert not phone.is_at_home

    (phone.settings.phone_dir / STOP_FILE).touch()
    phone.wait_for("stopped")
    phone.wait_for("health")

    assert phone.is_at_home


def test_a_stop_file_stops_a_phone_whose_wire_is_busy(running):
    phone = running()
    phone.assign()
    phone.wait_playing()

    (phone.settings.phone_dir / STOP_FILE).touch()

    require_stopped(phone, "stopped by its owner")


def test_a_message_stops_and_starts_a_phone(running, data):
    phone = running()
    phone.assign()
    phone.wait_playing()
    owner = OwnerClient(PahoTransport(data[1].address(OWNER)), fleet="home")
    owner.connect()

    owner.stop(phone.name, "from afar")
    require_stopped(phone, "from afar", "stopped")
    phone.assign()
    owner.start(phone.name)
    phone.wait_for("started_again")

    phone.wait_playing()
    owner.close()


def test_the_command_stops_and_starts_every_device_of_a_broker(running, data, tmp_path, capsys):
    waits = tmp_path / "waits.py"
    waits.write_text("from sync.vocabulary import wait\ndef decide(request):\n    return wait(1)\n")
    phone = running()
    farm = running(farm=waits, cloud=phone.cloud)
    password = tmp_path / "owner.txt"
    password.write_text(data[1].address(OWNER).password)
    there = ("--all", "--broker", phone.settings.broker_url, "--credentials", password)
    phone.assign()
    phone.wait_playing()
    farm.assign(actor=str(waits), steps=10**6)
    farm.wait_busy()

    code, rows, _ = run(capsys, "phone", "stop", *there, "--reason", "holidays")
    assert (code, rows[-1]["by_file"]) == (0, False)
    assert {phone.name, farm.name} <= set(rows[-1]["told"])
    require_stopped(phone, "holidays", "stopped")
    ended = farm.wait_for_all("stopped", "episode")["episode"]
    assert ended["end_reason"] is EndReason.GUARD
    assert farm.seats.busy == 0

    assert run(capsys, "phone", "start", *there)[0] == 0
    for device in (phone, farm):
        device.wait_for("started_again")
    farm.assign(actor=str(waits), steps=10**6)
    farm.wait_busy()


def test_ctrl_c_ends_the_episode_and_leaves_the_phone_at_home(running):
    phone = running()
    phone.assign()
    phone.wait_playing()

    phone.interrupt.set()
    phone.thread.join(WAIT_S)

    require_stopped(phone, "interrupted at the terminal")


def test_a_phone_that_hears_nothing_stops_by_itself(tmp_path):
    broker = BrokerProcess(tmp_path / "broker", fleet="home")
    broker.start()
    phone = Running((tmp_path, broker), PHONE, permit_s=6.0)
    try:
        phone.assign()
        phone.wait_playing()
        broker.stop()

        require_stopped(phone, "permit")
    finally:
        phone.close()
        broker.stop()


@pytest.mark.parametrize(("word", "reason"), [("yes", "finish"), ("no", "guard")])
def test_the_owner_answers_from_the_command_line(running, capsys, word, reason):
    phone = running(policy=Actors(None).policy_for)
    phone.assign("tickets_cancel", actor="oracle", steps=40)
    ended = None
    while ended is None:
        phone.cloud.send(phone.name, phone.assigned)
        _, rows, _ = run(capsys, "phone", "answer", "--data", phone.folder)
        for question in [row for row in rows if row["event"] == "question"]:
            assert question["phone"] == phone.name
            run(capsys, "phone", "answer", question["id"], word, "--data", phone.folder)
        with_event = [] if phone.reports.empty() else [phone.reports.get()]
        ended = next((fields for event, fields in with_event if event == "episode"), None)

    assert ended["end_reason"] == reason


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["phone", "stop"], "name one phone with --id"),
        (["phone", "stop", "--id", "x", "--all", "--data", "."], "name one phone with --id"),
        (["phone", "stop", "--id", "x"], "--data"),
        (["phone", "stop", "--id", "nobody", "--data", "."], "holds no phone 'nobody'"),
        (["phone", "answer", "q1", "maybe", "--data", "."], "answer q1 yes"),
        (["phone", "answer", "q1", "yes", "--data", "."], "nobody waits"),
        (["phone", "answer"], "--data"),
    ],
)
def test_misuse_is_one_line(capsys, tmp_path, monkeypatch, words, says):
    monkeypatch.chdir(tmp_path)
    code, rows, errors = run(capsys, *words)

    assert code in {1, 2}
    assert rows == []
    assert says in errors
    assert errors.count("\n") == 1


def test_all_phones_of_a_folder_are_stopped_and_started(capsys, tmp_path):
    assert run(capsys, "phone", "stop", "--all", "--data", tmp_path)[0] == 0
    assert (tmp_path / "phones" / STOP_FILE).is_file()

    assert run(capsys, "phone", "start", "--all", "--data", tmp_path)[0] == 0
    assert not (tmp_path / "phones" / STOP_FILE).exists()
