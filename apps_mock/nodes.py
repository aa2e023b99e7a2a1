"""Nodes of the view hierarchy, each made once: nodes that look the same are the same object.

What was drawn of a node is remembered by its identity (see `drawing`), and most of a screen is what
was there before.
"""

from __future__ import annotations

from typing import Final

from device_runtime.ui_tree import Node
from sync.vocabulary import Element

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
_NODES: dict[tuple[object, ...], Node] = {}
"""Nodes by what they are made of; holding on to the children keeps their identities unique."""


def node_of(element: Element, children: tuple[Node, ...] = ()) -> Node:
    """The node that an element is seen of."""
    key = (element, *map(id, children))
    known = _NODES.get(key)
    if known is None:
        if len(_NODES) >= _SIZE:
            _NODES.clear()
        known = _NODES[key] = Node(
            element.class_name,
            element.bounds,
            element.text,
            element.description,
            element.resource_id,
            element.package,
            clickable=element.clickable,
            long_clickable=element.long_clickable,
            checkable=element.checkable,
            checked=element.checked,
            focusable=element.clickable,
            focused=element.focused,
            scrollable=element.scrollable,
            selected=element.selected,
            password=element.password,
            children=children,
        )
    return known
