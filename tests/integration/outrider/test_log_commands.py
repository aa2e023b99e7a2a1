"""`episodes` and `phone list` on real logs."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from itertools import count

import pytest
from sqlalchemy import update

from cloud_learner.blob_store import record_screens
from cloud_learner.ingest_store import Origin, record_episode
from cloud_learner.store import Database, sqlite_url
from cloud_learner.tables import BLOBS
from device_runtime.trajectory_log import TrajectoryLog
from outrider import cli
from outrider.cloud_database import DATABASE_VARIABLE
from outrider.judged_episodes import logged
from sync.blob_shelf import BlobState
from sync.clock import ManualClock
from sync.messages import EpisodeUpload, ScreenPicture
from sync.vocabulary import (
    Assignment,
    AssignmentId,
    Check,
    DeviceId,
    Element,
    EndReason,
    Episode,
    EpisodeId,
    Observation,
    Split,
    Step,
    Verdict,
    VerdictSource,
    finish,
    tap_element,
)


def an_episode(number: int) -> tuple[Episode, Verdict]:
    seen = Observation(1080, 2400, (Element("Button", (0, 0, 100, 100), text="Book [now]"),))
    episode = Episode(
        id=EpisodeId(f"e-{number}"),
        assignment=Assignment(
            AssignmentId(f"a-{number}"), template="tickets.book", split=Split.TEST
        ),
        device_id=DeviceId("p"),
        goal="Book a ticket to Ulm",
        steps=(Step(0, seen, tap_element(seen, 0), log_prob=-0.5), Step(1, seen, finish())),
        end_reason=EndReason.FINISH,
    )
    verdict = Verdict(
        episode_id=episode.id,
        verifier="tickets.book",
        verifier_version="1",
        source=VerdictSource.CODE,
        score=0.0,
        progress=0.5,
        checks=(Check("booked", passed=True), Check("class", passed=False, reason="is 2")),
    )
    return episode, verdict


@pytest.fixture
def fleet(tmp_path):
    numbers = count()
    for name in ("left", "right"):
        path = tmp_path / "phones" / name / "phone.db"
        log = TrajectoryLog.open(path, clock=ManualClock(), new_id=lambda: f"i-{next(numbers)}")
        for _ in range(2):
            episode, verdict = an_episode(next(numbers))
            log.append(episode, [verdict])
        log.close()
    return tmp_path


def run_json(capsys, *arguments: object) -> list[dict[str, object]]:
    assert cli.run([*map(str, arguments), "--json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_episodes_of_all_phones_are_listed_newest_first(capsys, fleet):
    lines = run_json(capsys, "episodes", "list", "--data", fleet)
    ids = [line["id"] for line in lines[:-1]]
    assert ids == sorted(ids, reverse=True)
    assert {line["phone"] for line in lines[:-1]} == {"left", "right"}
    assert lines[-1] == {"event": "summary", "shown": 4, "logged": 4, "acknowledged": 0}


def test_a_list_can_be_cut_short_and_kept_to_one_phone(capsys, fleet):
    phone = fleet / "phones" / "left"
    lines = run_json(capsys, "episodes", "list", "--phone", phone, "--limit", 1)
    assert [line.get("phone") for line in lines] == ["left", None]
    assert lines[-1]["logged"] == 2


def test_an_episode_is_shown_step_by_step_with_its_verdict(capsys, fleet):
    listed = run_json(capsys, "episodes", "list", "--data", fleet)
    lines = run_json(capsys, "episodes", "show", listed[0]["id"], "--data", fleet)
    assert [line["event"] for line in lines] == ["step", "step", "verdict", "summary"]
    assert lines[0]["action"] == "tap 'Book [now]'"
    assert lines[1]["action"] == "finish complete"
    assert lines[2]["failed"] == ["class: is 2"]
    assert lines[-1]["success"] is False
    assert lines[-1]["split"] == "test"


SCREENS = ("5" * 64, "6" * 64, "7" * 64)


@pytest.fixture
def pictured(tmp_path):
    """A fleet's folder with an episode whose steps name pictures, all but the last."""
    episode, verdict = an_episode(1)
    steps = tuple(
        replace(
            episode.steps[1],
            index=index,
            observation=replace(episode.steps[1].observation, screenshot=screen),
        )
        for index, screen in enumerate((*SCREENS, None))
    )
    log = TrajectoryLog.open(
        tmp_path / "phones" / "p" / "phone.db", clock=ManualClock(), new_id=lambda: "i"
    )
    with closing(log):
        log.append(replace(episode, steps=steps), [verdict])
    return tmp_path


