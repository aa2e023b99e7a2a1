"""Where the parts of forms lie: text fields, pickers, sliders, chips."""

from __future__ import annotations

from typing import Final

from apps_mock.canvas import Canvas
from apps_mock.clone_elements import element
from apps_mock.measuring import Line, shared
from apps_mock.nodes import BUTTON, EDIT, ICON, SEARCH, SEEK_BAR, SPINNER
from apps_mock.places import Role, Target
from apps_mock.widgets import Chips, Event, Field, Picker, Slider
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
            needed = canvas.height(label, "label", right - left)
            self.label = max(look.row_px // 2, needed + sizes.gap)
        elif self.style != "beside":
            hint = canvas.height(label, "hint", room)
        typed = max(1, lines) * canvas.faces["field"].line_px
        if lines != 1:
            typed = max(typed, canvas.height(text, "field", room))
        self.box = max(look.row_px, max(hint, typed) + 2 * sizes.pad)
        if self.style == "beside":
            beside = canvas.height(label, "label", self.label_right - left)
            self.box = max(self.box, beside + sizes.gap)
        if error:
            self.error = canvas.height(error, "error", right - left) + sizes.gap
        self.height = self.label + self.box + self.error


def _named(canvas: Canvas, form: _Form, label: str, top: int) -> Rect:
    """Add the name of a field where the look shows it; returns the place of its box."""
    left = canvas.left + canvas.sizes.margin
    below = top + form.label
    if form.style == "above":
        canvas.label((left, top, form.label_right, below), label, "label")
    elif form.style == "beside":
        canvas.label((left, top, form.label_right, top + form.box), label, "label")
    return form.box_left, below, form.box_right, below + form.box


def measure_field(canvas: Canvas, field: Field) -> tuple[int, int | _Form]:
    """Pixels that a text field takes, and where its parts lie; a search bar has no parts."""
    if field.search:
        sizes = canvas.sizes
        room = canvas.right - canvas.left - 2 * sizes.margin - 2 * sizes.pad
        hint = canvas.height(field.label, "hint", room)
        height = max(canvas.look.row_px, hint + 2 * sizes.pad)
        return height, height
    form = _Form(canvas, field.label, field.text, lines=field.lines, error=field.error)
    return form.height, form


def place_field(canvas: Canvas, field: Field, top: int, form: int | _Form) -> None:
    """Add a text field."""
    canvas.fields.append(field.key)
    if field.on_enter is not None:
        canvas.enters.append((field.key, field.on_enter))
    if isinstance(form, int):
        margin = canvas.sizes.margin
        bounds = (canvas.left + margin, top, canvas.right - margin, top + form)
        canvas.open()
        _input(canvas, field, bounds, named=False)
        canvas.close(SEARCH, bounds, kind="search_bar")
        return
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
        element(
            EDIT,
            seen,
            canvas.window.package,
            typed or hint,
            field.label if described else "",
            canvas.resource("input"),
            clickable=True,
            long_clickable=True,
            editable=True,
            focused=canvas.window.focus == field.key,
            password=field.password,
        )
    )
    canvas.target(Target(seen, None, field.key))
    left, top, right, bottom = bounds
    inner = (left + canvas.sizes.pad, top, right - canvas.sizes.pad, bottom)
    role: Role = "field" if typed else "hint"
    canvas.write(typed or hint, role, inner, seen, tail=bool(typed) and field.lines == 1)


def _picked(canvas: Canvas, picker: Picker) -> str:
    """What a picker shows of its value."""
    if picker.kind == "date" and picker.value:
        return canvas.look.day(picker.value)
    for option in picker.options:
        if option.value == picker.value:
            return option.label
    return picker.value


def measure_picker(canvas: Canvas, picker: Picker) -> tuple[int, tuple[_Form, str]]:
    """Pixels that a picker takes, where its parts lie, and what it shows of its value."""
    text = _picked(canvas, picker)
    form = _Form(canvas, picker.label, text, lines=_ALL_LINES)
    return form.height, (form, text)


def place_picker(canvas: Canvas, picker: Picker, top: int, parts: tuple[_Form, str]) -> None:
    """Add a picker: it looks like a field."""
    form, text = parts
    bounds = _named(canvas, form, picker.label, top)
    named = form.style in {"above", "beside"}
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


def measure_slider(canvas: Canvas, slider: Slider) -> tuple[int, int]:
    """Pixels that a slider takes, and those of its name alone."""
    sizes = canvas.sizes
    room = canvas.right - canvas.left - 2 * sizes.margin
    label = canvas.height(slider.label, "title", room) + sizes.gap
    return label + sizes.touch + sizes.gap, label


def place_slider(canvas: Canvas, slider: Slider, top: int, label: int) -> None:
    """Add a slider: its name, and below it less, a bar, more."""
    sizes, look = canvas.sizes, canvas.look
    left, right = canvas.left + sizes.margin, canvas.right - sizes.margin
    below = top + label
    bottom = below + sizes.touch
    canvas.label((left, top, right, below), slider.label, "title", "title")
    less = look.say("Decrease {}").format(slider.label)
    more = look.say("Increase {}").format(slider.label)
    _step(canvas, slider, (left, below, left + sizes.touch, bottom), less, -SLIDER_STEP)
    bar = (left + sizes.touch + sizes.gap, below, right - sizes.touch - sizes.gap, bottom)
    seen = canvas.seen(bar)
    if seen is not None:
        value = str(slider.value)
        resource = canvas.resource("seek_bar")
        canvas.add(element(SEEK_BAR, seen, canvas.window.package, value, "", resource))
    _step(canvas, slider, (right - sizes.touch, below, right, bottom), more, SLIDER_STEP)


def _step(canvas: Canvas, slider: Slider, bounds: Rect, description: str, step: int) -> None:
    value = min(100, max(0, slider.value + step))
    event = Event("slide", slider.key, str(value))
    canvas.touch(ICON, bounds, event, description=description)


def measure_chips(canvas: Canvas, chips: Chips) -> tuple[int, tuple[Line, ...]]:
    """Pixels that a line of choices takes, and its lines: it goes on below where it is too long."""
    sizes = canvas.sizes
    lines = shared(
        [chip.label for chip in chips.chips],
        "chip",
        room=(canvas.left + sizes.margin, canvas.right - sizes.margin),
        pad=sizes.pad,
        height=canvas.look.row_px,
        faces=canvas.faces,
    )
    return sum(line.height for line in lines), lines


def place_chips(canvas: Canvas, chips: Chips, top: int, lines: tuple[Line, ...]) -> None:
    """Add a line of choices."""
    for line in lines:
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
