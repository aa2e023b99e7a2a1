"""The Elm way of an app: immutable state, `update(state, event)`, `view(state, look)`; both pure.

An app's state is its data (tables of records, what verifiers look at) and a stack of pages (what
the screen shows, with what was typed so far). Moving between pages, typing and choosing mean the
same in every app and are done here; all else is the app's own `update`. What an app wants of the
rest of the phone it says with effects; what it may see of the rest it finds in `provided`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, TypeVar

from apps_mock.look import Look
from apps_mock.records import flipped
from apps_mock.widgets import Event, Screen

D = TypeVar("D")


@dataclass(frozen=True, slots=True)
class Page:
    """One page of an app.

    Attributes:
        argument: what it is about, such as a record's id.
        drafts: (field, text) of what was typed or chosen here and is not saved yet.
        scroll_px: how far the body was scrolled down.
        overlay: what lies over the page: "menu" for the overflow menu, a picker's key (with what it
            shows after a bar, such as "date|2025-03"); empty for nothing.
    """

    name: str
    argument: str = ""
    drafts: tuple[tuple[str, str], ...] = ()
    scroll_px: int = 0
    overlay: str = ""

    def draft(self, field: str, default: str = "") -> str:
        """What a field holds."""
        for name, text in self.drafts:
            if name == field:
                return text
        return default

    def with_draft(self, field: str, text: str) -> Page:
        """The page with another text in a field."""
        others = tuple(entry for entry in self.drafts if entry[0] != field)
        drafts = (*others, (field, text))
        return Page(self.name, self.argument, drafts, self.scroll_px, self.overlay)


class Copy(NamedTuple):
    """Put a text on the clipboard."""

    text: str


class Share(NamedTuple):
    """Offer a text to the apps that take shared texts (`App.takes_shares`)."""

    text: str


class Open(NamedTuple):
    """Bring another app to the front, with one of its pages on top where `page` names one."""

    app: str
    page: str = ""
    argument: str = ""


class Tell(NamedTuple):
    """Let another app's `update` have an event, as a content provider does; nothing shows of it."""

    app: str
    event: Event


class Say(NamedTuple):
    """Show a short notice at the foot of the screen until the next touch."""

    text: str


class AskPermission(NamedTuple):
    """Ask the owner for a permission; the app hears `permission` (name, "allowed" | "denied")."""

    name: str


class Notify(NamedTuple):
    """Put a notification into the shade; touching it opens the app at `page`."""

    title: str
    text: str = ""
    page: str = ""
    argument: str = ""


Effect = Copy | Share | Open | Tell | Say | AskPermission | Notify


@dataclass(frozen=True, slots=True)
class Provided:
    """What an app may see of the rest of the phone.

    Attributes:
        today: the day, as `2025-03-14`.
        time: time of day, as `09:41`.
        others: data of the apps that `App.uses` names, by name.
    """

    today: str = "2025-01-01"
    time: str = "09:41"
    clipboard: str = ""
    others: Mapping[str, Any] = field(default_factory=dict)  # Any: data of any app


NOTHING_PROVIDED = Provided()


@dataclass(frozen=True, slots=True)
class AppState(Generic[D]):
    """Everything about one app: its data, and the pages that lie on each other.

    Attributes:
        provided: what the phone lets it see, there while `update` and `view` run.
        effects: what it wants of the phone; the phone carries them out and takes them away.
    """

    data: D
    stack: tuple[Page, ...]
    provided: Provided = field(default=NOTHING_PROVIDED, compare=False, repr=False)
    effects: tuple[Effect, ...] = ()

    @property
    def page(self) -> Page:
        """The page that shows."""
        return self.stack[-1]

    def with_page(self, page: Page) -> AppState[D]:
        """The state with another page on top instead of the present one."""
        return self._with_stack((*self.stack[:-1], page))

    def pushed(self, page: Page) -> AppState[D]:
        """The state with one more page on top."""
        return self._with_stack((*self.stack, page))

    def popped(self, count: int = 1) -> AppState[D]:
        """The state with fewer pages; the first one stays."""
        return self._with_stack(self.stack[: max(1, len(self.stack) - count)])

    def with_data(self, data: D) -> AppState[D]:
        """The state with other data."""
        return AppState(data, self.stack, self.provided, self.effects)

    def emitting(self, *effects: Effect) -> AppState[D]:
        """The state with more that it wants of the phone."""
        return AppState(self.data, self.stack, self.provided, (*self.effects, *effects))

    def seeing(self, provided: Provided) -> AppState[D]:
        """The state as the app sees it: with what the phone lets it see."""
        return AppState(self.data, self.stack, provided, self.effects)

    def _with_stack(self, stack: tuple[Page, ...]) -> AppState[D]:
        return AppState(self.data, stack, self.provided, self.effects)


@dataclass(frozen=True, slots=True)
class App(Generic[D]):
    """One app of the phone.

    Attributes:
        name: what code calls it; suites have the same names.
        label: what stands below its icon.
        update, view: pure functions over the app's state.
        uses: names of the apps whose data it may see.
        takes_shares: the event that it hears when somebody shares a text with it (the text is the
            event's `value`); empty where it takes none.
    """

    name: str
    label: str
    package: str
    update: Callable[[AppState[D], Event], AppState[D]]
    view: Callable[[AppState[D], Look], Screen]
    home: Page = Page("home")
    uses: tuple[str, ...] = ()
    takes_shares: str = ""

    def step(self, state: AppState[D], event: Event) -> AppState[D]:
        """The state after an event."""
        if state.page.overlay and event.name != "open":
            state = state.with_page(replace(state.page, overlay=""))
            if event.name in {"back", "close"}:
                return state
        match event.name:
            case "go":
                return state.pushed(Page(event.value, event.extra))
            case "back":
                return state.popped()
            case "open":
                return state.with_page(replace(state.page, overlay=event.value))
            case "edit" | "set":
                return state.with_page(state.page.with_draft(event.value, event.extra))
            case "toggle":
                return state.with_data(flipped(state.data, event.value, event.extra))
            case _:
                return self.update(state, event)


AnyApp = App[Any]  # Any: each app has its own type of data, a registry holds them all
AnyAppState = AppState[Any]  # Any: as above
