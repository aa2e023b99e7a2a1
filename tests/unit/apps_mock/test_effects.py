from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from apps_mock.app import AskPermission, Copy, Notify, Open, Page, Say, Share, Tell
from apps_mock.apps.system import Permission
from apps_mock.dispatch import dispatch, view
from apps_mock.effects import DEEPEST, clipboard_of, provided_for
from apps_mock.errors import AppCrashError
from apps_mock.look import draw_look
from apps_mock.phone_state import Overlay, installed, launch, show_recents
from apps_mock.registry import APPS
from apps_mock.widgets import Card, Event
from sync.vocabulary import Split
from tests.probe import heard, phone_of, probe

WANT = Event("want")


@pytest.fixture
def wanting(monkeypatch):
    """A phone whose app "first" wants the effects, beside an app "second"; it has just said so."""

    def make(*effects, second=None, **parts):
        monkeypatch.setitem(APPS, "first", probe("first", effects))
        monkeypatch.setitem(APPS, "second", second or probe("second"))
        return dispatch(launch(phone_of("first", "second", **parts), "first"), WANT)

    return make


def test_copy_fills_the_clipboard_and_leaves_no_effect_behind(wanting):
    after = wanting(Copy("one"), Copy("two"))

    assert clipboard_of(after) == "two"
    assert after.app_state("first").effects == ()


def test_apps_see_day_time_clipboard_and_the_data_of_the_apps_they_use(wanting):
    app = replace(probe("third"), uses=("second", "settings", "not_there"))

    seen = provided_for(app, wanting(Copy("words")))

    assert (seen.today, seen.time, seen.clipboard) == ("2025-03-14", "09:41", "words")
    assert sorted(seen.others) == ["second", "settings"]


def test_a_clock_without_a_day_still_tells_the_time(wanting):
    state = wanting(now="07:45")

    assert (state.time, state.today) == ("07:45", "2025-01-01")


def test_open_brings_an_app_to_the_front_with_a_page_on_its_home_page(wanting):
    after = wanting(Open("second", "item", "7"))

    assert after.foreground == "second"
    assert after.front.stack == (Page("home"), Page("item", "7"))
    assert after.recents == ("second", "first")


def test_open_without_a_page_shows_the_home_page_alone(wanting):
    assert wanting(Open("second")).front.stack == (Page("home"),)


def test_an_app_that_is_not_there_is_not_opened_but_said_to_be_missing(wanting):
    after = wanting(Open("nobody"))

    assert (after.foreground, after.notice) == ("first", "This app is not installed")


def test_tell_reaches_the_other_apps_data_and_nothing_shows(wanting):
    after = wanting(Tell("second", Event("saved", "a", "b")), Tell("nobody", Event("saved")))

    assert heard(after, "second") == ["saved|a|b"]
    assert after.foreground == "first"
    assert after.app_state("second").stack == (Page("home"),)


def test_what_a_told_app_wants_is_carried_out_too_up_to_a_depth(wanting):
    echo = probe("second", answers=(Copy("echo"), Tell("second", Event("again"))))

    after = wanting(Tell("second", Event("saved")), second=echo)

    assert clipboard_of(after) == "echo"
    assert heard(after, "second") == ["saved||", *["again||"] * (DEEPEST - 1)]


def test_say_shows_a_notice(wanting):
    assert wanting(Say("Saved")).notice == "Saved"


def test_notify_puts_the_latest_notification_on_top(wanting):
    after = wanting(Notify("One"), Notify("Two", "text", "item", "7"))

    shown = after.system.notifications
    assert [
        (entry.app, entry.title, entry.text, entry.page, entry.argument) for entry in shown
    ] == [
        ("first", "Two", "text", "item", "7"),
        ("first", "One", "", "", ""),
    ]
    assert len({entry.id for entry in shown}) == 2


def test_effects_happen_in_their_order(wanting):
    after = wanting(Say("one"), Open("second"), Say("two"), AskPermission("camera"), Share("x"))

    assert (after.foreground, after.notice) == ("second", "two")
    assert [each.kind for each in after.overlays] == ["permission", "share"]


