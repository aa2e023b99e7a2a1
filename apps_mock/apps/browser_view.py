"""What the browser shows around its web: address bar, tabs, bookmarks, history, settings."""

from __future__ import annotations

from collections.abc import Callable

from apps_mock.app import App, AppState, Page
from apps_mock.apps.browser import (
    ENGINE,
    HOME_PAGE,
    BrowserData,
    is_private,
    next_path,
    update,
)
from apps_mock.apps.browser_pages import body_of, link_to
from apps_mock.apps.browser_web import (
    SITE_KINDS,
    address_of,
    count_of,
    found,
    headline_of,
    paragraphs_of,
    title_of,
)
from apps_mock.look import Look, wording
from apps_mock.records import find
from apps_mock.widgets import Button, Event, Field, Row, Screen, Text, Widget

ADDRESS = wording("Search or type an address", "Search the web", held_out=("Where to",))
BOOKMARKS = wording("Bookmarks", "Saved pages", held_out=("Favourite pages",))
HISTORY = wording("History", "Visited pages", held_out=("Where I was",))
TABS = wording("Tabs", "Open tabs", held_out=("Waiting pages",))
DOWNLOADS = wording("Downloads", "Downloaded files", held_out=("Fetched files",))
NEW_TAB = wording("New tab", "Open a new tab", held_out=("One more tab",))
PRIVATE_TAB = wording("New private tab", "Private tab", held_out=("Tab without traces",))
PREFERENCES = wording("Browser settings", "Settings", held_out=("Adjust the browser",))
FIND = wording("Find in page", "Find on this page", held_out=("Look for a word",))
ADD_BOOKMARK = wording("Add bookmark", "Bookmark this page", held_out=("Keep this page",))
DROP_BOOKMARK = wording("Remove bookmark", "Delete bookmark", held_out=("Forget this page",))
CLEAR_HISTORY = wording("Clear history", "Delete history", held_out=("Forget my visits",))

View = Callable[[AppState[BrowserData], Look], Screen]


def view(state: AppState[BrowserData], look: Look) -> Screen:
    """What the page on top shows."""
    return _VIEWS[state.page.name](state, look)


def _address(page: Page, look: Look) -> Field:
    text = page.draft("address")
    return Field("address", look.word(ADDRESS), text, search=True, on_enter=Event("search"))


def _places(look: Look) -> tuple[Button, ...]:
    return (
        Button(look.word(TABS), Event("go", "tabs")),
        Button(look.word(BOOKMARKS), Event("go", "bookmarks")),
    )


def _menu(look: Look) -> tuple[Button, ...]:
    return (
        Button(look.word(NEW_TAB), Event("new_tab")),
        Button(look.word(PRIVATE_TAB), Event("go", "private")),
        Button(look.word(HISTORY), Event("go", "history")),
        Button(look.word(DOWNLOADS), Event("go", "downloads")),
        Button(look.word(PREFERENCES), Event("go", "settings")),
    )


def _home(state: AppState[BrowserData], look: Look) -> Screen:
    data = state.data
    body: list[Widget] = [
        Text(_preference(data, ENGINE), heading=True),
        _address(state.page, look),
        Button(look.say("Search"), Event("search")),
    ]
    if start := _preference(data, HOME_PAGE):
        body += [Text(look.say("Home page"), heading=True), link_to(data, start, look)]
    body.append(Text(look.say("Often visited"), heading=True))
    body.extend(
        Row(site.name, look.say(SITE_KINDS[site.id]), on_tap=Event("visit", site.id), icon="globe")
        for site in look.ordered(data.sites, lambda site: site.id)
    )
    body.extend(Text(text) for text in look.noise("browser"))
    return Screen(
        look.say("Browser"), tuple(body), places=_places(look), overflow=_menu(look), back=False
    )


def _preference(data: BrowserData, key: str) -> str:
    known = find(data.preferences, key)
    return known.value if known else ""


def _private(state: AppState[BrowserData], look: Look) -> Screen:
    return Screen(
        look.say("Private tab"),
        (
            _address(state.page, look),
            Button(look.say("Search"), Event("search")),
            Text(look.say("Nobody who uses this phone will see where you were")),
        ),
    )


