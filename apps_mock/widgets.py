"""What an app's view is made of: plain tuples without places; `layout` gives them their places.

Views are built thousands of times a second, so widgets are named tuples, the cheapest values that
Python has. A widget says what happens when it is touched by carrying the `Event` that is sent.
"""

from __future__ import annotations

from typing import Literal, NamedTuple


class Event(NamedTuple):
    """What an app is told.

    `go` (page, argument), `back`, `edit` (field, text), `set` (field, text), `toggle` (record,
    field), `open` (overlay) and `close` mean the same in every app; all others belong to the app
    that sends them.
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
        icon: name of a picture at its beginning (see `render`); empty for none.
        on_hold: what a long press sends.
        selected: whether it is marked, as in a list where several are chosen.
    """

    title: str
    subtitle: str = ""
    on_tap: Event | None = None
    checked: bool | None = None
    on_toggle: Event | None = None
    radio: bool = False
    badge: str = ""
    icon: str = ""
    on_hold: Event | None = None
    selected: bool = False


class Field(NamedTuple):
    """A text field of a form; `key` names the draft that it edits.

    Attributes:
        password: its text shows as dots, on the screen and in the view hierarchy.
        lines: how many lines of text it has room for.
        search: a search bar; `on_enter` is what the enter key sends in it.
        error: a remark in red below it.
    """

    key: str
    label: str
    text: str
    password: bool = False
    lines: int = 1
    search: bool = False
    on_enter: Event | None = None
    error: str = ""


class Option(NamedTuple):
    """One entry of a drop-down: what the draft becomes, and what stands on the screen."""

    value: str
    label: str


class Picker(NamedTuple):
    """A field that is chosen instead of typed: a drop-down, a date or a time picker.

    Touching it sends `open` (key); what is chosen arrives as `set` (key, value): an option's value,
    a day as `2025-03-14`, a time as `07:45`.

    Attributes:
        value: what the draft holds; empty where nothing was chosen yet.
        options: entries of a drop-down.
    """

    key: str
    label: str
    value: str
    kind: Literal["choice", "date", "time"] = "choice"
    options: tuple[Option, ...] = ()


class Slider(NamedTuple):
    """A value in steps of 25 from 0 to 100 between a "less" and a "more" button.

    It sends `slide` (key, value as a number in text).
    """

    key: str
    label: str
    value: int


class Image(NamedTuple):
    """A picture; `name` chooses the drawing, `description` is its content description."""

    name: str
    description: str
    on_tap: Event | None = None


class Card(NamedTuple):
    """A raised box: a picture, a title, lines of text; touched as a whole."""

    title: str
    lines: tuple[str, ...] = ()
    on_tap: Event | None = None
    image: str = ""
    badge: str = ""


class Link(NamedTuple):
    """Words of a web-like page that lead somewhere."""

    label: str
    on_tap: Event


class Button(NamedTuple):
    """Something to press; `primary` ones complete what the page is for."""

    label: str
    on_tap: Event
    primary: bool = False


class Text(NamedTuple):
    """Something that is only read; it wraps onto as many lines as it needs.

    Attributes:
        copyable: a long press puts it on the clipboard.
    """

    text: str
    heading: bool = False
    copyable: bool = False


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


Widget = Row | Field | Picker | Slider | Button | Text | Image | Card | Link | Chips | Tiles


class Screen(NamedTuple):
    """What an app shows: a title, a scrolling body, what can be done, where one can go.

    Attributes:
        actions: buttons whose place (toolbar, foot, below the body) is the look's decision.
        places: buttons that lead to the app's other pages; their place is the look's decision too.
        back: whether the toolbar offers to go back.
        dialog: a small window over the page.
        tabs: a line of tabs below the toolbar.
        overflow: entries of the menu behind "More options"; it opens as the overlay "menu".
        dock: icons at the foot.
        swipes: swiping over the body leads somewhere, as on a launcher with several pages.
    """

    title: str
    body: tuple[Widget, ...] = ()
    actions: tuple[Button, ...] = ()
    places: tuple[Button, ...] = ()
    back: bool = True
    dialog: bool = False
    tabs: tuple[Chip, ...] = ()
    overflow: tuple[Button, ...] = ()
    dock: tuple[Tile, ...] = ()
    swipes: bool = False
