"""What devices send is stored once, before it is acknowledged, and linked to its assignment."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import event, select, update

from cloud_learner.batches import Planned
from cloud_learner.campaign import CampaignState, Move
from cloud_learner.campaign_store import CampaignStore
from cloud_learner.errors import StoreUnavailableError, UnknownRowError
from cloud_learner.ingest import Ingest
from cloud_learner.judge_store import JudgeStore
from cloud_learner.learner_store import LearnerStore
from cloud_learner.report_store import EpisodeFilter, ReportStore
from cloud_learner.settings import CampaignSettings, DispatchSettings
from cloud_learner.store import Database
from cloud_learner.tables import ASSIGNMENTS, DEAD_LETTERS, PHONES
from sync.clock import ManualClock
from sync.messages import (
    AssignmentsAccepted,
    Birth,
    EpisodeUpload,
    Event,
    Health,
    Offline,
    Role,
)
from sync.session import DeadLetter, Received, Repeated
from sync.vocabulary import (
    ActionKind,
    Assignment,
    AssignmentId,
    DeviceId,
    EndReason,
    Episode,
    EpisodeId,
    Observation,
    Purpose,
    Split,
    Step,
    TemplateInfo,
    Verdict,
    VerdictSource,
    finish,
)
from tests.postgresql import url_of

TEMPLATE = TemplateInfo("find", "tickets", "tickets", 9, 4)
ASSIGNED = Assignment(AssignmentId("train.00000"), template="find", suite="tickets", seed=4)


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def ingest(database, clock):
    return Ingest(database, clock=clock)


@pytest.fixture
def reports(database):
    return ReportStore(database)


@pytest.fixture
def campaign(database, clock):
    store = CampaignStore(database, clock=clock)
    store.begin(CampaignSettings())
    return store


def received(message, *, device="farm-1", seq=1, redelivered=False, stream="outbox"):
    return Received(
        device_id=device,
        message=message,
        install_id="i1",
        boot_id="b1",
        stream=stream,
        seq=seq,
        attempt=2 if redelivered else 1,
        sent_at_ms=0,
        received_at_ms=0,
        redelivered=redelivered,
    )


def upload(episode_id="e1", *, score=1.0, device="farm-1", assignment=ASSIGNED, **more):
    seen = Observation(100, 200)
    episode = Episode(
        id=EpisodeId(episode_id),
        assignment=assignment,
        device_id=DeviceId(device),
        goal="find it",
        steps=(Step(0, seen, finish()),),
        end_reason=EndReason.FINISH,
    )
    verdict = Verdict(episode.id, "state", "1", VerdictSource.CODE, score, progress=0.5)
    return EpisodeUpload(episode=replace(episode, **more), verdicts=(verdict,))


def issue(campaign, *assignments):
    planned = tuple(Planned(one, "train", i, "tickets", 3) for i, one in enumerate(assignments))
    campaign.apply(Move(CampaignState(), issue=planned), active_s=0.0, env_steps=0)


def born(ingest, *, device="farm-1", boot="b1", epoch=1, **more):
    birth = Birth(
        device_id=DeviceId(device), role=Role.FARM, seats=4, boot_id=boot, epoch=epoch, **more
    )
    ingest.commit([received(birth, device=device, stream="live")])


def state_of(database, assignment_id=ASSIGNED.id):
    with database.read() as connection:
        return connection.execute(
            select(ASSIGNMENTS.c.state, ASSIGNMENTS.c.device_id, ASSIGNMENTS.c.episode_id).where(
                ASSIGNMENTS.c.id == assignment_id
            )
        ).one()


def test_an_episode_is_stored_whole_with_its_verdict(ingest, reports):
    message = upload()

    refused = ingest.commit([received(message)])

    stored = reports.episode("e1")
    assert refused == {}
    assert stored.episode == message.episode
    assert stored.row["success"] is True
    assert stored.row["n_steps"] == 1
    assert stored.verdicts[0]["score"] == 1.0


def test_a_message_that_comes_twice_is_stored_once_and_counted(ingest, reports):
    ingest.commit([received(upload())])
    ingest.commit([received(upload(), redelivered=True), received(upload(), redelivered=True)])

    counts = reports.counts()
    assert counts["episodes"] == 1
    assert counts["redelivered"] == 2


def test_what_was_committed_before_is_counted_without_being_read(ingest, reports):
    ingest.commit([received(upload())])
    again = [Repeated(EpisodeUpload), Repeated(EpisodeUpload), Repeated(Event)]
    assert ingest.commit([received(one, redelivered=True) for one in again]) == {}

    counts = reports.counts()
    assert counts["episodes"] == 1
    assert counts["redelivered"] == 2


def test_an_episode_sent_under_another_sequence_number_is_the_same_episode(ingest, reports):
    ingest.commit([received(upload(), seq=1), received(upload(), seq=2)])

    assert reports.counts()["episodes"] == 1


def test_an_episode_closes_its_assignment(ingest, campaign, database):
    issue(campaign, ASSIGNED)
    campaign.mark_sent("farm-1", [ASSIGNED.id])

    ingest.commit([received(upload())])

    assert tuple(state_of(database)) == ("played", "farm-1", "e1")
    assert campaign.facts(0.0).tally("train").successes == 1


def test_a_second_episode_of_an_assignment_is_kept_and_counts_nowhere(ingest, campaign, reports):
    issue(campaign, ASSIGNED)

    ingest.commit([received(upload("e1"))])
    ingest.commit([received(upload("e2", device="farm-2"), device="farm-2")])

    tally = campaign.facts(0.0).tally("train")
    assert reports.counts()["duplicates"] == 1
    assert (tally.played, tally.successes) == (1, 1)
    assert reports.counts()["env_steps"] == 1


def test_a_phone_cannot_answer_what_farms_were_asked_about_a_release(ingest, campaign, database):
    """The ids of a gate's assignments can be guessed."""
    asked = replace(ASSIGNED, id=AssignmentId("gate.00000"), purpose=Purpose.GATE)
    issue(campaign, asked)
    campaign.mark_sent("farm-1", [asked.id])
    forged = upload("e1", device="p1", assignment=asked)
    refusal = Event(kind="assignment_rejected", fields={"assignment_id": asked.id})

    refused = ingest.commit([received(forged, device="p1"), received(refusal, device="p1", seq=2)])

    assert refused == {0: "wrong_device"}
    assert tuple(state_of(database, asked.id)) == ("sent", "farm-1", "")
    born(ingest, device="farm-2")  # it was asked before, and away for long
    late = upload("e2", device="farm-2", assignment=asked)
    assert ingest.commit([received(late, device="farm-2")]) == {}
    assert tuple(state_of(database, asked.id)) == ("played", "farm-2", "e2")


