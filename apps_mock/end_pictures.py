"""Pictures of logged screens: drawn from an episode's elements, redacted as they were logged.

For judges that look at pictures, where no screenshot was kept. It is a drawing of what the view
hierarchy says, with boxes, texts and states where they were, and not the app's own look.
"""

from __future__ import annotations

from apps_mock.render import draw_screen, png_of
from device_runtime.ui_tree import Node
from sync.vocabulary import Element, Episode, Observation

ROOT = "android.widget.FrameLayout"
WIDTH_PX = 720
"""Width of the picture: every label can be read, and a judge that counts pixels costs less."""


def picture_of_end(episode: Episode) -> bytes | None:
    """The last screen that an episode saw, as PNG; None where it saw none."""
    screen = episode.final_observation
    if screen is None and episode.steps:
        screen = episode.steps[-1].observation
    return None if screen is None or not screen.elements else picture_of(screen)


def picture_of(screen: Observation) -> bytes:
    """A logged screen as PNG."""
    root = Node(
        ROOT,
        (0, 0, screen.width_px, screen.height_px),
        package=screen.package,
        children=tuple(_node(element) for element in screen.elements),
    )
    return png_of(draw_screen(root, width_px=WIDTH_PX, keyboard=screen.keyboard_shown))


def _node(element: Element) -> Node:
    return Node(
        element.class_name,
        element.bounds,
        text=element.text,
        description=element.description,
        resource_id=element.resource_id,
        package=element.package,
        clickable=element.clickable,
        checkable=element.checkable,
        checked=element.checked,
        focused=element.focused,
        selected=element.selected,
        enabled=element.enabled,
        scrollable=element.scrollable,
        password=element.password,
    )
