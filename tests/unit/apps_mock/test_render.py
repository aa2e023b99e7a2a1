from __future__ import annotations

import io
import subprocess
import sys

import pytest
from PIL import Image

from apps_mock.render import draw_screen, png
from apps_mock.tasks import templates
from apps_mock.templates import Template
from apps_mock.theme import DEFAULT_THEME, SCHEMES, theme_named
from device_runtime.ui_tree import Node

SCREEN = (0, 0, 1080, 2400)


def screen_with(*nodes: Node, package: str = "org.example") -> Node:
    return Node("android.widget.FrameLayout", SCREEN, package=package, children=nodes)


def rgb(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour[1:]))


def differs(one: Image.Image, other: Image.Image, box: tuple[int, int, int, int]) -> bool:
    return one.crop(box).tobytes() != other.crop(box).tobytes()


def test_a_screenshot_is_a_png_of_the_screens_size(phone_with):
    phone = phone_with("clock_add")
    image = Image.open(io.BytesIO(phone.screenshot()))

    assert image.format == "PNG"
    assert image.size == phone.tree().bounds[2:]


def test_the_same_tree_gives_the_same_bytes(phone_with):
    phone = phone_with("tickets_find")

    assert png(phone.tree(), now="08:15") == png(phone.tree(), now="08:15")
    assert png(phone.tree(), now="08:15") != png(phone.tree(), now="08:16")


_IN_ANOTHER_PROCESS = """
import hashlib
from apps_mock.render import png
from device_runtime.ui_tree import parse
import sys
root = parse(open(sys.argv[1], "rb").read()).roots[0]
print(hashlib.sha256(png(root, now="08:15")).hexdigest())
"""


def test_the_same_tree_gives_the_same_bytes_in_processes_with_other_hash_seeds(
    phone_with, tmp_path
):
    dump = tmp_path / "dump.xml"
    dump.write_bytes(phone_with("contacts_open").tree_xml())

    digests = {
        subprocess.run(
            [sys.executable, "-c", _IN_ANOTHER_PROCESS, str(dump)],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(digests) == 1


@pytest.mark.parametrize("scheme", SCHEMES[1:])
def test_each_scheme_and_darkness_looks_different(scheme):
    root = screen_with(
        Node("android.widget.Switch", (800, 600, 960, 760), checked=True, checkable=True)
    )

    pictures = [
        draw_screen(root, theme=theme).tobytes()
        for theme in (DEFAULT_THEME, theme_named(scheme), theme_named(scheme, dark=True))
    ]

    assert len(set(pictures)) == 3


@pytest.mark.parametrize(
    "class_name",
    [
        "Button",
        "CheckBox",
        "CheckedTextView",
        "EditText",
        "ImageButton",
        "ImageView",
        "RadioButton",
        "SeekBar",
        "Spinner",
        "Switch",
    ],
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


def test_round_corners_are_smooth():
    box = (100, 600, 900, 760)
    node = Node("android.widget.Button", box, text="Save", clickable=True)

    image = draw_screen(screen_with(node))
    colours = {colour for _, colour in image.crop((100, 600, 180, 760)).getcolors(1 << 20)}

    assert len(colours) > 10


def test_the_keyboard_covers_the_lower_part():
    image = draw_screen(screen_with(), keyboard=True)

    assert image.getpixel((2, 2390)) == rgb(DEFAULT_THEME.keyboard)
    assert image.getpixel((2, 1000)) == rgb(DEFAULT_THEME.paper)


def test_a_focused_field_has_an_accent_around_it():
    box = (42, 600, 1038, 760)

    shown = [
        draw_screen(screen_with(Node("android.widget.EditText", box, focused=focused)))
        for focused in (True, False)
    ]
    column = [image.crop((700, 600, 701, 640)).getcolors() for image in shown]

    assert rgb(DEFAULT_THEME.accent) in {colour for _, colour in column[0]}
    assert rgb(DEFAULT_THEME.accent) not in {colour for _, colour in column[1]}


def test_long_texts_are_cut_off_inside_their_place():
    box = (0, 600, 300, 700)
    node = Node("android.widget.TextView", box, text="a text that is far too long for its place")

    empty, drawn = draw_screen(screen_with()), draw_screen(screen_with(node))

    assert differs(empty, drawn, box)
    assert not differs(empty, drawn, (301, 600, 1080, 700))


@pytest.mark.parametrize("text", ["جهات الاتصال", "連絡先", "Straße"])
def test_each_script_is_drawn_with_letters_of_its_own(text):
    box = (42, 600, 1038, 760)

    shown, missing = (
        draw_screen(screen_with(Node("android.widget.TextView", box, text=words)))
        for words in (text, "\ue123" * len(text))
    )

    assert differs(draw_screen(screen_with()), shown, box)
    assert differs(shown, missing, box)


def test_arabic_letters_join_and_stand_at_the_right():
    box = (42, 600, 1038, 760)
    joined = draw_screen(screen_with(Node("android.widget.TextView", box, text="سلام")))
    apart = draw_screen(screen_with(Node("android.widget.TextView", box, text="س‌ل‌ا‌م")))
    empty = draw_screen(screen_with())

    assert differs(joined, apart, box)
    assert differs(joined, empty, (540, 600, 1038, 760))
    assert not differs(joined, empty, (42, 600, 540, 760))


def test_a_page_below_a_dialog_shows_dimmed():
    text = Node("android.widget.TextView", (42, 200, 1038, 300), text="Below")
    card = Node("com.android.internal.widget.AlertDialogLayout", (100, 900, 980, 1400))

    image = draw_screen(screen_with(card), below=screen_with(text))
    paper = rgb(DEFAULT_THEME.paper)

    assert image.getpixel((540, 1150)) == rgb(DEFAULT_THEME.raised)
    assert max(image.getpixel((20, 1800))) < min(paper)
    assert differs(image, draw_screen(screen_with(card), below=screen_with()), (42, 200, 500, 300))


def test_a_notice_stands_at_the_foot():
    plain, told = draw_screen(screen_with()), draw_screen(screen_with(), notice="Copied")

    assert differs(plain, told, (100, 2200, 980, 2390))
    assert not differs(plain, told, (0, 0, 1080, 2000))


def test_a_narrower_picture_keeps_the_screens_shape():
    assert draw_screen(screen_with(), width_px=540).size == (540, 1200)


def one_template_per_app() -> list[Template]:
    moving = [each for each in templates() if not {"starts_satisfied", "infeasible"} & {*each.tags}]
    return list({template.app: template for template in moving}.values())


@pytest.mark.parametrize("template", one_template_per_app(), ids=lambda template: template.name)
def test_screens_of_every_app_can_be_drawn_on_the_way_to_the_goal(phone_with, solve, template):
    phone = phone_with(template.name)
    start = draw_screen(phone.tree(), width_px=360).tobytes()
    solve(phone)

    assert draw_screen(phone.tree(), width_px=360).tobytes() != start
