"""What the operator wants of devices, in the database: revoked data, copied databases, claims."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from sqlalchemy import select

from cloud_learner.campaign_store import CampaignStore
from cloud_learner.device_store import ControlKind
from cloud_learner.fleet_carrier import FleetCarrier
from cloud_learner.fleet_desk import FleetDesk, Which
from cloud_learner.ingest import Ingest
from cloud_learner.learner_store import LearnerStore
from cloud_learner.report_store import ReportStore
from cloud_learner.settings import DispatchSettings
from cloud_learner.tables import CLAIMS
from cloud_learner.task_store import TaskOrder
from sync.clock import ManualClock
from sync.enrolment import EnrolmentRequest, new_key, public_key_of
from sync.errors import BrokerError, LinkLostError, RejectedError
from sync.messages import (
    AssignmentsAccepted,
    Birth,
    Cancel,
    DesiredSettings,
    EpisodeUpload,
    Event,
    Health,
    NewCredentials,
    ReportedSettings,
    Role,
    Stop,
)
from sync.session import Received
from sync.vocabulary import (
    Assignment,
    AssignmentId,
    DeviceId,
    EndReason,
    Episode,
    EpisodeId,
    Observation,
    Step,
    TemplateInfo,
    finish,
    new_uuid7,
)


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def desk(database, clock):
    return FleetDesk(database, clock=clock, new_id=new_uuid7)


@pytest.fixture
def ingest(database, clock):
    return Ingest(database, clock=clock)


class Broker:
    """The way to devices and the broker's accounts, as a list of what was asked of them."""

    def __init__(self):
        self.sent, self.removed, self.forgotten, self.passwords = [], [], [], {}
        self.is_connected = self.takes_changes = True

    def send(self, device_id, message):
        if not self.is_connected:
            raise LinkLostError("away")
        self.sent.append((device_id, message))

    def forget(self, device_id):
        if not self.is_connected:
            raise LinkLostError("away")
        self.forgotten.append(device_id)

    def remove_device(self, device_id):
        if not self.takes_changes:
            raise BrokerError("busy")
        self.removed.append(device_id)

    def set_password(self, device_id, password):
        if not self.takes_changes:
            raise BrokerError("no account")
        self.passwords[device_id] = password


@pytest.fixture
def carried(desk, clock, tmp_path):
    """The carrier and what it did."""
    broker = Broker()
    carrier = FleetCarrier(
        desk.store,
        desk.task_store,
        downlink=broker,
        accounts=broker,
        secrets_dir=tmp_path / "secrets",
        clock=clock,
    )
    return carrier, broker


def received(device, message, *, seq=1, stream="outbox", install="i1"):
    return Received(
        device_id=device,
        message=message,
        install_id=install,
        boot_id="b1",
        stream=stream,
        seq=seq,
        attempt=1,
        sent_at_ms=1,
        received_at_ms=1,
        redelivered=False,
    )


def born(ingest, device, **more):
    birth = Birth(device_id=DeviceId(device), boot_id="b1", epoch=1, **more)
    ingest.commit([received(device, birth, stream="live")])


def upload(device, number):
    episode = Episode(
        id=EpisodeId(f"e{number}"),
        assignment=Assignment(AssignmentId(f"a{number}"), goal="x"),
        device_id=DeviceId(device),
        goal="x",
        steps=(Step(0, Observation(10, 10), finish()),),
        end_reason=EndReason.FINISH,
    )
    return EpisodeUpload(episode=episode)


@pytest.mark.requirement("OR-ENR-4")
def test_rows_of_a_revoked_device_are_rejected_with_the_reason(desk, ingest):
    born(ingest, "p1")
    born(ingest, "p2")
    desk.revoke("p1", reason="stolen")
    batch = [received("p1", upload("p1", 1)), received("p2", upload("p2", 2))]

    assert ingest.commit(batch) == {0: "revoked"}


def test_orders_for_a_revoked_device_say_that_it_is(desk, ingest):
    born(ingest, "p1")
    born(ingest, "p2")
    desk.revoke("p1", reason="stolen")

    with pytest.raises(RejectedError, match="p1 was revoked") as refused:
        desk.desire(Which(devices=["p1"]), {"temperature": 1.0})
    assert refused.value.reason == "not_enrolled"
    with pytest.raises(RejectedError, match="no device 'p3'"):
        desk.desire(Which(devices=["p3"]), {"temperature": 1.0})
    assert set(desk.desire(Which(everyone=True), {"temperature": 1.0})["versions"]) == {"p2"}


def test_nothing_of_a_device_to_be_forgotten_is_trained_on(desk, ingest, database, clock, tmp_path):
    learner = LearnerStore(database, adapters_dir=tmp_path, clock=clock)
    for name in ("p1", "p2"):
        born(ingest, name)
        ingest.commit([received(name, upload(name, name))])
    before = [one.episode.device_id for one in learner.episodes_after(0)]

    desk.revoke("p1", forget_data=True)

    assert before == ["p1", "p2"]
    assert [one.episode.device_id for one in learner.episodes_after(0)] == ["p2"]


