"""The whole phone as one value, and the plain moves on it: pure functions from state to state.

What an event means is in `dispatch`, what apps want of the phone in `effects`, what lies over
everything in `overlays`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, Literal

from apps_mock.app import NOTHING_PROVIDED, AnyApp, AnyAppState, AppState
from apps_mock.apps.system import SystemData
from apps_mock.launcher import LAUNCHER, PACKAGE, RECENTS, SYSTEM_UI
from apps_mock.records import tables_of
from apps_mock.registry import APPS, SYSTEM

_NO_APPS: Final = frozenset({LAUNCHER, RECENTS})
OverlayKind = Literal["lock", "shade", "share", "permission", "text_menu", "crash", "hung", "popup"]


@dataclass(frozen=True, slots=True)
class Overlay:
    """Something that lies over whatever is in front (see `overlays`).

    Attributes:
        subject: the app, the permission's id (app/permission), or the text field that it is about.
        text: the shared text, a pop-up's words, or "all" where a field's text is selected.
    """

    kind: OverlayKind
    subject: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class PhoneState:
    """Everything about a phone.

    Attributes:
        apps: (name, state) of the apps, hidden ones and those that a store could install included.
        foreground: name of the app that shows; empty for the launcher.
        recents: names of the apps that were used, the latest first.
        focus: key of the field that has the focus; empty where none has.
        now: day and time, such as `2025-03-14T09:41`, from the episode's seed; or the time alone.
        overlays: what lies over the app in front: the first shows, the others wait behind it.
        notice: a short message at the foot of the screen, until the next touch or key.
        home_page: which page of the launcher shows.
        scroll_px: how far what shows was scrolled down where it is no app's page.
    """

    apps: tuple[tuple[str, AnyAppState], ...]
    foreground: str = LAUNCHER
    recents: tuple[str, ...] = ()
    focus: str = ""
    keyboard: bool = False
    now: str = "09:41"
    overlays: tuple[Overlay, ...] = ()
    notice: str = ""
    home_page: int = 0
    scroll_px: int = 0

    @property
    def time(self) -> str:
        """Time of day, as `09:41`."""
        return self.now[-5:]

    @property
    def today(self) -> str:
        """The day, as `2025-03-14`."""
        return self.now[:10] if "T" in self.now else NOTHING_PROVIDED.today

    @property
    def overlay(self) -> Overlay | None:
        """What lies over everything else; None for nothing."""
        return self.overlays[0] if self.overlays else None

    def app_state(self, name: str) -> AnyAppState:
        """The state of an app."""
        for known, state in self.apps:
            if known == name:
                return state
        raise KeyError(name)

    @property
    def front(self) -> AnyAppState | None:
        """The state of the app that shows; None on launcher and recents."""
        return None if self.foreground in _NO_APPS else self.app_state(self.foreground)

    @property
    def system(self) -> SystemData | None:
        """Clipboard, notifications and permissions; None on a phone that was built without them."""
        for known, state in self.apps:
            if known == SYSTEM:
                data: SystemData = state.data
                return data
        return None

    def has(self, name: str) -> bool:
        """Whether there is such an app, installed or not."""
        return any(known == name for known, _ in self.apps)

    def with_app(self, name: str, state: AnyAppState) -> PhoneState:
        """The phone with another state of one app."""
        apps = [(name, state) if entry[0] == name else entry for entry in self.apps]
        return replace(self, apps=tuple(apps))

    def with_system(self, data: SystemData) -> PhoneState:
        """The phone with another clipboard, notifications or permissions."""
        return self.with_app(SYSTEM, self.app_state(SYSTEM).with_data(data))

    def under(self, overlay: Overlay) -> PhoneState:
        """The phone with one more overlay, over those that there are."""
        over = (overlay, *self.overlays)
        return replace(self, overlays=over, keyboard=False, scroll_px=0)

    def queueing(self, overlay: Overlay) -> PhoneState:
        """The phone with one more overlay, which shows once those that there are have gone."""
        return replace(self, overlays=(*self.overlays, overlay), keyboard=False)

    def uncovered(self) -> PhoneState:
        """The phone without the overlay that shows."""
        return replace(self, overlays=self.overlays[1:], scroll_px=0)


STORE = "store"


def uninstalled(state: PhoneState) -> frozenset[str]:
    """Names that the phone's app store keeps as not installed."""
    if not state.has(STORE):
        return frozenset()
    data = state.app_state(STORE).data
    return frozenset(
        record.id
        for _, records in (tables_of(data) if data is not None else ())
        for record in records
        if getattr(record, "installed", True) is False
    )


