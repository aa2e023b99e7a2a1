"""Where plain things lie: texts, buttons, links, pictures, icons with names, tabs, the toolbar."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from apps_mock.canvas import Canvas
from apps_mock.look import Look
from apps_mock.measuring import Line, lines_of, shared, text_height, text_px, text_width
from apps_mock.nodes import FRAME, ICON, PICTURE, TABS, TEXT, TOOLBAR, VIEW, touchable
from apps_mock.places import Role, Target, sizes_of
from apps_mock.text_width import line_px, widest_word_px, wrapped
from apps_mock.widgets import Button, Chip, Event, Image, Link, Screen, Text, Tiles
from device_runtime.ui_tree import Node
from sync.vocabulary import Rect

MORE_OPTIONS = "More options"


def _role(text: Text) -> Role:
    return "heading" if text.heading else "body"


def _room(canvas: Canvas) -> int:
    return canvas.right - canvas.left - 2 * canvas.sizes.margin


def words_height(canvas: Canvas, text: Text) -> int:
    """Pixels that a text takes."""
    needed = text_height(text.text, _role(text), _room(canvas), canvas.look)
    return max(canvas.look.row_px, needed + 2 * canvas.sizes.gap)


def place_words(canvas: Canvas, text: Text, top: int) -> None:
    """Add a text."""
    margin = canvas.sizes.margin
    bottom = top + words_height(canvas, text)
    bounds = (canvas.left + margin, top, canvas.right - margin, bottom)
    if not text.copyable:
        canvas.label(bounds, text.text, _role(text))
        return
    seen = canvas.seen(bounds)
    hold = Event("copy_text", text.text)
    if seen is None:
        canvas.hide(hold, "", top)
        return
    canvas.add(Node(TEXT, seen, text.text, package=canvas.window.package, long_clickable=True))
    canvas.target(Target(seen, None, hold=hold))
    lines = lines_of(text.text, _role(text), _room(canvas), canvas.look)
    canvas.write(lines, _role(text), bounds, clip=seen)


def link_height(canvas: Canvas, link: Link) -> int:
    """Pixels that a link takes."""
    needed = text_height(link.label, "link", _room(canvas), canvas.look)
    return max(canvas.sizes.touch, needed + 2 * canvas.sizes.gap)


def place_link(canvas: Canvas, link: Link, top: int) -> None:
    """Add a link."""
    margin = canvas.sizes.margin
    bounds = (canvas.left + margin, top, canvas.right - margin, top + link_height(canvas, link))
    canvas.touch(VIEW, bounds, link.on_tap, text=link.label, role="link", pad=0)


def image_height(canvas: Canvas, _image: Image) -> int:
    """Pixels that a picture takes."""
    return canvas.sizes.image + canvas.sizes.gap


def place_image(canvas: Canvas, image: Image, top: int) -> None:
    """Add a picture; the frame around it tells which drawing it is."""
    margin = canvas.sizes.margin
    bounds = (canvas.left + margin, top, canvas.right - margin, top + canvas.sizes.image)
    seen = canvas.seen(bounds)
    package = canvas.window.package
    if seen is None:
        if image.on_tap is not None:
            canvas.hide(image.on_tap, "", top)
        return
    if image.on_tap is not None:
        node = touchable(package, PICTURE, seen, "", image.description)
        canvas.target(Target(seen, image.on_tap))
    else:
        node = Node(PICTURE, seen, description=image.description, package=package)
    frame = f"{package}:id/{image.name}"
    canvas.add(Node(FRAME, seen, resource_id=frame, package=package, children=(node,)))


class Grid(NamedTuple):
    """How icons stand in a grid, and how large each one's place is."""

    columns: int
    width: int
    height: int


@lru_cache(maxsize=1024)
def grid_of(tiles: Tiles, room: int, look: Look) -> Grid:
    """The grid of icons in a room of that width: three columns where four cut a name off."""
    size, sizes = text_px("tile", look), sizes_of(look)
    widest = max((widest_word_px(tile.label, size) for tile in tiles.tiles), default=0)
    columns = 4 if widest + sizes.gap <= room // 4 else 3
    width = room // columns
    texts = (text_height(tile.label, "tile", width - sizes.gap, look) for tile in tiles.tiles)
    needed = sizes.touch + 3 * sizes.gap + max(texts, default=0)
    return Grid(columns, width, max(sizes.tile, needed))


