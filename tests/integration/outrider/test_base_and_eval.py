"""`outrider base train`, and `outrider eval` and `do` with what came of it."""

import json
import shutil
import zipfile

import numpy as np
import pytest

from device_runtime.installer import Installer, enrol
from device_runtime.policy import OnnxPolicy
from device_runtime.slots import PhoneBase
from device_runtime.trajectory_log import TrajectoryLog
from outrider import cli
from outrider.graphs import graphs_of
from sync.adapter_file import adapter_digest, pack
from sync.clock import SystemClock
from sync.policy_io import POLICY_IO_VERSION
from sync.trust import Repository, TrustedClient
from sync.vocabulary import Release, ReleaseId, new_uuid7

TRAIN = ("base", "train", "--apps", "clock", "--demos", 1, "--updates", 3, "--batch", 8)


def run_json(capsys, *arguments):
    code = cli.run([*map(str, arguments), "--json"])
    captured = capsys.readouterr()
    return code, [json.loads(line) for line in captured.out.splitlines()], captured.err


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _own_cache(cache, monkeypatch):
    monkeypatch.setenv("OUTRIDER_CACHE", str(cache))


@pytest.fixture(scope="module")
def base(tmp_path_factory, cache):
    """A base that was hardly trained, made by the command."""
    folder = tmp_path_factory.mktemp("bases") / "base"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OUTRIDER_CACHE", str(cache))
        assert cli.run([*map(str, TRAIN), "--test-n", "6", "--out", str(folder), "--json"]) == 0
    return folder


@pytest.fixture(scope="module")
def policy(base, cache):
    return OnnxPolicy(graphs_of(base, cache))


class Fleet:
    """A repository with a release of noise, and a phone that trusts it."""

    def __init__(self, folder, policy):
        self.folder = folder
        self.phone = folder / "phones" / "phone-1"
        self.base = PhoneBase(policy.base_digest, POLICY_IO_VERSION)
        self.repository = Repository.create(folder / "tuf", folder / "keys", clock=SystemClock())
        enrol(self.phone, self.repository.root_bytes, self.base)
        random = np.random.default_rng(0)
        self.data = pack(
            {
                name: random.normal(0, 0.3, shape).astype(np.float32)
                for name, shape in policy.adapter_shapes(4).items()
            },
            base_digest=policy.base_digest,
            policy_io_version=POLICY_IO_VERSION,
        )
        release = Release(
            id=ReleaseId("r1"),
            version=1,
            base_digest=policy.base_digest,
            adapter_digest=adapter_digest(self.data),
            adapter_size_bytes=len(self.data),
            policy_io_version=POLICY_IO_VERSION,
        )
        self.bundle = self.repository.publish(release, self.data, "canary")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory, policy):
    return Fleet(tmp_path_factory.mktemp("fleet"), policy)


def test_card_tells_data_recipe_test_and_the_command(base):
    card = json.loads((base / "card.json").read_text())
    assert card["data"]["played"] == card["data"]["kept"] == 6
    assert card["data"]["steps"] > 6
    assert card["recipe"]["updates"] == 3
    assert card["cpu_s"] > 0
    assert card["test"]["clock"]["n"] == card["test"]["clock"]["lexical"]["n"] == 6
    assert card["test"]["clock"]["ci95"][0] <= card["test"]["clock"]["success"]
    assert card["command"].startswith("outrider base train --out DIR --apps clock --size S")
    assert card["config"]["dropout"] == 0.0


def test_command_on_the_card_makes_the_same_weights(base, tmp_path, capsys):
    card = json.loads((base / "card.json").read_text())
    command = card["command"].replace("DIR", str(tmp_path / "again")).split()[1:]
    code, rows, _ = run_json(capsys, *command, "--test-n", 6)
    assert code == 0
    assert rows[-1]["digest"] == card["digest"]
    weights = "weights.safetensors"
    assert (tmp_path / "again" / weights).read_bytes() == (base / weights).read_bytes()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--apps", "nonsense"), "no app is called nonsense"),
        (("--apps", ","), "no app is called nothing"),
        (("--apps", "clock,store"), "other suites hold all tasks of store"),
        (("--demos", "0"), "--demos"),
    ],
)
def test_misuse_of_base_train_leaves_nothing_behind(tmp_path, capsys, options, text):
    target = tmp_path / "new"
    code, rows, errors = run_json(capsys, "base", "train", "--out", target, *options)
    assert (code, rows) == (2, [])
    assert text in errors
    assert errors.count("\n") == 1
    assert not target.exists()


def test_a_base_is_never_written_over(base, capsys):
    before = (base / "weights.safetensors").read_bytes()
    code, rows, errors = run_json(capsys, *TRAIN, "--out", base)
    assert (code, rows) == (2, [])
    assert "holds a base" in errors
    assert (base / "weights.safetensors").read_bytes() == before
    assert not (base / "training.pt").exists()


