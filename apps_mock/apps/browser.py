"""The browser app: tabs, bookmarks, history, downloads, and what sites remember of visitors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from apps_mock.app import AppState, Copy, Page, Say, Share, Tell
from apps_mock.apps.browser_web import Web, address_of, draw_web, paths
from apps_mock.entities import Draw
from apps_mock.records import changed, find, fresh_id, without
from apps_mock.widgets import Event

HOME_PAGE = "home_page"
ENGINE = "engine"
GUESTS = tuple(str(number) for number in range(1, 9))
FILES = "files"
"""The app that hears of downloads."""

ENGINES = tuple(
    "Aspectra Beaconia Colibrio Delphino Exploro Fahndar Graspio Horizonta Indagio Jagdo Kompasso "
    "Luchsa Monoklo Navigo Ortungo Periskop Questo Radaro Scouto Trovato Umschau Vedetta "
    "Weitblick Xplora Zoomara Argonauta Bussola Cercario Detektor Entdecka Finderio Globetta "
    "Hafenblick Irrlicht Jupitera Kundschaft Leuchtaro Meridian Nordlicht Opticora Pfadfinda "
    "Quellwerk Rasterio Suchlicht Turmblick Uferblick Visiero Wegweisa Zielfinder Zirkelio".split()
)
_ANSWER_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A page to come back to."""

    id: str
    path: str


@dataclass(frozen=True, slots=True)
class Visit:
    """A page that was looked at, and the one that led to it."""

    id: str
    path: str
    origin: str


@dataclass(frozen=True, slots=True)
class Tab:
    """A page that waits in the background."""

    id: str
    path: str


