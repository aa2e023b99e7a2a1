"""Releases: a decision that was committed is carried out, once, whatever happens in between."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from cloud_learner.campaign import Phase
from cloud_learner.campaign_store import CampaignStore
from cloud_learner.director import Director
from cloud_learner.errors import AdapterRejectedError
from cloud_learner.ingest import Ingest
from cloud_learner.learner_store import AdapterKind, AdapterState, LearnerStore
from cloud_learner.publishing import Publishing
from cloud_learner.release_store import ReleaseState, ReleaseStore
from cloud_learner.settings import CampaignSettings, DispatchSettings, GateSettings
from device_runtime.installer import Installer, enrol
from device_runtime.slots import PhoneBase
from sync.adapter_file import pack
from sync.clock import ManualClock
from sync.errors import IntegrityError, LinkLostError, RejectedError
from sync.messages import Birth, EpisodeUpload, Role
from sync.repository import Repository
from sync.runtime_level import RUNTIME_LEVEL
from sync.session import Received
from sync.trust import TrustedClient
from sync.vocabulary import (
    DeviceId,
    EndReason,
    Episode,
    EpisodeId,
    Observation,
    Step,
    TemplateInfo,
    Verdict,
    VerdictSource,
    finish,
)

TEMPLATES = (
    TemplateInfo("find", "tickets", "tickets", 9, 4),
    TemplateInfo("alarm", "clock", "clock", 9, 4),
)
SETTINGS = CampaignSettings(
    demonstrations=1,
    old_demonstrations=1,
    evaluate_new=2,
    evaluate_old=2,
    env_steps=10_000,
    in_flight_limit=4,
    gate=GateSettings(per_template=10),
)


class RecordedDownlink:
    """Remembers what was sent; can be cut."""

    def __init__(self):
        self.sent = []
        self.announced = []
        self.is_cut = False

    def send(self, device_id, message):
        if self.is_cut:
            raise LinkLostError("cut")
        self.sent.append((device_id, message))

    def announce(self, announcement):
        self.announced.append((announcement.channel, announcement.release_id))


class Cloud:
    """A director over a real database and a real repository, without a wire."""

    def __init__(self, folder, database):
        self.folder = folder
        self.clock = ManualClock()
        self.database = database
        self.downlink = RecordedDownlink()
        self.notices = []
        self.signer = Repository.create(folder / "tuf", folder / "keys", clock=self.clock)
        self.learner = LearnerStore(
            self.database, adapters_dir=folder / "cloud" / "adapters", clock=self.clock
        )
        self.releases = ReleaseStore(self.database)
        self.ingest = Ingest(self.database, clock=self.clock)
        self.seq = 0
        self.successes = {}
        self.start()

    def start(self):
        """Begin as a new process would."""
        self.publishing = Publishing(
            self.releases,
            signer=self.signer,
            downlink=self.downlink,
            adapters_dir=self.folder / "cloud" / "adapters",
            clock=self.clock,
            tell=self.notices.append,
        )
        self.director = Director(
            CampaignStore(self.database, clock=self.clock),
            publishing=self.publishing,
            downlink=self.downlink,
            settings=SETTINGS,
            dispatch=DispatchSettings(),
            clock=self.clock,
            tell=self.notices.append,
        )

    def receive(self, message):
        self.seq += 1
        one = Received("farm", message, "i", "b", "outbox", self.seq, 1, 0, 0, redelivered=False)
        assert self.ingest.commit([one]) == {}

    def tick(self, times=1):
        """Let the director look, and play whatever it sends."""
        for _ in range(times):
            self.clock.advance(0.1)
            self.director.tick()
            sent, self.downlink.sent = self.downlink.sent, []
            for _device, batch in sent:
                for assignment in batch.assignments:
                    self.play(assignment)

    def play(self, assignment):
        succeeds = Random(assignment.seed).random() < self.successes.get(assignment.release_id, 0.5)
        episode = Episode(
            id=EpisodeId(f"e-{assignment.id}"),
            assignment=assignment,
            device_id=DeviceId("farm"),
            goal="",
            steps=(Step(0, Observation(1, 1), finish()),),
            end_reason=EndReason.FINISH,
        )
        verdict = Verdict(episode.id, "v", "1", VerdictSource.CODE, 1.0 if succeeds else 0.0)
        self.receive(EpisodeUpload(episode=episode, verdicts=(verdict,)))

    def until(self, condition, ticks=80):
        for _ in range(ticks):
            if condition():
                return
            self.tick()
        raise AssertionError(f"still in {self.director.state}")

    def deliver(self, name, kind=AdapterKind.UPDATE, scale=1.0):
        values = np.full((4, 2), scale, dtype=np.float32)
        data = pack({"layer.A": values}, base_digest="b" * 64, policy_io_version="1")
        self.learner.deliver_adapter(
            data, name=name, kind=kind, round_index=1, watermark=3, parent=""
        )
        return data

    def learn(self):
        """Go on to the phase in which training runs, with r0001 promoted."""
        self.until(lambda: self.director.state.phase is Phase.WARM_UP)
        self.deliver("warm-up", AdapterKind.WARM_UP)
        self.until(lambda: self.director.state.phase is Phase.LEARN)

    def state(self, release_id):
        return self.releases.get(release_id).state


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def kind(request):
    return request.param


@pytest.fixture
def cloud(tmp_path, database):
    made = Cloud(tmp_path, database)
    made.receive(
        Birth(
            device_id=DeviceId("farm"),
            role=Role.FARM,
            seats=64,
            templates=TEMPLATES,
            boot_id="b",
            epoch=1,
        )
    )
    return made


def test_the_warm_up_release_reaches_canary_then_stable(cloud):
    cloud.learn()

    assert cloud.state("r0001") is ReleaseState.PROMOTED
    assert cloud.signer.channel("canary").release_id == "r0001"
    assert cloud.signer.channel("stable").release_id == "r0001"
    assert cloud.downlink.announced == [("canary", "r0001"), ("stable", "r0001")]
    assert (cloud.folder / "releases" / "r0001.zip").is_file()


@pytest.mark.parametrize(("runtime", "outcome"), [(0, "runtime_too_old"), (RUNTIME_LEVEL, None)])
def test_a_phone_whose_program_is_too_old_downloads_no_adapter(cloud, runtime, outcome):
    cloud.learn()
    asked = []

    def fetch(path):
        asked.append(path)
        return [cloud.signer.read(path)]

    phone = cloud.folder / "phone"
    enrol(phone, cloud.signer.root_bytes, PhoneBase(digest="b" * 64, policy_io_version="1"))
    installer = Installer(
        phone, TrustedClient(phone / "trust", fetch, clock=cloud.clock), runtime=runtime
    )

    came = installer.refresh("stable")

    assert (came.applied, came.reason) == (outcome is None, outcome)
    downloaded = any(path.endswith(".adapter.bin") for path in asked)
    assert downloaded == (outcome is None)


def test_a_bad_adapter_is_stopped_at_the_canary_and_rolled_back(cloud):
    cloud.learn()
    good = cloud.signer.adapter("r0001")
    cloud.successes["r0002"] = 0.0

    cloud.deliver("noise", scale=9.0)
    cloud.until(lambda: cloud.director.state.promoted == "r0003")

    assert cloud.state("r0002") is ReleaseState.REVERTED
    rolled_back = cloud.releases.get("r0003")
    assert (rolled_back.kind, rolled_back.parent) == ("roll_back", "r0001")
    assert cloud.signer.channel("canary").release_id == "r0003"
    assert cloud.signer.channel("stable").release_id == "r0003"
    assert cloud.signer.adapter("r0003") == good
    assert ("stable", "r0002") not in cloud.downlink.announced


def test_after_a_roll_back_the_next_good_adapter_is_promoted(cloud):
    cloud.learn()
    cloud.successes["r0002"] = 0.0
    cloud.deliver("noise", scale=9.0)
    cloud.until(lambda: cloud.director.state.promoted == "r0003")

    cloud.deliver("better", scale=2.0)
    cloud.until(lambda: cloud.director.state.promoted == "r0004")

    assert cloud.state("r0004") is ReleaseState.PROMOTED
    assert cloud.releases.get("r0004").validation.n == 10


def test_newer_adapters_supersede_older_ones_that_wait(cloud):
    cloud.learn()
    cloud.deliver("first", scale=2.0)
    cloud.director.tick()  # r0002 is in the gate now

    cloud.deliver("second", scale=3.0)
    cloud.deliver("third", scale=4.0)
    cloud.until(lambda: cloud.director.state.promoted == "r0003")

    states = {row.name: (row.state, row.release_id) for row in cloud.learner.adapters()}
    assert states["first"] == (AdapterState.PUBLISHED, "r0002")
    assert states["second"] == (AdapterState.SUPERSEDED, "")
    assert states["third"] == (AdapterState.PUBLISHED, "r0003")
    assert cloud.learner.release_adapters()["r0003"] == "third"


def test_a_draft_that_was_not_signed_before_a_kill_is_signed_after_it(cloud, monkeypatch):
    cloud.learn()
    cloud.deliver("update", scale=2.0)

    def die(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr(cloud.signer, "publish", die)
    with pytest.raises(KeyboardInterrupt):
        cloud.tick()
    assert cloud.state("r0002") is ReleaseState.DRAFT
    monkeypatch.undo()

    cloud.start()
    cloud.until(lambda: cloud.director.state.promoted == "r0002")

    assert cloud.state("r0002") is ReleaseState.PROMOTED
    assert cloud.signer.channel("stable").release_id == "r0002"


def test_a_promotion_that_was_not_pointed_out_before_a_kill_is_after_it(cloud, monkeypatch):
    cloud.learn()
    cloud.deliver("update", scale=2.0)

    def die(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr(cloud.signer, "set_channel", die)
    with pytest.raises(KeyboardInterrupt):
        cloud.tick(20)
    assert cloud.state("r0002") is ReleaseState.PROMOTED
    assert cloud.signer.channel("stable").release_id == "r0001"
    monkeypatch.undo()

    cloud.start()
    cloud.tick()

    assert cloud.signer.channel("stable").release_id == "r0002"


def test_a_restart_goes_on_where_the_campaign_was(cloud):
    cloud.learn()
    before = cloud.director.state

    cloud.start()
    cloud.tick()

    assert cloud.director.state == before
    assert cloud.director.active_s > 0


def test_an_adapter_that_changed_on_disk_is_never_signed(cloud):
    cloud.learn()
    cloud.deliver("update", scale=2.0)
    cloud.learner.adapter_path("update").write_bytes(b"something else")

    with pytest.raises(IntegrityError, match="update"):
        cloud.tick()

    assert [release.id for release in cloud.signer.releases()] == ["r0001"]


def test_assignments_that_cannot_be_sent_stay_open(cloud):
    cloud.downlink.is_cut = True
    cloud.director.tick()
    assert CampaignStore(cloud.database, clock=cloud.clock).open_assignments()

    cloud.downlink.is_cut = False
    cloud.until(lambda: cloud.director.state.phase is Phase.WARM_UP)


def test_delivering_the_same_name_twice_changes_nothing(cloud):
    first = cloud.deliver("warm-up", AdapterKind.WARM_UP)
    other = cloud.deliver("warm-up", AdapterKind.WARM_UP, scale=5.0)

    assert first != other
    assert [row.name for row in cloud.learner.adapters()] == ["warm-up"]
    assert cloud.learner.adapter_path("warm-up").read_bytes() == first


@pytest.mark.parametrize("name", ["", "../x", ".hidden", "Big", "a/b", "a b"])
def test_a_name_that_is_no_file_name_is_refused(cloud, name):
    with pytest.raises(AdapterRejectedError):
        cloud.deliver(name)


def test_bytes_that_are_no_adapter_are_refused_at_delivery(cloud):
    with pytest.raises(RejectedError):
        cloud.learner.deliver_adapter(
            b"nonsense", name="x", kind=AdapterKind.UPDATE, round_index=1, watermark=0
        )

    assert cloud.learner.adapters() == []


def test_learner_reads_each_episode_once_in_order(cloud):
    cloud.learn()
    cloud.tick(5)

    first = cloud.learner.episodes_after(0, limit=3)
    rest = cloud.learner.episodes_after(first[-1].row, limit=500)

    rows = [one.row for one in [*first, *rest]]
    assert rows == sorted(set(rows))
    assert {one.episode.assignment.split.value for one in [*first, *rest]} == {"train"}
    assert cloud.learner.template_apps() == {"find": "tickets", "alarm": "clock"}


def test_training_waits_for_the_learner(cloud):
    cloud.learn()
    cloud.tick(10)
    stored = cloud.learner.campaign().env_steps
    cloud.tick(10)
    assert cloud.learner.campaign().env_steps == stored == SETTINGS.in_flight_limit

    newest = cloud.learner.episodes_after(0, limit=500)[-1].row
    cloud.learner.report(round_index=1, consumed_row=newest, cpu_s=2.0, metrics={"loss": 1.0})
    cloud.tick(10)

    assert cloud.learner.campaign().env_steps == stored + SETTINGS.in_flight_limit


def test_settings_of_a_begun_campaign_are_kept(cloud):
    store = CampaignStore(cloud.database, clock=cloud.clock)

    kept, _state, _active_s = store.begin(replace(SETTINGS, env_steps=1))

    assert kept == SETTINGS


def test_a_running_service_signs_again_before_signatures_end(cloud):
    def ends_in_days():
        left = cloud.signer.signed_roles()["timestamp"].expires.timestamp()
        return (left - cloud.clock.wall_ms() / 1000) / 86_400

    assert ends_in_days() > 29
    cloud.clock.advance(24 * 86_400)
    cloud.publishing.renew()
    assert ends_in_days() > 29
    cloud.clock.advance(60)
    version = cloud.signer.signed_roles()["timestamp"].version
    cloud.publishing.renew()
    assert cloud.signer.signed_roles()["timestamp"].version == version
