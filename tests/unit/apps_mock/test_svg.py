from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from apps_mock.scene import Scene
from apps_mock.svg import svg
from apps_mock.theme import theme_named
from device_runtime.ui_tree import Node

SVG = "{http://www.w3.org/2000/svg}"
BOX = (42, 600, 1038, 760)


def scene_with(*nodes: Node, **fields) -> Scene:
    root = Node("android.widget.FrameLayout", (0, 0, 1080, 2400), children=nodes)
    return Scene(root, **fields)


def texts_in(picture: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(picture).iter(f"{SVG}text")]


@pytest.mark.parametrize("template", ["contacts_edit_phone", "clock_add", "tickets_find"])
def test_screens_are_well_formed_and_show_their_texts(phone_with, template):
    tree = phone_with(template).tree()

    shown = " ".join(texts_in(svg(Scene(tree))))

    assert all(node.text.split()[0] in shown for node in tree.children if node.text)


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "a & b", '"quoted"', "\x00\x1b[31m"])
def test_texts_are_escaped(text):
    picture = svg(scene_with(Node("android.widget.TextView", BOX, text=text)))

    assert "<script>" not in picture
    assert "\x00" not in picture
    assert "".join(texts_in(picture))


def test_nothing_refers_to_the_outside():
    picture = svg(
        scene_with(Node("android.widget.ImageView", BOX, description="Harbour", clickable=True))
    )

    assert "href" not in picture
    assert picture.count("url(") == picture.count("url(#clip-") == 1
    assert picture.count("http") == 1


def test_the_theme_colours_the_picture():
    dark = svg(scene_with(theme=theme_named("rose", dark=True)))

    assert theme_named("rose", dark=True).paper in dark
    assert dark != svg(scene_with())


def test_arabic_words_run_leftward():
    picture = svg(scene_with(Node("android.widget.TextView", BOX, text="سلام")))

    text = next(ET.fromstring(picture).iter(f"{SVG}text"))
    assert text.get("direction") == "rtl"
    assert float(text.get("x")) == BOX[2]