def test_env_errors_are_played_but_never_steps_or_successes(ingest, campaign, reports):
    issue(campaign, ASSIGNED)

    ingest.commit([received(upload(score=None, end_reason=EndReason.ENV_ERROR))])

    tally = campaign.facts(0.0).tally("train")
    assert (tally.played, tally.env_errors, tally.successes) == (1, 1, 0)
    assert tally.figures.n == 0
    assert reports.counts()["env_steps"] == 0


def test_an_undecided_verdict_is_no_success_and_no_failure(ingest, reports):
    ingest.commit([received(upload(score=None))])

    row = reports.episode("e1").row
    assert row["success"] is None
    assert row["false_finish"] is False


def test_a_finish_in_the_wrong_state_is_a_false_finish(ingest, reports):
    ingest.commit([received(upload(score=0.0))])

    assert reports.episode("e1").row["false_finish"] is True


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (upload(device="farm-2"), "wrong_device"),
        (Birth(device_id=DeviceId("farm-2")), "wrong_device"),
        (Offline(device_id=DeviceId("farm-2"), boot_id="b", epoch=1), "wrong_device"),
        (
            replace(upload(), verdicts=(replace(upload().verdicts[0], episode_id="other"),)),
            "wrong_episode",
        ),
        (upload(""), "malformed"),
    ],
)
def test_a_message_that_lies_is_refused_and_its_neighbours_are_stored(
    ingest, reports, database, message, reason
):
    refused = ingest.commit([received(message, seq=1), received(upload("good"), seq=2)])

    with database.read() as connection:
        letters = connection.execute(select(DEAD_LETTERS.c.reason)).scalars().all()
    assert refused == {0: reason}
    assert letters == [reason]
    assert reports.episode_ids() == {"good"}


