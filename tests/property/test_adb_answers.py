"""Whatever a phone answers, reading it ends in a value or in the driver's own error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_runtime.adb_facts import fitted, read_facts, turned
from device_runtime.adb_look import LookRequest
from device_runtime.adb_screenshot import read_screenshot
from device_runtime.adb_state import read_state
from device_runtime.adb_text import read_ways, same_letters
from device_runtime.errors import PhoneFaultError
from sync.vocabulary import ScreenMark
from tests.scripted_phone import FACTS, FOCUS, look, png

LINES = st.lists(
    st.sampled_from(
        [
            FOCUS, "  mCurrentFocus=null", "Display: mDisplayId=0", "Display #7 (x)",
            "  Window #0 Window{1a2b3c u0 x}:", "      fl=SECURE", "      fl=#2000", "fl=#",
            "mRotation=3", "mCurrentRotation=ROTATION_270", "init=1x2 cur=2x1", "init=0x0 cur=0x0",
            "KeyguardServiceDelegate", "showing=true", "mInputShown=true", "mWakefulness=Asleep",
        ]
    )
    | st.text(max_size=60)
)  # fmt: skip


def value_or_fault(read, *arguments):
    """Whether reading gave a value; any error but the driver's own fails the test."""
    try:
        read(*arguments)
    except PhoneFaultError:
        return False
    return True


@given(LINES, st.integers(0, 3))
def test_any_lines_give_a_state(lines, display):
    state = read_state("\n".join(lines), display)

    assert list(state.marks) == [mark for mark in ScreenMark if mark in state.marks]
    assert state.rotation in {None, 0, 1, 2, 3}
    assert state.size is None or min(state.size) > 0


@given(LINES)
def test_any_lines_give_facts_or_the_drivers_own_error(lines):
    value_or_fault(read_facts, FACTS + "\n".join(lines))
    value_or_fault(read_facts, "\n".join(lines))


@given(st.binary(max_size=200))
def test_any_bytes_are_a_picture_or_the_drivers_own_error(data):
    value_or_fault(read_screenshot, data)
    value_or_fault(read_screenshot, png()[:30] + data)
    value_or_fault(read_screenshot, png()[:8] + data)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_look_or_the_drivers_own_error(data):
    request = LookRequest("name", with_screenshot=True)
    value_or_fault(request.read, data)
    value_or_fault(request.read, data.join([b"--name--"] * 6))


@given(st.integers(0, 10_000))
def test_look_that_was_cut_anywhere_is_a_fault(at):
    request = LookRequest("name", with_screenshot=True)
    answer = look()(request.command).stdout.rstrip(b"\n")

    assert value_or_fault(request.read, answer)
    if at < len(answer):
        with pytest.raises(PhoneFaultError):
            request.read(answer[:at])


@given(st.text(max_size=80))
def test_any_answer_about_keyboards_gives_ways(answer):
    read_ways(answer)


@given(st.text(min_size=1, max_size=20))
def test_a_text_holds_its_own_letters(text):
    assert same_letters(text, text)


@given(
    st.tuples(st.integers(1, 99), st.integers(1, 99)),
    st.integers(0, 3),
    st.tuples(st.integers(1, 99), st.integers(1, 99)),
)
def test_picture_of_the_screens_own_size_always_fits(size, rotation, panel):
    shot = read_screenshot(png(*size))

    assert fitted(shot, size, rotation, panel) is shot
    assert turned(turned(size, rotation), rotation) == size