def installed(state: PhoneState) -> list[AnyApp]:
    """The apps that can be opened."""
    missing = uninstalled(state)
    return [APPS[name] for name, _ in state.apps if name != SYSTEM and name not in missing]


def is_installed(state: PhoneState, name: str) -> bool:
    """Whether an app can be opened."""
    return name != SYSTEM and state.has(name) and name not in uninstalled(state)


def new_app_state(name: str, data: Any) -> AnyAppState:  # Any: every app has its own type of data
    """An app that was just opened."""
    return AppState(data, (APPS[name].home,))


def launch(state: PhoneState, name: str) -> PhoneState:
    """The phone with an app in front, as it was left."""
    recents = (name, *(other for other in state.recents if other != name))
    return replace(state, foreground=name, recents=recents, focus="", keyboard=False, scroll_px=0)


def go_home(state: PhoneState) -> PhoneState:
    """The phone with the launcher in front; apps stay as they are, overlays go."""
    return state if is_locked(state) else _at_home(replace(state, overlays=()))


def _at_home(state: PhoneState) -> PhoneState:
    return replace(state, foreground=LAUNCHER, focus="", keyboard=False, home_page=0, scroll_px=0)


def show_recents(state: PhoneState) -> PhoneState:
    """The phone with the list of recent apps in front."""
    if is_locked(state):
        return state
    return replace(state, foreground=RECENTS, focus="", keyboard=False, overlays=(), scroll_px=0)


def is_locked(state: PhoneState) -> bool:
    """Whether the lock screen keeps everything else away."""
    return state.overlay is not None and state.overlay.kind == "lock"


def closed(state: PhoneState, name: str) -> PhoneState:
    """The phone after an app ended: it starts afresh next time."""
    fresh = new_app_state(name, state.app_state(name).data)
    ended = state.with_app(name, fresh)
    return _at_home(ended) if ended.foreground == name else ended


def focus_field(state: PhoneState, field: str) -> PhoneState:
    """The phone with a field in focus and the keyboard up."""
    return replace(state, focus=field, keyboard=True)


def hide_keyboard(state: PhoneState) -> PhoneState:
    """The phone without its keyboard."""
    return replace(state, keyboard=False)


def scrolled(state: PhoneState, scroll_px: int) -> PhoneState:
    """The phone with what shows scrolled to a place."""
    front = state.front
    if front is None or state.overlays:
        return state if state.scroll_px == scroll_px else replace(state, scroll_px=scroll_px)
    if front.page.scroll_px == scroll_px:
        return state
    page = replace(front.page, scroll_px=scroll_px)
    return state.with_app(state.foreground, front.with_page(page))


def foreground_of(state: PhoneState) -> tuple[str, str]:
    """Package and activity in front."""
    if state.overlays:
        return _activity(SYSTEM_UI, state.overlays[0].kind)
    front = state.front
    if front is None:
        return _activity(PACKAGE, "recents" if state.foreground == RECENTS else "home")
    return _activity(APPS[state.foreground].package, front.page.name)


@lru_cache(maxsize=1024)
def _activity(package: str, page: str) -> tuple[str, str]:
    return package, f"{package}.{page.title().replace('_', '')}Activity"