@pytest.mark.requirement("OR-ACK-9")
def test_a_copied_databases_rows_are_rejected_and_not_lost_unseen(ingest):
    born(ingest, "p1")
    event = Event(kind="counted", fields={"n": "1"}, at_ms=1)
    first = [received("p1", upload("p1", 1), seq=1), received("p1", event, seq=2)]
    other = Event(kind="counted", fields={"n": "2"}, at_ms=2)
    copy = [received("p1", upload("p1", 9), seq=1), received("p1", other, seq=2)]

    assert ingest.commit(first) == {}
    assert ingest.commit(first) == {}
    assert ingest.commit(copy) == {0: "sequence_taken", 1: "sequence_taken"}


def test_what_is_wanted_is_carried_out_once_there_is_a_connection(desk, ingest, carried):
    carrier, broker = carried
    born(ingest, "p1")
    everyone = Which(everyone=True)
    desk.desire(everyone, {"temperature": 0.5})
    desk.control(everyone, ControlKind.STOP, reason="night")
    broker.is_connected = False
    with pytest.raises(LinkLostError):
        carrier.tick()
    broker.is_connected = True

    carrier.tick()
    carrier.tick()

    kinds = [type(message) for _, message in broker.sent]
    assert kinds == [Stop, DesiredSettings]
    born(ingest, "p1")  # it heard neither: both are said again
    carrier.tick()
    assert [type(message) for _, message in broker.sent] == kinds * 2


def test_a_broker_that_takes_no_change_is_asked_again(desk, ingest, carried, clock):
    carrier, broker = carried
    born(ingest, "p1")
    desk.revoke("p1")
    broker.takes_changes = False
    carrier.tick()
    broker.takes_changes = True
    carrier.tick()
    assert broker.removed == []

    clock.advance(6)
    carrier.tick()

    assert broker.removed == ["p1"]
    assert not desk.device("p1")["pending"]


def test_who_is_revoked_is_locked_out_at_once_and_forgotten_once_there_is_a_connection(
    desk, ingest, carried
):
    carrier, broker = carried
    for name in ("p1", "p2"):
        born(ingest, name)
        desk.revoke(name)
    broker.is_connected = False
    with pytest.raises(LinkLostError):
        carrier.tick()
    assert (sorted(broker.removed), broker.forgotten) == (["p1", "p2"], [])
    assert desk.device("p1")["pending"]
    broker.is_connected = True

    carrier.tick()

    assert sorted(broker.forgotten) == ["p1", "p2"]
    assert not desk.device("p1")["pending"]


def test_an_account_that_cannot_be_changed_holds_up_no_other_device(desk, ingest, carried):
    carrier, broker = carried
    enrolled(desk, "p1")
    desk.rotate("p1", days=0)
    carrier.tick()
    broker.takes_changes = False
    ingest.commit([received("p1", Event(kind="credentials_stored", fields={"version": "2"}))])
    born(ingest, "p2")
    desk.control(Which(devices=["p2"]), ControlKind.STOP)

    carrier.tick()

    assert [name for name, message in broker.sent if isinstance(message, Stop)] == ["p2"]
    assert desk.device("p1")["pending"]
    assert not desk.device("p2")["pending"]


def enrolled(desk, name="p1"):
    (claim,) = desk.claims.invite(1, minutes=1, labels={"site": "lab"})
    request = EnrolmentRequest(token=claim.token, public_key=public_key_of(new_key()), name=name)
    return claim, request, desk.claims.claim(request)


def test_old_credentials_end_at_their_deadline_though_the_new_were_never_taken(
    desk, carried, clock
):
    carrier, broker = carried
    enrolled(desk)
    desk.rotate("p1", days=1)
    carrier.tick()
    offered = broker.sent[-1][1]
    assert isinstance(offered, NewCredentials)
    assert broker.passwords == {}

    clock.advance(86_401)
    carrier.tick()

    assert broker.passwords == {"p1": offered.password}


def test_a_claim_is_kept_as_its_hash_only_and_bound_to_its_key(desk, database):
    claim, request, admitted = enrolled(desk)
    other = EnrolmentRequest(token=claim.token, public_key=public_key_of(new_key()))
    with database.read() as connection:
        rows = connection.execute(select(CLAIMS)).mappings().all()

    assert claim.token not in str(rows)
    assert desk.claims.claim(request) == admitted
    with pytest.raises(RejectedError) as refused:
        desk.claims.claim(other)
    assert refused.value.reason == "token_used"
    desk.revoke("p1")
    with pytest.raises(RejectedError) as gone:
        desk.claims.claim(request)
    assert gone.value.reason == "revoked"


def test_a_name_that_the_broker_knows_already_is_given_to_nobody(desk):
    (claim,) = desk.claims.invite(1, minutes=1, labels={})
    request = EnrolmentRequest(
        token=claim.token, public_key=public_key_of(new_key()), name="farm-1"
    )
    assert desk.claims.claim(request, accounts={"farm-1"}).device_id.startswith("farm-1-")