def store_in_cloud(url):
    """The episode, the first of its pictures, and the name of the second."""
    episode, verdict = an_episode(1)
    with closing(Database(url)) as database, database.write() as connection:
        origin = Origin(episode.device_id, "i", 1, 1)
        record_episode(connection, origin, EpisodeUpload(episode=episode, verdicts=(verdict,)))
        blobs = [
            ScreenPicture(screen=screen, blob=bytes([number]) * 32, size_bytes=9)
            for number, screen in enumerate(SCREENS[:2])
        ]
        record_screens(connection, 1, blobs, now_ms=5)
        stored = update(BLOBS).where(BLOBS.c.digest == "00" * 32)
        connection.execute(stored.values(state=BlobState.STORED.value))


KNOWN = ["stored", "wanted", "not told", "none"]
UNKNOWN = ["unknown"] * 3 + ["none"]


def pictures_of(capsys, *where):
    """What is said of the picture of each step."""
    lines = run_json(capsys, "episodes", "show", "e-1", *where)
    return [line["picture"] for line in lines[:4]]


def test_each_step_says_what_became_of_its_picture(capsys, pictured):
    assert pictures_of(capsys, "--data", pictured) == UNKNOWN
    store_in_cloud(sqlite_url(pictured / "cloud" / "cloud.db"))

    lines = run_json(capsys, "episodes", "show", "e-1", "--data", pictured)
    assert cli.run(["episodes", "show", "e-1", "--data", str(pictured)]) == 0

    assert [line["picture"] for line in lines[:4]] == KNOWN
    assert [line["screenshot"] for line in lines[:4]] == [*SCREENS, None]
    assert (lines[0]["blob"], lines[0]["bytes"], lines[2]["blob"]) == ("00" * 32, 9, None)
    shown = capsys.readouterr().out
    assert "wanted" in shown
    assert pictures_of(capsys, "--phone", pictured / "phones" / "p") == UNKNOWN


def test_pictures_are_looked_up_in_the_database_that_the_environment_names(
    capsys, pictured, monkeypatch
):
    url = sqlite_url(pictured / "elsewhere.db")
    store_in_cloud(url)
    monkeypatch.setenv(DATABASE_VARIABLE, url)

    assert pictures_of(capsys, "--data", pictured) == KNOWN
    assert pictures_of(capsys, "--phone", pictured / "phones" / "p") == KNOWN


def test_an_episode_is_shown_though_the_clouds_database_cannot_be_opened(capsys, pictured):
    url = sqlite_url(pictured / "cloud" / "cloud.db")
    store_in_cloud(url)
    with closing(Database(url)) as database, database.write() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0001'")

    assert pictures_of(capsys, "--data", pictured) == UNKNOWN


def test_judges_read_the_episodes_in_the_database_that_the_environment_names(tmp_path, monkeypatch):
    url = sqlite_url(tmp_path / "elsewhere.db")
    store_in_cloud(url)
    monkeypatch.setenv(DATABASE_VARIABLE, url)

    truths = logged(tmp_path, most=None, seed=1)

    assert [(episode.id, truth) for episode, truth in truths] == [("e-1", False)]


def test_people_see_the_goal_and_the_words_of_the_screen(capsys, fleet):
    listed = run_json(capsys, "episodes", "list", "--data", fleet)
    assert cli.run(["episodes", "show", str(listed[0]["id"]), "--data", str(fleet)]) == 0
    shown = capsys.readouterr().out
    assert "Book a ticket to Ulm" in shown
    assert "Book [now]" in shown


def test_phones_are_listed_with_what_is_installed_and_logged(capsys, fleet):
    lines = run_json(capsys, "phone", "list", "--data", fleet)
    assert [line["phone"] for line in lines[:-1]] == ["left", "right"]
    assert {line["release_id"] for line in lines[:-1]} == {"factory"}
    assert {line["logged"] for line in lines[:-1]} == {2}
    assert lines[-1]["phones"] == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("episodes", "list", "--data", "nowhere"),
        ("episodes", "list", "--phone", "nowhere"),
        ("episodes", "show", "nobody", "--data", "."),
        ("phone", "list", "--data", "nowhere"),
        ("phone", "list", "--adb-port", "1"),
        ("release", "list", "--data", "nowhere"),
        ("release", "apply", "nothing.zip", "--phone", "nowhere"),
    ],
)
def test_what_does_not_exist_is_one_line_and_leaves_nothing(
    capsys, monkeypatch, tmp_path, arguments
):
    monkeypatch.chdir(tmp_path)
    assert cli.run([*arguments, "--json"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_episode_of_a_fleet_is_misuse(capsys, fleet):
    assert cli.run(["episodes", "show", "nobody", "--data", str(fleet), "--json"]) == 2
    assert "outrider episodes list names them" in capsys.readouterr().err
