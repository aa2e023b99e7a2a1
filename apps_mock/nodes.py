"""Nodes of the view hierarchy, each made once: nodes that look the same are the same object.

Views are built thousands of times a second, mostly out of what was there before.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from device_runtime.ui_tree import Node
from sync.vocabulary import Rect

TEXT = "android.widget.TextView"
EDIT = "android.widget.EditText"
ICON = "android.widget.ImageButton"
PICTURE = "android.widget.ImageView"
BOX = "android.widget.LinearLayout"
FRAME = "android.widget.FrameLayout"
SCROLL = "android.widget.ScrollView"
SPINNER = "android.widget.Spinner"
BUTTON = "android.widget.Button"
OPTION = "android.widget.CheckedTextView"
SEEK_BAR = "android.widget.SeekBar"
SEARCH = "android.widget.SearchView"
VIEW = "android.view.View"
CARD = "androidx.cardview.widget.CardView"
TOOLBAR = "androidx.appcompat.widget.Toolbar"
TABS = "com.google.android.material.tabs.TabLayout"
BOTTOM_BAR = "com.google.android.material.bottomnavigation.BottomNavigationView"
SNACKBAR = "com.google.android.material.snackbar.SnackbarContentLayout"
DIALOG = "com.android.internal.widget.AlertDialogLayout"
MENU = "android.widget.MenuPopupWindow$MenuDropDownListView"

_SIZE: Final = 16384


@lru_cache(maxsize=_SIZE)
def plain(package: str, class_name: str, bounds: Rect, text: str, resource_id: str) -> Node:
    """Something that is only read."""
    return Node(class_name, bounds, text, package=package, resource_id=resource_id)


@lru_cache(maxsize=_SIZE)
def touchable(  # noqa: PLR0917 - called thousands of times a second
    package: str,
    class_name: str,
    bounds: Rect,
    text: str,
    description: str,
    resource_id: str = "",
    long: bool = False,  # noqa: FBT001, FBT002 - as above
    selected: bool = False,  # noqa: FBT001, FBT002 - as above
    enabled: bool = True,  # noqa: FBT001, FBT002 - as above
) -> Node:
    """Something to touch."""
    return Node(
        class_name,
        bounds,
        text,
        description,
        resource_id,
        package=package,
        clickable=True,
        long_clickable=long,
        focusable=True,
        selected=selected,
        enabled=enabled,
    )


@lru_cache(maxsize=_SIZE)
def checkable(  # noqa: PLR0917 - as above
    package: str,
    class_name: str,
    bounds: Rect,
    text: str,
    resource_id: str,
    clickable: bool,  # noqa: FBT001 - as above
    checked: bool,  # noqa: FBT001 - as above
    selected: bool = False,  # noqa: FBT001, FBT002 - as above
) -> Node:
    """A switch, a radio button, a chip."""
    return Node(
        class_name,
        bounds,
        text,
        resource_id=resource_id,
        package=package,
        clickable=clickable,
        checkable=True,
        checked=checked,
        selected=selected,
        focusable=clickable,
    )


_BOXES: dict[tuple[object, ...], Node] = {}
"""Boxes by what they are made of; holding on to the children keeps their identities unique."""


def box(  # noqa: PLR0917 - as above
    package: str,
    class_name: str,
    bounds: Rect,
    resource_id: str,
    clickable: bool,  # noqa: FBT001 - as above
    long: bool,  # noqa: FBT001 - as above
    selected: bool,  # noqa: FBT001 - as above
    children: tuple[Node, ...],
) -> Node:
    """A container."""
    key = (package, class_name, bounds, resource_id, clickable, long, selected, *map(id, children))
    known = _BOXES.get(key)
    if known is None:
        if len(_BOXES) >= _SIZE:
            _BOXES.clear()
        known = _BOXES[key] = Node(
            class_name,
            bounds,
            resource_id=resource_id,
            package=package,
            clickable=clickable,
            long_clickable=long,
            focusable=clickable,
            selected=selected,
            children=children,
        )
    return known
