"""The contract of `--json`, and what people read instead."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from outrider.output import Output, print_error
from sync.vocabulary import Split


@dataclass(frozen=True)
class Point:
    x: int
    y: int


def written(*, json_lines: bool):
    stdout, stderr = io.StringIO(), io.StringIO()
    return Output(json_lines=json_lines, stdout=stdout, stderr=stderr), stdout, stderr


def lines_of(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_events_are_one_json_object_a_line():
    out, stdout, stderr = written(json_lines=True)
    out.event("started", role="broker", pid=7, port=1883)
    out.summary(ok=True)
    assert lines_of(stdout) == [
        {"event": "started", "role": "broker", "pid": 7, "port": 1883},
        {"event": "summary", "ok": True},
    ]
    assert stderr.getvalue() == ""


def test_a_line_for_people_is_folded_where_it_does_not_fit(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    out, stdout, _ = written(json_lines=False)
    out.event("round_trip", serial="127.0.0.1:37891", advice=["do not disturb", "battery saver"])
    out.event("found", path="/" + "x" * 50)
    assert stdout.getvalue().splitlines() == [
        "round trip  serial 127.0.0.1:37891",
        "  advice do not disturb, battery saver",
        "found",
        "  path",
        "    /" + "x" * 50,
    ]


def test_notes_and_the_console_stay_off_a_programs_stdout():
    out, stdout, stderr = written(json_lines=True)
    out.note("for people")
    out.console.print("progress")
    assert stdout.getvalue() == ""
    assert stderr.getvalue() == "progress\n"


def test_rows_are_lines_for_a_program_and_a_table_for_people():
    rows = [{"template": "a[b]", "tags": ("x", "y")}, {"template": "c", "tags": ()}]
    out, stdout, _ = written(json_lines=True)
    assert out.rows("template", rows) == 2
    assert [line["template"] for line in lines_of(stdout)] == ["a[b]", "c"]
    out, stdout, _ = written(json_lines=False)
    assert out.rows("template", rows) == 2
    assert "a[b]" in stdout.getvalue()
    assert "x, y" in stdout.getvalue()


class Gone(io.StringIO):
    """A pipe that nobody reads any more."""

    def write(self, _text):
        raise BrokenPipeError


@pytest.mark.parametrize("json_lines", [True, False])
def test_a_reader_who_left_is_the_command_lines_to_judge(json_lines):
    out = Output(json_lines=json_lines, stdout=Gone(), stderr=io.StringIO())
    with pytest.raises(BrokenPipeError):
        out.rows("template", [{"template": "a"}])


def test_a_table_without_rows_says_so():
    out, stdout, _ = written(json_lines=False)
    assert out.rows("template", [], title="Templates") == 0
    assert stdout.getvalue() == "Templates: none\n"


def test_rows_may_come_from_a_generator():
    out, stdout, _ = written(json_lines=True)
    assert out.rows("n", ({"n": n} for n in range(3))) == 3
    assert len(lines_of(stdout)) == 3


def test_values_of_our_own_have_a_json_form():
    out, stdout, _ = written(json_lines=True)
    out.event("e", point=Point(1, 2), split=Split.TEST, path=Path("a/b"))
    assert lines_of(stdout) == [
        {"event": "e", "point": {"x": 1, "y": 2}, "split": "test", "path": "a/b"}
    ]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_json_lacks_are_refused(value):
    out, _, _ = written(json_lines=True)
    with pytest.raises(ValueError, match="JSON"):
        out.event("e", value=value)


def test_values_without_a_json_form_are_refused():
    out, _, _ = written(json_lines=True)
    with pytest.raises(TypeError, match="no JSON form"):
        out.event("e", value=object())


def test_people_read_events_as_words():
    out, stdout, _ = written(json_lines=False)
    out.event("release_installed", phone="p1", success=0.41666, parent=None)
    assert stdout.getvalue() == "release installed  phone p1  success 0.417  parent -\n"


def test_an_error_is_one_line_whatever_its_text_holds():
    stderr = io.StringIO()
    print_error("two\nlines\n", stderr=stderr)
    assert stderr.getvalue() == "error: two lines\n"


def test_nothing_that_a_phone_says_commands_the_terminal():
    hostile = "\x1b[2Jphone\x9b1m\u202e"
    harmless = "\\x1b[2Jphone\\x9b1m\\u202e"
    out, stdout, stderr = written(json_lines=False)
    out.event("heard", name=hostile, attributes={hostile: hostile})
    out.note(f"{hostile}\n{hostile}")
    out.rows("phone", [{"name": hostile}])
    print_error(hostile, stderr=stderr)
    assert all(letter.isprintable() or letter == "\n" for letter in stdout.getvalue())
    assert stdout.getvalue().count(harmless) == 6
    assert stderr.getvalue() == f"error: {harmless}\n"
    assert lines_of_json(hostile) == hostile


def lines_of_json(text):
    """A text as a program gets it back."""
    out, stdout, _ = written(json_lines=True)
    out.event("heard", name=text)
    return lines_of(stdout)[0]["name"]
