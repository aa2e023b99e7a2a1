"""A fleet from its operator's chair: a real broker and service, real sessions, the real commands.

Phones come in with claim tokens, are listed, set, stopped, given tasks, rotated and revoked.
"""

from __future__ import annotations

import json
import stat
import threading
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
import pytest
import structlog

from cloud_learner.enroller import Admission
from cloud_learner.service import CloudService, Edges
from cloud_learner.settings import CampaignSettings, ServiceSettings
from cloud_learner.tokens import Scope, TokenFile
from device_runtime.assignments import AssignmentQueue
from device_runtime.installer import Installer
from device_runtime.remote_settings import RemoteSettings
from device_runtime.settings import Settings
from device_runtime.slots import PhoneBase
from device_runtime.trajectory_log import TrajectoryLog
from outrider import cli
from outrider.enrolled import enrolment_settings
from outrider.release_files import fetch_from
from sync import topics
from sync.adapter_file import adapter_digest, pack
from sync.broker import BrokerProcess
from sync.clock import Clock, SystemClock
from sync.conformance_probe import ProbeClient
from sync.credentials import CredentialStore, EnrolledTransport
from sync.errors import FetchInterruptedError
from sync.http_files import HttpFiles
from sync.kept_accounts import KeptAccounts
from sync.messages import AssignmentBatch, Birth, Event, Health, Start, Stop
from sync.mqtt import PahoTransport
from sync.ports import Connected, Disconnected, Incoming
from sync.published import is_large_target
from sync.repository import Repository
from sync.resumed_fetch import ResumedFetch
from sync.server_clock import ServerClock
from sync.session import DeviceSession
from sync.trust import TrustedClient
from sync.vocabulary import (
    DeviceId,
    EndReason,
    Episode,
    EpisodeId,
    Observation,
    Release,
    ReleaseId,
    Step,
    TemplateInfo,
    Verdict,
    VerdictSource,
    finish,
    new_uuid7,
)
from tests import brokers
from tests.conftest import require

pytestmark = pytest.mark.integration
WAIT_S = 30.0
OPERATE, READ = "operate-" + "o" * 24, "read-" + "r" * 24
TEMPLATE = TemplateInfo(name="clock_0", app="clock", suite="clock", step_budget=4, oracle_steps=2)
YEAR_MS = 365 * 86_400_000
ON_ONE_BROKER = pytest.mark.parametrize("running", ["nats"], indirect=True)
"""What no broker has a say in."""


@dataclass
class Cloud:
    """A running service, and how its commands are given."""

    folder: Path
    broker: BrokerProcess
    port: int
    service: CloudService
    repository: Repository
    capsys: object = None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def run(self, *words, at=None, token=OPERATE):
        """Exit code, JSON lines and stderr of a fleet command, over HTTP or in the folder."""
        where = ["--data", str(self.folder)] if at == "folder" else ["--url", self.url]
        where += [] if at == "folder" else ["--token", token]
        return self.plain("fleet", *words, *where, "--json")

    def plain(self, *words):
        self.capsys.readouterr()
        code = cli.run([str(word) for word in words])
        said = self.capsys.readouterr()
        return code, [json.loads(line) for line in said.out.splitlines()], said.err

    def invite(self, *words):
        code, lines, error = self.run("invite", *words)
        assert code == 0, error
        return [line["token"] for line in lines if line["event"] == "invitation"]

    def enrol(self, token, folder, *words):
        return self.plain(
            "phone", "enroll", "--url", self.url, "--token", token, "--phone", folder, "--json",
            *words,
        )  # fmt: skip

    @property
    def desk(self):
        return self.service._desk

    def device(self, name):
        return self.desk.device(name)

    def task_states(self, task_id):
        return [row["state"] for row in self.desk.task(task_id)["devices"]]

    def until(self, holds, what="it"):
        """Wait until something holds; fails after WAIT_S."""
        clock = SystemClock()
        deadline_s = clock.monotonic_s() + WAIT_S
        while not (found := holds()):
            assert clock.monotonic_s() < deadline_s, f"{what} did not happen"
            clock.sleep(0.02)
        return found


class ShiftedClock(SystemClock):
    """A clock that is wrong by a fixed time."""

    def __init__(self, off_ms):
        self._off_ms = off_ms

    def wall_ms(self):
        return super().wall_ms() + self._off_ms


