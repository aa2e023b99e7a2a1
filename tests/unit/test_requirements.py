"""Every requirement of the protocol is named by a test, and no test names one that is not there."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from sync.requirements import BY_ID, REQUIREMENTS

TESTS = Path(__file__).resolve().parents[1]


def named(path: Path) -> list[str]:
    """The ids in `pytest.mark.requirement(...)` of one file."""
    return [
        ast.literal_eval(argument)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.requirement"
        for argument in node.args
    ]


@pytest.fixture(scope="module")
def ids() -> set[str]:
    found: set[str] = set()
    for path in TESTS.rglob("test_*.py"):
        if "requirement" in path.read_text(encoding="utf-8"):
            found.update(named(path))
    return found


def test_every_requirement_is_named_by_a_test(ids):
    assert sorted(BY_ID.keys() - ids) == []


def test_no_test_names_a_requirement_that_is_not_there(ids):
    assert sorted(ids - BY_ID.keys()) == []


def test_an_id_stands_once_and_has_its_form():
    assert [
        one for one, times in Counter(each.id for each in REQUIREMENTS).items() if times > 1
    ] == []
    assert all(re.fullmatch(r"OR-[A-Z]{3}-[1-9]\d*", one.id) for one in REQUIREMENTS)


def test_a_requirement_says_what_must_be_unless_it_may_be():
    assert [one.id for one in REQUIREMENTS if ("MUST" in one.text) != one.must] == []
    assert all(one.text.endswith(".") for one in REQUIREMENTS)
