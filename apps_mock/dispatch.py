"""What an event of the screen means, and what shows: the phone's own `update` and `view`.

Raises: every function here raises AppCrashError where an app breaks; the state stays as it was.
"""

from __future__ import annotations

from dataclasses import replace

from apps_mock.app import AnyAppState
from apps_mock.effects import copied, provided_for, sent
from apps_mock.errors import AppCrashError
from apps_mock.launcher import LAUNCHER, RECENTS, launcher_view, page_count, recents_view
from apps_mock.look import Look
from apps_mock.overlays import overlay_event, overlay_view
from apps_mock.phone_state import (
    Overlay,
    PhoneState,
    closed,
    go_home,
    installed,
    is_installed,
    launch,
)
from apps_mock.registry import APPS
from apps_mock.widgets import Event, Field, Screen


def dispatch(state: PhoneState, event: Event, field: Field | None = None) -> PhoneState:
    """The phone after an event of the screen.

    Args:
        field: the text field that has the focus.
    """
    if state.overlays:
        return overlay_event(state, event, field)
    if event.name == "launch":
        return launch(state, event.value) if is_installed(state, event.value) else state
    if event.name == "copy_text":
        return replace(copied(state, event.value), notice="Copied")
    before = state.front
    if before is None:
        return replace(state, recents=()) if event.name == "clear_recents" else state
    name = state.foreground
    if event.name == "back" and len(before.stack) == 1 and not before.page.overlay:
        return closed(state, name)
    after = sent(state, name, event)
    if after.foreground == name and _place(before) != _place(after.app_state(name)):
        return replace(after, focus="", keyboard=False)
    return after


def _place(state: AnyAppState) -> tuple[int, str, str, bool]:
    page = state.page
    return len(state.stack), page.name, page.argument, bool(page.overlay)


def go_back(state: PhoneState) -> PhoneState:
    """The phone after the back key: hides the keyboard first, then goes back a page."""
    if state.keyboard:
        return replace(state, keyboard=False)
    if state.foreground == RECENTS and not state.overlays:
        return go_home(state)
    return dispatch(state, Event("back"))


def turned(state: PhoneState, pages: int, look: Look) -> PhoneState:
    """The phone with another page of the launcher; it stays where there is none."""
    page = state.home_page + pages
    if state.foreground != LAUNCHER or not 0 <= page < page_count(installed(state), look):
        return state
    return replace(state, home_page=page, scroll_px=0)


def crashed(state: PhoneState, name: str) -> PhoneState:
    """The phone with an app's crash dialog."""
    return replace(state.under(Overlay("crash", name)), focus="")


def view(state: PhoneState, look: Look) -> Screen:
    """What shows."""
    overlay = state.overlay
    if overlay is None:
        return page_view(state, look)
    field = focused_field(page_view(state, look), state) if overlay.kind == "text_menu" else None
    return overlay_view(state, overlay, look, field)


def page_view(state: PhoneState, look: Look) -> Screen:
    """What shows where no overlay lies over it."""
    if state.foreground == LAUNCHER:
        return launcher_view(installed(state), look, state.home_page)
    if state.foreground == RECENTS:
        there = {app.name: app for app in installed(state)}
        return recents_view([there[name] for name in state.recents if name in there], look)
    app = APPS[state.foreground]
    own = state.app_state(state.foreground).seeing(provided_for(app, state))
    try:
        return app.view(own, look)
    except Exception as error:
        raise AppCrashError(app.name, f"view of {own.page.name!r}", error) from error


def focused_field(screen: Screen, state: PhoneState) -> Field | None:
    """The text field that has the focus."""
    for widget in screen.body:
        if isinstance(widget, Field) and widget.key == state.focus:
            return widget
    return None