@dataclass
class Phone:
    """An enrolled phone's process without its screen: session, inbox, log, all as they are."""

    folder: Path
    clock: Clock = field(default_factory=SystemClock)
    played: list = field(default_factory=list)
    said: list = field(default_factory=list)

    def __post_init__(self):
        self.store = CredentialStore(self.folder)
        self.name = self.store.read().device_id
        self.database = self.folder / "phone.db"
        self.log = TrajectoryLog.open(self.database, clock=self.clock, new_id=new_uuid7)
        self.server_clock = ServerClock(self.clock)
        self.session = DeviceSession(
            transport=EnrolledTransport(self.store, PahoTransport),
            database=self.database,
            fleet="home",
            birth=Birth(
                device_id=DeviceId(self.name),
                templates=(TEMPLATE,),
                attributes={"model": "Pixel 7", "android": "14"},
            ),
            control=self.said.append,
            settings=RemoteSettings(self.folder, clock=self.clock),
            credentials=self.store,
            server_clock=self.server_clock,
            clock=self.clock,
        )
        self.queue = AssignmentQueue(self.log.connection, clock=self.clock)

    def start(self):
        self.session.start()
        assert self.session.wait_connected(WAIT_S)
        return self

    def close(self):
        self.session.close()
        self.log.close()

    def die(self):
        """End as a killed process does: nothing is said, nothing is finished."""
        setattr(self.session._link.connection._transport, "close", lambda: None)  # noqa: B010
        setattr(self.session._loop._work, "close", lambda: None)  # noqa: B010
        self.session._link.connection._transport._inner._client.socket().close()
        self.close()

    def health(self):
        control = self.said[-1].control_id if self.said else ""
        self.session.send(
            Health(
                at_ms=self.clock.wall_ms(),
                battery_percent=81,
                stopped="by its owner" if isinstance((self.said or [None])[-1], Stop) else "",
                control_id=control,
                clock_offset_ms=self.server_clock.offset_ms,
                contended=self.session.contended,
            )
        )

    def play(self):
        """Play one waiting assignment, if there is one; its id."""
        while (message := self.session.next_message(0.0)) is not None:
            if isinstance(message, AssignmentBatch):
                self.queue.offer(message.assignments)
        assignment = self.queue.take(ready=lambda _: True)
        if assignment is None:
            return None
        self.played.append(assignment.id)
        seen = Observation(width_px=100, height_px=200)
        episode = Episode(
            id=EpisodeId(new_uuid7()),
            assignment=assignment,
            device_id=DeviceId(self.name),
            goal=assignment.goal or "set an alarm",
            steps=(Step(0, seen, finish()),),
            end_reason=EndReason.FINISH,
            started_at_ms=self.clock.wall_ms(),
            ended_at_ms=self.clock.wall_ms(),
        )
        verdict = Verdict(episode.id, "state", "1", VerdictSource.CODE, 1.0, progress=1.0)
        self.log.append(episode, [verdict])
        self.session.wake()
        return assignment.id


@pytest.fixture(autouse=True)
def _quiet():
    """The devices run in this process, whose stdout is the commands'."""
    with structlog.testing.capture_logs():
        yield


@pytest.fixture(scope="module", params=brokers.MAKES)
def running(request, tmp_path_factory):
    """A broker of each make, and a service whose director ticks in a thread."""
    folder = tmp_path_factory.mktemp(f"fleet-{request.param}")
    server = brokers.server(request.param, require)
    broker = BrokerProcess(folder / "broker", fleet="home", server=server)
    broker.start()
    clock = SystemClock()
    repository = Repository.create(folder / "tuf", folder / "keys", clock=clock)
    TokenFile(folder / "cloud" / "token").write(OPERATE)
    TokenFile(folder / "cloud" / "token").write(READ, Scope.READ)
    service = CloudService(
        ServiceSettings(data_dir=folder, campaign=CampaignSettings(minutes=60), tick_s=0.1),
        Edges(
            transport=PahoTransport(broker.address()),
            signer=repository,
            clock=clock,
            random=Random(1),
            new_id=new_uuid7,
            admission=Admission(
                fleet="home",
                broker_url=f"mqtt://127.0.0.1:{broker.port}",
                accounts=KeptAccounts(folder / "broker", fleet="home"),
                root=lambda: repository.root_bytes,
            ),
        ),
        tell=lambda _: None,
    )
    stop = threading.Event()
    port = service.start()
    thread = threading.Thread(target=service.run, args=(stop,))
    thread.start()
    yield Cloud(folder, broker, port, service, repository)
    stop.set()
    thread.join(WAIT_S)
    service.close()
    broker.stop()


