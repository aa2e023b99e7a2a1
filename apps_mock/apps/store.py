"""The app store: searching, installing, updating, removing and rating apps.

The phone's launcher shows what is installed here (see `phone_state.uninstalled`): a record's id is
the app's name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from apps_mock.app import AppState, Open, Page, Say
from apps_mock.entities import Draw
from apps_mock.records import changed, find, fresh_id
from apps_mock.widgets import Event

CATEGORIES = ("Tools", "Games", "Travel", "Health", "Music", "Learning")
SWITCHES = ("Update apps automatically", "Download over Wi-Fi only", "Recommend apps")
_STEMS = (
    "Pixel Task Sound Trail Photo Lingo Cloud Sketch Puzzle Budget Garden Rhythm Star Brick".split()
)
_ENDS = "nest wave loop mint forge lane spark dock bird".split()
LABELS = tuple(f"{stem}{end}" for stem in _STEMS for end in _ENDS)
"""Names of the apps that stores may sell; each of them is an app of the phone."""


@dataclass(frozen=True, slots=True)
class StoreApp:
    """An app that can be installed; `rating` in tenths of a star.

    Attributes:
        version: what the phone has, or would get.
        latest: what the store has.
    """

    id: str
    label: str
    category: str
    rating: int
    size_mb: int
    version: str
    latest: str
    installed: bool = False

    @property
    def is_outdated(self) -> bool:
        """Whether there is an update for it."""
        return self.installed and self.version != self.latest


@dataclass(frozen=True, slots=True)
class Opinion:
    """What the owner thinks of an app; `stars` from 1 to 5."""

    id: str
    app: str
    stars: int
    text: str


@dataclass(frozen=True, slots=True)
class Switch:
    """A setting of the store that is on or off."""

    id: str
    on: bool


@dataclass(frozen=True, slots=True)
class StoreData:
    """What the store sells, and the account."""

    apps: tuple[StoreApp, ...]
    opinions: tuple[Opinion, ...]
    switches: tuple[Switch, ...]


def fixture(draw: Draw) -> StoreData:
    """A store with ten apps, about half of them installed."""
    apps = tuple(store_app(draw) for _ in range(10))
    rated = draw.random.choice(apps)
    return StoreData(
        apps,
        (Opinion("n0", rated.id, draw.random.randrange(1, 6), draw.city()),),
        tuple(Switch(name, draw.random.random() < 0.5) for name in SWITCHES),
    )


def store_app(draw: Draw) -> StoreApp:
    """An app that is new to this task."""
    random = draw.random
    label = draw.of(LABELS)
    version = f"{random.randrange(1, 9)}.{random.randrange(10)}"
    newer = f"{int(version[0]) + 1}.{random.randrange(10)}"
    installed = random.random() < 0.5
    return StoreApp(
        id=label.lower(),
        label=label,
        category=random.choice(CATEGORIES),
        rating=random.randrange(21, 50),
        size_mb=random.randrange(11, 400),
        version=version if installed else newer,
        latest=newer if not installed or random.random() < 0.4 else version,
        installed=installed,
    )


def found(data: StoreData, query: str) -> tuple[StoreApp, ...]:
    """The apps whose names begin with a text."""
    wanted = query.strip().casefold()
    return tuple(app for app in data.apps if app.label.casefold().startswith(wanted))


def update(state: AppState[StoreData], event: Event) -> AppState[StoreData]:
    """The state after an event."""
    act = _ACTS.get(event.name)
    return act(state, event) if act is not None else state


def _searched(state: AppState[StoreData], event: Event) -> AppState[StoreData]:
    query = (event.value or state.page.draft("query")).strip()
    return state.pushed(Page("results", query)) if query else state


def _installed(state: AppState[StoreData], event: Event) -> AppState[StoreData]:
    app = find(state.data.apps, event.value)
    if app is None:
        return state
    gone = event.name == "uninstall"
    values = {"installed": not gone, "version": app.latest}
    apps = changed(state.data.apps, app.id, **values)
    result = state.with_data(replace(state.data, apps=apps))
    return result.popped().emitting(Say("Uninstalled")) if gone else result.emitting(Say("Done"))


def _all_updated(state: AppState[StoreData], _event: Event) -> AppState[StoreData]:
    apps = tuple(
        replace(app, version=app.latest) if app.is_outdated else app for app in state.data.apps
    )
    return state.with_data(replace(state.data, apps=apps)).emitting(Say("Done"))


def _opened(state: AppState[StoreData], event: Event) -> AppState[StoreData]:
    return state.emitting(Open(event.value))


def _rated(state: AppState[StoreData], event: Event) -> AppState[StoreData]:
    data, page = state.data, state.page
    stars = page.draft("stars")
    if not stars:
        return state.emitting(Say("Choose the stars first"))
    text = page.draft("text").strip()
    opinion = Opinion(fresh_id(data.opinions, "n"), event.value, int(stars), text)
    return state.with_data(replace(data, opinions=(*data.opinions, opinion))).popped()


_ACTS: dict[str, Callable[[AppState[StoreData], Event], AppState[StoreData]]] = {
    "search": _searched,
    "shared": _searched,
    "install": _installed,
    "update_app": _installed,
    "uninstall": _installed,
    "update_all": _all_updated,
    "open_app": _opened,
    "rate": _rated,
}
