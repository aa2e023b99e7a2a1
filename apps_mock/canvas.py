"""The canvas: widgets become nodes of the view hierarchy and places to touch, from top to bottom.

Everything is clipped to what shows. Nodes that look the same are the same object: views are built
thousands of times a second, mostly out of what was there before.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from apps_mock.look import Look
from apps_mock.places import (
    BAR_PX,
    MARGIN_PX,
    STATUS_PX,
    SWITCH_PX,
    TILE_PX,
    Hidden,
    LaidOut,
    Target,
    Window,
)
from apps_mock.widgets import Button, Chips, Event, Field, Row, Screen, Text, Tiles, Widget
from device_runtime.ui_tree import Node
from sync.vocabulary import Rect

TEXT = "android.widget.TextView"
EDIT = "android.widget.EditText"
ICON = "android.widget.ImageButton"
BOX = "android.widget.LinearLayout"
FRAME = "android.widget.FrameLayout"
SCROLL = "android.widget.ScrollView"


class Canvas:
    """Collects nodes and targets from top to bottom.

    Attributes:
        clip: (top, bottom) of what shows.
    """

    def __init__(self, look: Look, window: Window) -> None:
        self.look = look
        self.window = window
        self.clip = (0, window.height_px)
        self._nodes: list[Node] = []
        self._outer: list[Node] = []
        self._targets: list[Target] = []
        self._hidden: list[Hidden] = []
        self._fields: list[str] = []
        self._ids = f"{window.package}:id/" if look.resource_ids else ""

    def begin_body(self, top: int, foot: int) -> None:
        """What follows belongs to the body, which shows between `top` and `foot`."""
        self._outer, self._nodes = self._nodes, []
        self.clip = (top, foot)

    def end_body(self, *, scrolls: bool) -> None:
        """The body is complete."""
        bounds = (0, self.clip[0], self.window.width_px, self.clip[1])
        body = Node(
            SCROLL,
            bounds,
            package=self.window.package,
            scrollable=scrolls,
            children=tuple(self._nodes),
        )
        self._nodes = [*self._outer, body]

    def finish(self, screen: Screen, scroll_area: Rect, scroll_max_px: int) -> LaidOut:
        """The whole screen."""
        window = self.window
        root = Node(
            FRAME,
            (0, 0, window.width_px, window.height_px),
            package=window.package,
            children=tuple(self._nodes),
        )
        submit = next((button.on_tap for button in screen.actions if button.primary), None)
        return LaidOut(
            root=root,
            targets=tuple(self._targets),
            hidden=tuple(self._hidden),
            fields=tuple(self._fields),
            submit=submit,
            scroll_area=scroll_area if scroll_max_px else (0, 0, 0, 0),
            scroll_max_px=scroll_max_px,
        )

    def height_of(self, widget: Widget) -> int:
        """Pixels that a widget takes in the body."""
        row = self.look.row_px
        if isinstance(widget, Row):
            return row + row // 3 if widget.subtitle else row
        if isinstance(widget, Field):
            return row + row // 2 if self.look.field_style == "above" else row
        if isinstance(widget, Tiles):
            return TILE_PX * ((len(widget.tiles) + 3) // 4)
        return row

    def place(self, widget: Widget, y: int) -> int:
        """Add a widget at height `y`; returns where the next one begins."""
        bottom = y + self.height_of(widget)
        match widget:
            case Row():
                self._row(widget, y, bottom)
            case Field():
                self._field(widget, y, bottom)
            case Button():
                self.buttons((widget,), y, bottom)
            case Text():
                self.text(widget.text, y, bottom - y)
            case Chips():
                self._chips(widget, y, bottom)
            case Tiles():
                self._tiles(widget, y)
        return bottom

    def toolbar(self, screen: Screen, buttons: list[Button]) -> int:
        """Add title and toolbar buttons; returns where the body begins."""
        top, bottom = STATUS_PX, STATUS_PX + BAR_PX
        left, right = MARGIN_PX, self.window.width_px
        if screen.back:
            self._touch(ICON, (0, top, BAR_PX, bottom), Event("back"), self.look.word("back"))
            left = BAR_PX + MARGIN_PX
        width = BAR_PX if self.look.icon_actions else self.window.width_px // 4
        for button in reversed(buttons):
            bounds = (right - width, top, right, bottom)
            if self.look.icon_actions:
                self._touch(ICON, bounds, button.on_tap, button.label)
            else:
                self._press(button, bounds)
            right -= width
        self._add(TEXT, (left, top, right, bottom), screen.title, "title")
        return bottom

    def buttons(self, buttons: tuple[Button, ...] | list[Button], top: int, bottom: int) -> None:
        """Add buttons that share a line."""
        if not buttons:
            return
        width = self.window.width_px // len(buttons)
        for index, button in enumerate(buttons):
            self._press(button, (index * width, top, (index + 1) * width, bottom))

    def text(self, text: str, top: int, height: int) -> None:
        """Add a line that only says something."""
        self._add(TEXT, (MARGIN_PX, top, self.window.width_px - MARGIN_PX, top + height), text, "")

    def _row(self, row: Row, top: int, bottom: int) -> None:
        whole = row.on_tap or (row.on_toggle if self._whole_toggles(row) else None)
        bounds = (0, top, self.window.width_px, bottom)
        seen = self._clipped(bounds)
        if seen is None:
            for event in {row.on_tap, row.on_toggle} - {None}:
                self._hide(event, "", top)
            return
        end = self.window.width_px - MARGIN_PX
        if row.checked is not None:
            end -= SWITCH_PX + MARGIN_PX
        if self.look.boxed_rows:
            outer, self._nodes = self._nodes, []
            self._row_texts(row, bounds, end, None)
            self._switch(row, bounds, whole)
            inner, self._nodes = self._nodes, outer
            self._nodes.append(
                _box(self._ids, self.window.package, seen, whole is not None, tuple(inner))
            )
            if whole is not None:
                # Under the switch, so that a switch of its own wins where both are touched.
                at = len(self._targets) - (row.on_toggle is not None and whole != row.on_toggle)
                self._targets.insert(at, Target(seen, whole))
        else:
            self._row_texts(row, bounds, end, row.on_tap)
            self._switch(row, bounds, row.on_tap)

    def _whole_toggles(self, row: Row) -> bool:
        return row.radio or self.look.whole_row_toggles if self.look.boxed_rows else False

    def _row_texts(self, row: Row, bounds: Rect, end: int, event: Event | None) -> None:
        _, top, _, bottom = bounds
        start = MARGIN_PX
        middle = top + (bottom - top) * 3 // 5 if row.subtitle else bottom
        if row.badge:
            end -= self.window.width_px // 5
        if event is None:
            self._add(TEXT, (start, top, end, middle), row.title, "title")
        else:
            self._touch(TEXT, (0, top, end, bottom), event, "", text=row.title)
        if row.subtitle:
            self._add(TEXT, (start, middle, end, bottom), row.subtitle, "summary")
        if row.badge:
            width = self.window.width_px // 5
            self._add(TEXT, (end, top, end + width, bottom), row.badge, "badge")

    def _switch(self, row: Row, bounds: Rect, whole: Event | None) -> None:
        if row.checked is None:
            return
        _, top, right, bottom = bounds
        place = (right - MARGIN_PX - SWITCH_PX, top, right - MARGIN_PX, bottom)
        seen = self._clipped(place)
        if seen is None:
            return
        own = whole != row.on_toggle
        class_name = self.look.radio_class if row.radio else self.look.switch_class
        self._nodes.append(
            _switch_node(self._ids, self.window.package, class_name, seen, own, row.checked)
        )
        if own and row.on_toggle is not None:
            self._targets.append(Target(seen, row.on_toggle))

    def _field(self, field: Field, top: int, bottom: int) -> None:
        style = self.look.field_style
        if style == "above":
            middle = top + (bottom - top) // 3
            self.text(field.label, top, middle - top)
            top = middle
        bounds = (MARGIN_PX, top, self.window.width_px - MARGIN_PX, bottom)
        self._fields.append(field.key)
        seen = self._clipped(bounds)
        if seen is None:
            self._hide(None, field.key, top)
            return
        focused = self.window.focus == field.key
        hint = "" if style == "above" else field.label
        self._nodes.append(
            Node(
                EDIT,
                seen,
                text=field.text or hint,
                description=field.label if style == "described" else "",
                resource_id=self._ids and f"{self._ids}input",
                package=self.window.package,
                clickable=True,
                long_clickable=True,
                focusable=True,
                focused=focused,
            )
        )
        self._targets.append(Target(seen, None, field.key))

    def _chips(self, chips: Chips, top: int, bottom: int) -> None:
        width = (self.window.width_px - 2 * MARGIN_PX) // max(1, len(chips.chips))
        for index, chip in enumerate(chips.chips):
            left = MARGIN_PX + index * width
            seen = self._clipped((left, top, left + width, bottom))
            if seen is None:
                self._hide(chip.on_tap, "", top)
                continue
            self._nodes.append(
                Node(
                    self.look.button_class,
                    seen,
                    text=chip.label,
                    package=self.window.package,
                    clickable=True,
                    checkable=True,
                    checked=chip.selected,
                    selected=chip.selected,
                    focusable=True,
                )
            )
            self._targets.append(Target(seen, chip.on_tap))

    def _tiles(self, tiles: Tiles, top: int) -> None:
        width = self.window.width_px // 4
        for index, tile in enumerate(tiles.tiles):
            line, column = divmod(index, 4)
            y = top + line * TILE_PX
            bounds = (column * width, y, (column + 1) * width, y + TILE_PX)
            self._touch(TEXT, bounds, tile.on_tap, "", text=tile.label)

    def _press(self, button: Button, bounds: Rect) -> None:
        self._touch(self.look.button_class, bounds, button.on_tap, "", text=button.label)

    def _touch(
        self, class_name: str, bounds: Rect, event: Event, description: str, text: str = ""
    ) -> None:
        seen = self._clipped(bounds)
        if seen is None:
            self._hide(event, "", bounds[1])
            return
        self._nodes.append(_touchable(self.window.package, class_name, seen, text, description))
        self._targets.append(Target(seen, event))

    def _add(self, class_name: str, bounds: Rect, text: str, kind: str) -> None:
        seen = self._clipped(bounds)
        if seen is not None:
            resource_id = f"{self._ids}{kind}" if self._ids and kind else ""
            self._nodes.append(_plain(self.window.package, class_name, seen, text, resource_id))

    def _hide(self, event: Event | None, field: str, top: int) -> None:
        self._hidden.append(Hidden(event, field, above=top < self.clip[0]))

    def _clipped(self, bounds: Rect) -> Rect | None:
        """What shows of the bounds; None where too little does to be touched."""
        left, top, right, bottom = bounds
        upper, lower = self.clip
        if top >= upper and bottom <= lower:
            return bounds
        top, bottom = max(top, upper), min(bottom, lower)
        return (left, top, right, bottom) if bottom - top >= 24 else None


@lru_cache(maxsize=16384)
def _plain(package: str, class_name: str, bounds: Rect, text: str, resource_id: str) -> Node:
    return Node(class_name, bounds, text, "", resource_id, package)


@lru_cache(maxsize=16384)
def _touchable(package: str, class_name: str, bounds: Rect, text: str, description: str) -> Node:
    return Node(
        class_name,
        bounds,
        text,
        description,
        package=package,
        clickable=True,
        focusable=True,
    )


_BOXES_SIZE: Final = 16384
_BOXES: dict[tuple[object, ...], Node] = {}
"""Boxes by what they are made of; holding on to the children keeps their identities unique."""


def _box(
    ids: str,
    package: str,
    bounds: Rect,
    clickable: bool,  # noqa: FBT001 - a private constructor
    children: tuple[Node, ...],
) -> Node:
    key = (ids, package, bounds, clickable, *map(id, children))
    box = _BOXES.get(key)
    if box is None:
        if len(_BOXES) >= _BOXES_SIZE:
            _BOXES.clear()
        box = _BOXES[key] = Node(
            BOX,
            bounds,
            resource_id=ids and f"{ids}row",
            package=package,
            clickable=clickable,
            focusable=clickable,
            children=children,
        )
    return box


@lru_cache(maxsize=16384)
def _switch_node(  # noqa: PLR0917 - a private constructor
    ids: str,
    package: str,
    class_name: str,
    bounds: Rect,
    clickable: bool,  # noqa: FBT001 - as above
    checked: bool,  # noqa: FBT001 - as above
) -> Node:
    return Node(
        class_name,
        bounds,
        resource_id=ids and f"{ids}switch_widget",
        package=package,
        clickable=clickable,
        checkable=True,
        checked=checked,
        focusable=clickable,
    )
