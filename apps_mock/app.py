"""The Elm way of an app: immutable state, `update(state, event)`, `view(state, look)`; both pure.

An app's state is its data (tables of records, what verifiers look at) and a stack of pages (what
the screen shows, with what was typed so far). Moving between pages and typing mean the same in
every app and are done here; all else is the app's own `update`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

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
    """

    name: str
    argument: str = ""
    drafts: tuple[tuple[str, str], ...] = ()
    scroll_px: int = 0

    def draft(self, field: str, default: str = "") -> str:
        """What a field holds."""
        for name, text in self.drafts:
            if name == field:
                return text
        return default

    def with_draft(self, field: str, text: str) -> Page:
        """The page with another text in a field."""
        others = tuple(entry for entry in self.drafts if entry[0] != field)
        return replace(self, drafts=(*others, (field, text)))


@dataclass(frozen=True, slots=True)
class AppState(Generic[D]):
    """Everything about one app: its data, and the pages that lie on each other."""

    data: D
    stack: tuple[Page, ...]

    @property
    def page(self) -> Page:
        """The page that shows."""
        return self.stack[-1]

    def with_page(self, page: Page) -> AppState[D]:
        """The state with another page on top instead of the present one."""
        return AppState(self.data, (*self.stack[:-1], page))

    def pushed(self, page: Page) -> AppState[D]:
        """The state with one more page on top."""
        return AppState(self.data, (*self.stack, page))

    def popped(self, count: int = 1) -> AppState[D]:
        """The state with fewer pages; the first one stays."""
        return AppState(self.data, self.stack[: max(1, len(self.stack) - count)])

    def with_data(self, data: D) -> AppState[D]:
        """The state with other data."""
        return AppState(data, self.stack)


@dataclass(frozen=True, slots=True)
class App(Generic[D]):
    """One app of the phone.

    Attributes:
        name: what code calls it; suites have the same names.
        label: what stands below its icon.
        update, view: pure functions over the app's state.
    """

    name: str
    label: str
    package: str
    update: Callable[[AppState[D], Event], AppState[D]]
    view: Callable[[AppState[D], Look], Screen]
    home: Page = Page("home")

    def step(self, state: AppState[D], event: Event) -> AppState[D]:
        """The state after an event."""
        match event.name:
            case "go":
                return state.pushed(Page(event.value, event.extra))
            case "back":
                return state.popped()
            case "edit" | "set":
                return state.with_page(state.page.with_draft(event.value, event.extra))
            case "toggle":
                return state.with_data(flipped(state.data, event.value, event.extra))
            case _:
                return self.update(state, event)


AnyApp = App[Any]  # Any: each app has its own type of data, a registry holds them all
AnyAppState = AppState[Any]  # Any: as above
