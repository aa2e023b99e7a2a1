"""Facts of dumps: those of every real one, and those of every state that bytes can be in."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from device_runtime.ui_document import MAX_DEPTH, MAX_DUMP_BYTES, MAX_NODES, Condition
from device_runtime.ui_facts import DumpFacts, facts_of

PLAIN = '<hierarchy rotation="0"><node text="Aé" bounds="[0,0][10,20]" /></hierarchy>'
DECLARED = f'<?xml version="1.0" encoding="{{}}"?>{PLAIN}'


@pytest.fixture(scope="module")
def dumps(shared_data):
    folder = shared_data / "ui_dumps"
    index = json.loads((folder / "index.json").read_text("utf-8"))
    return {
        entry["file"]: (entry, (folder / entry["file"]).read_bytes()) for entry in index["dumps"]
    }


def as_json(found: DumpFacts) -> dict[str, Any]:
    return json.loads(json.dumps(found.facts))


def document(inner: str, attributes: str = "") -> bytes:
    return f"<hierarchy{attributes}>{inner}</hierarchy>".encode("utf-8", "surrogatepass")


def test_every_real_dump_has_the_condition_and_the_facts_of_its_index(dumps):
    wrong = {
        name: (found.condition, as_json(found))
        for name, (entry, data) in dumps.items()
        if (found := facts_of(data)).condition != entry["parse"] or as_json(found) != entry["facts"]
    }

    assert len(dumps) == 57
    assert wrong == {}


@pytest.mark.parametrize(
    "data",
    [
        PLAIN.encode(),
        b"\xef\xbb\xbf" + PLAIN.encode(),
        DECLARED.format("UTF-8").replace("><", ">\r\n<").encode(),
        PLAIN.encode("utf-16"),
        DECLARED.format("UTF-16").encode("utf-16"),
        b"\xfe\xff" + PLAIN.encode("utf-16-be"),
        PLAIN.encode("utf-16-le"),
        PLAIN.encode("utf-16-be"),
        PLAIN.encode("utf-32"),
        DECLARED.format("ISO-8859-1").encode("latin-1"),
        DECLARED.format("windows-1252").encode("cp1252"),
        DECLARED.format("GBK").replace("é", "字").encode("gbk"),
        DECLARED.format("no-such-encoding").encode(),
        f"<!-- taken by hand --><!DOCTYPE hierarchy>{PLAIN}<!-- end -->".encode(),
        gzip.compress(PLAIN.encode(), mtime=0),
    ],
)
def test_whole_document_is_ok_in_any_encoding(data):
    found = facts_of(data)

    assert (found.condition, found.refusal) == (Condition.OK, None)
    assert found.facts["nodes"] == found.facts["with_text"] == 1
    assert found.facts["first_node_bounds"] == (0, 0, 10, 20)


@pytest.mark.parametrize(
    ("data", "notes"),
    [
        (b"* daemon started *\n" + PLAIN.encode(), ("noise_before",)),
        (b"\n<?xml version='1.0'?>" + PLAIN.encode(), ("noise_before",)),
        (PLAIN.encode() + b"UI hierchary dumped to: /dev/tty", ("noise_after",)),
        (PLAIN.encode() + b"\0\0\0", ("noise_after",)),
        (PLAIN.encode() + b"</hierarchy>", ("noise_after",)),
        (b"<html>" + PLAIN.encode() + b"</html>\x01", ("noise_after",)),
    ],
)
def test_what_lies_around_a_document_is_cut_and_noted(data, notes):
    found = facts_of(data)

    assert (found.condition, found.notes) == (Condition.TRIMMED, notes)


@pytest.mark.parametrize(
    ("inner", "note"),
    [
        ('<node text="a\x01b\0" />', "control_characters"),
        ('<node text="a&#0;b&#xFFFF;" />', "bad_references"),
        ('<node text="a&#1114112;" />', "bad_references"),
        ('<node text="&#55357;&#56832;" />', "bad_references"),
        ('<node text="A & B &nbsp; &undefined;" />', "bare_ampersands"),
        ('<node text="a < b" /><node text="c" />', "bare_brackets"),
        ('<node text="\ud83d\ude00" />', "bad_utf8"),
        ('<node text="\ud83d" />', "bad_utf8"),
    ],
)
def test_what_xml_does_not_allow_is_mended_and_noted(inner, note):
    found = facts_of(document(inner))

    assert found.condition is Condition.MENDED
    assert note in found.notes
    assert found.facts["nodes"] == inner.count("<node")


def test_several_documents_have_the_facts_of_each():
    found = facts_of(PLAIN.encode() + b"\n--\n" + document("<node /><node />") + b"bye")

    assert found.condition is Condition.SEVERAL
    assert [one["nodes"] for one in found.facts["documents"]] == [1, 2]
    assert found.refusal is None


def test_second_document_that_broke_off_leaves_the_first_whole():
    found = facts_of(PLAIN.encode() + b"<hierarchy><node />")

    assert found.condition is Condition.SEVERAL
    documents = found.facts["documents"]
    assert isinstance(documents, list)
    assert documents[1] == {
        "complete_start_tags": 1,
        "clickable_in_complete_tags": 0,
    }


@pytest.mark.parametrize(
    ("data", "whole"),
    [
        (b"<hierarchy rot", 0),
        (b'<hierarchy><node clickable="true"><node', 1),
        (b'<hierarchy><node clickable="true"/><node text="\xe2\x82', 1),
        (b'<hierarchy><node clickable="true"/>ERROR: killed', 1),
        (b'<hierarchy><node clickable="true" text="A & B"/><node text="<"/><no', 2),
        (b'<hierarchy><node clickable="true"/><![CDATA[ ', 1),
    ],
)
def test_document_without_an_end_counts_the_tags_that_came_whole(data, whole):
    found = facts_of(data)

    assert found.condition is Condition.TRUNCATED
    assert found.refusal is not None
    assert found.facts["complete_start_tags"] == whole
    assert found.facts["clickable_in_complete_tags"] == min(whole, 1)


LAUGHS = "".join(
    f'<!ENTITY {b} "{"&" + a + ";"}{"&" + a + ";"}">'
    for a, b in zip("abcdef", "bcdefg", strict=True)
)


@pytest.mark.parametrize(
    "head",
    [
        f'<!DOCTYPE hierarchy [<!ENTITY a "ha">{LAUGHS}]>',
        '<!DOCTYPE hierarchy SYSTEM "file:///etc/passwd">',
        '<!DOCTYPE hierarchy PUBLIC "x" "http://127.0.0.1/x">',
        '<!DOCTYPE hierarchy [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
        '<!doctype hierarchy [<!ENTITY % a SYSTEM "x"> %a;]>',
        '<?xml version="1.0"?>\n<!DOCTYPE hierarchy [<!ATTLIST node text CDATA "x">]>',
    ],
)
def test_document_type_that_declares_anything_is_refused_and_never_expanded(head):
    found = facts_of((head + '<hierarchy><node text="&g;&a;" /></hierarchy>').encode())

    assert found.condition is Condition.REFUSED
    assert found.refusal is not None
    assert found.refusal.reason == "hostile"
    assert found.facts == {"nodes": 1}


@pytest.mark.parametrize(
    ("data", "nodes"),
    [
        (b"<hierarchy>" + b"<node>" * (MAX_DEPTH + 5), MAX_DEPTH - 1),
        (b"<hierarchy>" + b"<node/>" * (MAX_NODES + 5) + b"</hierarchy>", MAX_NODES - 1),
        (b" " * (MAX_DUMP_BYTES + 1), 0),
        (gzip.compress(b" " * (MAX_DUMP_BYTES + 1), mtime=0), 0),
    ],
    ids=["deep", "many", "large", "bomb"],
)
def test_document_past_the_limits_is_refused(data, nodes):
    found = facts_of(data)

    assert found.condition is Condition.REFUSED
    assert found.refusal is not None
    assert found.refusal.reason == "limit"
    assert found.facts == {"nodes": nodes}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"ERROR: could not get idle state.",
        b"\x7fELF\x02\x01\0\0" * 50,
        b"\x1f\x8b\x08no gzip",
        b"<html><body class='x'>404</body></html>",
        b'{"hierarchy": []}',
        b"<hierarchyx><node/></hierarchyx>",
        b"\xff\xfe",
    ],
)
def test_bytes_that_hold_no_document_are_an_error_with_no_nodes(data):
    found = facts_of(data)

    assert (found.condition, found.facts) == (Condition.ERROR, {"nodes": 0})
    assert str(found.refusal).isprintable()


def test_tags_that_do_not_match_cannot_be_mended():
    found = facts_of(b"<hierarchy><node></hierarchy>")

    assert (found.condition, found.facts) == (Condition.ERROR, {"nodes": 0})
    assert "not well-formed" in str(found.refusal)


@pytest.mark.parametrize(
    ("data", "nodes", "style"),
    [
        (b'<node bounds="[0,0][1,1]"><node/></node>', 2, "node"),
        (b'<android.view.View bounds="[0,0][1,1]"/>', 1, "class"),
        (b'<View bounds="[0,0][1,1]"><node/></View>', 2, "mixed"),
        (b'<displays><display id="0"><window><node/></window></display></displays>', 1, "node"),
        (b"<AppiumAUT><hierarchy><a.b/></hierarchy></AppiumAUT>", 2, "class"),
    ],
)
def test_document_need_not_begin_with_a_hierarchy(data, nodes, style):
    found = facts_of(data)

    assert found.condition is Condition.OK
    assert (found.facts["nodes"], found.facts["tag_style"]) == (nodes, style)


def test_bounds_of_every_kind_are_told_apart():
    bounds = ["[0,0][100,100]", "[5,5][5,9]", "[9,9][3,3]", "[-5,0][10,10]", "[100,0][120,9]"]
    bounds += [f"[0,0][{10**30},7]", "", "null", "[0,0][9", "[0.5,0][1,1]", "[٣,0][9,9]"]
    inner = "".join(f'<node bounds="{one}"/>' for one in bounds) + "<node/>"

    facts = facts_of(document(inner)).facts

    assert facts["bounds_missing"] == 1
    assert facts["bounds_malformed"] == 5
    assert facts["zero_area"] == 1
    assert facts["inverted"] == 1
    assert facts["negative"] == 1
    assert facts["outside_first_node"] == 1
    assert facts["extent"] == (10**30, 100)


def test_number_that_python_would_not_read_is_malformed():
    facts = facts_of(document(f'<node bounds="[0,0][{"9" * 5000},1]"/>')).facts

    assert facts["bounds_malformed"] == 1


def test_first_node_without_bounds_has_nothing_outside_it():
    facts = facts_of(document('<node/><node bounds="[0,0][1,1]"/>')).facts

    assert (facts["first_node_bounds"], facts["outside_first_node"]) == (None, 0)


def test_flags_count_only_where_they_are_true():
    inner = (
        '<node enabled="false" clickable="TRUE" NAF="true" class="x.MyWebView"/><node enabled=""/>'
    )

    facts = facts_of(document(inner)).facts

    assert (facts["disabled"], facts["clickable"], facts["naf"], facts["webview"]) == (1, 0, 1, 1)


def test_package_is_the_most_frequent_and_the_first_of_equals():
    names = ["b", "a", "a", "b", ""]
    inner = "".join(f'<node package="{name}"/>' for name in names)

    facts = facts_of(document(inner)).facts

    assert facts["package"] == "b"
    assert list(facts["packages"].items()) == [("b", 2), ("a", 2)]


def test_rotation_is_as_written_and_a_list_where_there_are_several():
    inside = '<window><hierarchy rotation="3"/></window><window><hierarchy/></window>'
    two = f"<displays><display>{inside}</display></displays>".encode()

    assert facts_of(document("", ' rotation="1"')).facts["rotation"] == "1"
    assert facts_of(document("")).facts["rotation"] is None
    assert facts_of(two).facts["rotation"] == ["3", None]


def test_text_of_ten_megabytes_and_many_attributes_are_counted():
    flood = " ".join(f'a{number}="x"' for number in range(20_000))

    facts = facts_of(document(f'<node text="{"x" * 10_000_000}"/><node {flood}/>')).facts

    assert (facts["nodes"], facts["with_text"]) == (2, 1)