def _results(state: AppState[BrowserData], look: Look) -> Screen:
    data, query = state.data, state.page.argument
    known = look.ordered(found(data, query, look.say), str)
    body: list[Widget] = [_address(state.page, look)]
    for path in known:
        body += [link_to(data, path, look), Text(address_of(data, path))]
    if not known:
        body.append(Text(look.say("Your search matches no page")))
    return Screen(query, tuple(body))


def _web(state: AppState[BrowserData], look: Look) -> Screen:
    data, path = state.data, state.page.argument
    mark = next((each for each in data.bookmarks if each.path == path), None)
    action = Button(look.word(ADD_BOOKMARK), Event("add_bookmark", path))
    if mark is not None:
        action = Button(look.word(DROP_BOOKMARK), Event("remove_bookmark", mark.id))
    address = address_of(data, path)
    menu = [
        *_menu(look),
        Button(look.word(FIND), Event("find", path)),
        Button(look.say("Copy address"), Event("copy_address", address)),
        Button(look.say("Share page"), Event("share_address", address)),
    ]
    if following := next_path(state):
        menu.append(Button(look.say("Next page"), Event("visit", following)))
    places = (*_places(look), *_start(look))
    return Screen(
        title_of(data, path, look.say),
        (Text(address), *body_of(data, state.page, look)),
        () if is_private(state) else (action,),
        () if is_private(state) else places,
        overflow=() if is_private(state) else tuple(menu),
    )


def _start(look: Look) -> tuple[Button, ...]:
    return (Button(look.say("Start page"), Event("go", "home")),)


def _tabs(state: AppState[BrowserData], look: Look) -> Screen:
    data = state.data
    body: list[Widget] = []
    for tab in look.ordered(data.tabs, lambda tab: tab.id):
        title = title_of(data, tab.path, look.say)
        body += [
            Row(title, address_of(data, tab.path), on_tap=Event("open_tab", tab.id)),
            Button(look.say("Close {title}").format(title=title), Event("close_tab", tab.id)),
        ]
    if not data.tabs:
        body.append(Text(look.say("No other tabs are open")))
    add = Button(look.word(NEW_TAB), Event("new_tab"), primary=True)
    private = Button(look.word(PRIVATE_TAB), Event("go", "private"))
    return Screen(look.word(TABS), tuple(body), (add,), overflow=(private,))


def _bookmarks(state: AppState[BrowserData], look: Look) -> Screen:
    data = state.data
    rows: tuple[Widget, ...] = tuple(
        Row(
            title_of(data, mark.path, look.say),
            address_of(data, mark.path),
            on_tap=Event("visit", mark.path),
            on_hold=Event("go", "drop_bookmark", mark.id),
            icon="bookmark",
        )
        for mark in look.ordered(data.bookmarks, lambda mark: mark.id)
    )
    hint = Text(look.say("Hold a bookmark to remove it"))
    empty = Text(look.say("No bookmarks yet"))
    return Screen(look.word(BOOKMARKS), (*rows, hint) if rows else (empty,))


def _drop_bookmark(state: AppState[BrowserData], look: Look) -> Screen:
    mark = find(state.data.bookmarks, state.page.argument)
    if mark is None:
        return Screen(look.word(BOOKMARKS), (Text(look.say("This bookmark is gone")),))
    return Screen(
        look.word(DROP_BOOKMARK),
        (Text(title_of(state.data, mark.path, look.say)),),
        (
            Button(look.word("keep"), Event("back")),
            Button(look.word("yes"), Event("remove_bookmark", mark.id), primary=True),
        ),
        dialog=True,
    )


def _history(state: AppState[BrowserData], look: Look) -> Screen:
    data = state.data
    rows: tuple[Widget, ...] = tuple(
        Row(
            title_of(data, visit.path, look.say),
            address_of(data, visit.path),
            on_tap=Event("visit", visit.path),
        )
        for visit in reversed(data.history)
    )
    if not rows:
        return Screen(look.word(HISTORY), (Text(look.say("No pages were visited")),))
    clear = Button(look.word(CLEAR_HISTORY), Event("go", "clear"))
    return Screen(look.word(HISTORY), rows, (clear,))


