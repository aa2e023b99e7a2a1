"""Elements of a clone's screen: the same values as `ui_tree.elements_of` gives, made at once.

A property test compares them with what that function says of the same screen's hierarchy.
"""

from __future__ import annotations

from typing import Any

from sync.vocabulary import Element, Rect


class _Draft:
    """An element that is being written, in the slots that `Element` has.

    A frozen dataclass sets each field with a call of its own, which makes 16 fields the dearest
    part of a screen. A draft is written field by field and then becomes an element, in a quarter of
    the time; that works as long as both have the same slots, and fails at once where they do not.
    """

    __slots__ = Element.__slots__


def element(  # noqa: PLR0917 - called tens of thousands of times a second
    class_name: str,
    bounds: Rect,
    package: str,
    text: str = "",
    description: str = "",
    resource_id: str = "",
    clickable: bool = False,  # noqa: FBT001, FBT002 - as above
    long_clickable: bool = False,  # noqa: FBT001, FBT002 - as above
    checkable: bool = False,  # noqa: FBT001, FBT002 - as above
    checked: bool = False,  # noqa: FBT001, FBT002 - as above
    selected: bool = False,  # noqa: FBT001, FBT002 - as above
    scrollable: bool = False,  # noqa: FBT001, FBT002 - as above
    editable: bool = False,  # noqa: FBT001, FBT002 - as above
    password: bool = False,  # noqa: FBT001, FBT002 - as above
    focused: bool = False,  # noqa: FBT001, FBT002 - as above
) -> Element:
    """An element that is enabled."""
    made: Any = _Draft()  # Any: it becomes an Element
    made.class_name = class_name
    made.bounds = bounds
    made.text = text
    made.description = description
    made.resource_id = resource_id
    made.package = package
    made.clickable = clickable
    made.long_clickable = long_clickable
    made.checkable = checkable
    made.checked = checked
    made.editable = editable
    made.password = password
    made.scrollable = scrollable
    made.focused = focused
    made.selected = selected
    made.enabled = True
    made.__class__ = Element
    whole: Element = made
    return whole
