"""`outrider up` closes the loop: a small campaign with the shipped base, from all sides."""

from __future__ import annotations

import json
import zipfile

import pytest

from device_runtime.slots import Slots
from device_runtime.trajectory_log import TrajectoryLog
from outrider import cli
from sync.clock import SystemClock
from sync.repository import Repository
from sync.vocabulary import Purpose, Split, new_uuid7
from tests.fleet import Up, prepared

pytestmark = pytest.mark.timeout(1200)  # a minute of work, on machines that may be busy

FIGURE = {"n", "success", "ci95", "env_errors"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A campaign that was run to its end."""
    up = Up(prepared(tmp_path_factory.mktemp("up") / "fleet"))
    try:
        assert up.end() == 0, up.errors
        yield up
    finally:
        up.close()


@pytest.fixture
def run(capsys, monkeypatch, root):
    """`run(…)`: a command in this process; its exit code, JSON lines and stderr."""
    monkeypatch.setenv("OUTRIDER_CACHE", str(root / "build" / "test-bases"))

    def call(*words):
        code = cli.run([*map(str, words), "--json"])
        printed = capsys.readouterr()
        return code, [json.loads(line) for line in printed.out.splitlines()], printed.err

    return call


@pytest.fixture
def phone(finished):
    """Folder of the phone over ADB."""
    return finished.folder / "phones" / "phone-1"


def summary_of(finished):
    return finished.events[-1]


def newest_bundle(finished):
    return max((finished.folder / "releases").glob("*.zip"))


def test_every_part_says_where_it_runs(finished):
    started = {event["role"]: event for event in finished.named("started")}
    assert started.keys() == {"broker", "cloud", "learner", "farm", "phone"}
    assert all(event["pid"] > 0 for event in started.values())
    assert started["broker"]["port"] > 0
    assert started["cloud"]["port"] > 0
    assert finished.errors == ""


def test_summary_comes_last_with_every_figure(finished):
    summary = summary_of(finished)
    assert summary["event"] == "summary"
    assert summary["test"]["app"] == "tickets"
    for name in ("before", "after", "lexical"):
        assert summary["test"][name].keys() >= FIGURE
        assert summary["test"][name]["n"] == 14
    for name in ("before", "after"):
        assert summary["old_apps"][name].keys() >= FIGURE
        assert summary["old_apps"][name]["n"] >= 17
    assert summary["env_errors"] == 0
    assert summary["env_steps"] >= 300
    assert summary["learner_cpu_s"] > 0
    assert (summary["phase"], summary["notes"], summary["valid"]) == ("finished", [], True)


def test_every_episode_is_logged_acknowledged_and_stored_once(finished):
    episodes = summary_of(finished)["episodes"]
    assert episodes["logged"] == episodes["acknowledged"] == episodes["stored"] > 100
    assert episodes["lost"] == 0


def test_every_release_was_told_and_the_newest_is_on_every_phone(finished):
    releases = summary_of(finished)["releases"]
    published = finished.named("release")
    assert releases["published"] == len(published) >= 2
    assert releases["promoted"] + releases["reverted"] + releases["rolled_back"] == len(published)
    assert releases["installed"].keys() == {"farm-1", "phone-1"}
    assert set(releases["installed"].values()) == {published[-1]["digest"]}
    installed = Slots(finished.folder / "phones" / "phone-1")
    release = installed.installed(installed.state().active).release
    assert release.adapter_digest == published[-1]["digest"]


def test_audit_agrees_with_the_summary(finished, run):
    code, lines, errors = run("audit", "--data", finished.folder)
    assert (code, errors) == (0, "")
    assert lines[-1]["clean"] is True
    assert lines[-1]["trained_on_test"] == []
    after = lines[-1]["test"]["after-new"]
    assert after["store"] == after["phones"] == summary_of(finished)["test"]["after"]


def test_nothing_runs_afterwards(finished):
    assert {event["pid"] for event in finished.named("started")} <= {
        process.pid for process in finished.family
    }
    assert finished.survivors() == []


def test_phone_over_adb_played_one_test_task_of_the_new_app(finished, phone):
    log = TrajectoryLog.open(phone / "phone.db", clock=SystemClock(), new_id=new_uuid7)
    try:
        shown = [
            episode
            for episode, _verdicts in log.episodes()
            if episode.assignment.split is Split.TEST
        ]
    finally:
        log.close()
    assert len(shown) == 1
    assert shown[0].assignment.purpose is Purpose.EVALUATE
    assert shown[0].assignment.template.startswith("tickets_")
    steps = finished.named("step")[-len(shown[0].steps) :]
    assert [step["index"] for step in steps] == list(range(len(shown[0].steps)))
    assert {step["policy"] for step in steps} == {shown[0].release_id}


def test_published_release_is_measured_on_seeds_of_ones_own(finished, run):
    words = ["eval", "--bundle", newest_bundle(finished), "--suite", "tickets", "--split", "test"]
    code, lines, errors = run(*words, "--n", 14, "--seed-base", 900_000)
    assert (code, errors) == (0, "")
    assert len(lines) == 15
    assert lines[-1]["n"] == 14
    assert lines[-1]["digest"] == finished.named("release")[-1]["digest"]


def rewritten(bundle, target, entry, change):
    """A copy of a bundle with one entry changed."""
    with zipfile.ZipFile(bundle) as source, zipfile.ZipFile(target, "w") as copy:
        for name in source.namelist():
            data = source.read(name)
            copy.writestr(name, change(data) if name == entry else data)
    return target


def tampered(finished, folder):
    def flip(data):
        return data[:-1] + bytes([data[-1] ^ 1])

    return rewritten(newest_bundle(finished), folder / "tampered.zip", "adapter.bin", flip)


def signed_by_a_stranger(finished, folder):
    from sync.releases import read_bundle

    bundle = read_bundle(newest_bundle(finished))
    stranger = Repository.create(folder / "tuf", folder / "keys", clock=SystemClock())
    return stranger.publish(bundle.release(), bundle.adapter, "stable")


def older(finished, folder):
    del folder
    return finished.folder / "releases" / "r0001.zip"


@pytest.mark.parametrize(
    ("make", "reason"),
    [(tampered, "tampered"), (signed_by_a_stranger, "wrong_key"), (older, "older_version")],
)
def test_bundle_that_must_not_be_installed_is_refused(finished, run, tmp_path, make, reason):
    phone = finished.folder / "phones" / "phone-1"
    before = {path: path.read_bytes() for path in phone.rglob("*adapter*") if path.is_file()}
    code, lines, errors = run("release", "apply", make(finished, tmp_path), "--phone", phone)
    assert code == 1
    assert errors.count("\n") == 1
    assert (lines[-1]["applied"], lines[-1]["reason"]) == (False, reason)
    newest = summary_of(finished)["releases"]["installed"]["phone-1"]
    assert lines[-1]["installed"]["adapter_digest"] == newest
    assert before == {path: path.read_bytes() for path in before}
    assert before
