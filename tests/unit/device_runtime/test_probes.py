"""Probes: what a phone's answers are believed to say, and what can never count as success."""

from dataclasses import replace

import pytest

from device_runtime.adb import ShellResult
from device_runtime.errors import PhoneFaultError, PhoneLostError, SettingsError
from device_runtime.probe_catalogue import KINDS
from device_runtime.probe_files import read_probes
from device_runtime.probe_readings import UnreadableError
from device_runtime.probes import (
    Expectation,
    Probe,
    ProbeSet,
    ProbeVerifier,
    is_undecidable,
    judge_by_probes,
)
from sync.vocabulary import (
    Assignment,
    AssignmentId,
    DeviceId,
    Element,
    EndReason,
    Episode,
    EpisodeId,
    FinishStatus,
    Observation,
    Step,
    VerdictSource,
    answer,
    finish,
    tap,
)


class FakeShell:
    """Answers every command alike, or as a table says; an exception is raised."""

    def __init__(self, said):
        self.said = said
        self.asked = []

    def shell(self, command):
        self.asked.append(command)
        said = self.said[command] if isinstance(self.said, dict) else self.said
        if isinstance(said, Exception):
            raise said
        return said if isinstance(said, ShellResult) else ShellResult(said.encode(), b"", 0)


def an_episode(*, action=None, end=EndReason.FINISH, elements=(), goal="turn Wi-Fi on"):
    screen = Observation(1000, 2000, tuple(elements))
    return Episode(
        id=EpisodeId("e1"),
        assignment=Assignment(AssignmentId("a"), goal=goal),
        device_id=DeviceId("phone-1"),
        goal=goal,
        steps=(Step(0, screen, action or finish()),),
        end_reason=end,
    )


def read(kind, said, **given):
    question = KINDS[kind].ask(given)
    assert question.read is not None
    return question.read(FakeShell(said).shell(question.command))


ALARMS = "Next alarm clock information:\n"


@pytest.mark.parametrize(
    ("kind", "said", "value"),
    [
        ("wifi", "1\n", "on"),
        ("wifi", "2\r\n", "on"),
        ("wifi", "3\n", "off"),
        ("do_not_disturb", "2\n", "on"),
        ("do_not_disturb", "null\n", "off"),
        ("battery_saver", "null\n", "off"),
        ("brightness", "255\n", "100"),
        ("brightness", "0\n", "0"),
        ("screen_timeout", "30000\n", "30"),
        ("font_scale", "1.15\n", "1.15"),
        ("device_name", "Ada's phone\n", "Ada's phone"),
        ("wifi_network", 'Wifi is enabled\nWifi is connected to "HOME"\n', "HOME"),
        ("wifi_network", "Wifi is disabled\n", ""),
        (
            "next_alarm",
            f"{ALARMS}    user:0 pendingSend:false time:1 = 2025-03-14 07:45:00\n",
            "07:45",
        ),
        ("next_alarm", ALARMS, "none"),
    ],
)
def test_answers_are_read(kind, said, value):
    assert read(kind, said) == value


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("wifi", "null\n"),
        ("wifi", ""),
        ("wifi", "yes\n"),
        ("wifi", "1\n1\n"),
        ("brightness", "bright\n"),
        ("brightness", "nan\n"),
        ("wifi_network", "cmd: Can't find service: wifi\n"),
        ("next_alarm", "Can't find service: alarm\n"),
        ("wifi", ShellResult(b"1\n", b"", 1)),
        ("wifi", ShellResult(b"1\n", b"java.lang.SecurityException: no\n", 0)),
        ("device_name", ShellResult(b"\xff\xfe", b"", 0)),
    ],
)
def test_what_makes_no_sense_is_no_value(kind, said):
    with pytest.raises(UnreadableError):
        read(kind, said)


NONE = "No result found.\n"


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("Row: 0 data1=0151 23-45\n", "present"),
        ("Row: 0 data1=999\nRow: 1 data1=(0151) 2345\n", "present"),
        ("Row: 0 data1=0151 2346\n", "absent"),
        (NONE, "absent"),
    ],
)
def test_a_contact_is_known_by_name_and_digits(said, value):
    assert read("contact", said, person="Ada Moss", number="0151 2345") == value


@pytest.mark.parametrize(
    "said",
    [
        "",
        "Error while accessing provider:com.android.contacts\n",
        "Row: 1 data1=01512345\n",
        "Row: 0 data1=1\nRow: 0 data1=01512345\n",
        "Row: 0 name=01512345\n",
    ],
)
def test_rows_that_are_none_decide_nothing(said):
    with pytest.raises(UnreadableError):
        read("contact", said, person="Ada Moss", number="0151 2345")


def test_what_is_asked_cannot_break_out_of_the_query():
    question = KINDS["contact"].ask({"person": "O'Neil' OR '1'='1; reboot"})
    shown = FakeShell(NONE)
    shown.shell(question.command)
    assert "display_name='\"'\"'O'\"'\"''\"'\"'Neil'" in shown.asked[0]