def test_a_folder_that_cannot_be_made_is_told_before_anything_is_played(tmp_path, capsys):
    (tmp_path / "file").write_text("x")
    code, rows, errors = run_json(capsys, *TRAIN, "--out", tmp_path / "file" / "base")
    assert (code, rows) == (2, [])
    assert "cannot be written to" in errors


def test_base_is_evaluated_alike_whatever_the_batch(base, policy, capsys):
    options = ("eval", "--suite", "clock", "--n", 12, "--seed-base", 900, "--base", base)
    alone = run_json(capsys, *options, "--seats", 1, "--temperature", 1)
    together = run_json(capsys, *options, "--seats", 5, "--temperature", 1)
    assert alone[0] == 0
    assert alone == together
    assert alone[1][-1]["digest"] == policy.base_digest
    assert alone[1][-1]["release_id"] == "factory"


def test_release_of_a_bundle_acts(base, fleet, capsys):
    options = ("eval", "--suite", "clock", "--n", 6, "--base", base)
    _, plain, _ = run_json(capsys, *options)
    code, rows, _ = run_json(capsys, *options, "--bundle", fleet.bundle)
    assert code == 0
    assert rows[-1]["release_id"] == "r1"
    assert rows[-1]["digest"] == adapter_digest(fleet.data)
    assert [row["steps"] for row in rows[:-1]] != [row["steps"] for row in plain[:-1]]


def test_bundle_that_brings_its_base_needs_no_other(base, tmp_path, capsys):
    fleet = tmp_path / "fleet"
    Repository.create(fleet / "tuf", fleet / "keys", clock=SystemClock())
    code, made, _ = run_json(capsys, "release", "publish", "--base", base, "--data", fleet)
    assert code == 0
    options = ("eval", "--suite", "clock", "--n", 6)
    code, rows, _ = run_json(capsys, *options, "--bundle", made[-1]["bundle"])
    assert code == 0
    assert rows[-1]["release_id"] == made[-1]["release_id"]
    _, plain, _ = run_json(capsys, *options, "--base", base)
    assert rows[:-1] == plain[:-1]


def test_bundle_of_another_base_is_refused(fleet, tmp_path, capsys):
    other = tmp_path / "other"
    assert cli.run([*map(str, TRAIN), "--seed", "9", "--test-n", "6", "--out", str(other)]) == 0
    capsys.readouterr()
    code, rows, errors = run_json(
        capsys, "eval", "--suite", "clock", "--base", other, "--bundle", fleet.bundle
    )
    assert (code, rows) == (2, [])
    assert "needs base" in errors
    assert errors.count("\n") == 1


@pytest.mark.parametrize("entry", ["adapter.bin", "release.json", None])
def test_damaged_bundle_is_refused(base, fleet, tmp_path, capsys, entry):
    damaged = tmp_path / "damaged.zip"
    if entry is None:
        damaged.write_bytes(b"no zip at all")
    else:
        with zipfile.ZipFile(fleet.bundle) as old, zipfile.ZipFile(damaged, "w") as new:
            for name in old.namelist():
                new.writestr(name, old.read(name)[:-9] if name == entry else old.read(name))
    code, rows, errors = run_json(capsys, "eval", "--base", base, "--bundle", damaged)
    assert (code, rows) == (2, [])
    assert errors.count("\n") == 1


def test_do_acts_with_what_a_phone_has_installed_and_logs(base, fleet, tmp_path, capsys):
    data = tmp_path / "fleet"
    shutil.copytree(fleet.folder, data)
    phone = data / "phones" / "phone-1"
    TrajectoryLog.open(phone / "phone.db", clock=SystemClock(), new_id=new_uuid7).close()
    client = TrustedClient(phone / "trust", lambda path: [fleet.repository.read(path)])
    installer = Installer(phone, client, base=fleet.base, clock=SystemClock())
    assert installer.apply_bundle(fleet.bundle).applied
    options = ("do", "--task", "clock_toggle", "--yes", "--base", base, "--data", data)

    code, rows, errors = run_json(capsys, *options)
    assert (code, errors) == (0, "")
    assert rows[-1]["release_id"] == "r1"
    assert rows[-1]["logged"] is True
    code, shown, _ = run_json(capsys, "episodes", "show", rows[-1]["id"], "--data", data)
    assert code == 0
    assert shown[-1]["release_id"] == "r1"
    assert shown[-1]["steps"] == rows[-1]["steps"]

    code, rows, errors = run_json(capsys, *options, "--id", "nobody")
    assert (code, rows) == (2, [])
    assert "phone-1" in errors