@pytest.fixture
def cloud(running, capsys):
    running.capsys = capsys
    return running


@pytest.fixture
def enrol(cloud, tmp_path):
    """`enrol(name)`: a new phone of the fleet that is connected."""
    with ExitStack() as stack:

        def make(name, *, clock=None, start=True):
            folder = tmp_path / name
            (claim,) = cloud.desk.claims.invite(1, minutes=5, labels={"site": name})
            code, _, error = cloud.enrol(claim.token, folder)
            assert code == 0, error
            phone = Phone(folder, clock=clock or SystemClock())
            stack.callback(phone.close)
            return phone.start() if start else phone

        yield make


def test_a_phone_comes_in_by_its_token_plays_and_shows_up_in_the_list(cloud, enrol, tmp_path):
    phone = enrol("alpha")

    cloud.until(lambda: cloud.device("alpha")["online"], "its birth")
    code, lines, _ = cloud.run("list", "--where", "model=Pixel*,android>=13,site=alpha,app=clock")
    _, task, _ = cloud.run("task", "--device", "alpha", "--template", "clock_0")
    cloud.until(phone.play, "its task")
    cloud.until(lambda: cloud.task_states(task[-1]["task_id"]) == ["done"], "the end")

    assert code == 0
    assert [line["device_id"] for line in lines[:-1]] == ["alpha"]
    assert lines[-1]["online"] == 1
    (row,) = cloud.run("tasks", task[-1]["task_id"], at="folder")[1][:-1]
    assert (row["success"], row["end_reason"], row["steps"]) == (True, "finish", 1)
    files = ["enrolment.json", "identity.pem", "trust/root.json"]
    modes = {stat.S_IMODE((tmp_path / "alpha" / name).stat().st_mode) for name in files}
    assert modes == {0o600}


@ON_ONE_BROKER
def test_a_phone_that_came_in_by_its_token_goes_on_with_a_release_over_http(
    cloud, enrol, monkeypatch
):
    phone = enrol("download")
    base = PhoneBase(digest="b" * 64, policy_io_version="1")
    data = adapter_of(base)
    release = Release(
        id=ReleaseId("r1"),
        version=1,
        base_digest=base.digest,
        adapter_digest=adapter_digest(data),
        adapter_size_bytes=len(data),
        policy_io_version=base.policy_io_version,
    )
    cloud.repository.publish(release, data, "stable")
    settings = Settings(**enrolment_settings(phone.folder, data=None, device="", over={}))
    over_mqtt, over_http = [], []
    by_mqtt, by_http = phone.session.fetch, HttpFiles.fetch

    def mqtt(path, **options):
        over_mqtt.append(path)
        return by_mqtt(path, **options)

    def http(files, path, offset):
        over_http.append((path, offset))
        return by_http(files, path, offset)

    monkeypatch.setattr(phone.session, "fetch", mqtt)
    monkeypatch.setattr(HttpFiles, "fetch", http)
    pieces = phone.folder / "trust" / "pieces"
    fetch = fetch_from(settings, phone.session)
    client = TrustedClient(
        phone.folder / "trust", ResumedFetch(fetch, pieces, is_large=is_large_target)
    )
    path = next((cloud.folder / "tuf").glob("targets/releases/r1/*.adapter.bin"))
    served = path.relative_to(cloud.folder / "tuf").as_posix()
    broken_off = ResumedFetch(
        lambda _path, _offset: cut(data[:40_000]), pieces, is_large=is_large_target
    )
    with pytest.raises(FetchInterruptedError):
        list(broken_off(served))

    outcome = Installer(phone.folder, client, base=base).refresh("stable", announced=True)

    assert (outcome.applied, outcome.installed.release_id) == (True, "r1")
    assert over_http == [(served, 40_000)]
    assert over_mqtt == ["packs/stable"]


