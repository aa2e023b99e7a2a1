"""A campaign on PostgreSQL, whose server is restarted in the middle of it."""

from __future__ import annotations

import threading

import httpx
import pytest

from cloud_learner.audit import audit
from cloud_learner.report_store import ReportStore
from cloud_learner.store import Database
from cloud_learner.tokens import TokenFile
from sync.messages import Role
from tests.postgresql import PASSWORD

TOKEN = "a-token-of-sufficient-length"
WAIT_S = 60.0


def plays(assignment, _release_id):
    return assignment.actor == "oracle" or assignment.seed % 2 == 0


class Watcher:
    """Stops the server when enough is stored, asks the API meanwhile, and starts it again."""

    def __init__(self, server, port):
        self._server, self._port = server, port
        self.answers = []

    def run(self, database):
        reports, pause = ReportStore(database), threading.Event()
        while reports.counts()["episodes"] < 30:
            pause.wait(0.05)
        self._server.stop()
        headers = {"Authorization": f"Bearer {TOKEN}"}
        with httpx.Client(base_url=f"http://127.0.0.1:{self._port}", headers=headers) as client:
            for path in ("/health", "/metrics", "/v1/episodes", "/v1/fleet/devices"):
                self.answers.append(client.get(path, timeout=WAIT_S))
        self._server.start()


def test_a_campaign_survives_a_restart_of_its_database_and_nobody_sees_the_password(  # noqa: PLR0917 - fixtures
    tmp_path,
    postgres_server,
    loopback,
    make_scene,
    make_device,
    make_learner,
    run_campaign,
    capfd,
    request,
):
    url = postgres_server.empty()
    scene = make_scene(tmp_path, loopback.transport("cloud", service=True), database_url=url)
    TokenFile(tmp_path / "cloud" / "token").write(TOKEN)
    watcher = Watcher(postgres_server, scene.service.start())
    device = make_device(tmp_path, "farm-1", Role.FARM, loopback.transport("farm-1"), plays)
    learner = make_learner(tmp_path, database_url=url)
    database = Database(url, migrate=False)
    request.addfinalizer(database.close)
    watching = threading.Thread(target=watcher.run, args=(database,))
    watching.start()

    run_campaign(scene, learner, timeout_s=120.0)
    watching.join(WAIT_S)
    device.stop()

    summary = scene.service.summary()
    assert summary["valid"] is True, summary
    episodes = summary["episodes"]
    assert episodes["logged"] == episodes["acknowledged"] == episodes["stored"] > 30
    found = audit(ReportStore(database), tmp_path / "phones", installed={})
    assert found.is_clean
    assert found.counts["stored"] == episodes["stored"]
    assert [answer.status_code for answer in watcher.answers] == [503] * 4
    said = "".join([*capfd.readouterr(), *(answer.text for answer in watcher.answers)])
    assert PASSWORD not in said
    assert watcher.answers[0].json()["database_reachable"] is False
    assert all("postgres" not in answer.text for answer in watcher.answers)  # nor user, nor host


COMMANDS = (
    ("cloud", "serve"),
    ("cloud", "learn"),
    ("audit",),
    ("fleet", "list"),
    ("release", "lineage", "--device", "x"),
)


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_says_a_password(postgres_server, capsys, tmp_path, command):
    wrong = postgres_server.url("postgres", password="wr0ng-secret")

    code, said = run(capsys, *command, "--data", tmp_path, "--database", wrong)

    assert (code, said.out) == (1, "")
    assert "password authentication failed" in said.err


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:wr0ng-secret@127.0.0.1:1/x",
        "postgresql://me:wr0ng-secret:1@2@host/x",
        "postgresql://me@127.0.0.1:1/x?password=wr0ng-secret",
        "postgresql://me@127.0.0.1:1/x?pasword=wr0ng-secret",
        "postgresql://me:wr0ng-secret@127.0.0.1:1/x?sslmode=secret-mode",
    ],
)
def test_no_url_that_cannot_be_used_shows_its_password(capsys, tmp_path, monkeypatch, url):
    monkeypatch.setenv("OUTRIDER_DATABASE", url)

    code, said = run(capsys, "audit", "--data", tmp_path)

    assert (code, said.out) == (1, "")


def run(capsys, *words):
    """What a command says that fails: one line without a password."""
    from outrider import cli

    code = cli.run([*map(str, words), "--json"])
    said = capsys.readouterr()
    assert len(said.err.splitlines()) == 1, said.err
    assert "wr0ng" not in said.err
    assert PASSWORD not in said.err
    return code, said


def test_the_environment_names_the_database_to_every_command(
    postgres_server, tmp_path, capsys, monkeypatch
):
    from outrider import cli

    url = postgres_server.empty()
    Database(url).close()
    monkeypatch.setenv("OUTRIDER_DATABASE", url)
    nobody = "error: the cloud never heard of x: outrider fleet list names devices\n"
    for words, said in (
        (["fleet", "list"], (0, "")),
        (["release", "lineage", "--device", "x"], (2, nobody)),
    ):
        code = cli.run([*words, "--data", str(tmp_path), "--json"])
        assert (code, capsys.readouterr().err) == said
    assert not (tmp_path / "cloud").exists()
    postgres_server.drop(url)
