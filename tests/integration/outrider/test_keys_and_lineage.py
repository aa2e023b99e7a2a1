"""`outrider keys …` and the lineage commands, on real keys and a real cloud database."""

from __future__ import annotations

import json

import pytest

from cloud_learner.store import Database, sqlite_url
from outrider import cli
from outrider.publisher import sole_publisher
from sync.adapter_file import adapter_digest, pack
from sync.repository import Repository
from sync.vocabulary import Release, ReleaseId
from tests.integration.cloud_learner.test_lineage import Scene

pytestmark = pytest.mark.integration


def run_json(capsys, *arguments: object):
    code = cli.run([*map(str, arguments), "--json"])
    captured = capsys.readouterr()
    return code, [json.loads(line) for line in captured.out.splitlines()], captured.err


@pytest.fixture
def keys(capsys, tmp_path):
    """A fleet whose three root keys lie elsewhere; two must sign."""
    options = ("--root-keys", 3, "--threshold", 2, "--root-out", tmp_path / "safe")
    code, lines, _ = run_json(capsys, "keys", "init", "--data", tmp_path / "fleet", *options)
    assert code == 0
    assert lines[-1]["root_version"] == 1
    return tmp_path / "fleet"


def test_keys_are_made_once(capsys, keys):
    code, _, error = run_json(capsys, "keys", "init", "--data", keys)
    assert code == 2
    assert "keys already" in error


def test_a_threshold_above_the_number_of_keys_is_misuse(capsys, tmp_path):
    code, _, error = run_json(capsys, "keys", "init", "--data", tmp_path / "f", "--threshold", 2)
    assert code == 2
    assert error.count("\n") == 1
    assert not (tmp_path / "f").exists()


def test_status_says_what_is_where_and_what_comes_next(capsys, keys):
    code, lines, _ = run_json(capsys, "keys", "status", "--data", keys)
    assert code == 0
    assert [(line["role"], line["at_hand"]) for line in lines[:-1]] == [
        ("root", 0),
        ("targets", 1),
        ("snapshot", 1),
        ("timestamp", 1),
    ]
    assert lines[0]["must_sign"] == "2 of 3"
    assert lines[-1] == {"event": "summary", "ok": True, "next": ["nothing to do"]}
    (keys / "keys" / "online" / "targets.pem").unlink()
    _, lines, _ = run_json(capsys, "keys", "status", "--data", keys)
    assert lines[-1]["ok"] is False
    assert "keys rotate targets" in lines[-1]["next"][0]


def test_a_dry_run_says_what_would_be_done_and_does_nothing(capsys, keys, tmp_path):
    before = sorted(keys.rglob("*"))
    options = ("--data", keys, "--root", tmp_path / "safe", "--dry-run")
    code, lines, _ = run_json(capsys, "keys", "rotate", "online", *options)
    assert code == 0
    assert (lines[-1]["can_be_done"], lines[-1]["root_version"]) == (True, 2)
    assert sorted(keys.rglob("*")) == before


def test_rotating_every_kind_of_key(capsys, keys, tmp_path):
    folder = tmp_path / "safe"
    run_json(capsys, "keys", "rotate", "timestamp", "--data", keys, "--root", folder)
    code, lines, _ = run_json(
        capsys, "keys", "rotate", "root", "--data", keys, "--root", folder,
        "--root-out", tmp_path / "safer", "--root-keys", 1, "--threshold", 1,
    )  # fmt: skip
    assert code == 0
    assert (lines[-1]["rotated"], lines[-1]["root_version"]) == (True, 3)
    code, _, error = run_json(capsys, "keys", "rotate", "online", "--data", keys, "--root", folder)
    assert code == 1
    assert "0 root keys" in error
    options = ("--data", keys, "--root", tmp_path / "safer")
    code, lines, _ = run_json(capsys, "keys", "rotate", "online", *options)
    assert (code, lines[-1]["root_version"]) == (0, 4)


@pytest.mark.parametrize(
    "arguments",
    [
        ("rotate", "everything"),
        ("rotate", "targets", "--threshold", "1"),
        ("rotate", "root", "--root-keys", "1", "--threshold", "2"),
    ],
)
def test_what_makes_no_sense_is_misuse(capsys, keys, arguments):
    code, _, error = run_json(capsys, "keys", *arguments, "--data", keys)
    assert code == 2
    assert error.count("\n") == 1


