"""What lies over an app: it shows like everything else, is touched, and goes with the back key."""

from __future__ import annotations

from dataclasses import replace

import pytest

from apps_mock.app import Page, Say, Share
from apps_mock.apps.system import Notification
from apps_mock.dispatch import dispatch, view
from apps_mock.effects import clipboard_of, copied
from apps_mock.launcher import page_count
from apps_mock.look import draw_look, look_number
from apps_mock.overlays import QUICK_SETTINGS
from apps_mock.phone import MockPhone
from apps_mock.phone_state import Overlay, installed, launch
from apps_mock.places import sizes_of
from apps_mock.records import find
from apps_mock.registry import APPS
from apps_mock.widgets import Event
from device_runtime.ui_tree import elements_of, parse
from sync.vocabulary import ActionKind, Direction, Key, Split, press, scroll, tap_element
from tests.probe import heard, phone_of, probe

HOME, BACK, RECENTS = 3, 4, 187
EVERY_OVERLAY = (
    Overlay("lock"),
    Overlay("shade"),
    Overlay("share", "first", "Words to share"),
    Overlay("permission", "first/camera"),
    Overlay("text_menu", "note"),
    Overlay("crash", "first"),
    Overlay("hung", "first"),
    Overlay("popup", text="Rate this app\nDo you like it?"),
)


@pytest.fixture(autouse=True)
def probes(monkeypatch):
    """Two apps that every phone here has."""
    monkeypatch.setitem(APPS, "first", probe("first"))
    monkeypatch.setitem(APPS, "second", probe("second"))


def live(state, look=1):
    """A phone in that state."""
    phone = MockPhone()
    phone.load("contacts_open", 1, Split.TRAIN, look)
    phone.restore(state)
    return phone


@pytest.fixture
def phone():
    """A phone with the app "first" in front."""
    return live(launch(phone_of("first", "second"), "first"))


def target_of(phone, event):
    return next(each for each in phone.laid_out.targets if event in {each.event, each.hold})


