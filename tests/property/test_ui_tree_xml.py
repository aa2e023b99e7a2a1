"""View hierarchies: any tree survives XML, any bytes are read or refused."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_runtime.errors import HierarchyError
from device_runtime.ui_facts import facts_of
from device_runtime.ui_tree import Node, elements_of, parse, to_xml, walk

LEGAL = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff")
    | st.sampled_from("\t\n\r&<>\"'\u200f\U0001f600")
)
PLACES = st.tuples(*[st.integers(-9_999, 9_999)] * 4)
FLAGS = {
    name: st.booleans()
    for name in (
        "clickable", "long_clickable", "checkable", "checked", "enabled", "focusable", "focused",
        "scrollable", "selected", "password",
    )
}  # fmt: skip


def nodes(children):
    return st.builds(
        Node,
        class_name=st.sampled_from(["android.widget.TextView", "android.widget.EditText"]),
        bounds=PLACES,
        text=LEGAL,
        description=LEGAL,
        resource_id=LEGAL,
        package=LEGAL,
        children=children,
        **FLAGS,
    )


TREES = st.recursive(
    nodes(st.just(())), lambda inner: nodes(st.lists(inner, max_size=3).map(tuple)), max_leaves=8
)


@given(st.lists(TREES, max_size=2).map(tuple), st.integers(0, 3))
def test_any_tree_survives_xml(roots, rotation):
    hierarchy = parse(to_xml(roots, rotation))

    assert hierarchy.roots == roots
    assert hierarchy.rotation == rotation
    assert hierarchy.notes == ()


@given(st.text())
def test_any_text_gives_xml_that_can_be_read(text):
    node = Node("android.view.View", (0, 0, 1, 1), text=text)

    assert len(parse(to_xml((node,))).roots) == 1


@given(TREES)
def test_elements_are_on_the_screen_and_sorted(root):
    elements = elements_of((root,), 1080, 2400)

    assert list(elements) == sorted(elements, key=lambda e: (e.bounds[1], e.bounds[0]))
    assert len(elements) <= sum(1 for _ in walk((root,)))
    for left, top, right, bottom in (element.bounds for element in elements):
        assert max(left, 0) < min(right, 1080)
        assert max(top, 0) < min(bottom, 2400)


@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(data):
    with contextlib.suppress(HierarchyError):
        parse(b"<hierarchy>" + data + b"</hierarchy>")
    with contextlib.suppress(HierarchyError):
        parse(data)


@given(TREES, st.data())
def test_a_dump_that_lost_its_end_is_always_refused(root, data):
    dump = to_xml((root,))
    size = data.draw(st.integers(0, len(dump) - 1))

    try:
        parse(dump[:size])
    except HierarchyError as refusal:
        assert str(refusal)  # noqa: PT017 - the other branch must not be reached
    else:
        raise AssertionError("a truncated dump was taken for a whole one")


@st.composite
def damaged(draw, dump: bytes) -> bytes:
    """A dump in which pieces were cut out, doubled, moved or replaced by anything."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(dump)))
        end = draw(st.integers(start, min(len(dump), start + 300)))
        cut = dump[start:end]
        put = draw(
            st.sampled_from([b"", cut + cut, cut[::-1], b"\0", b"<", b"&", b'"', b"</hierarchy>"])
            | st.binary(max_size=12)
        )
        dump = dump[:start] + put + dump[end:]
    return dump


@pytest.mark.parametrize(
    "name",
    ["shirates_18.xml", "avc_mocks_0.xml", "d_emoji_combining.xml", "alumnium_two_documents.xml"],
)
@given(data=st.data())
def test_any_damage_to_a_real_dump_is_read_or_refused(shared_data, name, data):
    dump = data.draw(damaged((shared_data / "ui_dumps" / name).read_bytes()))

    found = facts_of(dump)

    try:
        parse(dump)
    except HierarchyError as refusal:
        assert str(refusal) == str(found.refusal)  # noqa: PT017 - the other branch has its own
    else:
        assert found.refusal is None


@given(st.binary(max_size=300))
def test_any_bytes_have_facts(data):
    for bytes_ in (data, b"<?xml" + data, b"<hierarchy>" + data, b"\x1f\x8b" + data):
        found = facts_of(bytes_)

        assert ("nodes" in found.facts) + ("documents" in found.facts) <= 1


@given(TREES)
def test_facts_and_tree_agree_on_what_they_share(root):
    facts, nodes = facts_of(to_xml((root,))).facts, list(walk((root,)))

    assert facts["nodes"] == len(nodes)
    assert facts["clickable"] == sum(node.clickable for node in nodes)
    assert facts["disabled"] == sum(not node.enabled for node in nodes)
    assert facts["with_text"] == sum(bool(node.text) for node in nodes)
