"""A farm's process looks for garbage seldom, and finds it all the same."""

import gc
import weakref

import pytest

from device_runtime.collection import MIDDLE, OLD, YOUNG, collect_rarely


@pytest.fixture(autouse=True)
def _own_thresholds():
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


class Knot:
    """Something that holds on to itself."""

    def __init__(self) -> None:
        self.own = self


def test_what_is_loaded_is_set_apart_and_looks_are_rare():
    collect_rarely()
    assert gc.get_freeze_count() > 0
    assert gc.get_threshold() == (YOUNG, MIDDLE, OLD)


def test_cycles_that_come_later_are_still_found():
    collect_rarely()
    knot = Knot()
    gone = weakref.ref(knot)
    del knot
    kept = [[] for _ in range(YOUNG + 1)]
    assert gone() is None
    assert len(kept) > YOUNG
