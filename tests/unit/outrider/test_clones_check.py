"""`outrider clones check`, `trace` and `list`, and `outrider episodes replay`."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from apps_mock import registry
from apps_mock.gate_episodes import play
from apps_mock.gate_rows import GateRow, Share
from apps_mock.oracle import OraclePolicy
from apps_mock.phone import MockPhone
from apps_mock.scaffold import write_app
from device_runtime.trajectory_log import TrajectoryLog
from outrider import cli
from outrider.clones_check import lines_of, summary_of
from sync.clock import ManualClock
from sync.vocabulary import Assignment, AssignmentId, EpisodeId, Split

QUICK = ("--seeds", "1", "--looks", "1", "--workers", "1", "--json")


def run_json(capsys, *arguments):
    code = cli.run([*map(str, arguments)])
    captured = capsys.readouterr()
    return code, [json.loads(line) for line in captured.out.splitlines()], captured.err


def test_one_line_per_template_then_a_summary(capsys):
    code, rows, _ = run_json(capsys, "clones", "check", "--template", "clock_toggle", *QUICK)

    assert code == 0
    row, summary = rows
    assert (row["event"], row["template"], row["passed"]) == ("template", "clock_toggle", True)
    assert (row["oracle"], row["oracle_steps"]) == (1.0, 3)
    assert row["kinds"]["wrong record"]["rate"] == 1.0
    assert summary["event"] == "summary"
    assert (summary["templates"], summary["oracle"], summary["noop"]) == (1, 1.0, 0.0)
    assert summary["mutants"] == summary["killed"] == row["mutants"] > 0
    assert summary["survivors"] == summary["untranslated"] == summary["crashes"] == []


def test_a_users_mutator_is_applied_and_its_survivors_are_named(tmp_path, capsys):
    mutator = tmp_path / "mine.py"
    mutator.write_text(
        "def mutations(before, end, wanted):\n"
        "    yield 'unchanged', end\n"
        "    yield 'undone', before\n"
    )

    code, rows, _ = run_json(
        capsys, "clones", "check", "--template", "clock_toggle", "--mutator", mutator, *QUICK
    )

    assert rows[-1]["kinds"]["user: unchanged"]["killed"] == 0
    assert rows[-1]["kinds"]["user: undone"]["killed"] == 1
    assert rows[-1]["survivors"] == ["clock_toggle seed 0 look 0: user: unchanged: unchanged"]
    assert code == (0 if rows[-1]["kill_rate"] >= 0.99 else 1)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--app", "nonsense"), "no suite is called nonsense"),
        (("--template", "nonsense"), "no template is called 'nonsense'"),
        (("--mutator", "/nowhere/x.py"), "is no Python file"),
        (("--app-file", "/nowhere/x.py"), "is no Python file"),
        (("--seeds", "0"), "--seeds"),
    ],
)
def test_misuse_is_one_line_and_exit_code_2(capsys, options, text):
    code, rows, errors = run_json(capsys, "clones", "check", *options)

    assert (code, rows) == (2, [])
    assert text in errors
    assert errors.count("\n") == 1


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("APP = fixture = 1 / 0\n", ":1: ZeroDivisionError: division by zero; repair it"),
        ("def fixture(:\n", ":1: SyntaxError"),
        ("x = 1\n", "defines no APP, fixture, TEMPLATES"),
        ("APP = TEMPLATES = ()\nfixture = None\n", "APP has to be an App"),
        ("raise SystemExit(0)\n", ":1: the file ends the program (SystemExit); take that out"),
        ("import nowhere_at_all\n", ":1: ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("raise ValueError('a\\nb')\n", ":1: ValueError: a b; repair it"),
    ],
)
def test_an_app_file_that_is_none_is_one_line_with_its_place(tmp_path, capsys, body, text):
    file = tmp_path / "mine.py"
    file.write_text(body)

    code, _, errors = run_json(capsys, "clones", "check", "--app-file", file)

    assert code == 2
    assert f"{file}" in errors
    assert text in errors
    assert errors.count("\n") == 1


@pytest.fixture
def own_app(tmp_path):
    """An app file as `clones new` writes it, whose text can be changed; what it adds goes again."""
    path, texts = write_app("lender", tmp_path)

    def changed(*, code=("", ""), toml=("", "")):
        for file, (old, new) in ((path, code), (texts, toml)):
            text = file.read_text(encoding="utf-8")
            assert old in text
            file.write_text(text.replace(old, new) if old else text, encoding="utf-8")
        return path

    yield changed
    registry.APPS.pop("lender", None)
    registry.FIXTURES.pop("lender", None)


def test_an_app_file_without_templates_checks_nothing(capsys, own_app):
    path = own_app(code=("TEMPLATES: tuple[Template, ...] = (", "TEMPLATES = ()\nOTHERS = ("))

    code, rows, errors = run_json(capsys, "clones", "check", "--app-file", path)

    assert (code, rows) == (2, [])
    assert f"{path}: TEMPLATES is empty; add a Template" in errors


def test_a_template_about_an_unknown_app_is_named_with_its_file(capsys, own_app):
    path = own_app(code=('app="lender"', 'app="lendr"'))

    code, _, errors = run_json(capsys, "clones", "check", "--app-file", path)

    assert code == 2
    assert f"{path}: the template 'lender_add' is about an app 'lendr' that there is not" in errors


@pytest.mark.parametrize(
    ("toml", "text"),
    [
        (('de = "Nummer"', "de = 3"), '["Number"] de is 3; write it in quotes: de = "3"'),
        (('de = "Nummer"', 'dee = "Nummer"'), '["Number"] has a line dee; write one of de, ja, ar'),
    ],
)
def test_a_translation_that_is_none_names_file_key_and_locale(capsys, own_app, toml, text):
    path = own_app(toml=toml)

    code, _, errors = run_json(capsys, "clones", "check", "--app-file", path)

    assert code == 2
    assert f"{path.with_suffix('.toml')}: {text}" in errors


def test_a_mutator_with_another_signature_is_misuse(tmp_path, capsys):
    file = tmp_path / "mine.py"
    file.write_text("def mutations(before):\n    yield 'a', before\n")

    code, _, errors = run_json(capsys, "clones", "check", "--mutator", file)

    assert code == 2
    assert "mutations has to be a function of (before, end, wanted)" in errors


def test_people_read_a_line_of_figures_and_each_fault_once(capsys):
    code = cli.run(["clones", "check", "--template", "clock_toggle", *QUICK[:-1]])

    lines = capsys.readouterr().out.splitlines()
    assert code == 0
    assert lines[0] == "clock_toggle"
    assert lines[1].startswith("  passed  oracle 1/1  steps 3  weak 0  near misses ")
    assert any(line.startswith("summary  templates 1  passed 1  failed 0  ") for line in lines)


def test_faults_are_listed_below_their_template_and_counted_in_the_summary():
    row = GateRow("a", oracle=Share(4, 4), noop=Share(100, 50), goals=("a goal",))

    assert [*lines_of([row])] == [
        "a",
        "  FAILED  oracle 4/4  steps 0  weak 0.5  near misses 0/0",
        "  - noop solved 50 of 100; make the task harder to stumble into",
        "  - a goal",
    ]


def test_a_mutator_file_without_mutations_is_misuse(tmp_path, capsys):
    file = tmp_path / "mine.py"
    file.write_text("x = 1\n")

    code, _, errors = run_json(capsys, "clones", "check", "--mutator", file)

    assert code == 2
    assert "defines no mutations(before, end, wanted)" in errors


def test_weak_policies_are_summed_over_templates_that_count():
    good = GateRow("a", oracle=Share(4, 4), noop=Share(4, 0), kinds={"off by one": (10, 10)})
    easy = GateRow("b", counts=False, oracle=Share(4, 4), noop=Share(4, 4))
    broken = GateRow("c", crash="c broke")

    summary = summary_of([good, easy, broken])

    assert (summary["templates"], summary["passed"], summary["failed"]) == (3, 2, ["c"])
    assert (summary["oracle"], summary["noop"]) == (1.0, 0.0)
    assert summary["kinds"] == {"off by one": {"mutants": 10, "killed": 10, "rate": 1.0}}
    assert summary["crashes"] == ["c broke"]


def test_a_trace_prints_hashes_step_by_step(tmp_path, capsys):
    actions = tmp_path / "actions.jsonl"
    actions.write_text('{"tap": "Clock"}\n{"finish": "complete"}\n')
    arguments = ("clones", "trace", "--task", "clock_toggle", "--seed", 5, "--actions", actions)

    code, rows, _ = run_json(capsys, *arguments, "--json")

    assert code == 0
    assert [row["index"] for row in rows[:-1]] == [0, 1]
    assert {len(row[name]) for row in rows[:-1] for name in ("state", "tree", "screenshot")} == {64}
    assert (rows[-1]["event"], rows[-1]["steps"], rows[-1]["success"]) == ("summary", 2, False)


@pytest.mark.parametrize(
    ("text", "said"), [("{", "one JSON object a line"), ('{"tap": "Nothing"}', "'Nothing'")]
)
def test_actions_that_are_none_are_misuse(tmp_path, capsys, text, said):
    actions = tmp_path / "actions.jsonl"
    actions.write_text(text)

    code, _, errors = run_json(
        capsys, "clones", "trace", "--task", "clock_toggle", "--actions", actions, "--json"
    )

    assert code == 2
    assert said in errors
    assert errors.count("\n") == 1


def test_templates_are_listed_by_app_or_by_suite(capsys):
    _, twins, _ = run_json(capsys, "clones", "list", "--suite", "androidworld", "--json")
    _, crossing, _ = run_json(capsys, "clones", "list", "--suite", "cross_app", "--json")

    assert {row["suite"] for row in twins[:-1]} == {"androidworld"}
    assert all("cross_app" in row["tags"] for row in crossing[:-1])
    assert twins[-1]["templates"] == len(twins) - 1


def logged(folder):
    """A phone's folder whose log holds one episode; returns the episode."""
    phone = MockPhone()
    assignment = Assignment(AssignmentId("episode-1"), template="clock_toggle", split=Split.TEST)
    episode, verdict = play(phone, OraclePolicy(phone), assignment)
    log = TrajectoryLog.open(folder / "phone.db", clock=ManualClock(), new_id=lambda: "install")
    log.append(episode, (verdict,))
    log.append(replace(episode, id=EpisodeId("episode-2"), end_state_digest="0" * 64))
    log.close()
    return episode


def test_a_logged_episode_is_played_again_and_said_to_be_the_same_or_not(tmp_path, capsys):
    episode = logged(tmp_path)
    command = ("episodes", "replay")

    code, [summary], _ = run_json(capsys, *command, episode.id, "--phone", tmp_path, "--json")
    assert (code, summary["same"], summary["replayed_steps"]) == (0, True, len(episode.steps))

    code, rows, _ = run_json(capsys, *command, "episode-2", "--phone", tmp_path, "--json")
    assert (code, rows[-1]["same"]) == (1, False)
    assert (rows[0]["event"], rows[0]["what"], rows[0]["logged"]) == ("difference", "end", "0" * 64)

    code, rows, errors = run_json(capsys, *command, "episode-3", "--phone", tmp_path, "--json")
    assert (code, rows) == (2, [])
    assert "no log here holds episode 'episode-3'" in errors
