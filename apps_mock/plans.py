"""Plans: what to do on each page of a task's path, so that an oracle needs no memory.

A plan maps (page, argument) to a move. The oracle looks at the page that shows: where it is on the
path it does that page's move, elsewhere it goes back. So it finds its way from any state.
"""

from __future__ import annotations

from dataclasses import dataclass

from apps_mock.widgets import Event


@dataclass(frozen=True, slots=True)
class Press:
    """Touch what sends this event."""

    event: Event


@dataclass(frozen=True, slots=True)
class Entry:
    """A draft that shall hold a text.

    Attributes:
        event: what to touch where it is chosen instead of typed; None for text fields.
        default: what the draft counts as while it was not touched.
    """

    field: str
    text: str
    event: Event | None = None
    default: str = ""


@dataclass(frozen=True, slots=True)
class Fill:
    """Make the page's drafts hold what they shall, then touch what sends `then`.

    Attributes:
        untouched: drafts that have to be left as they are; where one was changed, leave the page.
    """

    entries: tuple[Entry, ...]
    then: Event | None = None


Move = Press | Fill
Plan = dict[tuple[str, str], Move]
