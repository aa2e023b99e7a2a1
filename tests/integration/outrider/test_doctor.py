"""`outrider doctor` over a real adb server: findings, fixes, and recordings that play again."""

import json

import pytest

from apps_mock.adb_auth import AuthProfile
from apps_mock.adb_faults import FaultKind
from apps_mock.adb_profile import DisplayProfile, PhoneProfile
from apps_mock.adb_server import MockAdbDaemon
from apps_mock.own_goals import OwnGoalPhone
from apps_mock.recorded_phone import ReplayedPhone
from device_runtime.adb_phone import AdbPhone
from device_runtime.adb_server_process import AdbServerProcess
from device_runtime.adb_settings import AdbPhoneSettings
from device_runtime.errors import PhoneLostError
from device_runtime.recording import read_recording
from outrider import cli
from sync.clock import ManualClock, SystemClock
from sync.vocabulary import Assignment, AssignmentId, open_app, tap

AT_ONCE = AdbPhoneSettings(settle_s=0.0, retry_pause_s=0.0)
SETTINGS = "org.outrider.clones.settings"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    process = AdbServerProcess(tmp_path_factory.mktemp("adb"))
    process.start()
    yield process
    process.stop()


@pytest.fixture
def served(server):
    """`served(phone)`: a daemon in front of it that the server knows."""
    daemons = []

    def serve(phone, **options):
        daemon = MockAdbDaemon(phone, **options)
        daemon.start()
        daemons.append(daemon)
        server.client().connect(daemon.serial)
        return daemon

    yield serve
    for daemon in daemons:
        server.client().disconnect(daemon.serial)
        daemon.stop()


@pytest.fixture
def daemon(served):
    clone = OwnGoalPhone()
    clone.reset(Assignment(AssignmentId("a"), goal="Look", seed=1))
    return served(clone)


@pytest.fixture
def doctor(capsys, server, tmp_path):
    """`doctor(daemon, *options)`: exit code, findings by check, and every line."""

    def run(daemon, *options):
        code = cli.run(
            [
                *("doctor", "--json", "--data", str(tmp_path), "--rounds", "0"),
                *("--adb-port", str(server.port), "--serial", daemon.serial, *options),
            ]
        )
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        return code, {line["check"]: line for line in lines if line["event"] == "check"}, lines

    return run


def driver(server, daemon):
    return AdbPhone(server.client(), daemon.serial, settings=AT_ONCE)


def asked_of(daemon):
    return [line for line in daemon.services if line.startswith(("shell", "exec"))]


def test_a_phone_that_is_well_is_told_so_with_its_round_trips(doctor, daemon):
    code, checks, lines = doctor(daemon, "--rounds", "2")
    assert code == 0, lines
    assert checks["touch"]["ok"]
    assert checks["tree"]["ok"]
    trips = {line["what"]: line for line in lines if line["event"] == "round_trip"}
    assert set(trips) == {"tap", "tree", "screenshot"}
    for trip in trips.values():
        assert trip["n"] == 2
        assert 0 < trip["p50_ms"] <= trip["p95_ms"]
    assert lines[-1]["event"] == "summary"
    assert lines[-1]["serial"] == daemon.serial


def test_looking_changes_nothing(doctor, daemon):
    before = len(daemon.services)
    doctor(daemon, "--rounds", "1", "--fix", "--dry-run")
    changing = ("settings put", "settings delete", "cmd notification", "am start", "input tap")
    assert not [
        line for line in asked_of(daemon)[before:] if any(word in line for word in changing)
    ]
    assert not [
        line for line in asked_of(daemon) if "keyevent" in line and "keyevent 0" not in line
    ]


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        (FaultKind.INJECT_DENIED, "touch"),
        (FaultKind.NO_IDLE, "tree"),
        (FaultKind.NULL_ROOT, "tree"),
        (FaultKind.DUMP_KILLED, "tree"),
        (FaultKind.CUT_XML, "tree"),
        (FaultKind.TRUNCATED_PNG, "screenshot"),
    ],
)
def test_a_fault_of_the_phone_is_found(doctor, daemon, kind, check):
    daemon.faults.inject(kind, times=None)
    code, checks, lines = doctor(daemon)
    assert code == 1
    assert not checks[check]["ok"]
    assert checks[check]["hint"]
    assert check in lines[-1]["missing"]


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        (FaultKind.KEYGUARD, "lock screen"),
        (FaultKind.SCREEN_OFF, "screen"),
        (FaultKind.ANR, "front window"),
        (FaultKind.CRASH, "front window"),
        (FaultKind.PERMISSION, "front window"),
        (FaultKind.NO_FOCUS, "front window"),
        (FaultKind.SECURE, "screenshot"),
        (FaultKind.WARNING_PREFIX, "screenshot"),
    ],
)
def test_what_stands_before_the_screen_is_found(doctor, daemon, kind, check):
    daemon.faults.inject(kind, times=None)
    _, checks, _ = doctor(daemon)
    assert not checks[check]["ok"]
    assert checks[check]["hint"]


