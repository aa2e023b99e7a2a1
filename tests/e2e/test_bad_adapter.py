"""An adapter of noise, published properly: stopped at the canary, and everybody goes back."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

from cloud_learner.learner_store import AdapterKind, LearnerStore
from cloud_learner.settings import ServiceSettings
from cloud_learner.store import Database, sqlite_url
from exporters.base import DEFAULT_BASE_DIR, base_digest, load_base
from exporters.lora import adapter_tensors, attach
from outrider import cli
from outrider.children import ChildEvent
from outrider.loop import FARM, PHONE, Loop
from outrider.up import campaign_summary
from sync.adapter_file import pack
from sync.clock import SystemClock
from sync.policy_io import POLICY_IO_VERSION
from tests.fleet import prepared

pytestmark = pytest.mark.timeout(1200)  # whole processes, on machines that may be busy

CONFIG = """
[service]
linger_s = 1.0
progress_s = 0.2
[campaign]
app = "clock"
old_apps = ["settings"]
env_steps = 1
minutes = 8
demonstrations = 1
old_demonstrations = 0
evaluate_new = 14
evaluate_old = 0
in_flight_limit = 2
reserve_minutes = 0.0
[gate]
per_template = 2
"""


class Saboteur:
    """In the learner's place: delivers the base's own policy first, and noise after it."""

    def __init__(self, folder):
        paths = ServiceSettings(data_dir=folder)
        self.database = Database(sqlite_url(paths.cloud_dir / "cloud.db"), migrate=False)
        self._store = LearnerStore(
            self.database, adapters_dir=paths.adapters_dir, clock=SystemClock()
        )
        network = load_base(DEFAULT_BASE_DIR)
        self._digest = base_digest(network)
        self._tensors = adapter_tensors(attach(network, rank=4))
        self._row = 0

    def turn(self):
        """Do what the phase asks for."""
        campaign = self._store.campaign()
        for one in self._store.episodes_after(self._row, limit=500):
            self._row = one.row
        if campaign.phase == "warm_up":
            self._deliver("good", AdapterKind.WARM_UP, scale=0.0)
        if campaign.phase in {"learn", "settle"}:
            self._deliver("noise", AdapterKind.UPDATE, scale=1.0)
        self._store.report(
            round_index=0,
            consumed_row=self._row,
            cpu_s=0.0,
            metrics={},
            settled=campaign.phase == "settle",
        )

    def _deliver(self, name, kind, *, scale):
        chance = np.random.default_rng(1)
        tensors = {
            key: (scale * chance.standard_normal(value.shape)).astype(np.float32)
            for key, value in self._tensors.items()
        }
        data = pack(tensors, base_digest=self._digest, policy_io_version=POLICY_IO_VERSION)
        self._store.deliver_adapter(data, name=name, kind=kind, round_index=0, watermark=self._row)


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    """Folder and events of a campaign in which noise was published."""
    folder = prepared(tmp_path_factory.mktemp("noise") / "fleet")
    (folder / "up.toml").write_text(CONFIG)
    [graphs] = (folder / "base").iterdir()
    events: list[ChildEvent] = []
    stop, finished = threading.Event(), threading.Event()
    with (folder / "up.lock").open("w") as lock:
        loop = Loop(folder, events.append, lock=lock.fileno())
        learning = None
        try:
            loop.open_broker(0)
            loop.enrol(graphs)
            common = ["--data", str(folder), "--json"]
            config = ["--config", str(folder / "up.toml"), "--port", "0", "--until-finished"]
            loop.launch("cloud", ["cloud", "serve", *common, *config])
            loop.wait_started(stop)
            device = [*common, "--base", str(graphs)]
            canary = ["--channel", "canary", "--seats", "8"]
            loop.launch("farm", ["farm", *device, "--id", FARM, *canary])
            loop.launch("phone", ["phone", "run", *device, "--id", PHONE, "--mock"])
            saboteur = Saboteur(folder)
            learning = threading.Thread(target=work, args=(saboteur, finished))
            learning.start()
            loop.wait_started(stop)
            assert loop.watch(stop)
        finally:
            finished.set()
            if learning is not None:
                learning.join(20)
            loop.close()
    return folder, [(event.role, event.fields) for event in events]


def work(saboteur, finished):
    """Turn after turn, until the campaign is finished."""
    while not finished.wait(0.05):
        saboteur.turn()
    saboteur.database.close()


def named(scene, name):
    return [fields for _role, fields in scene[1] if fields["event"] == name]


def test_noise_is_published_and_stopped_by_the_gate(scene):
    good, noise = named(scene, "gate")
    assert (good["promoted"], noise["promoted"]) == (True, False)
    assert good["validation"]["success"] >= 0.5
    assert noise["validation"]["success"] < good["validation"]["success"] - 0.05
    assert noise["reason"]
    states = [(one["release_id"], one["kind"], one["state"]) for one in named(scene, "release")]
    assert ("r0002", "update", "canary") in states
    assert ("r0003", "roll_back", "promoted") in states


def test_noise_reached_the_canary_farm_and_no_other_phone(scene):
    installed = {FARM: [], PHONE: []}
    for one in named(scene, "installed"):
        installed[one["device_id"]].append(one["release_id"])
    assert "r0002" in installed[FARM]
    assert "r0002" not in installed[PHONE]
    assert installed[FARM][-1] == installed[PHONE][-1] == "r0003"


def test_farm_and_phone_act_with_the_good_adapter_afterwards(scene):
    summary = json.loads(json.dumps(campaign_summary(scene[0])))
    good = named(scene, "release")[0]["digest"]
    assert summary["releases"]["installed"] == {FARM: good, PHONE: good}
    counts = {key: summary["releases"][key] for key in ("promoted", "reverted", "rolled_back")}
    assert counts == {"promoted": 1, "reverted": 1, "rolled_back": 1}
    assert summary["test"]["after"] == summary["test"]["before"]
    assert summary["test"]["after"]["success"] >= 0.5


def test_audit_finds_nothing(scene, capsys):
    assert cli.run(["audit", "--data", str(scene[0]), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["clean"] is True