def touch(phone, event, **how):
    left, top, right, bottom = target_of(phone, event).bounds
    phone.touch((left + right) // 2, (top + bottom) // 2, **how)


def field(phone, key):
    left, top, right, bottom = next(
        each.bounds for each in phone.laid_out.targets if each.field == key
    )
    return (left + right) // 2, (top + bottom) // 2


def texts(phone):
    return [element.text for element in phone.observe().elements]


def swipe(phone, down, start=0.5):
    """A finger down or up the middle of the screen."""
    info = phone.info()
    x, y = info.width_px // 2, round(info.height_px * start)
    phone.swipe(x, y, x, y + (400 if down else -400))


@pytest.mark.parametrize("overlay", EVERY_OVERLAY, ids=lambda each: each.kind)
@pytest.mark.parametrize("locale", ["en", "de", "ja", "ar"])
def test_every_overlay_has_a_tree_that_parses_and_places_on_the_screen(overlay, locale):
    state = copied(launch(phone_of("first", "second"), "first"), "words")
    state = replace(state, focus="note").under(overlay)
    phone = live(state, look_number(locale, 3))

    seen, info = phone.observe(), phone.info()

    assert elements_of(parse(phone.tree_xml()).roots, info.width_px, info.height_px) == (
        seen.elements
    )
    assert not seen.keyboard_shown
    assert phone.foreground()[0] == "org.outrider.clones.systemui"
    for target in phone.laid_out.targets:
        left, top, right, bottom = target.bounds
        assert 0 <= left < right <= info.width_px
        assert 0 <= top < bottom <= info.height_px
    assert phone.screenshot().startswith(b"\x89PNG")


@pytest.mark.parametrize("overlay", EVERY_OVERLAY[1:], ids=lambda each: each.kind)
def test_back_closes_every_overlay_but_the_lock_screen(overlay):
    phone = live(launch(phone_of("first", "second"), "first").under(overlay))

    phone.press(BACK)

    assert phone.state.overlay is None
    assert phone.state.foreground == ("" if overlay.kind == "crash" else "first")


def test_a_locked_phone_stays_locked_until_it_is_swiped_up(phone):
    phone.restore(phone.state.under(Overlay("lock")))

    for key in (HOME, BACK, RECENTS):
        phone.press(key)
    assert phone.open_app("Settings")
    swipe(phone, down=True)
    assert phone.state.overlay.kind == "lock"
    assert "09:41" in texts(phone)

    assert phone.act(scroll(Direction.DOWN)).valid
    assert phone.state.overlay is None
    assert phone.state.foreground == "first"


def test_a_long_press_on_a_row_sends_what_it_holds_and_a_tap_what_it_taps(phone):
    touch(phone, Event("held"), duration_ms=499)
    assert heard(phone.state, "first") == []

    touch(phone, Event("held"), duration_ms=500)
    assert heard(phone.state, "first") == ["held||"]


def test_a_long_press_on_a_copyable_text_copies_it_and_says_so(phone):
    touch(phone, Event("copy_text", "Words to copy"), duration_ms=800)

    assert clipboard_of(phone.state) == "Words to copy"
    assert "Copied" in texts(phone)
    phone.touch(1, 1)
    assert "Copied" not in texts(phone)


def test_a_notice_takes_no_touch_from_what_was_seen(monkeypatch):
    monkeypatch.setitem(APPS, "first", probe("first", (Say("Saved"),)))
    phone = live(launch(phone_of("first", "second"), "first"))
    touch(phone, Event("want"))
    assert "Saved" in texts(phone)

    x, y = field(phone, "note")
    phone.touch(x, y)

    assert phone.state.focus == "note"
    assert "Saved" not in texts(phone)


def test_the_text_menu_copies_what_a_field_shows_and_pastes_it_into_another(phone):
    phone.touch(*field(phone, "note"), duration_ms=800)
    touch(phone, Event("copy"))
    assert clipboard_of(phone.state) == "before"

    phone.touch(*field(phone, "secret"), duration_ms=800)
    touch(phone, Event("paste"))

    assert phone.state.front.page.draft("secret") == "before"


def test_paste_appends_unless_everything_is_selected(phone):
    phone.restore(copied(phone.state, "new"))
    phone.touch(*field(phone, "note"), duration_ms=800)
    touch(phone, Event("paste"))
    assert phone.state.front.page.draft("note") == "beforenew"

    phone.touch(*field(phone, "note"), duration_ms=800)
    touch(phone, Event("select_all"))
    touch(phone, Event("paste"))
    assert phone.state.front.page.draft("note") == "new"


def test_lines_become_one_where_they_are_pasted_into_a_field_of_one_line(phone):
    phone.restore(copied(phone.state, "one\ntwo"))
    phone.touch(*field(phone, "secret"), duration_ms=800)

    touch(phone, Event("paste"))

    assert phone.state.front.page.draft("secret") == "one two"


def test_cut_empties_the_field(phone):
    phone.touch(*field(phone, "note"), duration_ms=800)
    touch(phone, Event("cut"))

    assert clipboard_of(phone.state) == "before"
    assert phone.state.front.page.drafts == (("note", ""),)


def test_a_password_can_be_pasted_into_but_not_copied(phone):
    phone.touch(*field(phone, "secret"))
    phone.type_text("hidden")
    phone.restore(copied(phone.state, "x"))

    phone.touch(*field(phone, "secret"), duration_ms=800)

    offered = {target.event.name for target in phone.laid_out.targets if target.event}
    assert "paste" in offered
    assert not offered & {"copy", "cut"}


def test_a_long_press_on_an_empty_field_with_nothing_to_paste_only_focuses_it(phone):
    phone.touch(*field(phone, "secret"), duration_ms=800)

    assert phone.state.overlay is None
    assert phone.state.focus == "secret"
    assert phone.keyboard_shown


def test_deleting_and_typing_go_on_from_what_a_field_shows(phone):
    phone.touch(*field(phone, "note"))
    phone.press(67)
    phone.type_text("x")

    assert phone.state.front.page.draft("note") == "beforx"


def test_typing_under_an_overlay_is_lost(phone):
    phone.touch(*field(phone, "note"))
    phone.restore(phone.state.under(Overlay("hung", "first")))

    phone.type_text("x")
    phone.press(67)

    assert phone.state.front.page.drafts == ()


def with_notifications(phone):
    system = phone.state.system
    entries = (
        Notification("n0", "second", "Two", "text", "item", "7"),
        Notification("n1", "second", "One"),
    )
    phone.restore(phone.state.with_system(replace(system, notifications=entries)))
    info = phone.info()
    phone.swipe(info.width_px // 2, sizes_of(draw_look(Split.TRAIN, 1)).status // 2, 300, 900)
    return phone


def test_the_shade_comes_down_from_the_status_bar_and_goes_up_again(phone):
    with_notifications(phone)
    assert phone.state.overlay == Overlay("shade")
    assert {"Two", "One"} <= set(texts(phone))

    swipe(phone, down=False, start=0.9)
    swipe(phone, down=False, start=0.9)

    assert phone.state.overlay is None


def test_a_notification_opens_its_app_at_its_page_and_is_gone(phone):
    with_notifications(phone)

    touch(phone, Event("notification", "n0"))

    assert phone.state.overlay is None
    assert phone.state.foreground == "second"
    assert phone.state.front.stack == (Page("home"), Page("item", "7"))
    assert [entry.id for entry in phone.state.system.notifications] == ["n1"]


def test_notifications_are_dismissed_one_by_one_or_all_at_once(phone):
    with_notifications(phone)

    touch(phone, Event("dismiss", "n1"))
    assert [entry.id for entry in phone.state.system.notifications] == ["n0"]
    touch(phone, Event("clear_notifications"))

    assert phone.state.system.notifications == ()
    assert phone.state.overlay == Overlay("shade")


@pytest.mark.parametrize("name", ["Wi-Fi", "Bluetooth", "Airplane mode"])
def test_a_quick_setting_turns_the_switch_of_the_settings(phone, name):
    assert name in QUICK_SETTINGS
    with_notifications(phone)
    before = find(phone.state.app_state("settings").data.switches, name).on

    touch(phone, Event("quick", name))

    assert find(phone.state.app_state("settings").data.switches, name).on is not before
    assert phone.state.overlay == Overlay("shade")


def test_home_and_recents_put_overlays_away(phone):
    for key in (HOME, RECENTS):
        phone.restore(phone.state.under(Overlay("shade")).queueing(Overlay("hung", "first")))
        phone.press(key)
        assert phone.state.overlays == ()


def test_the_share_sheet_lists_apps_that_take_texts_but_not_the_one_that_shares(monkeypatch):
    monkeypatch.setitem(APPS, "first", probe("first", (Share("Words to share"),)))
    monkeypatch.setitem(APPS, "third", probe("third", shares=""))
    phone = live(launch(phone_of("first", "second", "third"), "first"))

    touch(phone, Event("want"))

    assert {"Words to share", "Second"} <= set(texts(phone))
    assert not {"First", "Third"} & set(texts(phone))
    touch(phone, Event("share_to", "second"))
    assert heard(phone.state, "second") == ["taken|Words to share|"]


def test_the_not_responding_dialog_waits_or_closes_the_app(phone):
    phone.restore(dispatch(phone.state, Event("go", "deep")).under(Overlay("hung", "first")))
    snapshot = phone.state

    touch(phone, Event("wait"))
    assert phone.state.front.page.name == "deep"

    phone.restore(snapshot)
    touch(phone, Event("close_app"))
    assert phone.state.foreground == ""
    assert phone.state.app_state("first").stack == (Page("home"),)


def test_app_info_of_a_broken_app_opens_the_settings(phone):
    phone.restore(phone.state.under(Overlay("crash", "first")))

    touch(phone, Event("app_info"))

    assert phone.state.foreground == "settings"
    assert phone.state.front.page.name == "Apps"


def test_recent_apps_can_be_cleared(phone):
    phone.open_app("Settings")
    phone.act(press(Key.RECENTS))

    touch(phone, Event("clear_recents"))

    assert phone.state.recents == ()
    assert "No recent apps" in texts(phone)


@pytest.mark.parametrize("locale", ["en", "ar"])
def test_icons_that_do_not_fit_are_on_further_pages_and_the_dock_on_each(monkeypatch, locale):
    names = [f"app{number}" for number in range(60)]
    for name in names:
        monkeypatch.setitem(APPS, name, probe(name))
    phone = live(phone_of(*names), look_number(locale, 1))
    look = draw_look(Split.TRAIN, look_number(locale, 1))
    pages = page_count(installed(phone.state), look)
    dock = view(phone.state, look).dock

    seen = []
    for _ in range(pages):
        assert dock == view(phone.state, look).dock
        assert phone.laid_out.scroll_max_px == 0
        seen += [text for text in texts(phone) if text.startswith("App")]
        phone.act(scroll(Direction.LEFT if locale == "ar" else Direction.RIGHT))

    assert pages > 1
    assert phone.state.home_page == pages - 1
    assert len(set(seen)) == 60
    phone.act(scroll(Direction.RIGHT if locale == "ar" else Direction.LEFT))
    assert phone.state.home_page == pages - 2
    phone.press(HOME)
    assert phone.state.home_page == 0


def test_a_long_action_of_the_port_is_a_long_press(phone):
    target = target_of(phone, Event("held"))
    seen = phone.observe()
    index = next(
        place
        for place, element in enumerate(seen.elements)
        if element.bounds == target.bounds and element.long_clickable
    )

    phone.act(tap_element(seen, index, ActionKind.LONG_PRESS))

    assert heard(phone.state, "first") == ["held||"]