def adapter_of(base):
    """An adapter that no compression makes smaller than two chunks."""
    values = np.random.default_rng(1).normal(size=(200, 200)).astype(np.float32)
    belongs = {"base_digest": base.digest, "policy_io_version": base.policy_io_version}
    return pack({"layer.A": values}, **belongs, quantisation="fp32")


def cut(data):
    """Bytes that came before the connection was lost."""
    yield data
    raise FetchInterruptedError("lost", path="", offset=len(data))


@pytest.mark.requirement("OR-ENR-1")
@ON_ONE_BROKER
def test_a_token_lets_one_phone_in_and_the_same_key_may_repeat_itself(cloud, tmp_path):
    (token,) = cloud.invite()
    first = cloud.enrol(token, tmp_path / "beta")
    given = CredentialStore(tmp_path / "beta").read()
    (tmp_path / "beta" / "enrolment.json").unlink()  # it crashed before it wrote that down

    again = cloud.enrol(token, tmp_path / "beta")
    other = cloud.enrol(token, tmp_path / "beta-2")

    assert first[0] == again[0] == 0
    assert CredentialStore(tmp_path / "beta").read() == given
    assert other[0] == 1
    assert "used by another phone" in other[2]
    assert not CredentialStore(tmp_path / "beta-2").is_enrolled


@ON_ONE_BROKER
@pytest.mark.parametrize(
    ("token", "says"), [("claim_forged", "no such token"), ("", "no such token")]
)
def test_a_forged_token_lets_nobody_in(cloud, tmp_path, token, says):
    code, _, error = cloud.enrol(token, tmp_path / "thief")
    assert (code, len(error.splitlines())) == (1, 1)
    assert says in error


@ON_ONE_BROKER
def test_a_token_that_has_expired_lets_nobody_in(cloud, tmp_path):
    (token,) = cloud.invite("--minutes", "0.01")
    clock = SystemClock()
    end_s = clock.monotonic_s() + 0.7
    cloud.until(lambda: clock.monotonic_s() > end_s, "its end")

    code, _, error = cloud.enrol(token, tmp_path / "late")

    assert code == 1
    assert "expired" in error
    assert not CredentialStore(tmp_path / "late").is_enrolled


@ON_ONE_BROKER
def test_two_phones_that_want_one_name_get_two(cloud, tmp_path):
    tokens = cloud.invite("--count", "2")
    names = [
        cloud.enrol(token, tmp_path / str(at) / "gamma")[1][-1]["device_id"]
        for at, token in enumerate(tokens)
    ]
    assert names[0] == "gamma"
    assert names[1].startswith("gamma-")


def test_revoking_ends_the_live_connection_and_refuses_what_comes_later(cloud, enrol):
    phone = enrol("delta")
    connects = phone.session.stats().connects
    cloud.until(lambda: cloud.device("delta")["online"], "its birth")

    preview = cloud.run("revoke", "delta", "--dry-run")
    unasked = cloud.run("revoke", "delta")
    code, lines, _ = cloud.run("revoke", "delta", "--yes", "--forget-data", "--reason", "stolen")

    assert preview[1][0]["online"]
    assert preview[1][-1]["dry_run"]
    assert unasked[0] == 2
    assert (code, lines[-1]["revoked"], lines[-1]["locked_out"]) == (0, True, True)
    assert lines[-1]["exclude_from_training"]
    cloud.until(lambda: not phone.session.connected, "the end of its connection")
    cloud.until(lambda: "refused" in phone.session.stats().last_error, "a refusal")
    assert phone.session.stats().connects == connects
    row = cloud.device("delta")
    assert (row["online"], row["revoke_reason"]) == (False, "stolen")
    assert cloud.run("task", "--device", "delta", "--goal", "x")[0] == 1
    assert cloud.run("revoke", "nobody", "--yes")[0] == 1


