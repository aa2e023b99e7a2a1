"""The canvas: it collects nodes of the view hierarchy, texts and places to touch, top to bottom.

Everything is clipped to what shows, and mirrored where the look runs from right to left: bounds are
given as if it ran from left to right, and turned round here and nowhere else.
"""

from __future__ import annotations

from typing import Final

from apps_mock.look import Look
from apps_mock.measuring import BOLD, lines_of, text_px
from apps_mock.nodes import FRAME, PICTURE, SCROLL, TEXT, box, checkable, plain, touchable
from apps_mock.places import Hidden, LaidOut, Role, Target, Window, Written, sizes_of
from apps_mock.widgets import Event, Screen
from device_runtime.ui_tree import Node
from sync.vocabulary import Rect

LEAST_PX: Final = 8
"""Least height of what shows of a place that is cut off; nothing can be touched in less."""


class Canvas:
    """Collects what a screen is made of.

    Attributes:
        clip: (top, bottom) of what shows.
        left, right: between which widgets lie.
    """

    def __init__(self, look: Look, window: Window) -> None:
        self.look = look
        self.window = window
        self.sizes = sizes_of(look)
        self.clip = (0, window.height_px)
        self.left, self.right = 0, window.width_px
        self.hidden: list[Hidden] = []
        self.fields: list[str] = []
        self.enters: list[tuple[str, Event]] = []
        self._turned = look.right_to_left
        self._nodes: list[Node] = []
        self._outer: list[list[Node]] = []
        self._targets: list[Target] = []
        self._texts: list[Written] = []
        self._ids = f"{window.package}:id/" if look.resource_ids else ""

    def finish(self, screen: Screen, scroll_area: Rect, scroll_max_px: int) -> LaidOut:
        """The whole screen."""
        window = self.window
        root = Node(
            FRAME,
            (0, 0, window.width_px, window.height_px),
            package=window.package,
            children=tuple(self._nodes),
        )
        return LaidOut(
            root=root,
            targets=tuple(self._targets),
            hidden=tuple(self.hidden),
            fields=tuple(self.fields),
            submit=next((button.on_tap for button in screen.actions if button.primary), None),
            scroll_area=scroll_area if scroll_max_px else (0, 0, 0, 0),
            scroll_max_px=scroll_max_px,
            texts=tuple(self._texts),
            enters=tuple(self.enters),
        )

    def seen(self, bounds: Rect) -> Rect | None:
        """What shows of a place, in its final bounds; None where too little does to be known."""
        left, top, right, bottom = bounds
        first, last = self.clip
        if top >= first and bottom <= last and top < bottom:
            return self._mirrored(bounds) if self._turned else bounds
        least = max(LEAST_PX, min((bottom - top) // 2, self.sizes.touch))
        top, bottom = max(top, first), min(bottom, last)
        if bottom - top < least:
            return None
        return self._mirrored((left, top, right, bottom))

    def _mirrored(self, bounds: Rect) -> Rect:
        if not self._turned:
            return bounds
        left, top, right, bottom = bounds
        return self.window.width_px - right, top, self.window.width_px - left, bottom

    def resource(self, kind: str) -> str:
        """The resource id of such a thing; empty where the look has none."""
        return f"{self._ids}{kind}" if self._ids and kind else ""

    def open(self) -> None:
        """What follows lies in a container, until `close` or `close_body`."""
        self._outer.append(self._nodes)
        self._nodes = []

    def close(
        self,
        class_name: str,
        bounds: Rect,
        *,
        kind: str = "",
        clickable: bool = False,
        long: bool = False,
        selected: bool = False,
    ) -> None:
        """The container is complete."""
        inner, self._nodes = self._nodes, self._outer.pop()
        seen = self.seen(bounds)
        if seen is not None:
            self._nodes.append(
                box(
                    self.window.package,
                    class_name,
                    seen,
                    self.resource(kind),
                    clickable,
                    long,
                    selected,
                    tuple(inner),
                )
            )

    def close_body(self, *, scrolls: bool) -> None:
        """The body is complete."""
        inner, self._nodes = self._nodes, self._outer.pop()
        bounds = self._mirrored((self.left, self.clip[0], self.right, self.clip[1]))
        self._nodes.append(
            Node(
                SCROLL,
                bounds,
                package=self.window.package,
                scrollable=scrolls,
                children=tuple(inner),
            )
        )

    def target(self, target: Target, *, below: int = 0) -> None:
        """Something can be touched; it lies under the last `below` targets."""
        self._targets.insert(len(self._targets) - below, target)

    def add(self, node: Node) -> None:
        """A node whose bounds are final."""
        self._nodes.append(node)

    def hide(self, event: Event | None, field: str, top: int, via: Event | None = None) -> None:
        """Something to touch does not show."""
        self.hidden.append(Hidden(event, field, above=top < self.clip[0], via=via))

    def write(
        self,
        lines: tuple[str, ...],
        role: Role,
        box_: Rect,
        *,
        clip: Rect | None = None,
        centred: bool = False,
    ) -> None:
        """A text stands in a box; `clip` (final bounds) is what shows of it."""
        shown = self.seen(box_) if clip is None else clip
        if shown is not None and any(lines):
            size = text_px(role, self.look)
            bold = role in BOLD
            self._texts.append(
                Written(role, self._mirrored(box_), shown, lines, size, bold, centred)
            )

    def label(
        self,
        bounds: Rect,
        text: str,
        role: Role,
        kind: str = "",
        *,
        box_: Rect | None = None,
        centred: bool = False,
    ) -> None:
        """A text that is only read; its lines stand in the middle of `box_` or of its bounds."""
        seen = self.seen(bounds)
        if seen is None:
            return
        self._nodes.append(plain(self.window.package, TEXT, seen, text, self.resource(kind)))
        lines = lines_of(text, role, bounds[2] - bounds[0], self.look)
        self.write(lines, role, box_ or bounds, clip=seen, centred=centred)

    def picture(self, bounds: Rect, name: str) -> None:
        """A drawing that says nothing."""
        seen = self.seen(bounds)
        if seen is not None:
            resource = f"{self.window.package}:id/{name}"
            self._nodes.append(plain(self.window.package, PICTURE, seen, "", resource))

    def touch(
        self,
        class_name: str,
        bounds: Rect,
        event: Event,
        *,
        text: str = "",
        description: str = "",
        role: Role = "button",
        selected: bool = False,
        hold: Event | None = None,
        kind: str = "",
        pad: int | None = None,
    ) -> None:
        """Something to touch; its text stands in the middle, `pad` pixels from its sides."""
        seen = self.seen(bounds)
        if seen is None:
            self.hide(event, "", bounds[1])
            return
        package = self.window.package
        self._nodes.append(
            touchable(
                package,
                class_name,
                seen,
                text,
                description,
                self.resource(kind),
                hold is not None,
                selected,
            )
        )
        self._targets.append(Target(seen, event, hold=hold))
        if text:
            self._write_in(bounds, text, role, seen, self.sizes.gap if pad is None else pad)

    def choice(
        self,
        class_name: str,
        bounds: Rect,
        event: Event,
        *,
        text: str,
        role: Role,
        checked: bool,
        selected: bool = False,
        pad: int | None = None,
    ) -> None:
        """One of several things to choose from."""
        seen = self.seen(bounds)
        if seen is None:
            self.hide(event, "", bounds[1])
            return
        package = self.window.package
        self._nodes.append(
            checkable(package, class_name, seen, text, "", True, checked, selected)  # noqa: FBT003
        )
        self._targets.append(Target(seen, event))
        self._write_in(bounds, text, role, seen, self.sizes.gap if pad is None else pad)

    def _write_in(self, bounds: Rect, text: str, role: Role, seen: Rect, pad: int) -> None:
        left, top, right, bottom = bounds
        inner = (left + pad, top, right - pad, bottom)
        lines = lines_of(text, role, inner[2] - inner[0], self.look)
        centred = role not in {"title", "option", "link"}
        self.write(lines, role, inner, clip=seen, centred=centred)
