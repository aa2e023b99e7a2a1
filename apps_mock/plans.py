"""Plans: what to do on each page of a task's path, so that an oracle needs no memory.

A plan maps (page, argument) to a move. The oracle looks at the page that shows: where it is on the
path it does that page's move, elsewhere it goes back. So it finds its way from any state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from apps_mock.wanted import Change
from apps_mock.widgets import Event


@dataclass(frozen=True, slots=True)
class Press:
    """Touch what sends this event."""

    event: Event


@dataclass(frozen=True, slots=True)
class Hold:
    """Press long what sends this event when it is held."""

    event: Event


@dataclass(frozen=True, slots=True)
class Entry:
    """A draft that shall hold a text.

    Attributes:
        event: what to touch where it is chosen instead of typed; None for text fields.
        default: what the draft counts as while it was not touched.
        picker: what kind of picker it is chosen with; empty for text fields and chips.
        paste: enter it by pasting what the clipboard holds.
    """

    field: str
    text: str
    event: Event | None = None
    default: str = ""
    picker: Literal["", "choice", "date", "time"] = ""
    paste: bool = False


@dataclass(frozen=True, slots=True)
class Fill:
    """Make the page's drafts hold what they shall, then touch what sends `then`.

    Attributes:
        untouched: drafts that have to be left as they are; where one was changed, leave the page.
    """

    entries: tuple[Entry, ...]
    then: Event | None = None


@dataclass(frozen=True, slots=True)
class GiveAnswer:
    """Answer the goal's question: what is asked for stands on this page."""


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Claim that the goal cannot be reached: this page shows why."""


Move = Press | Hold | Fill | GiveAnswer | GiveUp
Plan = dict[tuple[str, str], Move]


@dataclass(frozen=True, slots=True)
class Stage:
    """Something to be done in one app before the task's last app, the template's own, is used.

    A stage is over once its page is among those of its app (looked at; apps keep their pages in
    the background), or, where it names changes instead, once these hold.

    Attributes:
        page: (page, argument) that has to be looked at.
        changes: what has to hold.
        page_app: whose page that is, such as the app that shares a text with; `app` where empty.
    """

    app: str
    plan: Plan
    page: tuple[str, str] | None = None
    changes: tuple[Change, ...] = ()
    page_app: str = ""