@dataclass(frozen=True, slots=True)
class Download:
    """A file that was downloaded."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Account:
    """Somebody whom the forum knows."""

    id: str
    user: str
    password: str
    signed_in: bool = False


@dataclass(frozen=True, slots=True)
class Post:
    """An answer in a thread of the forum."""

    id: str
    thread: str
    author: str
    text: str


@dataclass(frozen=True, slots=True)
class Reservation:
    """A table that was reserved."""

    id: str
    name: str
    day: str
    time: str
    guests: str


@dataclass(frozen=True, slots=True)
class Preference:
    """A setting with several values."""

    id: str
    value: str


@dataclass(frozen=True, slots=True)
class Guard:
    """A setting that is on or off."""

    id: str
    on: bool


GUARDS = ("Block pop-ups", "Save passwords", "Ask before downloading", "Load pictures")


@dataclass(frozen=True, slots=True)
class BrowserData(Web):
    """The web and what the browser and its sites remember; `engines` are the search engines."""

    bookmarks: tuple[Bookmark, ...]
    history: tuple[Visit, ...]
    tabs: tuple[Tab, ...]
    downloads: tuple[Download, ...]
    accounts: tuple[Account, ...]
    posts: tuple[Post, ...]
    reservations: tuple[Reservation, ...]
    preferences: tuple[Preference, ...]
    guards: tuple[Guard, ...]
    engines: tuple[str, ...]


def fixture(draw: Draw) -> BrowserData:
    """A browser that was used a little."""
    random = draw.random
    web = draw_web(draw)
    known = paths(web)
    kept = random.sample(known, 5)
    engines = tuple(draw.of(ENGINES, pseudo=True) for _ in range(3))
    return BrowserData(
        **{name: getattr(web, name) for name in Web.__dataclass_fields__},
        bookmarks=tuple(Bookmark(f"b{index}", path) for index, path in enumerate(kept[:3])),
        history=tuple(Visit(f"h{index}", path, "") for index, path in enumerate(kept[2:])),
        tabs=tuple(Tab(f"k{index}", path) for index, path in enumerate(random.sample(known, 3))),
        downloads=(Download("w0", f"form-{draw.code('0123456789', 4)}"),),
        accounts=(Account("u0", draw.first_name(), password(draw)),),
        posts=tuple(
            Post(f"q{index}", thread.id, draw.first_name(), "")
            for index, thread in enumerate(web.threads)
        ),
        reservations=(),
        preferences=(Preference(HOME_PAGE, ""), Preference(ENGINE, engines[0])),
        guards=tuple(Guard(name, random.random() < 0.5) for name in GUARDS),
        engines=engines,
    )


def password(draw: Draw) -> str:
    """A password."""
    return draw.code(_ANSWER_ALPHABET, 7)


def is_private(state: AppState[BrowserData]) -> bool:
    """Whether the tab in front is a private one."""
    return any(page.name == "private" for page in state.stack)


def user_of(data: BrowserData) -> str:
    """Who is signed in at the forum; empty for nobody."""
    return next((account.user for account in data.accounts if account.signed_in), "")


def next_path(state: AppState[BrowserData]) -> str:
    """Where "forward" leads: the page that was visited last from this one; empty for nowhere."""
    here = state.page.argument
    visits = (each.path for each in reversed(state.data.history) if each.origin == here)
    return next(visits, "") if here else ""


def update(state: AppState[BrowserData], event: Event) -> AppState[BrowserData]:
    """The state after an event."""
    act = _ACTS.get(event.name)
    return act(state, event) if act is not None else state


def _visited(state: AppState[BrowserData], event: Event) -> AppState[BrowserData]:
    if is_private(state):
        return state.pushed(Page("private_web", event.value))
    origin = state.page.argument if state.page.name == "web" else ""
    history = state.data.history
    visit = Visit(fresh_id(history, "h"), event.value, origin)
    data = replace(state.data, history=(*history, visit))
    return state.with_data(data).pushed(Page("web", event.value))


def _searched(state: AppState[BrowserData], event: Event) -> AppState[BrowserData]:
    typed = (event.value or state.page.draft("address")).strip()
    if not typed:
        return state
    data = state.data
    for path in paths(data):
        if address_of(data, path) == typed.casefold():
            return _visited(state, Event("visit", path))
    return state.pushed(Page("private_results" if is_private(state) else "results", typed))


def _tabs_changed(state: AppState[BrowserData], event: Event) -> AppState[BrowserData]:
    tabs = state.data.tabs
    tab = find(tabs, event.value)
    if event.name == "close_tab":
        return state.with_data(replace(state.data, tabs=without(tabs, event.value)))
    shown = next((page.argument for page in reversed(state.stack) if page.name == "web"), "")
    if event.name == "open_tab":
        tabs = without(tabs, event.value)
    if shown:
        tabs = (*tabs, Tab(fresh_id(tabs, "k"), shown))
    fresh = replace(state, data=replace(state.data, tabs=tabs), stack=(Page("home"),))
    return fresh.pushed(Page("web", tab.path)) if tab is not None else fresh


def _bookmarked(state: AppState[BrowserData], event: Event) -> AppState[BrowserData]:
    bookmarks = state.data.bookmarks
    if event.name == "remove_bookmark":
        kept = without(bookmarks, event.value)
        left = state.with_data(replace(state.data, bookmarks=kept))
        return left.popped() if state.page.name == "drop_bookmark" else left
    added = Bookmark(fresh_id(bookmarks, "b"), event.value)
    data = replace(state.data, bookmarks=(*bookmarks, added))
    return state.with_data(data).emitting(Say("Bookmark saved"))


def _downloaded(state: AppState[BrowserData], event: Event) -> AppState[BrowserData]:
    downloads, paper = state.data.downloads, find(state.data.documents, event.value)
    if paper is None:
        return state
    added = Download(fresh_id(downloads, "w"), paper.name)
    data = replace(state.data, downloads=(*downloads, added))
    saved = Event("downloaded", paper.name, str(paper.size_kb))
    return state.with_data(data).emitting(Tell(FILES, saved), Say("Download complete"))


def _signed(state: AppState[BrowserData], event: Event) -> AppState[BrowserData]:
    data, page = state.data, state.page
    if event.name == "log_out":
        accounts = tuple(replace(each, signed_in=False) for each in data.accounts)
        return state.with_data(replace(data, accounts=accounts))
    user, given = page.draft("user").strip().casefold(), page.draft("password")
    for account in data.accounts:
        if (account.user.casefold(), account.password) == (user, given):
            accounts = changed(data.accounts, account.id, signed_in=True)
            entered = state.with_data(replace(data, accounts=accounts))
            return entered.with_page(replace(page, drafts=()))
    return state.emitting(Say("Wrong user name or password"))


def _replied(state: AppState[BrowserData], event: Event) -> AppState[BrowserData]:
    data, page = state.data, state.page
    text, user = page.draft("reply").strip(), user_of(data)
    if not text or not user:
        return state
    post = Post(fresh_id(data.posts, "q"), event.value, user, text)
    answered = state.with_data(replace(data, posts=(*data.posts, post)))
    return answered.with_page(replace(page, drafts=()))


def _reserved(state: AppState[BrowserData], _event: Event) -> AppState[BrowserData]:
    data, page = state.data, state.page
    name, day, time = page.draft("name").strip(), page.draft("day"), page.draft("time")
    if not (name and day and time):
        return state.emitting(Say("Fill in all fields"))
    table = Reservation(
        fresh_id(data.reservations, "s"), name, day, time, page.draft("guests", "2")
    )
    reserved = state.with_data(replace(data, reservations=(*data.reservations, table)))
    return reserved.with_page(replace(page, drafts=())).emitting(Say("Your table is reserved"))


def _looked_for(state: AppState[BrowserData], event: Event) -> AppState[BrowserData]:
    if event.name == "find":
        return state.pushed(Page("find", event.value))
    word = state.page.draft("find").strip()
    return state.pushed(Page("found", f"{state.page.argument}|{word}")) if word else state


def _preferred(state: AppState[BrowserData], event: Event) -> AppState[BrowserData]:
    preferences = changed(state.data.preferences, event.value, value=event.extra)
    return state.with_data(replace(state.data, preferences=preferences)).popped()


def _cleared(state: AppState[BrowserData], _event: Event) -> AppState[BrowserData]:
    return state.with_data(replace(state.data, history=())).popped()


def _handed_on(state: AppState[BrowserData], event: Event) -> AppState[BrowserData]:
    return state.emitting(Copy(event.value) if event.name == "copy_address" else Share(event.value))


_ACTS: dict[str, Callable[[AppState[BrowserData], Event], AppState[BrowserData]]] = {
    "visit": _visited,
    "search": _searched,
    "shared": _searched,
    "new_tab": _tabs_changed,
    "open_tab": _tabs_changed,
    "close_tab": _tabs_changed,
    "add_bookmark": _bookmarked,
    "remove_bookmark": _bookmarked,
    "download": _downloaded,
    "log_in": _signed,
    "log_out": _signed,
    "reply": _replied,
    "reserve": _reserved,
    "find": _looked_for,
    "find_word": _looked_for,
    "prefer": _preferred,
    "clear_history": _cleared,
    "copy_address": _handed_on,
    "share_address": _handed_on,
}
