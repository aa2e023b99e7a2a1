"""Whatever a text contains, it reaches the phone's shell as one word, and its field as typed."""

from __future__ import annotations

import string

from hypothesis import given
from hypothesis import strategies as st

from apps_mock.adb_syntax import parse
from apps_mock.errors import ShellSyntaxError
from device_runtime.adb import quote
from device_runtime.adb_text import typed_commands

ASCII = st.text(string.printable[:95])


def words(line):
    (pipeline,) = parse(line)
    return ["".join(part.text for part in word) for word in pipeline.commands[0].words]


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_quoted_text_is_one_word_of_literals(text):
    assert words(f"echo {quote(text)}") == ["echo", text]


@given(ASCII.filter(bool) | st.text("%s ", min_size=1))
def test_typed_text_arrives_as_it_was(text):
    arrived = ""
    for command in typed_commands(text):
        name, kind, argument = words(command)
        assert (name, kind) == ("input", "text")
        arrived += argument.replace("%s", " ")

    assert arrived == text


@given(st.text())
def test_any_line_is_parsed_or_refused(line):
    try:
        pipelines = parse(line)
    except ShellSyntaxError as refusal:
        assert "syntax error" in str(refusal)  # noqa: PT017 - both outcomes are right
    else:
        assert all(pipeline.commands for pipeline in pipelines)