def test_nothing_is_stored_where_the_database_is_locked(ingest, database, reports):
    other = Database(url_of(database), migrate=False)
    patience = "PRAGMA busy_timeout =" if database.dialect == "sqlite" else "SET lock_timeout ="
    database.engine.dispose()
    with database.engine.connect() as connection:
        connection.exec_driver_sql(f"{patience} 1")
        connection.commit()
    with other.write() as writing:
        writing.execute(update(PHONES).values(online=False))
        with pytest.raises(StoreUnavailableError):
            ingest.commit([received(upload())])
    other.close()

    assert reports.episode_ids() == set()
    assert ingest.commit([received(upload())]) == {}
    database.engine.dispose()  # with its impatient connections


def test_dead_letters_are_counted_without_their_bytes(ingest, reports):
    ingest.bury(DeadLetter("or/1/home/u/03/x/episode", b"\x00garbage", "malformed"))

    assert reports.counts()["dead_letters"] == 1


def test_presence_follows_births_and_wills_of_the_same_connection(ingest, reports):
    born(ingest, epoch=2)
    late = Offline(device_id=DeviceId("farm-1"), boot_id="b0", epoch=1)

    ingest.commit([received(late, stream="live")])
    assert reports.counts()["phones_online"] == 1

    ingest.commit([received(replace(late, boot_id="b1", epoch=2), stream="live")])
    assert reports.counts()["phones_online"] == 0


def test_a_birth_that_was_overtaken_changes_nothing(ingest, reports):
    born(ingest, epoch=5, channel="canary")
    born(ingest, epoch=4, channel="stable")

    assert reports.phones()[0]["channel"] == "canary"


def test_a_device_with_a_new_database_is_there_though_its_epochs_begin_anew(ingest, reports):
    born(ingest, boot="b1", epoch=57)
    ingest.commit([received(upload())])
    wiped = Birth(device_id=DeviceId("farm-1"), boot_id="b2", epoch=1, channel="canary")
    ingest.commit([replace(received(wiped, stream="live"), install_id="i2", boot_id="b2")])
    assert (reports.phones()[0]["channel"], reports.phones()[0]["epoch"]) == ("canary", 1)


def test_a_birth_of_an_earlier_boot_that_comes_late_changes_nothing(ingest, reports):
    born(ingest, boot="b1", epoch=1, channel="stable")
    ingest.commit([received(upload())])
    born(ingest, boot="b2", epoch=2, channel="canary")
    born(ingest, boot="b1", epoch=1, channel="stable")
    assert reports.phones()[0]["channel"] == "canary"


def test_a_restarted_device_is_sent_again_what_it_has_not_played(ingest, campaign, database):
    born(ingest, boot="b1")
    issue(campaign, ASSIGNED)
    campaign.mark_sent("farm-1", [ASSIGNED.id])

    born(ingest, boot="b1", epoch=2)
    assert state_of(database).state == "sent"

    born(ingest, boot="b2", epoch=3)
    assert state_of(database).state == "open"


def test_a_device_that_leaves_gives_back_what_it_has_not_played(ingest, campaign, database):
    born(ingest)
    issue(campaign, ASSIGNED)
    campaign.mark_sent("farm-1", [ASSIGNED.id])

    gone = Offline(device_id=DeviceId("farm-1"), boot_id="b1", epoch=1)
    ingest.commit([received(gone, stream="live")])

    assert state_of(database).state == "open"


