"""Any screen in any look: nothing is cut off or on top of something else, and nothing is lost."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from apps_mock.layout import lay_out, page_under
from apps_mock.layout_check import layout_faults
from apps_mock.look import FONT_SCALES, LOCALES, SCREEN_SIZES, draw_look
from apps_mock.places import Window
from apps_mock.widgets import (
    Button,
    Card,
    Chip,
    Chips,
    Event,
    Field,
    Link,
    Option,
    Picker,
    Row,
    Screen,
    Slider,
    Text,
    Tile,
    Tiles,
)
from device_runtime.ui_tree import elements_of, parse, to_xml
from sync.vocabulary import Split


def made(kind, *parts, **named):
    """Widgets of these parts alone; what is not named keeps its default."""
    given = st.tuples(st.tuples(*parts), st.fixed_dictionaries(named))
    return given.map(lambda both: kind(*both[0], **both[1]))


words = st.sampled_from(
    "Save Contacts Reservierungsbestätigung 設定を変更する الإعدادات a 07:45 ★4.5 Übersicht".split()
)
texts = st.lists(words, min_size=1, max_size=7).map(" ".join)
labels = st.lists(words, min_size=1, max_size=2).map(" ".join)
events = st.integers(0, 10**9).map(lambda number: Event("do", str(number)))
buttons = made(Button, labels, events, st.booleans())
chips = made(Chip, labels, st.booleans(), events)

widgets = st.one_of(
    made(
        Row,
        texts,
        st.one_of(st.just(""), texts),
        events,
        checked=st.sampled_from([None, True]),
        on_toggle=events,
        badge=st.one_of(st.just(""), labels),
        icon=st.sampled_from(["", "star"]),
        on_hold=st.one_of(st.none(), events),
    ),
    made(Field, st.just("field"), labels, texts, lines=st.integers(1, 3), error=texts),
    made(Field, st.just("search"), labels, texts, search=st.just(True)),
    made(Picker, st.just("pick"), labels, st.just("1"), options=st.just((Option("1", "一"),))),
    made(Picker, st.just("day"), labels, st.just("2025-03-14"), st.just("date")),
    made(Slider, st.just("slide"), labels, st.sampled_from([0, 25, 100])),
    made(Card, texts, st.lists(texts, max_size=3).map(tuple), events, st.just("map"), labels),
    made(Text, texts, st.booleans(), st.booleans()),
    made(Link, texts, events),
    st.lists(chips, min_size=1, max_size=6).map(tuple).map(Chips),
    st.lists(made(Tile, labels, events), max_size=9).map(tuple).map(Tiles),
)
screens = made(
    Screen,
    texts,
    st.lists(widgets, max_size=9).map(tuple),
    st.lists(buttons, max_size=2).map(tuple),
    st.lists(buttons, max_size=3).map(tuple),
    st.booleans(),
    tabs=st.lists(chips, max_size=4).map(tuple),
    overflow=st.lists(buttons, max_size=2).map(tuple),
)


@st.composite
def looks(draw):
    look = draw_look(draw(st.sampled_from(list(Split))), draw(st.integers(0, 200)))
    size = draw(st.sampled_from(SCREEN_SIZES))
    return replace(
        look,
        **size._asdict(),
        font_scale=draw(st.sampled_from(FONT_SCALES)),
        locale=draw(st.sampled_from(LOCALES)),
    )


def window_of(look, **more):
    return Window("org.example", look.width_px, look.height_px, 0, "", keyboard=False, **more)


def sent(screen):
    """What the screen's plain widgets can send."""
    for widget in screen.body:
        if isinstance(widget, Chips):
            yield from (chip.on_tap for chip in widget.chips)
        elif isinstance(widget, Tiles):
            yield from (tile.on_tap for tile in widget.tiles)
        elif isinstance(widget, Row | Card | Link):
            yield widget.on_tap
    for button in (*screen.actions, *screen.places, *screen.overflow):
        yield button.on_tap


@given(screens, looks(), st.sampled_from(["", "Saved"]))
@settings(max_examples=40, deadline=None)
def test_no_screen_has_faults_in_any_look(screen, look, notice):
    laid_out = lay_out(screen, look, window_of(look, notice=notice))

    assert layout_faults(laid_out, look) == []


@given(screens, looks())
@settings(max_examples=40, deadline=None)
def test_what_a_screen_can_send_is_a_place_or_is_known_to_be_hidden(screen, look):
    laid_out = lay_out(screen, look, window_of(look))

    known = {target.event for target in laid_out.targets}
    known |= {hidden.event for hidden in laid_out.hidden}
    assert set(sent(screen)) <= known


@given(screens, looks(), st.sampled_from(["menu", "pick", "day", "day|2026-08"]))
@settings(max_examples=40, deadline=None)
def test_overlays_have_no_faults_and_hide_the_page(screen, look, overlay):
    window = window_of(look, overlay=overlay)

    laid_out = lay_out(screen, look, window)

    assert layout_faults(laid_out, look) == []
    if page_under(screen, look, window) is not None:
        assert not set(sent(screen._replace(overflow=()))) & {
            target.event for target in laid_out.targets
        } - {button.on_tap for button in screen.overflow}


@given(screens, looks())
@settings(max_examples=30, deadline=None)
def test_the_hierarchy_survives_its_own_xml(screen, look):
    root = lay_out(screen, look, window_of(look)).root
    size = (look.width_px, look.height_px)

    assert elements_of(parse(to_xml((root,))).roots, *size) == elements_of((root,), *size)
