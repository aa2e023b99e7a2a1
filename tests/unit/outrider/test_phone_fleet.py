"""A host with many phones: one child for each, whatever happens to the others."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_runtime.settings import Settings
from outrider import cli
from outrider.phone_fleet import GONE_AFTER_S, LONGEST_PAUSE_S, PhoneFleet, device_id_of
from sync.clock import ManualClock


class Process:
    """A child that ends when a test says so."""

    def __init__(self):
        self.running, self.exit_code, self.starts, self.asked = False, None, 0, False

    def start(self):
        self.running, self.exit_code, self.asked = True, None, False
        self.starts += 1

    def end(self, code):
        self.running, self.exit_code = False, code

    def ask_to_stop(self):
        self.asked = True

    def wait_stopped(self):
        self.running = False


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def said():
    return []


@pytest.fixture
def processes():
    return {}


@pytest.fixture
def fleet(clock, said, processes):
    def make(serial, device_id):
        processes[serial] = Process()
        return processes[serial]

    return PhoneFleet(
        make, clock=clock, report=lambda name, **fields: said.append((name, fields["serial"]))
    )


READY = {"A1": "device", "B2": "device"}


def test_each_phone_that_is_ready_gets_one_child(fleet, processes):
    for _ in range(3):
        fleet.turn({**READY, "C3": "unauthorized", "D4": "offline"})
    assert {serial: process.starts for serial, process in processes.items()} == {"A1": 1, "B2": 1}
    assert fleet.running == 2


def test_a_phone_that_appears_later_is_taken_up(fleet, processes):
    fleet.turn({"A1": "device", "B2": "unauthorized"})
    fleet.turn(READY)
    assert processes["B2"].starts == 1


def test_what_ends_one_child_touches_no_other_and_it_starts_again(fleet, processes, clock):
    fleet.turn(READY)
    processes["A1"].end(1)
    fleet.turn(READY)
    fleet.turn(READY)
    assert processes["A1"].starts == 1
    clock.advance(1.0)
    fleet.turn(READY)
    assert [processes[serial].starts for serial in READY] == [2, 1]


def test_pauses_grow_up_to_a_minute_and_start_small_after_a_long_run(fleet, processes, clock):
    fleet.turn(READY)
    pauses = []
    for _ in range(9):
        processes["A1"].end(1)
        fleet.turn(READY)
        begun_s, starts = clock.monotonic_s(), processes["A1"].starts
        while processes["A1"].starts == starts:
            clock.advance(0.5)
            fleet.turn(READY)
        pauses.append(clock.monotonic_s() - begun_s)
    assert pauses[:4] == [1.0, 2.0, 4.0, 8.0]
    assert pauses[-1] == LONGEST_PAUSE_S

    clock.advance(500.0)
    processes["A1"].end(1)
    fleet.turn(READY)
    clock.advance(1.0)
    fleet.turn(READY)
    assert processes["A1"].running


def test_a_phone_that_vanishes_is_stopped_after_a_while_and_taken_up_when_it_is_back(
    fleet, processes, clock, said
):
    fleet.turn(READY)
    clock.advance(GONE_AFTER_S - 1)
    fleet.turn({"B2": "device"})
    assert not processes["A1"].asked
    clock.advance(2)
    fleet.turn({"A1": "offline", "B2": "device"})
    assert processes["A1"].asked
    assert not processes["B2"].asked
    processes["A1"].end(0)
    fleet.turn({"B2": "device"})
    clock.advance(100)
    fleet.turn({"B2": "device"})
    assert processes["A1"].starts == 1
    fleet.turn(READY)
    assert processes["A1"].starts == 2
    assert [name for name, serial in said if serial == "A1"] == [
        "phone_started",
        "phone_gone",
        "phone_ended",
        "phone_started",
    ]


def test_a_phone_that_is_away_for_a_moment_keeps_its_child(fleet, processes, clock):
    fleet.turn(READY)
    for _ in range(5):
        clock.advance(GONE_AFTER_S / 2)
        fleet.turn({})
        clock.advance(GONE_AFTER_S / 2)
        fleet.turn(READY)
    assert not processes["A1"].asked


def test_children_that_played_all_are_not_started_again(fleet, processes, clock):
    fleet.turn(READY)
    assert not fleet.finished
    for process in processes.values():
        process.end(0)
    fleet.turn(READY)
    clock.advance(100)
    fleet.turn(READY)
    assert fleet.finished
    assert [process.starts for process in processes.values()] == [1, 1]


def test_nothing_is_finished_before_there_was_a_phone(fleet):
    fleet.turn({})
    assert not fleet.finished


def test_closing_asks_all_before_it_waits_for_any(fleet, processes):
    fleet.turn(READY)
    fleet.close()
    assert all(process.asked and not process.running for process in processes.values())


def test_with_many_phones_passwords_are_one_file_each(capsys, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("x")
    options = [
        "--data",
        str(tmp_path),
        "--broker",
        "mqtt://127.0.0.1:1",
        "--credentials",
        str(secret),
    ]
    assert cli.run(["phone", "run", "--all", *options]) == 2
    assert "holds one file per device" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("serial", "device_id"),
    [("emulator-5554", "emulator-5554"), ("r58n12", "r58n12")],
)
def test_a_serial_that_can_be_a_name_is_it(serial, device_id):
    assert device_id_of(serial) == device_id


@given(st.text(min_size=1, max_size=80))
def test_every_serial_has_a_name_that_settings_take(tmp_path_factory, serial):
    name = device_id_of(serial)
    assert re.fullmatch(r"[a-z0-9][a-z0-9_\-]{0,39}", name)
    assert Settings(device_id=name, data_dir=tmp_path_factory.getbasetemp())


@given(st.lists(st.text("aA1.:-_", min_size=1, max_size=50), unique=True, max_size=20))
def test_no_two_serials_share_a_name(serials):
    assert len({device_id_of(serial) for serial in serials}) == len(serials)