def test_an_assignment_that_is_never_played_is_sent_again_and_at_last_given_up(
    ingest, campaign, database, clock
):
    born(ingest)
    issue(campaign, ASSIGNED)
    limits = DispatchSettings(deadline_s=10.0, silence_s=1000.0)

    for _ in range(4):
        campaign.mark_sent("farm-1", [ASSIGNED.id])
        assert state_of(database).state == "sent"
        clock.advance(11.0)
        campaign.expire(limits)

    assert state_of(database).state == "refused"
    tally = campaign.facts(0.0).tally("train")
    assert (tally.played, tally.env_errors) == (1, 1)


def test_who_may_play_how_much_takes_as_many_queries_for_many_devices_as_for_one(
    ingest, campaign, database
):
    asked = []
    event.listen(database.engine, "before_cursor_execute", lambda *said: asked.append(said[2]))
    born(ingest)
    issue(campaign, ASSIGNED)
    campaign.mark_sent("farm-1", [ASSIGNED.id])
    asked.clear()
    campaign.players(DispatchSettings())
    for_one = len(asked)
    for number in range(2, 6):
        born(ingest, device=f"farm-{number}")
    asked.clear()

    players = campaign.players(DispatchSettings())

    assert len(asked) == for_one
    assert [(player.device_id, player.outstanding) for player in players] == [
        ("farm-1", 1),
        *((f"farm-{number}", 0) for number in range(2, 6)),
    ]


def test_a_silent_device_loses_its_assignments_and_gets_no_more(ingest, campaign, database, clock):
    limits = DispatchSettings(silence_s=30.0)
    born(ingest)
    issue(campaign, ASSIGNED)
    campaign.mark_sent("farm-1", [ASSIGNED.id])
    assert [player.device_id for player in campaign.players(limits)] == ["farm-1"]

    clock.advance(31.0)
    campaign.expire(limits)

    assert state_of(database).state == "open"
    assert campaign.players(limits) == []


def test_a_refused_assignment_ends_its_batch_as_an_env_error(ingest, campaign):
    issue(campaign, ASSIGNED)
    campaign.mark_sent("farm-1", [ASSIGNED.id])
    event = Event(
        kind="assignment_rejected",
        fields={"assignment_id": ASSIGNED.id, "reason": "unknown_task"},
    )

    ingest.commit([received(event), received(event, redelivered=True)])

    tally = campaign.facts(0.0).tally("train")
    assert tally.complete
    assert tally.figures.n == 0


def test_health_and_acceptance_are_taken_without_a_trace_in_the_figures(ingest, reports):
    born(ingest)
    health = Health(at_ms=5, outbox_depth=7)
    accepted = AssignmentsAccepted(assignment_ids=(ASSIGNED.id,))

    ingest.commit([received(health, stream="live"), received(accepted, stream="live")])

    assert reports.phones()[0]["health"]["outbox_depth"] == 7
    assert reports.counts()["episodes"] == 0


def test_episodes_are_found_by_what_they_are(ingest, reports):
    test_split = replace(ASSIGNED, id=AssignmentId("x.1"), split=Split.TEST, template="other")
    evaluated = replace(test_split, purpose=Purpose.EVALUATE)
    ingest.commit(
        [received(upload("e1"), seq=1), received(upload("e2", assignment=evaluated), seq=2)]
    )

    def found(**wanted):
        return [row["id"] for row in reports.episodes(EpisodeFilter(**wanted))]

    assert found() == ["e1", "e2"]
    assert found(split="test") == ["e2"]
    assert found(purpose="train", template="find") == ["e1"]
    assert [row["id"] for row in reports.episodes(EpisodeFilter(), after=1)] == ["e2"]
    with pytest.raises(UnknownRowError):
        reports.episode("e3")


def test_answers_count_as_claims():
    from cloud_learner.verdict_store import claimed_complete
    from sync.vocabulary import FinishStatus, answer

    def ended(action, reason=EndReason.FINISH):
        seen = Observation(100, 200)
        return replace(upload().episode, steps=(Step(0, seen, action),), end_reason=reason)

    assert claimed_complete(ended(answer("7"), EndReason.ANSWER))
    assert claimed_complete(ended(finish()))
    assert not claimed_complete(ended(finish(FinishStatus.INFEASIBLE)))
    assert not claimed_complete(ended(finish(), EndReason.BUDGET))
    assert answer("7").kind is ActionKind.ANSWER


