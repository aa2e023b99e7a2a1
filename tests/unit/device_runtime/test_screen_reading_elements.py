"""What lines, boxes and icons are taken for; pure, without a picture."""

from __future__ import annotations

from device_runtime.screen_reading_elements import Found, elements_found
from device_runtime.screen_reading_shapes import Icon, IconKind, Shapes
from device_runtime.screen_reading_text import TextLine

WIDTH, HEIGHT = 400, 800


def found(lines=(), *, boxes=(), dividers=(), icons=(), front=None, **known):
    read = tuple(
        TextLine(text, bounds, 0.99) if isinstance(bounds, tuple) else text
        for text, bounds in lines
    )
    shapes = Shapes(tuple(boxes), tuple(dividers), tuple(icons), dp=1.0, front=front)
    return elements_found(Found(read, shapes, WIDTH, HEIGHT, **known))


def kinds(elements):
    return [(each.class_name.rpartition(".")[2], each.label, each.clickable) for each in elements]


def test_nothing_on_the_picture_is_no_element():
    assert found() == ()


def test_wide_box_with_text_at_its_left_end_is_a_field():
    (field,) = found([("Search", (30, 110, 90, 130))], boxes=[(20, 100, 380, 140)])

    assert field.editable
    assert (field.text, field.bounds) == ("Search", (20, 100, 380, 140))


def test_wide_empty_box_is_a_field_although_a_caret_stands_in_it():
    (field,) = found(boxes=[(20, 100, 380, 140)], icons=[Icon((30, 110, 32, 130))])

    assert (field.editable, field.text) == (True, "")


def test_field_with_an_icon_at_its_end_is_a_picker():
    icon = Icon((350, 110, 366, 126))

    (picker,) = found(
        [("60 minutes", (30, 110, 120, 130))], boxes=[(20, 100, 380, 140)], icons=[icon]
    )

    assert (picker.class_name, picker.editable) == ("android.widget.Spinner", False)


def test_box_around_text_in_its_middle_is_a_button():
    elements = found([("Save", (180, 110, 220, 130))], boxes=[(20, 100, 380, 140)])

    assert kinds(elements) == [("Button", "Save", True)]


def test_texts_beside_each_other_in_one_box_are_tabs():
    lines = [("Today", (40, 690, 100, 710)), ("Lists", (200, 690, 260, 710))]

    elements = found(lines, boxes=[(0, 660, 400, 740)])

    assert [one for one in kinds(elements) if one[0] == "Button"] == [
        ("Button", "Today", True),
        ("Button", "Lists", True),
    ]


def test_card_is_one_thing_that_holds_its_texts():
    lines = [("Toaster", (40, 110, 100, 126)), ("24 EUR", (40, 132, 100, 148))]

    elements = found(lines, boxes=[(20, 100, 380, 160)])

    assert kinds(elements) == [
        ("LinearLayout", "", True),
        ("TextView", "Toaster", False),
        ("TextView", "24 EUR", False),
    ]


def test_row_between_two_lines_is_one_thing_as_wide_as_the_screen():
    lines = [("Ada", (20, 210, 60, 226)), ("Home", (20, 232, 60, 246)), ("Bob", (20, 280, 60, 296))]

    elements = found(lines, dividers=[200, 256, 312])

    rows = [each for each in elements if each.clickable]
    assert [(each.label, each.bounds) for each in rows] == [
        ("", (0, 200, 400, 256)),
        ("Bob", (0, 256, 400, 312)),
    ]


def test_first_row_of_a_list_has_no_line_above_it():
    elements = found([("Ada", (20, 160, 60, 176))], dividers=[196, 252, 308])

    assert elements[0].bounds == (0, 140, 400, 196)


def test_edge_of_a_field_parts_no_rows():
    elements = found([("To", (20, 150, 40, 166))], boxes=[(0, 100, 400, 140)], dividers=[140, 190])

    assert ("TextView", "To", True) in kinds(elements)
    assert all(each.bounds != (0, 140, 400, 190) for each in elements)


def test_tick_box_and_switch_of_a_row_say_whether_they_are_on():
    icons = [
        Icon((360, 216, 380, 236), IconKind.SQUARE, is_on=True),
        Icon((330, 272, 380, 296), IconKind.PILL, is_on=False),
    ]
    lines = [("Wi-Fi", (20, 210, 60, 226)), ("Sound", (20, 276, 60, 290))]

    elements = found(lines, dividers=[200, 256, 312], icons=icons)

    checks = {each.class_name: each.checked for each in elements if each.checkable}
    assert checks == {"android.widget.CheckBox": True, "android.widget.Switch": False}


