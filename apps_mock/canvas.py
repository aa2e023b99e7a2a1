"""The canvas: it collects elements, texts and places to touch, top to bottom.

Everything is clipped to what shows, and mirrored where the look runs from right to left: bounds are
given as if it ran from left to right, and turned round here and nowhere else.
"""

from __future__ import annotations

from typing import Final

from apps_mock.clone_elements import element
from apps_mock.laid_out import LaidOut, Note, Sketch, View
from apps_mock.look import Look
from apps_mock.measuring import faces_of, text_height
from apps_mock.nodes import FRAME, PICTURE, SCROLL, TEXT
from apps_mock.places import Hidden, Role, Target, Window, sizes_of
from apps_mock.widgets import Event, Screen
from sync.vocabulary import Element, Rect

LEAST_PX: Final = 8
"""Least height of what shows of a place that is cut off; nothing can be touched in less."""

_LEFT_ALIGNED: Final[frozenset[Role]] = frozenset({"title", "option", "link"})


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
        self.faces = faces_of(look)
        self.clip = (0, window.height_px)
        self.left, self.right = 0, window.width_px
        self.hidden: list[Hidden] = []
        self.fields: list[str] = []
        self.enters: list[tuple[str, Event]] = []
        self._size = (window.width_px, window.height_px)
        self._turned = look.right_to_left
        self._package = window.package
        self._ids = f"{window.package}:id/" if look.resource_ids else ""
        self._elements: list[Element] = []
        self._views: list[View] = []
        self._outer: list[tuple[list[View], int]] = []
        self._targets: list[Target] = []
        self._notes: list[Note] = []

    def finish(self, screen: Screen, scroll_area: Rect, scroll_max_px: int) -> LaidOut:
        """The whole screen."""
        window = self.window
        root = element(FRAME, (0, 0, window.width_px, window.height_px), window.package)
        self._elements.sort(key=_reading_order)
        return LaidOut(
            elements=tuple(self._elements),
            targets=tuple(self._targets),
            hidden=tuple(self.hidden),
            fields=tuple(self.fields),
            submit=next((button.on_tap for button in screen.actions if button.primary), None),
            scroll_area=scroll_area if scroll_max_px else (0, 0, 0, 0),
            scroll_max_px=scroll_max_px,
            enters=tuple(self.enters),
            sketch=Sketch((root, self._views), tuple(self._notes), self.faces),
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

    def height(self, text: str, role: Role, room: int) -> int:
        """Pixels that a text takes in a room of that width."""
        return text_height(text, role, room, self.faces)

    def open(self) -> None:
        """What follows lies in a container, until `close` or `close_body`."""
        self._outer.append((self._views, len(self._elements)))
        self._views = []

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
        seen = self.seen(bounds)
        container = None
        if seen is not None:
            container = element(
                class_name,
                seen,
                self._package,
                "",
                "",
                self.resource(kind),
                clickable,
                long,
                selected=selected,
            )
        self._closed(container, reacts=clickable or long)

    def close_frame(self, frame: Element) -> None:
        """A container that only holds what lies in it is complete; its bounds are final."""
        self._closed(frame, reacts=False)

    def close_body(self, *, scrolls: bool) -> None:
        """The body is complete."""
        bounds = self._mirrored((self.left, self.clip[0], self.right, self.clip[1]))
        body = element(SCROLL, bounds, self._package, scrollable=scrolls)
        self._closed(body, reacts=scrolls)

    def _closed(self, container: Element | None, *, reacts: bool) -> None:
        """End a container; nothing of it is in the hierarchy where it does not show."""
        inner, (self._views, first) = self._views, self._outer.pop()
        if container is None:
            del self._elements[first:]
            return
        self._views.append((container, inner))
        if reacts and self._is_on_screen(container.bounds):
            self._elements.insert(first, container)

    def _is_on_screen(self, bounds: Rect) -> bool:
        left, top, right, bottom = bounds
        wide, high = self._size
        return left < right > 0 and top < bottom > 0 and left < wide and top < high

    def target(self, target: Target, *, below: int = 0) -> None:
        """Something can be touched; it lies under the last `below` targets."""
        self._targets.insert(len(self._targets) - below, target)

    def add(self, view: Element, *, tells: bool = True) -> None:
        """Something whose bounds are final; observations show what says or does something."""
        self._views.append(view)
        if tells and self._is_on_screen(view.bounds):
            self._elements.append(view)

    def hide(self, event: Event | None, field: str, top: int, via: Event | None = None) -> None:
        """Something to touch does not show."""
        self.hidden.append(Hidden(event, field, above=top < self.clip[0], via=via))

    def write(
        self,
        text: str,
        role: Role,
        box_: Rect,
        clip: Rect,
        *,
        room: int | None = None,
        centred: bool = False,
        tail: bool = False,
    ) -> None:
        """A text stands in a box, in lines as wide as `room`; `clip` (final) shows of it."""
        if room is None:
            room = box_[2] - box_[0]
        box_ = self._mirrored(box_) if self._turned else box_
        self._notes.append((text, role, room, box_, clip, centred, tail))

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
        resource = f"{self._ids}{kind}" if self._ids and kind else ""
        self.add(element(TEXT, seen, self._package, text, "", resource), tells=bool(text))
        room = bounds[2] - bounds[0]
        self.write(text, role, box_ or bounds, seen, room=room, centred=centred)

    def picture(self, bounds: Rect, name: str) -> None:
        """A drawing that says nothing."""
        seen = self.seen(bounds)
        if seen is not None:
            resource = f"{self._package}:id/{name}"
            self._views.append(element(PICTURE, seen, self._package, "", "", resource))

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
        kind: str = "",
        pad: int | None = None,
    ) -> None:
        """Something to touch; its text stands in the middle, `pad` pixels from its sides."""
        seen = self.seen(bounds)
        if seen is None:
            self.hide(event, "", bounds[1])
            return
        resource = f"{self._ids}{kind}" if self._ids and kind else ""
        self.add(
            element(
                class_name,
                seen,
                self._package,
                text,
                description,
                resource,
                True,  # noqa: FBT003 - it is clickable
                selected=selected,
            )
        )
        self._targets.append(Target(seen, event))
        if text:
            self._write_in(bounds, text, role, seen, pad)

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
        self.add(
            element(
                class_name,
                seen,
                self._package,
                text,
                clickable=True,
                checkable=True,
                checked=checked,
                selected=selected,
            )
        )
        self._targets.append(Target(seen, event))
        self._write_in(bounds, text, role, seen, pad)

    def _write_in(self, bounds: Rect, text: str, role: Role, seen: Rect, pad: int | None) -> None:
        if pad is None:
            pad = self.sizes.gap
        left, top, right, bottom = bounds
        inner = (left + pad, top, right - pad, bottom)
        self.write(text, role, inner, seen, centred=role not in _LEFT_ALIGNED)


def _reading_order(shown: Element) -> tuple[int, int]:
    left, top, _, _ = shown.bounds
    return top, left