@pytest.mark.requirement("OR-ENR-5")
def test_whoever_subscribes_later_hears_nothing_of_a_revoked_phone(cloud, enrol):
    phone, other = enrol("delta-gone"), enrol("delta-stays")
    for one in (phone, other):
        cloud.run("set", "temperature=0.5", "--device", one.name, "--wait", str(WAIT_S))
        cloud.run("stop", "--device", one.name, "--wait", "0")
        cloud.until(lambda one=one: one.said, "the stop")
    heard_of = partial(kept_kinds, cloud)
    kinds = {"presence", "reported", "desired", "control"}
    assert heard_of(phone.name) == heard_of(other.name) == kinds

    assert cloud.run("revoke", phone.name, "--yes")[0] == 0
    cloud.until(lambda: not phone.session.connected, "the end of its connection")

    cloud.until(lambda: not heard_of(phone.name), "the end of what was kept of it")
    assert heard_of(other.name) == kinds


def kept_kinds(cloud, device_id):
    """Which kinds of messages a new subscriber gets of a device."""
    with ProbeClient(cloud.broker.address()) as later:
        later.subscribe("or/1/home/#")
        later.publish(topics.build("home", topics.HEALTH, "marker"), b"all is heard")
        topics_heard = [topics.parse(one.topic) for one in later.until(b"all is heard")]
    return {one.kind.name for one in topics_heard if one.owner == device_id}


def test_rotated_credentials_are_used_and_the_old_ones_end(cloud, enrol):
    phone = enrol("epsilon")
    old = phone.store.address()

    code, lines, _ = cloud.run("rotate", "epsilon", "--wait", str(WAIT_S))

    assert (code, lines[-1]["version"], lines[-1]["used"]) == (0, 2, True)
    assert phone.session.wait_connected(WAIT_S)
    assert phone.store.read().credentials == 2
    assert phone.store.address().password != old.password
    assert isinstance(first_event(replace(old, client_id="old")), Disconnected)
    secret = cloud.folder / "cloud" / "new_credentials" / "epsilon.json"
    cloud.until(lambda: not secret.exists(), "the end of the stored password")


def test_a_phone_that_is_away_keeps_its_old_credentials_until_it_took_the_new(cloud, enrol):
    phone = enrol("zeta", start=False)
    cloud.run("rotate", "zeta", "--wait", "0")
    phone.start()
    cloud.until(lambda: phone.store.read().credentials == 2, "the change")
    cloud.until(lambda: not cloud.device("zeta")["rotating"], "its birth with the new ones")


def test_another_phones_topics_are_closed(cloud, enrol):
    """What a phone publishes there reaches nobody, and what it subscribes to tells it nothing."""
    mine, other = enrol("eta"), enrol("theta")
    heard = []
    transport = PahoTransport(replace(mine.store.address(), client_id="spy"))
    transport.connect(heard.append)
    cloud.until(lambda: any(isinstance(one, Connected) for one in heard), "a connection")
    event = topics.build("home", topics.EVENT, other.name)
    transport.publish(event, b"forged", qos=1, retain=False)
    transport.publish(topics.build("home", topics.CONTROL, other.name), b"x", qos=1, retain=True)
    dead = cloud.service._reports.counts()["dead_letters"]
    transport.subscribe((f"or/1/home/c/{other.name}/+",))

    cloud.run("stop", "--device", other.name, "--wait", "0")
    cloud.until(lambda: other.said, "the other's stop")

    assert isinstance(other.said[0], Stop)
    assert cloud.service._reports.counts()["dead_letters"] == dead
    assert not [one for one in heard if isinstance(one, Incoming)]
    transport.close()


@ON_ONE_BROKER
def test_stop_and_start_reach_a_group_and_are_told_as_heard(cloud, enrol):
    phones = [enrol("iota"), enrol("kappa")]
    cloud.run("label", "rack=7", "--device", "iota", "--device", "kappa")
    for phone in phones:
        cloud.until(lambda phone=phone: cloud.device(phone.name)["online"], "its birth")

    cloud.run("stop", "--where", "rack=7", "--reason", "night", "--wait", "0")
    for phone in phones:
        cloud.until(lambda phone=phone: phone.said, "the stop")
        phone.health()
    code, lines, _ = cloud.run("list", "--where", "rack=7,stopped=true")
    cloud.until(lambda: all(cloud.device(p.name)["control_heard"] for p in phones), "their word")
    cloud.run("start", "--where", "rack=7", "--wait", "0")

    assert [phone.said[0].reason for phone in phones] == ["night", "night"]
    for phone in phones:
        cloud.until(lambda phone=phone: isinstance(phone.said[-1], Start), "the start")
    assert code == 0
    assert lines[-1]["devices"] <= 2