def test_icons_over_names_are_tiles():
    xs = (40, 160, 280)
    icons = [Icon((x, 300, x + 50, 350)) for x in xs]
    lines = [(f"App {x}", (x, 360, x + 50, 376)) for x in xs]

    elements = found(lines, icons=icons)

    assert kinds(elements) == [("TextView", f"App {x}", True) for x in xs]
    assert elements[0].bounds == (40, 300, 90, 376)


def test_day_in_a_grid_of_boxes_is_no_name_of_the_box_above():
    days = [(x, y) for y in (300, 350, 400) for x in (40, 100, 160)]
    boxes = [(x, y, x + 40, y + 32) for x, y in days]
    lines = [(str(10 + n), (x + 12, y + 8, x + 28, y + 24)) for n, (x, y) in enumerate(days)]

    elements = found(lines, boxes=boxes)

    assert kinds(elements) == [("Button", str(10 + n), True) for n in range(9)]


def test_icons_of_the_upper_bar_are_called_by_their_place_and_shape():
    icons = [Icon((16, 40, 36, 60)), Icon((370, 38, 376, 58)), Icon((330, 38, 350, 58))]

    elements = found([("Title", (80, 38, 140, 60))], icons=icons)

    assert sorted(one[1] for one in kinds(elements) if one[0] == "ImageButton") == [
        "",
        "More options",
        "Navigate up",
    ]
    assert ("TextView", "Title", False) in kinds(elements)


def test_icon_that_looks_like_a_character_is_an_icon_with_a_name():
    plus = TextLine("十", (300, 600, 320, 620), 0.7)

    (icon,) = found([(plus, None)])

    assert (icon.class_name, icon.description) == ("android.widget.ImageButton", "New")
    assert icon.bounds == (286, 586, 334, 634)


def test_bar_with_the_time_and_the_keyboard_are_no_part_of_the_app():
    rows = ["qwertyuiop", "asdfghjkl", "zxcvbnm"]
    keys = [
        (letter, (20 + 36 * column, 600 + 50 * row, 30 + 36 * column, 620 + 50 * row))
        for row, letters in enumerate(rows)
        for column, letter in enumerate(letters)
    ]

    elements = found([("12:41", (10, 4, 50, 18)), ("Hello", (20, 300, 80, 320)), *keys])

    assert [each.label for each in elements] == ["Hello"]


def test_only_what_a_dialog_holds_is_there():
    lines = [("Behind", (20, 100, 90, 120)), ("Delete?", (60, 320, 140, 340))]

    elements = found(lines, boxes=[(40, 300, 360, 500)], front=(40, 300, 360, 500))

    assert [each.label for each in elements if each.label] == ["Delete?"]


def test_screen_scrolls_where_its_texts_go_on_to_the_lower_end():
    short = found([("One", (20, 100, 60, 120))])
    long = found([("One", (20, 100, 60, 120)), ("Last", (20, 770, 60, 790))])

    assert not any(each.scrollable for each in short)
    assert [each.bounds for each in long if each.scrollable] == [(0, 68, 400, 800)]


def test_touched_field_has_the_focus_while_the_keyboard_is_up():
    fields = [(20, 100, 380, 140), (20, 160, 380, 200)]

    elements = found(boxes=fields, touched=(200, 180), keyboard_shown=True)

    assert [each.focused for each in elements] == [False, True]


def test_whatever_was_touched_is_a_field_while_the_keyboard_is_up():
    line = ("To", (20, 100, 60, 120))

    (named,) = found([line], touched=(40, 110), keyboard_shown=True)
    made = found([line], touched=(200, 500), keyboard_shown=True)[-1]

    assert (named.text, named.editable, named.focused) == ("To", True, True)
    assert (made.text, made.focused, made.bounds) == ("", True, (0, 476, 400, 524))


def test_nothing_has_the_focus_without_a_keyboard():
    (field,) = found(boxes=[(20, 100, 380, 140)], touched=(200, 120), keyboard_shown=False)

    assert not field.focused


def test_elements_are_in_reading_order_and_of_the_app_in_front():
    lines = [("B", (220, 300, 260, 320)), ("Low", (20, 400, 60, 420)), ("A", (20, 300, 60, 320))]

    elements = found(lines, package="org.example")

    assert [each.text for each in elements] == ["A", "B", "Low"]
    assert {each.package for each in elements} == {"org.example"}
