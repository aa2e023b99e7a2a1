"""Ctrl-C and SIGTERM, heard while a block runs.

A handler runs in the midst of whatever the main thread does. Where that is `Event.wait`, it may
hold the event's lock, and a handler that called `Event.set` would wait for itself for ever. So a
handler here only raises, or puts a word into a queue that another thread reads.
"""

from __future__ import annotations

import queue
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def on_interrupt(handle: Callable[[], None]) -> Iterator[None]:
    """Call `handle` at each Ctrl-C and SIGTERM while the block runs; only on the main thread.

    Args:
        handle: raises, or does nothing that takes a lock.
    """
    before = {
        number: signal.signal(number, lambda _number, _frame: handle())
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def setter(event: threading.Event) -> Iterator[Callable[[], None]]:
    """A function that has `event` set by another thread while the block runs; for handlers."""
    heard: queue.SimpleQueue[bool] = queue.SimpleQueue()  # its put may interrupt itself

    def hear() -> None:
        while heard.get():
            event.set()

    hearer = threading.Thread(target=hear, name="interrupts", daemon=True)
    hearer.start()
    try:
        yield lambda: heard.put(True)
    finally:
        heard.put(False)
        hearer.join()


@contextmanager
def stop_on_interrupt(*, second_ends: bool = False) -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set, however often they come, while the block runs.

    On another thread than the main one, which hears no signals, nothing sets it.

    Args:
        second_ends: whether the second one ends the program as if nobody heard it.
    """
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    counted: list[None] = []
    with setter(stop) as set_stop:

        def handle() -> None:
            counted.append(None)
            if second_ends and len(counted) > 1:
                raise KeyboardInterrupt
            set_stop()

        with on_interrupt(handle):
            yield stop


@contextmanager
def interrupted_once(stop: threading.Event | None = None) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM interrupts the block; later ones leave it time to tidy up.

    On another thread than the main one, which hears no signals, nothing does.

    Args:
        stop: set by it, too, so that an interrupt that the block swallows is not lost; where it is
            set already, the block does not run.

    Raises: KeyboardInterrupt: see above.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    counted: list[None] = []
    with setter(stop or threading.Event()) as set_stop:

        def interrupt() -> None:
            set_stop()
            counted.append(None)
            if len(counted) == 1:
                raise KeyboardInterrupt

        with on_interrupt(interrupt):
            if stop is not None and stop.is_set():
                raise KeyboardInterrupt
            yield
