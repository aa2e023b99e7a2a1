from __future__ import annotations

import io

import pytest
from PIL import Image

from apps_mock.render import ACCENT, KEYBOARD, draw_screen, png
from apps_mock.tasks import templates
from device_runtime.ui_tree import Node

SCREEN = (0, 0, 1080, 2400)


def screen_with(*nodes: Node) -> Node:
    return Node("android.widget.FrameLayout", SCREEN, package="org.example", children=nodes)


def differs(one: Image.Image, other: Image.Image, box: tuple[int, int, int, int]) -> bool:
    return one.crop(box).tobytes() != other.crop(box).tobytes()


def test_a_screenshot_is_a_png_of_the_screens_size(phone_with):
    image = Image.open(io.BytesIO(phone_with("clock_add").screenshot()))

    assert image.format == "PNG"
    assert image.size == (1080, 2400)


def test_the_same_tree_gives_the_same_bytes(phone_with):
    phone = phone_with("tickets_find")

    assert png(phone.tree(), now="08:15") == png(phone.tree(), now="08:15")
    assert png(phone.tree(), now="08:15") != png(phone.tree(), now="08:16")


@pytest.mark.parametrize(
    "class_name",
    ["Button", "CheckBox", "CheckedTextView", "EditText", "ImageButton", "RadioButton", "Switch"],
)
def test_every_widget_class_leaves_its_mark_where_it_lies(class_name):
    box = (100, 600, 900, 760)
    node = Node(
        f"android.widget.{class_name}",
        box,
        text="Name",
        description="Name",
        checkable=True,
        checked=True,
    )

    empty, drawn = draw_screen(screen_with()), draw_screen(screen_with(node))

    assert differs(empty, drawn, box)
    assert not differs(empty, drawn, (0, 800, 1080, 2400))


@pytest.mark.parametrize("class_name", ["CheckBox", "RadioButton", "Switch", "CheckedTextView"])
def test_on_and_off_look_different(class_name):
    box = (800, 600, 960, 760)
    shown = [
        draw_screen(screen_with(Node(f"android.widget.{class_name}", box, checked=checked)))
        for checked in (True, False)
    ]

    assert differs(shown[0], shown[1], box)


def test_the_keyboard_covers_the_lower_part():
    image = draw_screen(screen_with(), keyboard=True)

    assert image.getpixel((2, 2390)) == tuple(bytes.fromhex(KEYBOARD[1:]))
    assert image.getpixel((2, 1000)) != tuple(bytes.fromhex(KEYBOARD[1:]))


def test_a_focused_field_has_an_accent_around_it():
    box = (42, 600, 1038, 760)
    node = Node("android.widget.EditText", box, focused=True)

    image = draw_screen(screen_with(node))

    assert image.getpixel((540, 614)) == tuple(bytes.fromhex(ACCENT[1:]))


def test_long_texts_are_cut_off_inside_their_place():
    box = (0, 600, 300, 700)
    node = Node("android.widget.TextView", box, text="a text that is far too long for its place")

    empty, drawn = draw_screen(screen_with()), draw_screen(screen_with(node))

    assert not differs(empty, drawn, (301, 600, 1080, 700))


@pytest.mark.parametrize("template", templates()[::6], ids=lambda template: template.name)
def test_screens_of_every_suite_can_be_drawn_on_the_way_to_the_goal(phone_with, solve, template):
    phone = phone_with(template.name)
    start = phone.screenshot()
    solve(phone)

    assert phone.screenshot() != start