@pytest.mark.parametrize(
    ("answered", "value"),
    [
        (ShellResult(b"/sdcard/a.pdf\n", b"", 0), "present"),
        (ShellResult(b"", b"ls: /sdcard/a.pdf: No such file or directory\n", 1), "absent"),
        (ShellResult(b"ls: /sdcard/a.pdf: No such file or directory\n", b"", 1), "absent"),
    ],
)
def test_files_are_there_or_not(answered, value):
    assert read("file", answered, path="/sdcard/a.pdf") == value


def test_a_file_that_may_not_be_looked_at_is_neither():
    with pytest.raises(UnreadableError):
        read("file", ShellResult(b"", b"ls: /data: Permission denied\n", 1), path="/data/a")


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("package:org.clock\npackage:org.clock.beta\n", "present"),
        ("package:org.clock.beta\n", "absent"),
        ("", "absent"),
    ],
)
def test_an_app_is_installed_under_its_whole_name(said, value):
    assert read("app_installed", said, package="org.clock") == value


def test_an_events_time_is_read_in_the_phones_own_zone():
    said = "Europe/Berlin\nRow: 0 dtstart=1741938300000\n"
    assert read("calendar_event", said, title="Choir", at="2025-03-14 08:45") == "present"
    assert read("calendar_event", said, title="Choir", at="2025-03-14 07:45") == "absent"
    with pytest.raises(UnreadableError):
        read("calendar_event", f"\n{said}", title="Choir", at="2025-03-14 08:45")


@pytest.mark.parametrize(
    ("expected", "value", "passes"),
    [
        (Expectation(equals="on"), "ON", True),
        (Expectation(equals="on"), "off", False),
        (Expectation(differs="HOME"), "CAFE", True),
        (Expectation(differs="HOME"), "home", False),
        (Expectation(contains="ada"), "Call Ada now", True),
        (Expectation(matches=r"\d+"), "42", True),
        (Expectation(matches=r"\d+"), "42 x", False),
        (Expectation(at_least=40, at_most=60), "50", True),
        (Expectation(at_least=40), "39", False),
        (Expectation(at_most=60), "61", False),
    ],
)
def test_expectations(expected, value, passes):
    assert (expected.refusal(value) == "") is passes


def test_a_number_that_is_none_cannot_be_compared():
    with pytest.raises(UnreadableError):
        Expectation(at_least=1).refusal("many")


def wifi(value="on"):
    return Probe("Wi-Fi", KINDS["wifi"].ask({}), Expectation(equals=value))


def judged(said, *probes, **episode):
    return judge_by_probes(
        ProbeSet("wifi", probes or (wifi(),)), FakeShell(said), an_episode(**episode)
    )


def test_success_is_that_all_holds_and_that_it_was_said():
    verdict = judged("1")
    assert (verdict.score, verdict.goal_reached, verdict.source) == (1.0, True, VerdictSource.PROBE)
    assert [check.name for check in verdict.checks] == ["Wi-Fi", "finished"]


@pytest.mark.parametrize(
    "episode",
    [
        {"action": finish(FinishStatus.INFEASIBLE)},
        {"action": tap(0.5, 0.5), "end": EndReason.BUDGET},
        {"action": tap(0.5, 0.5), "end": EndReason.GUARD},
    ],
)
def test_a_goal_that_holds_and_was_not_claimed_is_no_success(episode):
    verdict = judged("1", **episode)
    assert (verdict.score, verdict.goal_reached) == (0.0, True)


def test_what_does_not_hold_is_a_failure_with_its_reason():
    verdict = judged("0")
    assert (verdict.score, verdict.goal_reached, verdict.progress) == (0.0, False, 0.0)
    assert verdict.checks[0].reason == "expected 'on', found 'off'"


@pytest.mark.parametrize(
    "broken",
    [
        PhoneLostError("gone"),
        PhoneFaultError("nonsense"),
        ShellResult(b"", b"killed", 137),
        "what?",
        "",
    ],
)
def test_a_probe_that_cannot_be_decided_is_never_success(broken):
    verdict = judged(broken)
    assert verdict.score is None
    assert not verdict.success
    assert not verdict.goal_reached
    assert is_undecidable(verdict.checks[0])


def test_one_failure_decides_whatever_else_cannot_be_told():
    both = {
        "settings get global wifi_on": "0",
        "settings get global bluetooth_on": PhoneLostError("x"),
    }
    bluetooth = Probe("Bluetooth", KINDS["bluetooth"].ask({}), Expectation(equals="on"))
    assert judged(both, wifi(), bluetooth).score == 0.0
    both["settings get global wifi_on"] = "1"
    assert judged(both, wifi(), bluetooth).score is None