@pytest.mark.parametrize(
    ("profile", "check", "found"),
    [
        (PhoneProfile(display=DisplayProfile.OVERRIDE), "size", "in place of"),
        (PhoneProfile(display=DisplayProfile.TWO), "displays", "2 displays"),
        (PhoneProfile(api=23), "android", "API 23"),
    ],
)
def test_kinds_of_phones_are_told_apart(doctor, served, profile, check, found):
    clone = OwnGoalPhone()
    clone.reset(Assignment(AssignmentId("a"), goal="Look", seed=1))
    code, checks, _ = doctor(served(clone, profile=profile))
    assert code == 0
    assert checks[check]["level"] == "advice"
    assert found in checks[check]["found"]


def test_a_phone_that_does_not_know_this_computer_is_told_so(doctor, server):
    daemon = MockAdbDaemon(OwnGoalPhone(), profile=PhoneProfile(auth=AuthProfile.RSA_DENY))
    daemon.start()
    client = server.client()
    try:
        with pytest.raises(PhoneLostError):
            client.connect(daemon.serial, timeout_s=1.0)
        code, checks, _ = doctor(daemon)
    finally:
        client.disconnect(daemon.serial)
        daemon.stop()
    assert code == 1
    assert "unauthorized" in checks["phone"]["found"]
    assert "Allow" in checks["phone"]["hint"]


def test_what_is_fixed_can_be_undone(doctor, daemon, server):
    client = server.client()

    def setting(name):
        return client.shell(daemon.serial, f"settings get {name}").stdout.decode().strip()

    names = ("global animator_duration_scale", "system accelerometer_rotation", "global low_power")
    client.shell(daemon.serial, "settings put global animator_duration_scale 1.5")
    client.shell(daemon.serial, "settings put system accelerometer_rotation 1")
    client.shell(daemon.serial, "settings put global low_power 1")

    _, checks, lines = doctor(daemon, "--fix")

    would = {line["setting"] for line in lines if line["event"] == "would_change"}
    assert set(names) <= would
    assert [setting(name) for name in names] == ["0", "0", "0"]
    assert checks["animations"]["ok"]

    _, checks, lines = doctor(daemon, "--undo")

    assert lines[-1]["undone"] >= 3
    assert [setting(name) for name in names] == ["1.5", "1", "1"]
    assert not checks["animations"]["ok"]


def test_a_recording_plays_again_what_doctor_and_driver_saw(
    doctor, daemon, served, server, tmp_path
):
    path = tmp_path / "phone.zip"
    driver(server, daemon).act(open_app(SETTINGS))
    seen = driver(server, daemon).observe()
    _, checks, lines = doctor(daemon, "--record", str(path), "--hide", "Battery")
    assert lines[-1]["recorded"]["answers"] > 15

    again = served(ReplayedPhone(read_recording(path), clock=SystemClock()))
    _, checks_again, _ = doctor(again)
    replayed = driver(server, again)
    seen_again = replayed.observe()

    def told(found):
        timed = {"tree", "phone", "screenshot", "disk", "clock"}
        return {name: line for name, line in found.items() if name not in timed}

    assert told(checks_again) == told(checks)
    assert checks_again["clock"]["ok"]
    texts = [element.text for element in seen.elements]
    assert [element.text.replace("[hidden]", "Battery") for element in seen_again.elements] == texts
    assert seen_again.package == seen.package == SETTINGS
    assert (seen_again.width_px, seen_again.height_px) == (seen.width_px, seen.height_px)
    assert replayed.info().model == driver(server, daemon).info().model
    assert replayed.act(tap(0.5, 0.5)).valid
    assert not again.unknown_commands
    assert daemon.serial.encode() not in path.read_bytes()


def test_a_recorded_phones_clock_is_as_wrong_as_it_was(doctor, daemon, tmp_path):
    path = tmp_path / "phone.zip"
    doctor(daemon, "--record", str(path))
    recording = read_recording(path)
    clock = ManualClock(recording.made_at_ms + 3_600_000)
    then = int(recording.answers["date +%s"].stdout)
    replayed = ReplayedPhone(recording, clock=clock)
    assert int(replayed.answer(["date", "+%s"]).stdout) == pytest.approx(then + 3600, abs=1)


def test_settings_of_a_recorded_phone_can_be_put(doctor, daemon, tmp_path):
    path = tmp_path / "phone.zip"
    doctor(daemon, "--record", str(path))
    replayed = ReplayedPhone(read_recording(path), clock=ManualClock())
    name = ("settings", "get", "global", "animator_duration_scale")
    before = replayed.answer(name).stdout
    replayed.answer(("settings", "put", *name[2:], "7"))
    assert replayed.answer(name).stdout == b"7\n" != before
    replayed.answer(("settings", "delete", *name[2:]))
    assert replayed.answer(name).stdout == b"null\n"


def test_a_phone_that_does_not_answer_is_a_finding(doctor, daemon):
    daemon.faults.inject(FaultKind.DROP, amount=0, times=None)
    code, checks, _ = doctor(daemon)
    assert code == 1
    assert not checks["link"]["ok"]


def test_recordings_go_into_folders_that_exist(capsys, tmp_path):
    assert cli.run(["doctor", "--record", str(tmp_path / "no" / "where.zip")]) == 2
    assert "is no folder" in capsys.readouterr().err
