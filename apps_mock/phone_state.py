"""The whole phone as one value, and what happens to it: pure functions from state to state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from apps_mock.app import AnyApp, AnyAppState, AppState, Provided
from apps_mock.launcher import LAUNCHER, PACKAGE, RECENTS, launcher_view, recents_view
from apps_mock.look import Look
from apps_mock.registry import APPS
from apps_mock.widgets import Event, Screen


@dataclass(frozen=True, slots=True)
class PhoneState:
    """Everything about a phone.

    Attributes:
        apps: (name, state) of the installed apps.
        foreground: name of the app that shows; empty for the launcher.
        recents: names of the apps that were used, the latest first.
        focus: key of the field that has the focus; empty where none has.
        now: time of day in the status bar, from the episode's seed.
    """

    apps: tuple[tuple[str, AnyAppState], ...]
    foreground: str = LAUNCHER
    recents: tuple[str, ...] = ()
    focus: str = ""
    keyboard: bool = False
    now: str = "09:41"

    def app_state(self, name: str) -> AnyAppState:
        """The state of an installed app."""
        for known, state in self.apps:
            if known == name:
                return state
        raise KeyError(name)

    @property
    def front(self) -> AnyAppState | None:
        """The state of the app that shows; None on launcher and recents."""
        return None if self.foreground in {LAUNCHER, RECENTS} else self.app_state(self.foreground)

    def with_app(self, name: str, state: AnyAppState) -> PhoneState:
        """The phone with another state of one app."""
        apps = tuple((known, state if known == name else old) for known, old in self.apps)
        return replace(self, apps=apps)


def installed(state: PhoneState) -> list[AnyApp]:
    """The apps that the phone has."""
    return [APPS[name] for name, _ in state.apps]


def new_app_state(name: str, data: Any) -> AnyAppState:  # Any: every app has its own type of data
    """An app that was just opened."""
    return AppState(data, (APPS[name].home,))


def dispatch(state: PhoneState, event: Event) -> PhoneState:
    """The phone after an event of the screen."""
    if event.name == "launch":
        return launch(state, event.value)
    before = state.front
    if before is None:
        return state
    if event.name == "back" and len(before.stack) == 1:
        return _leave(state)
    app = APPS[state.foreground]
    after = app.step(replace(before, provided=provided_for(app, state)), event)
    after = AppState(after.data, after.stack)
    if after == before:
        return state
    result = state.with_app(state.foreground, after)
    if _place(before) != _place(after):
        result = replace(result, focus="", keyboard=False)
    return result


def provided_for(app: AnyApp, state: PhoneState) -> Provided:
    """What an app may see of the rest of the phone."""
    others = {name: state.app_state(name).data for name in app.uses}
    return Provided(time=state.now, others=others)


def _place(state: AnyAppState) -> tuple[int, str, str]:
    page = state.page
    return len(state.stack), page.name, page.argument


def launch(state: PhoneState, name: str) -> PhoneState:
    """The phone with an app in front, as it was left."""
    recents = (name, *(other for other in state.recents if other != name))
    return replace(state, foreground=name, recents=recents, focus="", keyboard=False)


def go_home(state: PhoneState) -> PhoneState:
    """The phone with the launcher in front; apps stay as they are."""
    return replace(state, foreground=LAUNCHER, focus="", keyboard=False)


def show_recents(state: PhoneState) -> PhoneState:
    """The phone with the list of recent apps in front."""
    return replace(state, foreground=RECENTS, focus="", keyboard=False)


def _leave(state: PhoneState) -> PhoneState:
    """Back on an app's first page ends the app: it starts afresh next time."""
    name = state.foreground
    fresh = new_app_state(name, state.app_state(name).data)
    return go_home(state.with_app(name, fresh))


def go_back(state: PhoneState) -> PhoneState:
    """The phone after the back key: hides the keyboard first, then goes back a page."""
    if state.keyboard:
        return replace(state, keyboard=False)
    if state.foreground == RECENTS:
        return go_home(state)
    return dispatch(state, Event("back"))


def focus_field(state: PhoneState, field: str) -> PhoneState:
    """The phone with a field in focus and the keyboard up."""
    return replace(state, focus=field, keyboard=True)


def hide_keyboard(state: PhoneState) -> PhoneState:
    """The phone without its keyboard."""
    return replace(state, keyboard=False)


def edited(state: PhoneState, text: str) -> PhoneState:
    """The phone with another text in the focused field."""
    return dispatch(state, Event("edit", state.focus, text))


def draft(state: PhoneState) -> str:
    """What the focused field holds."""
    front = state.front
    return front.page.draft(state.focus) if front is not None and state.focus else ""


def scrolled(state: PhoneState, scroll_px: int) -> PhoneState:
    """The phone with the page in front scrolled to a place."""
    front = state.front
    if front is None or front.page.scroll_px == scroll_px:
        return state
    page = replace(front.page, scroll_px=scroll_px)
    return state.with_app(state.foreground, front.with_page(page))


def view(state: PhoneState, look: Look) -> Screen:
    """What shows."""
    if state.foreground == LAUNCHER:
        return launcher_view(installed(state), look)
    if state.foreground == RECENTS:
        return recents_view([APPS[name] for name in state.recents])
    app = APPS[state.foreground]
    own = replace(state.app_state(state.foreground), provided=provided_for(app, state))
    return app.view(own, look)


def foreground_of(state: PhoneState) -> tuple[str, str]:
    """Package and activity in front."""
    front = state.front
    if front is None:
        page = "Recents" if state.foreground == RECENTS else "Home"
        return PACKAGE, f"{PACKAGE}.{page}Activity"
    package = APPS[state.foreground].package
    page_name = front.page.name.title().replace("_", "")
    return package, f"{package}.{page_name}Activity"