@ON_ONE_BROKER
@pytest.mark.requirement("OR-SET-3")
def test_settings_are_stored_with_versions_and_refusals(cloud, enrol):
    enrol("lambda")
    code, lines, error = cloud.run(
        "set", "temperature=0.5", "colour=red", "--device", "lambda", "--wait", str(WAIT_S)
    )
    row = cloud.device("lambda")

    assert code == 1
    assert lines[0]["taken"]
    assert lines[0]["refused"] == {"colour": "unknown"}
    assert "lambda" in error
    assert row["desired"] == {"version": 1, "values": {"temperature": 0.5, "colour": "red"}}
    assert row["reported"]["values"]["temperature"] == 0.5
    assert row["in_step"]
    with pytest.raises(Exception, match="look again"):
        cloud.desk.store.desire(["lambda"], {"temperature": 1.0}, expected_version=0)

    code, lines, _ = cloud.run(
        "set", "colour=", "temperature=", "--device", "lambda", "--wait", str(WAIT_S)
    )
    assert (code, lines[0]["refused"]) == (0, {})
    assert cloud.device("lambda")["desired"] == {"version": 2, "values": {}}
    assert cloud.device("lambda")["reported"]["values"]["temperature"] != 0.5


@ON_ONE_BROKER
@pytest.mark.parametrize("at", ["http", "folder"])
def test_values_that_no_message_carries_are_misuse_and_harm_nothing(cloud, enrol, at):
    name = f"xi-{at}"
    enrol(name)
    for pair in ("temperature=nan", "temperature=99999999999999999999999999", f"c={'x' * 9_999}"):
        code, _, error = cloud.run("set", pair, "--device", name, at=at)
        assert (code, len(error.strip().splitlines())) == (2, 1)
    words = ("--goal", "x", "--seed", str(2**63), "--device", name)
    assert cloud.run("task", *words, at=at)[0] == 2
    code, lines, _ = cloud.run("set", "temperature=0.5", "--device", name, "--wait", str(WAIT_S))
    assert (code, lines[0]["version"]) == (0, 1)


def test_two_processes_of_one_name_raise_an_alarm_and_back_off(cloud, enrol):
    first = enrol("mu")
    twin = Phone(first.folder, clock=SystemClock())
    twin.start()

    cloud.until(lambda: cloud.device("mu")["alarm"] == "double", "the alarm")
    cloud.until(lambda: first.session.contended or twin.session.contended, "the word of it")
    connects = first.session.stats().connects + twin.session.stats().connects
    SystemClock().sleep(1.0)

    after = first.session.stats().connects + twin.session.stats().connects
    twin.close()
    assert after - connects <= 2
    events = cloud.service._reports.events(limit=1000)
    assert [e["kind"] for e in events if e["device_id"] == "mu"].count("device_doubled") == 1
    assert cloud.desk.counts()["devices_doubled"] >= 1


@ON_ONE_BROKER
@pytest.mark.parametrize("off_ms", [YEAR_MS, -YEAR_MS])
def test_a_clock_that_is_off_by_a_year_is_measured_and_changes_nothing(cloud, enrol, off_ms):
    name = f"nu{'-ahead' if off_ms > 0 else '-behind'}"
    phone = enrol(name, clock=ShiftedClock(off_ms))
    cloud.until(lambda: phone.server_clock.offset_ms is not None, "an answer")
    phone.health()
    row = cloud.until(
        lambda: (r := cloud.device(name))["clock_offset_ms"] is not None and r, "its health"
    )
    for number in range(5):
        phone.log.record(Event(kind="counted", fields={"n": str(number)}, at_ms=1))
    phone.session.wake()
    cloud.until(lambda: phone.session.wait_drained(0.1), "the acknowledgements")

    assert abs(row["clock_offset_ms"] + off_ms) < 60_000
    assert abs(phone.server_clock.wall_ms() - SystemClock().wall_ms()) < 60_000
    events = [e for e in cloud.service._reports.events(limit=1000) if e["device_id"] == name]
    counted = [e["fields"]["n"] for e in events if e["kind"] == "counted"]
    assert counted == ["0", "1", "2", "3", "4"]


