"""Clones under random fingers: they never break, and the same touches give the same phone."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from apps_mock.catalogue import LOCALES
from apps_mock.look import look_number
from apps_mock.phone import MockPhone
from apps_mock.tasks import templates
from device_runtime.ui_tree import elements_of, parse
from sync.vocabulary import Split

NAMES = [template.name for template in templates()]
LOOKS = st.builds(look_number, st.sampled_from(LOCALES), st.integers(0, 10**6))
POINTS = st.tuples(st.integers(0, 1439), st.integers(0, 3119))
GESTURES = st.one_of(
    st.tuples(st.just("target"), st.integers(0, 40)),
    st.tuples(st.just("hold"), st.integers(0, 40)),
    st.tuples(st.just("shade"), st.none()),
    st.tuples(st.just("touch"), POINTS),
    st.tuples(st.just("swipe"), st.tuples(POINTS, POINTS)),
    st.tuples(st.just("text"), st.text(max_size=6)),
    st.tuples(st.just("press"), st.sampled_from([3, 4, 66, 67, 82, 111, 122, 123, 187, 999])),
)
PLAYS = st.tuples(
    st.sampled_from(NAMES),
    st.integers(0, 10**6),
    st.sampled_from(list(Split)),
    LOOKS,
    st.lists(GESTURES, max_size=25),
)


def play(phone, gesture):
    kind, value = gesture
    if kind in {"target", "hold"} and phone.laid_out.targets:
        left, top, right, bottom = phone.laid_out.targets[
            value % len(phone.laid_out.targets)
        ].bounds
        held_ms = 800 if kind == "hold" else 0
        phone.touch((left + right) // 2, (top + bottom) // 2, duration_ms=held_ms)
    elif kind == "shade":
        phone.swipe(300, 1, 300, 900)
    elif kind == "touch":
        phone.touch(*value)
    elif kind == "swipe":
        (x1, y1), (x2, y2) = value
        phone.swipe(x1, y1, x2, y2)
    elif kind == "text":
        phone.type_text(value)
    elif kind == "press":
        phone.press(value)


def played(play_of):
    name, seed, split, look, gestures = play_of
    phone = MockPhone()
    phone.load(name, seed, split, look)
    for gesture in gestures:
        play(phone, gesture)
    return phone


@given(PLAYS)
@settings(max_examples=60)
def test_same_seed_and_touches_give_equal_states_trees_and_hashes(play_of):
    one, two = played(play_of), played(play_of)

    assert one.state == two.state
    assert repr(one.state) == repr(two.state)
    assert one.state_hash() == two.state_hash()
    assert one.tree_xml() == two.tree_xml()


@given(PLAYS)
@settings(max_examples=5)
def test_same_seed_and_touches_give_equal_screenshots(play_of):
    assert played(play_of).screenshot() == played(play_of).screenshot()


@given(PLAYS)
@settings(max_examples=60)
def test_the_dump_parses_into_the_elements_that_were_observed(play_of):
    phone = played(play_of)

    hierarchy = parse(phone.tree_xml())

    seen, info = phone.observe().elements, phone.info()
    assert elements_of((phone.tree(),), info.width_px, info.height_px) == seen
    if all(ch.isprintable() for element in seen for ch in element.text):
        assert elements_of(hierarchy.roots, info.width_px, info.height_px) == seen


@given(PLAYS)
@settings(max_examples=60)
def test_different_states_have_different_hashes(play_of):
    phone = played(play_of)
    first = phone.state, phone.state_hash()

    phone.press(3)

    assert (phone.state == first[0]) == (phone.state_hash() == first[1])


@given(PLAYS)
@settings(max_examples=40)
def test_what_can_be_touched_lies_on_the_screen(play_of):
    phone = played(play_of)

    info = phone.info()
    for target in phone.laid_out.targets:
        left, top, right, bottom = target.bounds
        assert 0 <= left < right <= info.width_px
        assert 0 <= top < bottom <= info.height_px


@given(PLAYS)
@settings(max_examples=40)
def test_no_app_breaks_under_any_fingers(play_of):
    phone = played(play_of)

    phone.raise_crash()
