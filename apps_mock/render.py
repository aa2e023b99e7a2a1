"""Pixels of a clone's screen, drawn with Pillow from the view hierarchy.

Pixels and hierarchy cannot disagree, and a screen can be drawn again from a logged tree. The same
scene gives the same bytes in every process.
"""

from __future__ import annotations

import io

from PIL import Image

from apps_mock.drawing import groups_of
from apps_mock.places import Written
from apps_mock.raster import paint
from apps_mock.scene import Scene
from apps_mock.theme import DEFAULT_THEME, Theme
from device_runtime.ui_tree import Node


def draw(scene: Scene, *, width_px: int | None = None) -> Image.Image:
    """The scene as an RGB image.

    Args:
        width_px: of the image; the screen's own by default.
    """
    _, _, width, height = scene.root.bounds
    scale = 1.0 if width_px is None else width_px / width
    paper, groups = groups_of(scene)
    image = Image.new("RGB", (round(width * scale), round(height * scale)), paper)
    for group in groups:
        paint(image, group, scale)
    return image


def draw_screen(
    root: Node,
    *,
    width_px: int | None = None,
    theme: Theme = DEFAULT_THEME,
    texts: tuple[Written, ...] = (),
    below: Node | None = None,
    keyboard: bool = False,
    now: str = "",
    notice: str = "",
) -> Image.Image:
    """The screen of a view hierarchy as an RGB image (see `Scene` and `draw`)."""
    return draw(Scene(root, theme, texts, below, (), keyboard, now, notice), width_px=width_px)


def png(
    root: Node,
    *,
    theme: Theme = DEFAULT_THEME,
    texts: tuple[Written, ...] = (),
    below: Node | None = None,
    keyboard: bool = False,
    now: str = "",
    notice: str = "",
) -> bytes:
    """The screen of a view hierarchy as PNG bytes (see `Scene`)."""
    return png_of(draw(Scene(root, theme, texts, below, (), keyboard, now, notice)))


def png_of(image: Image.Image) -> bytes:
    """An image as PNG bytes."""
    buffer = io.BytesIO()
    image.save(buffer, format="PNG", compress_level=1)
    return buffer.getvalue()
