"""Where the parts of forms lie: text fields, pickers, sliders, chips."""

from __future__ import annotations

from typing import Final

from apps_mock.canvas import Canvas
from apps_mock.measuring import Line, lines_of, shared, tail_of, text_height, text_px
from apps_mock.nodes import BUTTON, EDIT, ICON, SEARCH, SEEK_BAR, SPINNER, plain
from apps_mock.places import Role, Target
from apps_mock.text_width import line_px
from apps_mock.widgets import Chips, Event, Field, Picker, Slider
from device_runtime.ui_tree import Node
from sync.vocabulary import Rect

_DOT: Final = "•"
_ALL_LINES: Final = 0
"""As many lines as the text needs; a field of one line shows the text's end instead."""

SLIDER_STEP: Final = 25


class _Form:
    """Where a field's name, its box and its remark lie."""

    def __init__(
        self, canvas: Canvas, label: str, text: str, *, lines: int, error: str = ""
    ) -> None:
        look, sizes = canvas.look, canvas.sizes
        left, right = canvas.left + sizes.margin, canvas.right - sizes.margin
        self.style = look.field_style
        self.box_left, self.box_right, self.label_right = left, right, right
        if self.style == "beside":
            self.label_right = left + (right - left) // 3
            self.box_left = self.label_right + sizes.gap
        room = self.box_right - self.box_left - 2 * sizes.pad
        self.label = self.error = 0
        hint = 0
        if self.style == "above":
            needed = text_height(label, "label", right - left, look)
            self.label = max(look.row_px // 2, needed + sizes.gap)
        elif self.style != "beside":
            hint = text_height(label, "hint", room, look)
        typed = max(1, lines) * line_px(text_px("field", look))
        if lines != 1:
            typed = max(typed, text_height(text, "field", room, look))
        self.box = max(look.row_px, max(hint, typed) + 2 * sizes.pad)
        if self.style == "beside":
            beside = text_height(label, "label", self.label_right - left, look)
            self.box = max(self.box, beside + sizes.gap)
        if error:
            self.error = text_height(error, "error", right - left, look) + sizes.gap
        self.height = self.label + self.box + self.error


def _form_of(canvas: Canvas, field: Field) -> _Form:
    return _Form(canvas, field.label, field.text, lines=field.lines, error=field.error)


def _named(canvas: Canvas, form: _Form, label: str, top: int) -> Rect:
    """Add the name of a field where the look shows it; returns the place of its box."""
    left = canvas.left + canvas.sizes.margin
    below = top + form.label
    if form.style == "above":
        canvas.label((left, top, form.label_right, below), label, "label")
    elif form.style == "beside":
        canvas.label((left, top, form.label_right, top + form.box), label, "label")
    return form.box_left, below, form.box_right, below + form.box


def field_height(canvas: Canvas, field: Field) -> int:
    """Pixels that a text field takes."""
    if field.search:
        hint = text_height(field.label, "hint", _search_room(canvas), canvas.look)
        return max(canvas.look.row_px, hint + 2 * canvas.sizes.pad)
    return _form_of(canvas, field).height


def _search_room(canvas: Canvas) -> int:
    sizes = canvas.sizes
    return canvas.right - canvas.left - 2 * sizes.margin - 2 * sizes.pad


def place_field(canvas: Canvas, field: Field, top: int) -> None:
    """Add a text field."""
    canvas.fields.append(field.key)
    if field.on_enter is not None:
        canvas.enters.append((field.key, field.on_enter))
    if field.search:
        margin = canvas.sizes.margin
        bottom = top + field_height(canvas, field)
        bounds = (canvas.left + margin, top, canvas.right - margin, bottom)
        canvas.open()
        _input(canvas, field, bounds, named=False)
        canvas.close(SEARCH, bounds, kind="search_bar")
        return
    form = _form_of(canvas, field)
    bounds = _named(canvas, form, field.label, top)
    _input(canvas, field, bounds, named=form.style in {"above", "beside"})
    if field.error:
        margin = canvas.sizes.margin
        left, right, below = canvas.left + margin, canvas.right - margin, bounds[3]
        canvas.label((left, below, right, below + form.error), field.error, "error", "error")


def _input(canvas: Canvas, field: Field, bounds: Rect, *, named: bool) -> None:
    seen = canvas.seen(bounds)
    if seen is None:
        canvas.hide(None, field.key, bounds[1])
        return
    typed = _DOT * len(field.text) if field.password else field.text
    hint = "" if named else field.label
    described = canvas.look.field_style == "described" and not field.search
    canvas.add(
        Node(
            EDIT,
            seen,
            text=typed or hint,
            description=field.label if described else "",
            resource_id=canvas.resource("input"),
            package=canvas.window.package,
            clickable=True,
            long_clickable=True,
            focusable=True,
            focused=canvas.window.focus == field.key,
            password=field.password,
        )
    )
    canvas.target(Target(seen, None, field.key))
    left, top, right, bottom = bounds
    inner = (left + canvas.sizes.pad, top, right - canvas.sizes.pad, bottom)
    room = inner[2] - inner[0]
    role: Role = "field" if typed else "hint"
    if typed and field.lines == 1:
        lines: tuple[str, ...] = (tail_of(typed, role, room, canvas.look),)
    else:
        lines = lines_of(typed or hint, role, room, canvas.look)
    canvas.write(lines, role, inner, clip=seen)


def _picked(canvas: Canvas, picker: Picker) -> str:
    """What a picker shows of its value."""
    if picker.kind == "date" and picker.value:
        return canvas.look.day(picker.value)
    for option in picker.options:
        if option.value == picker.value:
            return option.label
    return picker.value


def _picker_form(canvas: Canvas, picker: Picker) -> _Form:
    return _Form(canvas, picker.label, _picked(canvas, picker), lines=_ALL_LINES)


def picker_height(canvas: Canvas, picker: Picker) -> int:
    """Pixels that a picker takes."""
    return _picker_form(canvas, picker).height


def place_picker(canvas: Canvas, picker: Picker, top: int) -> None:
    """Add a picker: it looks like a field."""
    form = _picker_form(canvas, picker)
    bounds = _named(canvas, form, picker.label, top)
    named = form.style in {"above", "beside"}
    text = _picked(canvas, picker)
    canvas.touch(
        SPINNER if picker.kind == "choice" else BUTTON,
        bounds,
        Event("open", picker.key),
        text=text or ("" if named else picker.label),
        description="" if named and text else picker.label,
        role="field" if text else "hint",
        kind="picker",
        pad=canvas.sizes.pad,
    )


def slider_height(canvas: Canvas, slider: Slider) -> int:
    """Pixels that a slider takes."""
    return _slider_label(canvas, slider) + canvas.sizes.touch + canvas.sizes.gap


def _slider_label(canvas: Canvas, slider: Slider) -> int:
    room = canvas.right - canvas.left - 2 * canvas.sizes.margin
    return text_height(slider.label, "title", room, canvas.look) + canvas.sizes.gap


def place_slider(canvas: Canvas, slider: Slider, top: int) -> None:
    """Add a slider: its name, and below it less, a bar, more."""
    sizes, look = canvas.sizes, canvas.look
    left, right = canvas.left + sizes.margin, canvas.right - sizes.margin
    below = top + _slider_label(canvas, slider)
    bottom = below + sizes.touch
    canvas.label((left, top, right, below), slider.label, "title", "title")
    less = look.say("Decrease {}").format(slider.label)
    more = look.say("Increase {}").format(slider.label)
    _step(canvas, slider, (left, below, left + sizes.touch, bottom), less, -SLIDER_STEP)
    bar = (left + sizes.touch + sizes.gap, below, right - sizes.touch - sizes.gap, bottom)
    seen = canvas.seen(bar)
    if seen is not None:
        value = str(slider.value)
        node = plain(canvas.window.package, SEEK_BAR, seen, value, canvas.resource("seek_bar"))
        canvas.add(node)
    _step(canvas, slider, (right - sizes.touch, below, right, bottom), more, SLIDER_STEP)


def _step(canvas: Canvas, slider: Slider, bounds: Rect, description: str, step: int) -> None:
    value = min(100, max(0, slider.value + step))
    event = Event("slide", slider.key, str(value))
    canvas.touch(ICON, bounds, event, description=description)


def _chip_lines(canvas: Canvas, chips: Chips) -> tuple[Line, ...]:
    sizes = canvas.sizes
    return shared(
        tuple(chip.label for chip in chips.chips),
        "chip",
        room=(canvas.left + sizes.margin, canvas.right - sizes.margin),
        pad=sizes.pad,
        height=canvas.look.row_px,
        look=canvas.look,
    )


def chips_height(canvas: Canvas, chips: Chips) -> int:
    """Pixels that a line of choices takes; it goes on below where it is too long."""
    return sum(line.height for line in _chip_lines(canvas, chips))


def place_chips(canvas: Canvas, chips: Chips, top: int) -> None:
    """Add a line of choices."""
    for line in _chip_lines(canvas, chips):
        for index, left, right in line.shares:
            chip = chips.chips[index]
            canvas.choice(
                canvas.look.button_class,
                (left, top, right, top + line.height),
                chip.on_tap,
                text=chip.label,
                role="chip",
                checked=chip.selected,
                selected=chip.selected,
                pad=canvas.sizes.pad,
            )
        top += line.height