def test_the_screen_and_the_answer_are_probed_without_the_phone():
    shown = [
        Element("Text", (0, 0, 100, 50), text="Wi-Fi"),
        Element("Switch", (800, 0, 1000, 50), checkable=True, checked=True),
    ]
    shell = FakeShell(PhoneLostError("nobody may ask"))
    probes = tuple(
        Probe(kind, (asked := KINDS[kind].ask(given)), expected or Expectation(equals=asked.holds))
        for kind, given, expected in (
            ("on_screen", {"text": "wi-fi"}, None),
            ("checked", {"text": "Wi-Fi"}, None),
            ("answer", {}, Expectation(contains="five")),
        )
    )
    episode = an_episode(action=answer("It is five"), end=EndReason.ANSWER, elements=shown)
    verdict = judge_by_probes(ProbeSet("x", probes), shell, episode)
    assert (verdict.score, shell.asked) == (1.0, [])
    assert judge_by_probes(ProbeSet("x", probes), shell, an_episode(elements=shown)).score == 0.0


def test_a_screen_that_nobody_saw_after_the_last_action_tells_nothing():
    probe = Probe("x", KINDS["on_screen"].ask({"text": "Wi-Fi"}), Expectation(equals="present"))
    verdict = judge_by_probes(
        ProbeSet("x", (probe,)),
        FakeShell(""),
        an_episode(action=tap(0.1, 0.1), end=EndReason.BUDGET, elements=[]),
    )
    assert is_undecidable(verdict.checks[0])


def test_probes_judge_the_goals_that_they_are_about():
    sets = [replace(ProbeSet("one", (wifi(),)), goal="Turn  Wi-Fi ON.")]
    verifier = ProbeVerifier(sets, FakeShell("1"))
    assert verifier.judge(an_episode()).success
    assert verifier.judge(an_episode(goal="something else")) is None


def written(tmp_path, text):
    path = tmp_path / "wifi.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_probe_file_reads_as_it_is_written(tmp_path):
    found = read_probes(
        written(
            tmp_path,
            'goal = "Turn Wi-Fi on"\n'
            '[[check]]\nprobe = "wifi"\nis = "on"\n'
            '[[check]]\nname = "Ada"\nprobe = "contact"\nperson = "Ada Moss"\n'
            '[[check]]\nprobe = "brightness"\nat_least = 40\nat_most = 60.5\n',
        )
    )
    assert (found.name, found.goal) == ("wifi", "Turn Wi-Fi on")
    assert [probe.name for probe in found.probes] == ["wifi", "Ada", "brightness"]
    assert found.probes[1].expectation == Expectation(equals="present")
    assert found.probes[2].expectation == Expectation(at_least=40, at_most=60.5)


def test_the_version_follows_what_is_asked(tmp_path):
    on = read_probes(written(tmp_path, '[[check]]\nprobe = "wifi"\nis = "on"\n'))
    off = read_probes(written(tmp_path, '[[check]]\nprobe = "wifi"\nis = "off"\n'))
    assert on.version != off.version


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[check", "cannot be read as TOML"),
        ("", "needs a [[check]]"),
        ("check = 3\n", "needs a [[check]]"),
        ('goal = 3\n[[check]]\nprobe="wifi"\nis="on"\n', "goal is a text"),
        ('wish = "x"\n[[check]]\nprobe="wifi"\nis="on"\n', "has 'wish'"),
        ('[[check]]\nprobe = "wlan"\nis = "on"\n', "there are"),
        ('[[check]]\nis = "on"\n', "probe = None"),
        ('[[check]]\nprobe = "wifi"\n', "says not what to expect"),
        ('[[check]]\nprobe = "wifi"\nis = true\n', "is is a text"),
        ('[[check]]\nprobe = "wifi"\nis = "on"\nat_least = "3"\n', "at_least is a number"),
        ('[[check]]\nprobe = "wifi"\nis = "on"\nbut = "x"\n', "does not take 'but'"),
        ('[[check]]\nprobe = "contact"\n', 'needs person = "…"'),
        ('[[check]]\nprobe = "on_screen"\n', "needs one of text"),
        ('[[check]]\nprobe = "wifi"\nmatches = "("\n', "no regular expression"),
        ('[[check]]\nprobe = "dumpsys"\nservice = "x"\nline = "("\nis = "x"\n', "no regular"),
        ('[[check]]\nprobe = "wifi"\nis = "on"\n' * 2, "two checks called 'wifi'"),
        ('[[check]]\nname = 3\nprobe = "wifi"\nis = "on"\n', "no usable name"),
    ],
)
def test_a_probe_file_that_cannot_be_understood_says_where(tmp_path, text, said):
    with pytest.raises(SettingsError) as caught:
        read_probes(written(tmp_path, text))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_probe_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(SettingsError, match="is no file"):
        read_probes(tmp_path / "none.toml")