def success_of(database, episode_id="e1"):
    [row] = [
        row for row in ReportStore(database).episodes(EpisodeFilter()) if row["id"] == episode_id
    ]
    return row["success"]


def owner_says(score, *, version="0001", episode_id="e1"):
    return Verdict(EpisodeId(episode_id), "owner", version, VerdictSource.OWNER, score)


def unjudged(**more):
    return replace(upload(**more), verdicts=())


def test_an_episode_that_comes_again_brings_its_owners_verdict(database, ingest):
    first = unjudged()
    later = replace(first, verdicts=(owner_says(1.0),))
    ingest.commit([received(first, seq=1)])
    assert success_of(database) is None
    ingest.commit([received(later, seq=2)])
    ingest.commit([received(later, seq=2)])
    assert success_of(database) is True


def test_an_owner_who_thinks_better_of_it_is_heard_in_any_order(database, ingest):
    first = unjudged()
    up, down = owner_says(1.0), owner_says(0.0, version="0002")
    ingest.commit([received(replace(first, verdicts=(up, down)), seq=3)])
    ingest.commit([received(replace(first, verdicts=(up,)), seq=2)])
    assert success_of(database) is False


def test_code_counts_more_than_whoever_comes_later(database, ingest):
    first = upload(score=0.0)
    ingest.commit([received(first, seq=1)])
    ingest.commit([received(replace(first, verdicts=(owner_says(1.0),)), seq=2)])
    assert success_of(database) is False


def test_nobody_judges_another_devices_episodes(database, ingest):
    ingest.commit([received(unjudged(), seq=1)])
    forged = replace(unjudged(device="phone-9"), verdicts=(owner_says(1.0),))
    ingest.commit([received(forged, device="phone-9", seq=1)])
    assert success_of(database) is None


def test_a_judges_verdict_decides_what_nobody_decided_and_only_once(database, ingest):
    ingest.commit([received(unjudged(), seq=1), received(upload("e2"), seq=2)])
    store = JudgeStore(database)
    open_ones = [one.id for one in store.unjudged(judge="j", version="1")]
    said = Verdict(EpisodeId("e1"), "j", "1", VerdictSource.JUDGE, None)
    assert open_ones == ["e1"]
    assert store.store(said)
    assert success_of(database) is None
    assert list(store.unjudged(judge="j", version="1")) == []
    assert [one.id for one in store.unjudged(judge="j", version="1", again=True)] == ["e1"]
    assert store.store(replace(said, score=1.0))
    assert not store.store(replace(said, score=0.0))
    assert success_of(database) is True
    with pytest.raises(UnknownRowError):
        store.store(replace(said, episode_id=EpisodeId("none")))


@pytest.fixture
def learner(database, tmp_path, clock):
    return LearnerStore(database, adapters_dir=tmp_path, clock=clock)


def test_a_late_verdict_brings_its_episode_to_the_learner_once(ingest, learner):
    first = unjudged()
    ingest.commit([received(first), received(upload("e2"), seq=2)])
    read = learner.episodes_after(0)
    assert [(one.episode.id, one.is_unjudged) for one in read] == [("e1", True), ("e2", False)]
    assert learner.judged_after(0) == []

    ingest.commit([received(replace(first, verdicts=(owner_says(0.0),)), seq=3)])
    later = replace(first, verdicts=(owner_says(0.0), owner_says(1.0, version="0002")))
    ingest.commit([received(later, seq=4)])
    ingest.commit([received(later, seq=5)])

    [late] = learner.judged_after(0)
    assert (late.read.episode.id, late.read.row, late.read.success) == ("e1", read[0].row, True)
    assert learner.judged_after(late.late_row) == []


def test_a_verdict_that_changes_nothing_is_no_news_to_the_learner(ingest, learner):
    ingest.commit([received(upload("e1", score=0.0))])
    ingest.commit([received(replace(upload("e1", score=0.0), verdicts=()), seq=2)])

    assert learner.judged_after(0) == []