def test_nothing_is_rotated_while_the_service_runs(capsys, keys, tmp_path):
    options = ("--data", keys, "--root", tmp_path / "safe")
    with sole_publisher(keys):
        code, _, error = run_json(capsys, "keys", "rotate", "online", *options)
    assert code == 2
    assert "stop it first" in error


@pytest.fixture
def learnt(tmp_path):
    """A fleet with two signed releases, what they were trained on, and an episode of the second."""
    fleet = tmp_path / "fleet"
    (fleet / "cloud").mkdir(parents=True)
    scene = Scene(fleet / "cloud", Database(sqlite_url(fleet / "cloud" / "cloud.db")))
    rows = [scene.played(device) for device in ("p1", "p1", "p2")]
    scene.deliver("warm-up", rows[:2], "r1")
    scene.deliver("round-1", rows[2:], "r2")
    scene.played("p3", "r1", "r2", release="r2")
    scene.database.close()
    repository = Repository.create(fleet / "tuf", fleet / "keys", bundles_dir=fleet / "releases")
    data = pack({}, base_digest="b" * 64, policy_io_version="1")
    for version in (1, 2):
        repository.publish(
            Release(
                id=ReleaseId(f"r{version}"),
                version=version,
                base_digest="b" * 64,
                adapter_digest=adapter_digest(data),
                adapter_size_bytes=len(data),
                policy_io_version="1",
                parent="factory" if version == 1 else "r1",
            ),
            data,
            "canary",
        )
    return fleet


def test_a_release_leads_to_the_steps_it_was_trained_on(capsys, learnt):
    code, lines, _ = run_json(capsys, "release", "lineage", "r2", "--steps", "--data", learnt)
    assert code == 0
    kinds = [line["event"] for line in lines]
    assert kinds == ["release", "release", "batch", "batch", *["trained"] * 3, "summary"]
    assert [(one["episode_id"], one["adapter"]) for one in lines[4:7]] == [
        ("episode-1", "warm-up"),
        ("episode-2", "warm-up"),
        ("episode-3", "round-1"),
    ]
    assert (lines[-1]["trained_episodes"], lines[-1]["trained_steps"]) == (3, 6)


def test_a_step_leads_to_its_release_and_batch(capsys, learnt):
    code, lines, _ = run_json(capsys, "episodes", "lineage", "episode-4:0", "--data", learnt)
    assert code == 0
    assert (lines[-1]["policy_release"], lines[-1]["adapter"]) == ("r1", "warm-up")
    assert (lines[-1]["trained_episodes"], lines[-1]["learnt_by"]) == (2, None)
    _, lines, _ = run_json(capsys, "episodes", "lineage", "episode-3", "--data", learnt)
    assert (lines[-1]["learnt_by"], lines[-1]["learnt_releases"]) == ("round-1", ["r2"])


def test_a_device_leads_to_every_release_that_learnt_from_it(capsys, learnt):
    code, lines, _ = run_json(capsys, "release", "lineage", "--device", "p1", "--data", learnt)
    assert code == 0
    assert (lines[-1]["episodes"], lines[-1]["releases"]) == (2, ["r1", "r2"])


@pytest.mark.parametrize(
    "arguments",
    [
        ("release", "lineage"),
        ("release", "lineage", "r1", "--device", "p1"),
        ("release", "lineage", "r9"),
        ("release", "lineage", "--device", "p9"),
        ("episodes", "lineage", "episode-9"),
        ("episodes", "lineage", "episode-4:9"),
        ("episodes", "lineage", "episode-4:x"),
    ],
)
def test_what_is_not_there_is_misuse(capsys, learnt, arguments):
    code, _, error = run_json(capsys, *arguments, "--data", learnt)
    assert code == 2
    assert error.count("\n") == 1


def test_a_fleet_without_a_cloud_database_still_shows_what_is_signed(capsys, learnt):
    for file in (learnt / "cloud").glob("cloud.db*"):
        file.unlink()
    code, lines, _ = run_json(capsys, "release", "lineage", "r2", "--data", learnt)
    assert (code, lines[-1]["generations"], lines[-1]["adapters"]) == (0, 2, 0)
