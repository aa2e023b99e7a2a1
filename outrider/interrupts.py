"""Ctrl-C and SIGTERM, handled while a block runs."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def on_interrupt(handle: Callable[[], None]) -> Iterator[None]:
    """Call `handle` at each Ctrl-C and SIGTERM while the block runs; only on the main thread."""
    before = {
        number: signal.signal(number, lambda _number, _frame: handle())
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
