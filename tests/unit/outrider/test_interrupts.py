"""Ctrl-C and SIGTERM: what they set, whom they interrupt, and that they never lock anybody out."""

from __future__ import annotations

import contextlib
import signal
import threading

import pytest

from outrider.interrupts import interrupted_once, stop_on_interrupt

WAIT_S = 20.0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_sets_the_event_and_the_old_handler_comes_back(number):
    before = signal.getsignal(number)

    with stop_on_interrupt() as stop:
        assert not stop.is_set()
        signal.raise_signal(number)
        signal.raise_signal(number)
        assert stop.wait(WAIT_S)

    assert signal.getsignal(number) is before


@pytest.mark.timeout(60)
def test_a_signal_amid_a_wait_for_the_event_locks_nobody_out():
    with stop_on_interrupt() as stop:
        with stop._cond:  # as `Event.wait` holds it before and after it sleeps
            signal.raise_signal(signal.SIGTERM)
        assert stop.wait(WAIT_S)


def test_the_second_signal_ends_the_program_where_that_is_wanted():
    with stop_on_interrupt(second_ends=True) as stop:
        signal.raise_signal(signal.SIGINT)
        assert stop.wait(WAIT_S)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_no_thread_is_left():
    def hearers():
        return [thread for thread in threading.enumerate() if thread.name == "interrupts"]

    with stop_on_interrupt():
        assert len(hearers()) == 1

    assert hearers() == []


def test_the_first_signal_interrupts_and_later_ones_leave_time():
    with interrupted_once():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)


@pytest.mark.timeout(60)
def test_an_interrupt_that_somebody_swallows_is_known_to_the_event():
    with stop_on_interrupt() as stop, interrupted_once(stop):
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert stop.wait(WAIT_S)


def test_an_event_that_is_set_already_interrupts_at_once():
    stop = threading.Event()
    stop.set()

    with pytest.raises(KeyboardInterrupt), interrupted_once(stop):
        pytest.fail("the block ran")


def test_another_thread_than_the_main_one_hears_no_signals():
    before = signal.getsignal(signal.SIGTERM)
    seen = []

    def elsewhere():
        with stop_on_interrupt() as stop, interrupted_once():
            seen.append((stop.is_set(), signal.getsignal(signal.SIGTERM)))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join(WAIT_S)

    assert seen == [(False, before)]