@ON_ONE_BROKER
def test_a_task_that_is_told_thrice_and_outlives_a_kill_is_done_once(cloud, enrol):
    phone = enrol("omicron")
    cloud.until(lambda: cloud.device("omicron")["online"], "its birth")
    _, lines, _ = cloud.run("task", "--device", "omicron", "--goal", "open the clock")
    task_id = lines[-1]["task_id"]
    cloud.until(lambda: cloud.run("tasks", task_id)[1][0]["state"] == "accepted", "its acceptance")

    phone.die()  # between the acceptance and the play
    again = Phone(phone.folder)
    again.start()
    batch = cloud.service._director._store
    for _ in range(3):
        told = batch.mark_sent("omicron", [f"{task_id}.omicron"])
        batch.take_back([f"{task_id}.omicron"])
        if told:
            cloud.service._session.send("omicron", AssignmentBatch(assignments=tuple(told)))
    cloud.until(again.play, "the play")
    cloud.until(lambda: cloud.task_states(task_id) == ["done"], "the end")
    for _ in range(20):
        again.play()
        SystemClock().sleep(0.01)

    assert again.played == [f"{task_id}.omicron"]
    rows = cloud.service._reports.episodes(cloud_filter("omicron"))
    assert [(row["assignment_id"], row["duplicate"]) for row in rows] == [
        (f"{task_id}.omicron", False)
    ]
    again.close()


@ON_ONE_BROKER
def test_a_task_that_cannot_be_played_is_refused_and_one_that_is_cancelled_never_begins(
    cloud, enrol
):
    enrol("pi")
    cloud.until(lambda: cloud.device("pi")["online"], "its birth")
    refused = cloud.run("task", "--device", "pi", "--template", "todo_9", "--wait", "5")
    away = enrol("rho", start=False)
    _, lines, _ = cloud.run("task", "--device", "rho", "--goal", "anything")
    _, cancelled, _ = cloud.run("cancel", lines[-1]["task_id"])
    away.start()
    cloud.until(lambda: cloud.device("rho")["online"], "its birth")

    assert refused[0] == 1
    assert refused[1][-1]["refused"] == 1
    assert cancelled[-1]["cancelled"] == 1
    assert away.play() is None


@ON_ONE_BROKER
def test_what_changes_is_watched_as_it_comes(cloud, enrol):
    revision = cloud.desk.changes(after=-1)["revision"]
    phone = enrol("sigma")

    rows = cloud.until(
        lambda: cloud.desk.changes(after=revision, where="online=true")["devices"],
        "a change",
    )
    code, lines, _ = cloud.run("watch", "--for", "0.1")

    assert [row["device_id"] for row in rows] == [phone.name]
    assert (code, lines[0]["event"], lines[-1]["event"]) == (0, "watching", "summary")


@ON_ONE_BROKER
def test_a_reading_token_reads_and_changes_nothing(cloud):
    assert cloud.run("list", token=READ)[0] == 0
    code, _, error = cloud.run("stop", "--all", token=READ)
    assert (code, "may only read" in error) == (1, True)
    assert cloud.run("list", token="x" * 32)[0] == 1
    assert cloud.run("list", "--where", "android>new")[0] == 2


@pytest.mark.parametrize(
    "words",
    [
        ["list"],
        ["list", "--url", "ftp://x", "--token", "t"],
        ["list", "--url", "http://127.0.0.1:1"],
        ["stop", "--data", "."],
        ["stop", "--data", ".", "--all", "--device", "x"],
        ["task", "--data", ".", "--all"],
        ["label", "rack", "--all", "--data", "."],
    ],
)
def test_misuse_is_one_line_and_exit_code_2(capsys, words, monkeypatch):
    monkeypatch.delenv("OUTRIDER_TOKEN", raising=False)
    code = cli.run(["fleet", *words])
    assert code == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def first_event(address):
    """What becomes of one connection."""
    events, came = [], threading.Event()

    def sink(event):
        events.append(event)
        came.set()

    transport = PahoTransport(address)
    transport.connect(sink)
    assert came.wait(WAIT_S)
    transport.close()
    return events[0]


def cloud_filter(device_id):
    from cloud_learner.report_store import EpisodeFilter

    return EpisodeFilter(device_id=device_id)
