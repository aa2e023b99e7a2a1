"""Where plain things lie: texts, buttons, links, pictures, icons with names, tabs, the toolbar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from apps_mock.canvas import Canvas
from apps_mock.clone_elements import element
from apps_mock.look import Look
from apps_mock.measuring import Line, faces_of, shared, text_height, text_width
from apps_mock.nodes import FRAME, ICON, PICTURE, TABS, TEXT, TOOLBAR, VIEW
from apps_mock.places import Role, Target, sizes_of
from apps_mock.text_width import widest_word_px, wrapped
from apps_mock.widgets import Button, Chip, Event, Image, Link, Screen, Text, Tiles
from sync.vocabulary import Rect

MORE_OPTIONS = "More options"


def _role(text: Text) -> Role:
    return "heading" if text.heading else "body"


def _room(canvas: Canvas) -> int:
    return canvas.right - canvas.left - 2 * canvas.sizes.margin


def measure_words(canvas: Canvas, text: Text) -> tuple[int, int]:
    """Pixels that a text takes."""
    needed = canvas.height(text.text, _role(text), _room(canvas))
    height = max(canvas.look.row_px, needed + 2 * canvas.sizes.gap)
    return height, height


def place_words(canvas: Canvas, text: Text, top: int, height: int) -> None:
    """Add a text."""
    margin = canvas.sizes.margin
    bounds = (canvas.left + margin, top, canvas.right - margin, top + height)
    if not text.copyable:
        canvas.label(bounds, text.text, _role(text))
        return
    seen = canvas.seen(bounds)
    hold = Event("copy_text", text.text)
    if seen is None:
        canvas.hide(hold, "", top)
        return
    canvas.add(element(TEXT, seen, canvas.window.package, text.text, long_clickable=True))
    canvas.target(Target(seen, None, hold=hold))
    canvas.write(text.text, _role(text), bounds, seen)


def measure_link(canvas: Canvas, link: Link) -> tuple[int, int]:
    """Pixels that a link takes."""
    needed = canvas.height(link.label, "link", _room(canvas))
    height = max(canvas.sizes.touch, needed + 2 * canvas.sizes.gap)
    return height, height


def place_link(canvas: Canvas, link: Link, top: int, height: int) -> None:
    """Add a link."""
    margin = canvas.sizes.margin
    bounds = (canvas.left + margin, top, canvas.right - margin, top + height)
    canvas.touch(VIEW, bounds, link.on_tap, text=link.label, role="link", pad=0)


def measure_image(canvas: Canvas, _image: Image) -> tuple[int, int]:
    """Pixels that a picture takes, and how high it is itself."""
    return canvas.sizes.image + canvas.sizes.gap, canvas.sizes.image


def place_image(canvas: Canvas, image: Image, top: int, height: int) -> None:
    """Add a picture; the frame around it tells which drawing it is."""
    margin = canvas.sizes.margin
    bounds = (canvas.left + margin, top, canvas.right - margin, top + height)
    seen = canvas.seen(bounds)
    if seen is None:
        if image.on_tap is not None:
            canvas.hide(image.on_tap, "", top)
        return
    touched = image.on_tap is not None
    if touched:
        canvas.target(Target(seen, image.on_tap))
    canvas.open()
    package, said = canvas.window.package, image.description
    picture = element(PICTURE, seen, package, description=said, clickable=touched)
    canvas.add(picture, tells=touched or bool(said))
    canvas.close_frame(element(FRAME, seen, package, resource_id=f"{package}:id/{image.name}"))


class Grid(NamedTuple):
    """How icons stand in a grid, and how large each one's place is."""

    columns: int
    width: int
    height: int


def grid_of(tiles: Tiles, room: int, look: Look) -> Grid:
    """The grid of icons in a room of that width: three columns where four cut a name off."""
    faces, sizes = faces_of(look), sizes_of(look)
    labels = [tile.label for tile in tiles.tiles]
    size = faces["tile"].size_px
    widest = max((widest_word_px(label, size) for label in labels), default=0)
    columns = 4 if widest + sizes.gap <= room // 4 else 3
    width = room // columns
    texts = (text_height(label, "tile", width - sizes.gap, faces) for label in labels)
    needed = sizes.touch + 3 * sizes.gap + max(texts, default=0)
    return Grid(columns, width, max(sizes.tile, needed))


def measure_tiles(canvas: Canvas, tiles: Tiles) -> tuple[int, Grid]:
    """Pixels that icons in a grid take, and the grid."""
    grid = grid_of(tiles, canvas.right - canvas.left, canvas.look)
    lines = (len(tiles.tiles) + grid.columns - 1) // grid.columns
    return grid.height * lines, grid


def place_tiles(canvas: Canvas, tiles: Tiles, top: int, grid: Grid) -> None:
    """Add icons in a grid; their names stand in the lower part."""
    columns, width, height = grid
    gap = canvas.sizes.gap
    for index, tile in enumerate(tiles.tiles):
        row, column = divmod(index, columns)
        left, y = canvas.left + column * width, top + row * height
        seen = canvas.seen((left, y, left + width, y + height))
        if seen is None:
            canvas.hide(tile.on_tap, "", y)
            continue
        canvas.add(element(TEXT, seen, canvas.window.package, tile.label, clickable=True))
        canvas.target(Target(seen, tile.on_tap))
        end = y + height - gap
        written = canvas.height(tile.label, "tile", width - gap)
        below = (left + gap // 2, end - written, left + width - gap // 2, end)
        clip = canvas.seen(below)
        if clip is not None:
            canvas.write(tile.label, "tile", below, clip, room=width - gap, centred=True)


def button_lines(canvas: Canvas, buttons: Sequence[Button], height: int) -> tuple[Line, ...]:
    """How buttons share the width, on one line or more."""
    return shared(
        [button.label for button in buttons],
        "button",
        room=(canvas.left, canvas.right),
        pad=canvas.sizes.pad,
        height=height,
        faces=canvas.faces,
    )


def measure_button(canvas: Canvas, button: Button) -> tuple[int, tuple[Line, ...]]:
    """Pixels that a button takes, and its line."""
    lines = button_lines(canvas, (button,), canvas.look.row_px)
    return lines[0].height, lines


def place_button(canvas: Canvas, button: Button, top: int, lines: tuple[Line, ...]) -> None:
    """Add a button of the body."""
    place_buttons(canvas, (button,), lines, top)


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
        [tab.label for tab in tabs],
        "tab",
        room=(canvas.left, canvas.right),
        pad=canvas.sizes.gap,
        height=canvas.sizes.touch,
        faces=canvas.faces,
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
    height = max(sizes.bar, canvas.height(screen.title, "bar", room) + 2 * sizes.gap)
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
    needed = text_width(button.label, "button", canvas.faces) + 2 * canvas.sizes.pad
    return max(canvas.sizes.bar, needed)


def _holds_title(canvas: Canvas, title: str, room: int) -> bool:
    face = canvas.faces["bar"]
    if widest_word_px(title, face.size_px) > room:
        return False
    return len(wrapped(title, room, face.size_px)) <= 2
