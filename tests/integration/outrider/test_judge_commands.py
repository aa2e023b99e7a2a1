"""`outrider judge run` and `outrider judge agreement` against a local endpoint."""

from __future__ import annotations

import json

import pytest

from cloud_learner.ingest import Ingest
from cloud_learner.report_store import EpisodeFilter, ReportStore
from cloud_learner.store import Database, sqlite_url
from device_runtime.trajectory_log import TrajectoryLog
from outrider import cli
from outrider.judged_episodes import played
from sync.clock import ManualClock, SystemClock
from sync.messages import EpisodeUpload
from sync.session import Received
from sync.vocabulary import Verdict, VerdictSource, new_uuid7
from tests.judge_server import Reply, judge_server, verdict

KEY = "sk-very-secret"


def run_json(capsys, *arguments):
    code = cli.run(["judge", *map(str, arguments), "--json"])
    captured = capsys.readouterr()
    return code, [json.loads(line) for line in captured.out.splitlines()], captured.err


@pytest.fixture(scope="module")
def truths():
    """A few clone episodes with code's verdict on each."""
    return played("contacts", count=16, seed_base=40)


@pytest.fixture
def logs(tmp_path, truths):
    """A fleet's folder whose phone has them in its log."""
    log = TrajectoryLog.open(
        tmp_path / "phones" / "local" / "phone.db", clock=SystemClock(), new_id=new_uuid7
    )
    for episode, truth in truths:
        code = Verdict(episode.id, "state", "1", VerdictSource.CODE, float(truth))
        log.append(episode, [code])
    log.close()
    return tmp_path


@pytest.fixture
def cloud(tmp_path, truths):
    """A fleet's folder whose cloud has them, judged by nobody."""
    database = Database(sqlite_url(tmp_path / "cloud" / "cloud.db"))
    ingest = Ingest(database, clock=ManualClock())
    ingest.commit(
        [
            Received(
                device_id=episode.device_id,
                message=EpisodeUpload(episode=episode),
                install_id="i1",
                boot_id="b1",
                stream="outbox",
                seq=seq,
                attempt=1,
                sent_at_ms=0,
                received_at_ms=0,
                redelivered=False,
            )
            for seq, (episode, _) in enumerate(truths, 1)
        ]
    )
    yield tmp_path, ReportStore(database)
    database.close()


def test_baselines_are_measured_at_once_without_a_network(capsys):
    code, rows, errors = run_json(capsys, "agreement", "--episodes", 24, "--suite", "settings")
    assert (code, errors) == (0, "")
    assert [row["judge"] for row in rows[:-1]] == ["claim", "lexical"]
    summary = rows[-1]
    assert summary["successes"] + summary["failures"] == summary["episodes"] == 24
    assert 0 < summary["successes"] < 24
    for row in rows[:-1]:
        low, high = row["agreed_ci95"]
        assert low <= row["agreed_rate"] <= high
        assert row["undecided"] == "0/24"


def test_a_model_stands_beside_the_baselines_with_its_cost(capsys, logs, truths):
    arguments = ("agreement", "--data", logs, "--model", "m", "--url")
    with judge_server(verdict("success")) as server:
        code, rows, _ = run_json(capsys, *arguments, server.url)
        assert code == 0
        asked = len(server.requests)
        _, again, _ = run_json(capsys, *arguments, server.url)
    failures = sum(not truth for _, truth in truths)
    model = rows[2]
    assert (model["judge"], model["n"], asked) == ("judge m", len(truths), len(truths))
    assert model["false_positives"] == f"{failures}/{failures}"
    assert model["false_negatives_rate"] == 0.0
    assert model["tokens"] == 120 * len(truths)
    assert (again[2]["cached"], again[2]["tokens"]) == (len(truths), 0)
    assert len(server.requests) == asked


def test_a_table_fits_eighty_columns(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert cli.run(["judge", "agreement", "--episodes", "8", "--suite", "clock"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert any("lexical" in line for line in lines)


def test_a_run_decides_what_nobody_decided(capsys, cloud, monkeypatch):
    folder, reports = cloud
    monkeypatch.setenv("OUTRIDER_JUDGE_KEY", KEY)
    with judge_server(verdict("failure")) as server:
        code, rows, errors = run_json(
            capsys, "run", "--data", folder, "--url", server.url, "--model", "m", "--limit", 5
        )
    assert (code, errors) == (0, "")
    assert set(server.keys) == {f"Bearer {KEY}"}
    assert (rows[-1]["judged"], rows[-1]["failure"]) == (5, 5)
    known = [row["success"] for row in reports.episodes(EpisodeFilter())]
    assert known.count(False) == 5
    assert known.count(None) == len(known) - 5
    assert KEY not in json.dumps(rows)


def test_a_run_stops_at_its_budget_and_goes_on_from_there(capsys, cloud):
    folder, reports = cloud
    with judge_server(verdict("success")) as server:
        arguments = ("run", "--data", folder, "--url", server.url, "--model", "m")
        _, rows, _ = run_json(capsys, *arguments, "--token-budget", 3000)
        assert rows[-1]["budget_used_up"] is True
        assert 0 < rows[-1]["judged"] < 16
        assert rows[-1]["tokens_spent_ever"] <= 3000
        _, rows, _ = run_json(capsys, *arguments)
    assert {row["success"] for row in reports.episodes(EpisodeFilter())} == {True}
    assert len(server.requests) == 16


def test_an_endpoint_that_never_answers_is_an_error(capsys, cloud, tmp_path):
    folder, reports = cloud
    config = tmp_path / "judge.toml"
    with judge_server(Reply(500)) as server:
        config.write_text(f'[judge]\nurl = "{server.url}"\nmodel = "m"\nattempts = 1\n')
        code, rows, errors = run_json(capsys, "run", "--data", folder, "--config", config)
    assert code == 1
    assert rows[-1]["unreached"] == rows[-1]["judged"] == 16
    assert "answered none of 16" in errors
    assert {row["success"] for row in reports.episodes(EpisodeFilter())} == {None}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("run", "--data", "/nowhere", "--url", "http://h", "--model", "m"), "no cloud database"),
        (("agreement", "--data", "/nowhere"), "holds no phone"),
        (("agreement", "--suite", "nonsense"), "no suite is called"),
        (("agreement", "--url", "ftp://h", "--model", "m"), "url is http"),
        (("agreement", "--url", "http://h"), "needs a model"),
        (("agreement", "--screen", "smell"), "Invalid enum value"),
        (("agreement", "--config", "/nowhere.toml"), "cannot be read"),
    ],
)
def test_misuse_is_one_line_and_exit_code_2(capsys, arguments, text):
    code, rows, errors = run_json(capsys, *arguments)
    assert (code, rows) == (2, [])
    assert text in errors
    assert errors.count("\n") == 1


def test_a_run_without_a_judge_says_how_to_name_one(capsys, cloud):
    folder, _ = cloud
    code, _, errors = run_json(capsys, "run", "--data", folder)
    assert code == 2
    assert "--url" in errors


def test_a_key_file_that_is_not_there_is_named_before_anything_is_asked(capsys, cloud):
    folder, _ = cloud
    with judge_server(verdict("success")) as server:
        arguments = ("run", "--data", folder, "--url", server.url, "--model", "m")
        code, _, errors = run_json(capsys, *arguments, "--key-file", "/nowhere/key")
    assert (code, server.requests) == (2, [])
    assert "/nowhere/key" in errors
