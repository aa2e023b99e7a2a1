"""From the view hierarchy to shapes: a walk that knows what each container is.

The result comes in groups, one per node, and a node that was drawn before gives the same group, the
same object: whoever paints can remember what it did.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from apps_mock import screen_edges
from apps_mock.drawn import Drawn, Place
from apps_mock.lettering import Texts, fitted, is_inside, lines_in
from apps_mock.places import Written
from apps_mock.scene import Scene, reads_leftward
from apps_mock.shapes import Box, Shape, Veil
from apps_mock.style import Style, style_of
from apps_mock.theme import Theme, mixed_colour
from apps_mock.widget_drawing import shapes_of
from device_runtime.ui_tree import Node, is_editable, walk
from sync.vocabulary import Rect

Group = tuple[Shape, ...]

PLACES: Final[dict[str, Place]] = {
    "AlertDialogLayout": "dialog",
    "BottomNavigationView": "bar",
    "BottomSheet": "dialog",
    "CardView": "card",
    "MenuPopupWindow$MenuDropDownListView": "menu",
    "SearchView": "search",
    "SnackbarContentLayout": "notice",
    "TabLayout": "tabs",
    "Toolbar": "toolbar",
    "WebView": "web",
}
"""What the children of a container stand in, by the last part of the container's class."""

DIM_SHARE: Final = 0.5
"""How much of a page is hidden under a dialog."""

MENU_DIM_SHARE: Final = 0.15
"""The same under a menu."""

_INPUT_ROLES: Final = frozenset({"field", "hint"})
_REMEMBERED_SIZE: Final = 8192
_REMEMBERED: dict[tuple[int, Place, Written | None, int], tuple[Node, Style, Group]] = {}
"""By identity of node and style; holding on to both keeps their identities unique."""


def groups_of(scene: Scene) -> tuple[str, list[Group]]:
    """The colour of the ground, and the scene's shapes in the order of painting."""
    root, theme = scene.root, scene.theme
    _, _, width, height = root.bounds
    style = _style_for(root, theme, width)
    groups: list[Group] = []
    ground = theme.paper
    if scene.below is None and _has_wallpaper(root):
        groups.append(screen_edges.wallpaper(style, width, height))
    groups.append(screen_edges.status_bar(style, width, scene.now))
    if scene.below is not None:
        _draw_tree(
            scene.below, _style_for(scene.below, theme, width), Texts(scene.below_texts), groups
        )
        is_menu = any(_place_of(node) == "menu" for node in root.children)
        groups.append(_veil(width, height, MENU_DIM_SHARE if is_menu else DIM_SHARE))
    elif any(_place_of(node) == "dialog" for node in root.children):
        ground = mixed_colour(theme.paper, "#000000", DIM_SHARE)
    _draw_tree(root, style, Texts(scene.texts), groups)
    _draw_foot(scene, style, groups)
    return ground, groups


def _style_for(root: Node, theme: Theme, width: int) -> Style:
    launcher = root.package.endswith(".launcher")
    return style_of(theme, width, leftward=reads_leftward(root), launcher=launcher)


def _has_wallpaper(root: Node) -> bool:
    """The launcher and the lock screen, which nothing can be touched on, have one."""
    if root.package.endswith(".launcher"):
        return True
    return root.package.endswith(".systemui") and not any(
        node.clickable or node.checkable for node in walk((root,))
    )


def _draw_foot(scene: Scene, style: Style, groups: list[Group]) -> None:
    _, _, width, height = scene.root.bounds
    bottom = height
    if scene.keyboard:
        groups.append(screen_edges.keyboard(style, width, height))
        bottom -= style.px(screen_edges.KEYBOARD_DP)
    else:
        groups.append(screen_edges.gesture_handle(style, width, height))
    if scene.notice:
        groups.append(screen_edges.notice_at_foot(style, width, bottom, scene.notice))


@lru_cache(maxsize=8)
def _veil(width: int, height: int, share: float) -> Group:
    return (Veil((0, 0, width, height), share),)


def _draw_tree(root: Node, style: Style, texts: Texts, groups: list[Group]) -> None:
    pending: list[tuple[Node, Place]] = [(root, "page")]
    picture = root
    while pending:
        node, place = pending.pop()
        if node.class_name.endswith("ImageView"):
            picture = node
        inner = _place_of(node)
        if inner is not None:
            groups.append(_container(inner, node.bounds, style))
        elif node is not root:
            group = _node(node, place, texts, style, picture)
            if group:
                groups.append(group)
        pending.extend((child, inner or place) for child in reversed(node.children))
    groups.extend(_loose_text(written, style) for written in texts.rest())


def _place_of(node: Node) -> Place | None:
    return PLACES.get(node.class_name.rpartition(".")[2])


def _node(node: Node, place: Place, texts: Texts, style: Style, picture: Node) -> Group:
    """The node's shapes.

    Args:
        picture: the last one before it in the tree.
    """
    written = texts.take(node)
    if written is None and is_editable(node):
        written = texts.take_within(node.bounds, _INPUT_ROLES)
    if written is None and picture is not node and is_inside(picture.bounds, node.bounds):
        written = _beside(picture.bounds, node, style)
    key = (id(node), place, written, id(style))
    known = _REMEMBERED.get(key)
    if known is None:
        if len(_REMEMBERED) >= _REMEMBERED_SIZE:
            _REMEMBERED.clear()
        group = shapes_of(Drawn(node, place, written, style))
        known = _REMEMBERED[key] = (node, style, group)
    return known[2]


def _beside(picture: Rect, node: Node, style: Style) -> Written | None:
    """The text of an entry that begins with a picture, for trees without laid-out texts."""
    left, top, right, bottom = node.bounds
    gap = style.px(16)
    room = (picture[2] + gap, top, right - gap, bottom)
    if style.leftward:
        room = (left + gap, top, picture[0] - gap, bottom)
    written = fitted(node.text, room, unit=style.unit)
    return written and written._replace(role="title")


@lru_cache(maxsize=4096)
def _container(place: Place, bounds: Rect, style: Style) -> Group:
    theme, px = style.theme, style.px
    left, top, right, bottom = bounds
    thin = max(1, px(1))
    match place:
        case "dialog":
            return (Box(bounds, theme.raised, px(24)),)
        case "menu":
            return (Box(bounds, theme.raised, px(8), theme.line, thin),)
        case "card":
            inset = px(4)
            inner = (left, top + inset, right, bottom - inset)
            return (Box(inner, theme.surface, px(14), theme.line, thin),)
        case "notice":
            return (Box(bounds, theme.notice, px(8)),)
        case "tabs":
            return (Box((left, bottom - thin, right, bottom), theme.line),)
        case "bar":
            return (
                Box(bounds, theme.surface),
                Box((left, top, right, top + thin), theme.line),
            )
        case _:
            return ()


@lru_cache(maxsize=4096)
def _loose_text(written: Written, style: Style) -> Group:
    """A text of no node: the label of a field, a remark beside it."""
    theme = style.theme
    match written.role:
        case "label" | "hint" | "summary":
            colour = theme.faint
        case "error":
            colour = theme.danger
        case "notice":
            colour = theme.on_notice
        case _:
            colour = theme.ink
    return tuple(lines_in(written, colour, leftward=style.leftward))
