import json
import resource
import threading
from contextlib import contextmanager

import pytest

from device_runtime import stop
from device_runtime.stop import PERMIT_FILE, STOP_FILE, StopSwitch, remove_stop, write_stop
from sync.clock import ManualClock
from sync.durable_file import write_durably


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "phones" / "phone-1"


def has_run_out(reason):
    return reason is not None and "permit" in reason


def test_a_phone_may_act_until_it_is_stopped(folder, clock):
    switch = StopSwitch(folder, clock=clock)
    assert switch.reason() is None

    switch.stop("enough")

    assert switch.reason() == "stopped by its owner: enough"


def test_a_stop_outlives_the_process_until_the_phone_is_started(folder, clock):
    StopSwitch(folder, clock=clock).stop("enough")
    again = StopSwitch(folder, clock=clock)
    assert again.reason() is not None

    again.start()

    assert again.reason() is None
    assert StopSwitch(folder, clock=clock).reason() is None


@pytest.fixture
def full_disk():
    """Makes a context in which no file of this process can be written to."""

    @contextmanager
    def call():
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return call


def test_a_stop_holds_where_the_disk_does_not_take_it(folder, clock, full_disk):
    switch = StopSwitch(folder, clock=clock)
    with full_disk(), pytest.raises(OSError, match="large"):
        switch.stop("enough", message_id="a")
    assert switch.reason() == "stopped by its owner: enough"
    switch.stop("enough", message_id="a")
    assert StopSwitch(folder, clock=clock).reason() == "stopped by its owner: enough"
    switch.start(message_id="b")
    assert switch.reason() is None


def test_a_start_that_the_disk_does_not_take_changes_nothing_and_undoes_no_later_stop(
    folder, clock, full_disk
):
    switch = StopSwitch(folder, clock=clock, permit_s=100.0)
    switch.stop("enough", message_id="a")
    clock.advance(60.0)
    with full_disk():
        for _ in range(3):
            with pytest.raises(OSError, match="large"):
                switch.start(message_id="b")
    assert switch.reason() == "stopped by its owner: enough"
    remove_stop(folder)
    clock.advance(60.0)
    assert has_run_out(switch.reason())
    switch.start(message_id="b")
    assert switch.reason() is None
    write_stop(folder, "again", at_ms=1)
    switch.start(message_id="b")
    assert switch.reason() == "stopped by its owner: again"


def test_a_start_that_is_not_noted_yet_is_noted_and_undoes_no_later_stop(
    folder, clock, monkeypatch
):
    switch = StopSwitch(folder, clock=clock)
    switch.stop("enough", message_id="a")
    written = []

    def fails_at_the_second(path, data):
        written.append(data)
        if len(written) == 2:
            raise OSError("no space")
        write_durably(path, data)

    monkeypatch.setattr(stop, "write_durably", fails_at_the_second)
    with pytest.raises(OSError, match="no space"):
        switch.start(message_id="b")
    assert switch.reason() is None
    write_stop(folder, "again", at_ms=1)

    switch.start(message_id="b")

    assert switch.reason() == "stopped by its owner: again"
    assert StopSwitch(folder, clock=clock).heard_control == "b"


def test_a_stop_is_noted_once_the_disk_takes_it(folder, clock, full_disk):
    switch = StopSwitch(folder, clock=clock)
    with full_disk(), pytest.raises(OSError, match="large"):
        switch.stop("enough", message_id="a")
    assert switch.heard_control == ""

    switch.stop("enough", message_id="a")

    assert StopSwitch(folder, clock=clock).heard_control == "a"


def test_a_permit_that_cannot_be_written_down_is_renewed_in_memory(folder, clock, full_disk):
    switch = StopSwitch(folder, clock=clock, permit_s=100.0)
    clock.advance(90.0)
    with full_disk():
        switch.heard()
    clock.advance(90.0)
    assert switch.reason() is None
    clock.advance(20.0)
    assert has_run_out(switch.reason())


