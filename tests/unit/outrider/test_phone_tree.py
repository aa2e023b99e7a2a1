"""`outrider phone tree`: facts for programs, a tree for people, and errors that say what to do."""

from __future__ import annotations

import io
import json
import sys
from types import SimpleNamespace

import pytest

from outrider.cli import run

DUMP = (
    '<hierarchy rotation="1"><node class="android.widget.FrameLayout" package="org.example" '
    'bounds="[0,0][100,200]"><node class="android.widget.Button" text="Sehr \u202e langer &#10; '
    f'Text {"字" * 60}" clickable="true" enabled="false" bounds="[0,0][50,20]" /></node>'
    "</hierarchy>"
).encode()


@pytest.fixture
def dump(tmp_path):
    path = tmp_path / "screen.xml"
    path.write_bytes(DUMP)
    return path


def lines_of(capsys) -> list[dict]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_facts_are_printed_as_an_entry_and_in_the_summary(dump, capsys):
    assert run(["phone", "tree", str(dump), "--json"]) == 0

    entry, summary = lines_of(capsys)
    assert (entry["event"], entry["file"], entry["bytes"]) == ("dump", "screen.xml", len(DUMP))
    assert (entry["parse"], entry["facts"]["nodes"], entry["refused"]) == ("ok", 2, None)
    assert summary["event"] == "summary"
    assert entry["facts"].items() <= summary.items()


def test_standard_input_is_read(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(DUMP)))

    assert run(["phone", "tree", "-", "--json"]) == 0

    assert lines_of(capsys)[-1]["clickable"] == 1


def test_tree_for_people_fits_into_eighty_columns(dump, capsys):
    from rich.cells import cell_len

    assert run(["phone", "tree", str(dump)]) == 0

    printed = capsys.readouterr().out.splitlines()
    assert all(cell_len(line) <= 80 for line in printed)
    assert printed[0] == "FrameLayout [0,0][100,200]"
    assert printed[1].startswith(' Button [0,0][50,20] "Sehr ? langer Text 字')
    assert printed[2] == "screen.xml: ok"
    assert "nodes 2, clickable 1, disabled 1" in printed[3]


@pytest.mark.parametrize(
    ("data", "parse", "text"),
    [
        (DUMP[:150], "truncated", "truncated"),
        (b"ERROR: null root node returned", "error", "null root node"),
        (b'<!DOCTYPE a [<!ENTITY b "c">]>' + DUMP, "reject_or_limit", "refused"),
    ],
)
def test_dump_that_nobody_may_act_on_fails_after_its_facts(tmp_path, capsys, data, parse, text):
    path = tmp_path / "bad.xml"
    path.write_bytes(data)

    assert run(["phone", "tree", str(path), "--json"]) == 1

    captured = capsys.readouterr()
    assert json.loads(captured.out.splitlines()[-1])["parse"] == parse
    assert captured.err.count("\n") == 1
    assert text in captured.err


@pytest.mark.parametrize(
    "arguments",
    [[], ["/no/such/file.xml"], ["."], ["a.xml", "--serial", "b"], ["a\0b"], ["x.xml", "y.xml"]],
)
def test_misuse_is_one_line_that_says_what_to_do(arguments, capsys):
    assert run(["phone", "tree", *arguments, "--json"]) == 2

    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert captured.err.startswith("error: ")


def test_deep_tree_is_drawn_with_its_depths(tmp_path, capsys):
    path = tmp_path / "deep.xml"
    path.write_bytes(b"<hierarchy>" + b"<node>" * 1_200 + b"</node>" * 1_200 + b"</hierarchy>")

    assert run(["phone", "tree", str(path)]) == 0

    printed = capsys.readouterr().out.splitlines()
    assert printed[1_199].strip().startswith("1199:node")
