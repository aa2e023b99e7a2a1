"""How each kind of node looks: its shapes, by its class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from apps_mock.button_drawing import button, chip, icon_button
from apps_mock.control_drawing import check_box, picture_in, radio, switch
from apps_mock.drawn import Drawn
from apps_mock.entry_drawing import check_mark, row
from apps_mock.field_drawing import field, slider, spinner
from apps_mock.shapes import Shape
from apps_mock.text_drawing import text

_BY_CLASS: Final[dict[str, Callable[[Drawn], list[Shape]]]] = {
    "Button": button,
    "CheckBox": check_box,
    "CheckedTextView": check_mark,
    "Chip": chip,
    "EditText": field,
    "ImageButton": icon_button,
    "ImageView": picture_in,
    "LinearLayout": row,
    "RadioButton": radio,
    "SeekBar": slider,
    "Spinner": spinner,
    "Switch": switch,
    "TextView": text,
    "View": text,
}


def shapes_of(drawn: Drawn) -> tuple[Shape, ...]:
    """The node's own shapes, without its children's."""
    name = drawn.node.class_name.rpartition(".")[2]
    draw = _BY_CLASS.get(name)
    if draw is not None:
        return tuple(draw(drawn))
    return tuple(text(drawn)) if drawn.node.text else ()