def tiles_height(canvas: Canvas, tiles: Tiles) -> int:
    """Pixels that icons in a grid take."""
    grid = grid_of(tiles, canvas.right - canvas.left, canvas.look)
    return grid.height * ((len(tiles.tiles) + grid.columns - 1) // grid.columns)


def place_tiles(canvas: Canvas, tiles: Tiles, top: int) -> None:
    """Add icons in a grid; their names stand in the lower part."""
    columns, width, height = grid_of(tiles, canvas.right - canvas.left, canvas.look)
    gap, size = canvas.sizes.gap, text_px("tile", canvas.look)
    line = line_px(size)
    for index, tile in enumerate(tiles.tiles):
        row, column = divmod(index, columns)
        left, y = canvas.left + column * width, top + row * height
        seen = canvas.seen((left, y, left + width, y + height))
        if seen is None:
            canvas.hide(tile.on_tap, "", y)
            continue
        canvas.add(touchable(canvas.window.package, TEXT, seen, tile.label, ""))
        canvas.target(Target(seen, tile.on_tap))
        lines = wrapped(tile.label, width - gap, size)
        end = y + height - gap
        below = (left + gap // 2, end - len(lines) * line, left + width - gap // 2, end)
        canvas.write(lines, "tile", below, clip=canvas.seen(below), centred=True)


def button_lines(canvas: Canvas, buttons: Sequence[Button], height: int) -> tuple[Line, ...]:
    """How buttons share the width, on one line or more."""
    return shared(
        tuple(button.label for button in buttons),
        "button",
        room=(canvas.left, canvas.right),
        pad=canvas.sizes.pad,
        height=height,
        look=canvas.look,
    )


def place_buttons(
    canvas: Canvas, buttons: Sequence[Button], lines: tuple[Line, ...], top: int
) -> int:
    """Add buttons in their lines; returns where the next thing begins."""
    for line in lines:
        for index, left, right in line.shares:
            press(canvas, buttons[index], (left, top, right, top + line.height))
        top += line.height
    return top


def press(canvas: Canvas, button: Button, bounds: Rect) -> None:
    """Add a button."""
    canvas.touch(
        canvas.look.button_class,
        bounds,
        button.on_tap,
        text=button.label,
        pad=canvas.sizes.pad,
    )


def place_tabs(canvas: Canvas, tabs: Sequence[Chip], top: int) -> int:
    """Add a line of tabs; returns where the body begins."""
    if not tabs:
        return top
    lines = shared(
        tuple(tab.label for tab in tabs),
        "tab",
        room=(canvas.left, canvas.right),
        pad=canvas.sizes.gap,
        height=canvas.sizes.touch,
        look=canvas.look,
    )
    bottom = top + sum(line.height for line in lines)
    canvas.open()
    y = top
    for line in lines:
        for index, left, right in line.shares:
            tab = tabs[index]
            canvas.touch(
                TEXT,
                (left, y, right, y + line.height),
                tab.on_tap,
                text=tab.label,
                role="tab",
                selected=tab.selected,
            )
        y += line.height
    canvas.close(TABS, (canvas.left, top, canvas.right, bottom), kind="tabs")
    return bottom


def place_toolbar(canvas: Canvas, screen: Screen, buttons: Sequence[Button]) -> int:
    """Add title and toolbar buttons; returns where the body begins."""
    look, sizes = canvas.look, canvas.sizes
    top, start = sizes.status, sizes.margin
    if screen.back:
        start += sizes.bar
    end = canvas.right - (sizes.touch if screen.overflow else sizes.gap)
    widths = [_toolbar_width(canvas, button) for button in buttons]
    room = end - sum(widths) - start
    crowded = bool(buttons) and not _holds_title(canvas, screen.title, room)
    if crowded:
        room = end - start
    height = max(sizes.bar, text_height(screen.title, "bar", room, look) + 2 * sizes.gap)
    lines = button_lines(canvas, buttons, sizes.touch) if crowded else ()
    bottom = top + height + sum(line.height for line in lines)
    canvas.open()
    if screen.back:
        back = (canvas.left, top, sizes.bar, top + height)
        canvas.touch(ICON, back, Event("back"), description=look.word("back"))
    canvas.label((start, top, start + room, top + height), screen.title, "bar", "title")
    if crowded:
        place_buttons(canvas, buttons, lines, top + height)
    else:
        _actions(canvas, buttons, widths, (start + room, top, end, top + height))
    if screen.overflow:
        more = (canvas.right - sizes.touch, top, canvas.right, top + height)
        canvas.touch(ICON, more, Event("open", "menu"), description=look.say(MORE_OPTIONS))
    canvas.close(TOOLBAR, (canvas.left, top, canvas.right, bottom), kind="toolbar")
    return bottom


def _actions(
    canvas: Canvas, buttons: Sequence[Button], widths: Sequence[int], bounds: Rect
) -> None:
    left, top, _, bottom = bounds
    for button, width in zip(buttons, widths, strict=True):
        place = (left, top, left + width, bottom)
        if canvas.look.icon_actions:
            canvas.touch(ICON, place, button.on_tap, description=button.label)
        else:
            press(canvas, button, place)
        left += width


def _toolbar_width(canvas: Canvas, button: Button) -> int:
    if canvas.look.icon_actions:
        return canvas.sizes.bar
    needed = text_width(button.label, "button", canvas.look) + 2 * canvas.sizes.pad
    return max(canvas.sizes.bar, needed)


def _holds_title(canvas: Canvas, title: str, room: int) -> bool:
    if widest_word_px(title, text_px("bar", canvas.look)) > room:
        return False
    return len(lines_of(title, "bar", room, canvas.look)) <= 2