def test_any_file_called_stop_means_stop(folder, clock):
    switch = StopSwitch(folder, clock=clock)

    for contents in (b"", b"{", b"[]", b"\xff"):
        (folder / STOP_FILE).write_bytes(contents)
        assert switch.reason() == "stopped by its owner"


def test_a_stop_for_all_phones_stops_each(folder, clock):
    switch = StopSwitch(folder, clock=clock)

    write_stop(folder.parent, "everybody", at_ms=0)

    assert switch.reason() == "stopped by its owner: everybody"
    assert remove_stop(folder.parent)
    assert switch.reason() is None
    assert not remove_stop(folder.parent)


def test_a_folder_that_cannot_be_looked_into_is_a_stop(folder, clock):
    switch = StopSwitch(folder, clock=clock)
    folder.rmdir()
    folder.write_text("no folder any more")

    assert switch.reason() is not None


def test_ctrl_c_stops_a_phone_without_a_folder(clock):
    interrupt = threading.Event()
    switch = StopSwitch(None, clock=clock, interrupt=interrupt)
    assert switch.reason() is None

    interrupt.set()

    assert switch.reason() == "interrupted at the terminal"


@pytest.mark.requirement("OR-OWN-4")
def test_a_message_that_comes_again_changes_nothing(folder, clock):
    switch = StopSwitch(folder, clock=clock)
    switch.stop("first", message_id="m1")
    switch.start()

    switch.stop("first", message_id="m1")
    assert switch.reason() is None
    assert StopSwitch(folder, clock=clock).reason() is None
    switch.stop("second", message_id="m2")
    assert switch.reason() is not None


def test_a_permit_runs_out_by_itself_and_stays_out_after_a_restart(folder, clock):
    switch = StopSwitch(folder, clock=clock, permit_s=60.0)
    clock.advance(59.0)
    assert switch.reason() is None

    clock.advance(2.0)

    assert has_run_out(switch.reason())
    assert has_run_out(StopSwitch(folder, clock=clock, permit_s=60.0).reason())
    switch.start()
    assert switch.reason() is None


def test_hearing_the_cloud_renews_a_permit_but_not_one_with_a_fixed_end(folder, clock):
    switch = StopSwitch(folder, clock=clock, permit_s=60.0)
    clock.advance(50.0)
    switch.heard()
    clock.advance(50.0)
    assert switch.reason() is None

    switch.start(until_ms=clock.wall_ms() + 10_000)
    switch.heard()
    clock.advance(11.0)

    assert has_run_out(switch.reason())


def test_a_phone_without_a_permit_acts_for_ever(folder, clock):
    switch = StopSwitch(folder, clock=clock)
    clock.advance(1e9)

    assert switch.reason() is None


def test_a_permit_that_another_process_gives_counts_at_once(folder, clock):
    switch = StopSwitch(folder, clock=clock, permit_s=60.0)
    clock.advance(61.0)
    assert switch.reason() is not None

    StopSwitch(folder, clock=clock, permit_s=60.0).start()

    assert switch.reason() is None


@pytest.mark.parametrize("contents", ["", "{}", "[1]", '{"until_ms": "x"}'])
def test_a_permit_that_cannot_be_read_has_run_out(folder, clock, contents):
    folder.mkdir(parents=True)
    (folder / PERMIT_FILE).write_text(contents)

    assert has_run_out(StopSwitch(folder, clock=clock).reason())


class SetBack(ManualClock):
    """A clock whose wall time somebody can set."""

    offset_ms = 0

    def wall_ms(self):
        return super().wall_ms() + self.offset_ms


def test_setting_the_clock_back_wins_no_time(folder):
    clock = SetBack()
    switch = StopSwitch(folder, clock=clock, permit_s=60.0)
    clock.offset_ms = -3_600_000
    clock.advance(61.0)

    assert has_run_out(switch.reason())


def test_what_the_switch_writes_can_be_read(folder, clock):
    StopSwitch(folder, clock=clock, permit_s=60.0).stop("enough", message_id="m1")

    assert json.loads((folder / PERMIT_FILE).read_text())["heard"] == "m1"
    assert json.loads((folder / STOP_FILE).read_text())["reason"] == "enough"
