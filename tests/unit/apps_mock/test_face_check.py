from __future__ import annotations

import pytest

from apps_mock.face_check import faces_disagree
from apps_mock.render import draw_screen
from device_runtime.ui_tree import Node

BOX = (42, 600, 540, 760)


def screen_with(*nodes: Node) -> Node:
    return Node("android.widget.FrameLayout", (0, 0, 1080, 2400), children=nodes)


def test_a_button_without_any_mark_is_named():
    blank = Node("android.view.View", BOX, resource_id="org.example:id/ghost", clickable=True)
    root = screen_with(blank)

    (fault,) = faces_disagree(root, draw_screen(root))

    assert "ghost" in fault
    assert str(BOX) in fault


def test_an_entry_with_nothing_but_a_divider_is_named():
    root = screen_with(Node("android.widget.LinearLayout", BOX, clickable=True))

    assert len(faces_disagree(root, draw_screen(root))) == 1


def test_a_picker_that_holds_nothing_yet_can_be_seen():
    node = Node("android.widget.Button", BOX, description="Due date", clickable=True)
    root = screen_with(node)

    assert faces_disagree(root, draw_screen(root)) == []


@pytest.mark.parametrize("width_px", [1080, 540])
@pytest.mark.parametrize("class_name", ["Button", "EditText", "ImageButton", "Switch", "TextView"])
def test_what_is_drawn_agrees_in_any_scale(class_name, width_px):
    node = Node(f"android.widget.{class_name}", BOX, text="i", description="i", clickable=True)
    root = screen_with(node)

    assert faces_disagree(root, draw_screen(root, width_px=width_px)) == []


@pytest.mark.parametrize("template", ["contacts_edit_phone", "clock_add", "tickets_find"])
def test_screens_of_the_clones_agree(phone_with, template):
    phone = phone_with(template)

    assert faces_disagree(phone.tree(), draw_screen(phone.tree())) == []