def _clear(_state: AppState[BrowserData], look: Look) -> Screen:
    return Screen(
        look.word(CLEAR_HISTORY),
        (Text(look.say("This cannot be undone")),),
        (
            Button(look.word("keep"), Event("back")),
            Button(look.word("yes"), Event("clear_history"), primary=True),
        ),
        dialog=True,
    )


def _downloads(state: AppState[BrowserData], look: Look) -> Screen:
    rows = tuple(Row(each.name, icon="file") for each in state.data.downloads)
    empty = (Text(look.say("Nothing was downloaded")),)
    return Screen(look.word(DOWNLOADS), rows or empty)


def _settings(state: AppState[BrowserData], look: Look) -> Screen:
    data = state.data
    start = _preference(data, HOME_PAGE)
    body: list[Widget] = [
        Row(
            look.say("Home page"),
            title_of(data, start, look.say) if start else look.say("Start page"),
            on_tap=Event("go", HOME_PAGE),
        ),
        Row(look.say("Search engine"), _preference(data, ENGINE), on_tap=Event("go", ENGINE)),
    ]
    body.extend(
        Row(look.say(guard.id), checked=guard.on, on_toggle=Event("toggle", guard.id, "on"))
        for guard in data.guards
    )
    body.append(Row(look.word(CLEAR_HISTORY), on_tap=Event("go", "clear")))
    body.extend(Text(text) for text in look.noise("browser_settings"))
    return Screen(look.word(PREFERENCES), tuple(body))


def _home_page(state: AppState[BrowserData], look: Look) -> Screen:
    options = [("", look.say("Start page")), *((site.id, site.name) for site in state.data.sites)]
    return _choice(HOME_PAGE, look.say("Home page"), options, state.data)


def _engine(state: AppState[BrowserData], look: Look) -> Screen:
    options = [(name, name) for name in state.data.engines]
    return _choice(ENGINE, look.say("Search engine"), options, state.data)


def _choice(key: str, title: str, options: list[tuple[str, str]], data: BrowserData) -> Screen:
    chosen = _preference(data, key)
    rows = tuple(
        Row(label, checked=value == chosen, on_toggle=Event("prefer", key, value), radio=True)
        for value, label in options
    )
    return Screen(title, rows)


def _find(state: AppState[BrowserData], look: Look) -> Screen:
    page = state.page
    return Screen(
        look.word(FIND),
        (Field("find", look.say("Word"), page.draft("find"), search=True, on_enter=_FIND_WORD),),
        (Button(look.say("Count matches"), _FIND_WORD, primary=True),),
    )


_FIND_WORD = Event("find_word")


def _found(state: AppState[BrowserData], look: Look) -> Screen:
    path, _, word = state.page.argument.partition("|")
    texts = texts_of(state.data, path, look.say)
    lines = [text for text in texts if count_of([text], word)]
    matches = look.say("Matches: {count}").format(count=count_of(texts, word))
    return Screen(word, (Text(matches, heading=True), *(Text(line) for line in lines)))


def texts_of(
    data: BrowserData, path: str, say: Callable[[str], str] = lambda text: text
) -> list[str]:
    """What "find in page" looks through."""
    site, _, part = path.partition("/")
    article = find(data.articles, part) if site == "news" else None
    if article is None:
        return [title_of(data, path, say)]
    return [headline_of(article, say), *paragraphs_of(article, say)]


_VIEWS: dict[str, View] = {
    "home": _home,
    "private": _private,
    "results": _results,
    "private_results": _results,
    "web": _web,
    "private_web": _web,
    "tabs": _tabs,
    "bookmarks": _bookmarks,
    "drop_bookmark": _drop_bookmark,
    "history": _history,
    "clear": _clear,
    "downloads": _downloads,
    "settings": _settings,
    HOME_PAGE: _home_page,
    ENGINE: _engine,
    "find": _find,
    "found": _found,
}

APP: App[BrowserData] = App(
    name="browser",
    label="Browser",
    package="org.outrider.clones.browser",
    update=update,
    view=view,
    takes_shares="shared",
)
