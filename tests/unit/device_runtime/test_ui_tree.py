"""The view hierarchy: real and damaged dumps, elements, and the way back to XML."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from device_runtime.errors import HierarchyError
from device_runtime.ui_tree import Hierarchy, Node, elements_of, parse, to_xml, walk

WHOLE = (
    "agent-device_index_10.xml", "agent-device_index_15.xml", "agent-device_index_9.xml",
    "agent-device_snapshot_17.xml", "agent-device_snapshot_23.xml", "alumnium_wikipedia_0.xml",
    "alumnium_wikipedia_1.xml", "ap-inspector_utils-source-parsing_3.xml",
    "ap-uiautomator2-server_source.xml", "auto-mobile_favoritesscreen.xml",
    "avc_api17_chinese_mojibake.xml", "avc_mocks_0.xml", "avc_mocks_1.xml", "d_bad_utf8.xml",
    "d_charref_zero.xml", "d_control_chars.xml", "d_emoji_combining.xml", "d_empty_hierarchy.xml",
    "d_foldable_two_displays_keyboard.xml", "d_huge_list_700_rows.xml", "d_leading_adb_noise.xml",
    "d_malformed_bounds.xml", "d_missing_attributes.xml", "d_offscreen_negative_inverted.xml",
    "d_rtl_arabic_hebrew.xml", "d_trailing_adb_message.xml", "d_utf8_bom_crlf.xml",
    "hazel_ui_final_test.xml", "hazel_ui_minimal_margins.xml", "hazel_ui_test_final_check.xml",
    "hazel_ui_test_inside_profiles.xml", "hazel_ui_test_newprofile.xml",
    "hazel_ui_test_profiles.xml", "hazel_ui_test_settings.xml", "keydroidx-launcher_ui_dump.xml",
    "shirates_0.xml", "shirates_1.xml", "shirates_10.xml", "shirates_12.xml", "shirates_13.xml",
    "shirates_15.xml", "shirates_17.xml", "shirates_18.xml", "shirates_19.xml", "shirates_2.xml",
    "shirates_3.xml", "shirates_5.xml", "shirates_7.xml", "shirates_9.xml",
    "uiautomator_layout.xml", "weditor_page.xml",
)  # fmt: skip
"""Dumps that are one whole document, if need be after mending."""

REFUSED = {
    "d_empty_file.xml": "said: nothing",
    "d_error_no_idle.txt.xml": "could not get idle state",
    "d_error_null_root.xml": "null root node",
    "d_external_entity.xml": "document type",
    "d_truncated_midtag.xml": "truncated",
}
NOTED = {
    "d_bad_utf8.xml": "bad_utf8",
    "d_charref_zero.xml": "bad_references",
    "d_control_chars.xml": "control_characters",
    "d_leading_adb_noise.xml": "noise_before",
    "d_malformed_bounds.xml": "unreadable_bounds",
    "d_trailing_adb_message.xml": "noise_after",
}


@pytest.fixture(scope="module")
def facts(shared_data: Path) -> dict[str, dict[str, Any]]:
    index = json.loads((shared_data / "ui_dumps" / "index.json").read_text())
    return {entry["file"]: entry["facts"] for entry in index["dumps"]}


def measured(hierarchy: Hierarchy) -> dict[str, int]:
    nodes = list(walk(hierarchy.roots + hierarchy.other_displays))
    counts = Counter[str]()
    for node in nodes:
        left, top, right, bottom = node.bounds
        counts.update(
            name
            for name, holds in {
                "clickable": node.clickable,
                "long_clickable": node.long_clickable,
                "scrollable": node.scrollable,
                "checkable": node.checkable,
                "checked": node.checked,
                "focused": node.focused,
                "password": node.password,
                "selected": node.selected,
                "disabled": not node.enabled,
                "inverted": right < left or bottom < top,
                "with_text": bool(node.text),
                "with_content_desc": bool(node.description),
            }.items()
            if holds
        )
    return {"nodes": len(nodes), **counts}


@pytest.mark.parametrize("name", WHOLE)
def test_dump_has_the_nodes_and_flags_that_its_index_counts(name, shared_data, facts):
    hierarchy = parse((shared_data / "ui_dumps" / name).read_bytes())

    found = measured(hierarchy)

    counted = {key: found.get(key, 0) for key in ("nodes", *measured_keys(facts[name]))}
    assert counted == {key: facts[name][key] for key in counted}


def measured_keys(facts: dict[str, Any]) -> list[str]:
    names = ("clickable", "long_clickable", "scrollable", "checkable", "checked", "focused")
    more = ("password", "selected", "disabled", "inverted", "with_text", "with_content_desc")
    return [name for name in (*names, *more) if name in facts]


@pytest.mark.parametrize("name", WHOLE)
def test_dump_survives_the_way_to_xml_and_back(name, shared_data):
    roots = parse((shared_data / "ui_dumps" / name).read_bytes()).roots

    again = parse(to_xml(roots))

    assert again.roots == roots
    assert set(again.notes) <= {"unreadable_bounds"}


@pytest.mark.parametrize(("name", "reason"), REFUSED.items())
def test_dump_that_is_none_is_refused_with_its_reason(name, reason, shared_data):
    with pytest.raises(HierarchyError, match=reason):
        parse((shared_data / "ui_dumps" / name).read_bytes())


@pytest.mark.parametrize(("name", "note"), NOTED.items())
def test_mended_dump_says_what_was_mended(name, note, shared_data):
    assert note in parse((shared_data / "ui_dumps" / name).read_bytes()).notes


def test_first_of_two_documents_counts_and_the_other_is_noted(shared_data, facts):
    name = "alumnium_two_documents.xml"

    hierarchy = parse((shared_data / "ui_dumps" / name).read_bytes())

    first = facts[name]["documents"][0]["nodes"]
    assert len(list(walk(hierarchy.roots))) == first
    assert hierarchy.notes == ("more_documents",)


def test_second_display_is_kept_apart_from_the_default_one(shared_data):
    data = (shared_data / "ui_dumps" / "d_foldable_two_displays_keyboard.xml").read_bytes()

    hierarchy = parse(data)

    assert hierarchy.roots
    assert hierarchy.other_displays


def test_tree_of_1200_levels_is_read_and_written():
    node = Node("android.view.View", (0, 0, 10, 10), text="leaf")
    for _ in range(1_200):
        node = Node("android.view.View", (0, 0, 10, 10), children=(node,))

    hierarchy = parse(to_xml((node,)))

    assert sum(1 for _ in walk(hierarchy.roots)) == 1_201
    assert [element.text for element in elements_of(hierarchy.roots, 10, 10)] == ["leaf"]


def test_tree_that_is_deeper_than_the_limit_is_refused():
    data = b"<hierarchy>" + b"<node>" * 6_000 + b"</node>" * 6_000 + b"</hierarchy>"

    with pytest.raises(HierarchyError, match="deeper"):
        parse(data)


def test_surrogate_pair_references_become_one_character():
    hierarchy = parse(b'<hierarchy><node text="&#xD83D;&#xDE00;" /></hierarchy>')

    assert hierarchy.roots[0].text == "\U0001f600"


def test_bare_ampersands_and_unknown_entities_stay_text():
    hierarchy = parse(b'<hierarchy><node text="A & B&nbsp;" /></hierarchy>')

    assert hierarchy.roots[0].text == "A & B&nbsp;"
    assert hierarchy.notes == ("bare_ampersands", "unreadable_bounds")


def test_tags_that_do_not_match_are_refused():
    with pytest.raises(HierarchyError, match="not well-formed"):
        parse(b"<hierarchy><node></hierarchy>")


def test_xml_has_the_platforms_form_and_attribute_order():
    data = to_xml((Node("android.widget.Button", (1, 2, 3, 4), text='a"<&\n', clickable=True),), 1)

    assert data == (
        b"<?xml version='1.0' encoding='UTF-8' standalone='yes' ?><hierarchy rotation=\"1\">"
        b'<node index="0" text="a&quot;&lt;&amp;&#10;" resource-id="" '
        b'class="android.widget.Button" package="" content-desc="" checkable="false" '
        b'checked="false" clickable="true" enabled="true" focusable="false" focused="false" '
        b'scrollable="false" long-clickable="false" password="false" selected="false" '
        b'bounds="[1,2][3,4]" /></hierarchy>'
    )


def test_elements_are_what_speaks_or_reacts_on_the_screen_in_reading_order():
    box = "android.widget.FrameLayout"
    root = Node(
        box,
        (0, 0, 100, 100),
        children=(
            Node("android.widget.TextView", (50, 40, 90, 60), text="right"),
            Node("android.widget.TextView", (0, 40, 40, 60), text="left"),
            Node("android.widget.EditText", (0, 0, 100, 20)),
            Node(box, (0, 60, 100, 80)),
            Node("android.widget.TextView", (0, 100, 40, 120), text="below the screen"),
            Node("android.widget.TextView", (0, 70, 0, 90), text="no width"),
            Node("android.widget.TextView", (0, 90, 40, 70), text="upside down"),
            Node(box, (-10, 90, 10, 130), clickable=True),
        ),
    )

    elements = elements_of((root,), 100, 100)

    found = [(element.text, element.bounds[1]) for element in elements]
    assert found == [("", 0), ("left", 40), ("right", 40), ("", 90)]
    assert [element.editable for element in elements] == [True, False, False, False]