@pytest.mark.parametrize(
    ("event", "answer", "remembered"),
    [
        ("allow", "allowed", [Permission("first/camera", True)]),
        ("deny", "denied", [Permission("first/camera", False)]),
        ("back", "denied", []),
    ],
)
def test_a_permission_dialog_tells_the_app_and_remembers(wanting, event, answer, remembered):
    asked = wanting(AskPermission("camera"))

    after = dispatch(asked, Event(event))

    assert asked.overlay == Overlay("permission", "first/camera")
    assert after.overlay is None
    assert heard(after, "first") == [f"permission|camera|{answer}"]
    assert list(after.system.permissions) == remembered


def test_a_given_permission_is_not_asked_for_again_but_a_refused_one_is(wanting):
    asked = wanting(AskPermission("camera"))
    allowed, denied = dispatch(asked, Event("allow")), dispatch(asked, Event("deny"))

    again, refused = dispatch(allowed, WANT), dispatch(denied, WANT)

    assert again.overlay is None
    assert heard(again, "first") == ["permission|camera|allowed"] * 2
    assert refused.overlay == Overlay("permission", "first/camera")
    changed = dispatch(refused, Event("allow")).system.permissions
    assert changed == (Permission("first/camera", True),)


def test_two_permissions_are_asked_for_one_after_the_other(wanting):
    state = wanting(AskPermission("camera"), AskPermission("location"))

    state = dispatch(dispatch(state, Event("allow")), Event("deny"))

    assert heard(state, "first") == ["permission|camera|allowed", "permission|location|denied"]


def test_share_offers_the_apps_that_take_texts_and_the_chosen_one_hears(wanting):
    shared = wanting(Share("words"))

    after = dispatch(shared, Event("share_to", "second"))

    assert shared.overlay == Overlay("share", "first", "words")
    assert after.foreground == "second"
    assert heard(after, "second") == ["taken|words|"]


def test_an_update_without_effects_keeps_every_other_app_as_the_same_object(wanting):
    before = wanting()

    after = dispatch(before, Event("other"))

    assert after.app_state("second") is before.app_state("second")
    assert after.app_state("system") is before.app_state("system")


def test_an_event_that_changes_nothing_returns_the_same_state(wanting):
    state = wanting()

    assert dispatch(state, WANT) is state


@pytest.mark.parametrize(
    "event", [Event("tell_second"), Event("launch_second")], ids=["told", "in front"]
)
def test_an_app_that_breaks_is_named_in_one_line(monkeypatch, event):
    monkeypatch.setitem(APPS, "first", probe("first", answers=(Tell("second", Event("saved")),)))
    monkeypatch.setitem(APPS, "second", probe("second", breaks="update"))
    front = "first" if event.name == "tell_second" else "second"
    state = launch(phone_of("first", "second"), front)

    with pytest.raises(AppCrashError) as crash:
        dispatch(state, event)

    assert crash.value.app == "second"
    assert "ZeroDivisionError: a defect of this app" in str(crash.value)
    assert "probe.py" in str(crash.value)
    assert "\n" not in str(crash.value)


@dataclass(frozen=True, slots=True)
class StoreApp:
    """An app of a store."""

    id: str
    installed: bool


@dataclass(frozen=True, slots=True)
class StoreData:
    """What a store offers."""

    apps: tuple[StoreApp, ...]


def test_an_app_that_the_store_has_not_installed_has_no_icon_and_cannot_be_opened(wanting):
    state = phone_of("first", "second", "store")
    offered = StoreData((StoreApp("first", True), StoreApp("second", False)))
    state = state.with_app("store", state.app_state("store").with_data(offered))

    names = [app.name for app in installed(state)]
    used = show_recents(replace(state, recents=("second", "first")))
    recent = view(used, draw_look(Split.TRAIN, 1)).body

    assert "first" in names
    assert "second" not in names
    assert [card.title for card in recent if isinstance(card, Card)] == ["First"]
    assert dispatch(state, Event("launch", "second")) is state
    assert dispatch(state, Event("launch", "first")).foreground == "first"


@pytest.fixture(autouse=True)
def probes(monkeypatch):
    """Apps that every phone here can have."""
    monkeypatch.setitem(APPS, "first", probe("first"))
    monkeypatch.setitem(APPS, "second", probe("second"))
