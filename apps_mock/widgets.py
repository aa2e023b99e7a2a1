"""What an app's view is made of: plain tuples without places; `layout` gives them their places.

Views are built thousands of times a second, so widgets are named tuples, the cheapest values that
Python has. A widget says what happens when it is touched by carrying the `Event` that is sent.
"""

from __future__ import annotations

from typing import NamedTuple


class Event(NamedTuple):
    """What an app is told.

    `go` (page, argument), `back`, `edit` (field, text), `set` (field, text) and `toggle` (record,
    field) mean the same in every app; all others belong to the app that sends them.
    """

    name: str
    value: str = ""
    extra: str = ""


class Row(NamedTuple):
    """One entry of a list.

    Attributes:
        checked: state of the switch at its end; None where there is none.
        on_toggle: what the switch sends; the whole row may send it where `on_tap` is None.
        radio: the switch is a radio button: a choice among the rows.
        badge: a short remark at the end of the row.
    """

    title: str
    subtitle: str = ""
    on_tap: Event | None = None
    checked: bool | None = None
    on_toggle: Event | None = None
    radio: bool = False
    badge: str = ""


class Field(NamedTuple):
    """A text field of a form; `key` names the draft that it edits."""

    key: str
    label: str
    text: str


class Button(NamedTuple):
    """Something to press; `primary` ones complete what the page is for."""

    label: str
    on_tap: Event
    primary: bool = False


class Text(NamedTuple):
    """A line that only says something."""

    text: str
    heading: bool = False


class Chip(NamedTuple):
    """One of a few choices beside each other."""

    label: str
    selected: bool
    on_tap: Event


class Chips(NamedTuple):
    """A line of choices."""

    chips: tuple[Chip, ...]


class Tile(NamedTuple):
    """An icon with its name, as on a launcher."""

    label: str
    on_tap: Event


class Tiles(NamedTuple):
    """Icons in a grid of four columns."""

    tiles: tuple[Tile, ...]


Widget = Row | Field | Button | Text | Chips | Tiles


class Screen(NamedTuple):
    """What an app shows: a title, a scrolling body, what can be done, where one can go.

    Attributes:
        actions: buttons whose place (toolbar, foot, below the body) is the look's decision.
        places: buttons that lead to the app's other pages; their place is the look's decision too.
        back: whether the toolbar offers to go back.
        dialog: a small window over the page.
    """

    title: str
    body: tuple[Widget, ...] = ()
    actions: tuple[Button, ...] = ()
    places: tuple[Button, ...] = ()
    back: bool = True
    dialog: bool = False