def test_a_task_that_waited_too_long_is_let_go_and_its_device_told(desk, ingest, carried, clock):
    carrier, broker = carried
    born(ingest, "p1")
    given = desk.give(Which(devices=["p1"]), TaskOrder(goal="x", deadline_s=60))
    clock.advance(61)

    carrier.tick()

    (row,) = desk.task(given["task_id"])["devices"]
    assert (row["state"], row["detail"]) == ("cancelled", "nobody played it in time")
    assert [type(message) for _, message in broker.sent] == [Cancel]
    with pytest.raises(RejectedError):
        desk.give(Which(where="model=none"), TaskOrder(goal="x"))


def test_a_phone_cannot_play_accept_or_refuse_what_another_was_given(desk, ingest):
    """Whoever was given a task with others knows the ids of theirs."""
    for name in ("p1", "p2"):
        born(ingest, name)
    task_id = desk.give(Which(everyone=True), TaskOrder(goal="open the clock"))["task_id"]
    theirs = AssignmentId(f"{task_id}.p2")
    forged = upload("p1", 1)
    forged = replace(forged, episode=replace(forged.episode, assignment=Assignment(theirs)))
    refusal = Event(kind="assignment_rejected", fields={"assignment_id": theirs, "reason": "no"})

    refused = ingest.commit(
        [
            received("p1", AssignmentsAccepted(assignment_ids=(theirs,)), stream="live"),
            received("p1", refusal, seq=1),
            received("p1", forged, seq=2),
        ]
    )

    assert refused == {2: "wrong_device"}
    (_, row) = desk.task(task_id)["devices"]
    assert (row["device_id"], row["state"], row["detail"]) == ("p2", "waiting", "")
    ingest.commit(
        [received("p2", replace(forged, episode=replace(forged.episode, device_id=DeviceId("p2"))))]
    )
    assert desk.task(task_id)["devices"][1]["state"] == "done"


@pytest.mark.requirement("OR-ENR-6")
def test_a_phone_that_calls_itself_a_farm_is_asked_nothing_about_a_release(
    desk, ingest, database, clock
):
    enrolled(desk)
    true = TemplateInfo("clock_open", "clock", "clock", step_budget=4, oracle_steps=2)
    for name, said in (("farm-1", true), ("p1", replace(true, step_budget=0, oracle_steps=0))):
        born(ingest, name, role=Role.FARM, seats=512, templates=(said,))

    store = CampaignStore(database, clock=clock)
    facts, players = store.facts(0.0), store.players(DispatchSettings())

    assert facts.phones == ("p1",)
    assert facts.templates == (true,)
    assert {one.device_id: (one.role, one.seats) for one in players} == {
        "p1": (Role.PHONE, 1),
        "farm-1": (Role.FARM, 512),
    }
    assert ReportStore(database).counts()["farms_refused"] == 1


@pytest.mark.parametrize(
    "absurd",
    [
        ReportedSettings(version=2**63 - 1),
        ReportedSettings(version=-1),
        Birth(device_id=DeviceId("p1"), boot_id="b1", credentials=2**63 - 1),
    ],
)
def test_a_version_that_nobody_could_follow_is_refused(desk, ingest, absurd):
    born(ingest, "p1")
    enrolled(desk, "p2")
    assert ingest.commit([received("p1", absurd, stream="live")]) == {0: "malformed"}
    assert desk.desire(Which(everyone=True), {"temperature": 0.5})["versions"] == {"p1": 1, "p2": 1}


def test_no_phones_totals_spoil_the_fleets_counts(ingest, database):
    born(ingest, "p1")
    words = "x 1\noutrider_broker_connected 0\n#"
    for install in ("i1", "i2"):
        most = {"episode_oldest": (2**63 - 1, 2**63 - 1), words: (5, 7), "event_oldest": (-9, -9)}
        ingest.commit([received("p1", Health(drops=most, at_ms=1), stream="live", install=install)])
    counts = ReportStore(database).counts()
    assert counts["drops_other"] == 10
    assert counts["drops_event_oldest"] == 0
    assert all(re.fullmatch("[a-z_]+", name) for name in counts)


def test_who_claims_new_credentials_that_were_never_stored_ends_no_rotation(desk, ingest, carried):
    """The broker takes only the old ones then: they may be what was stolen."""
    carrier, broker = carried
    enrolled(desk)
    desk.rotate("p1", days=1)
    carrier.tick()

    born(ingest, "p1", credentials=2)
    carrier.tick()

    assert desk.device("p1")["rotating"]
    ingest.commit([received("p1", Event(kind="credentials_stored", fields={"version": "2"}))])
    carrier.tick()
    assert list(broker.passwords) == ["p1"]
    born(ingest, "p1", credentials=2)
    assert not desk.device("p1")["rotating"]
