"""The docs say what the code says."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from outrider.cli import COMMANDS
from sync import messages, topics

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.fixture(scope="module")
def reference():
    spec = importlib.util.spec_from_file_location("reference", ROOT / "docs" / "make_reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_glossary_is_what_the_vocabulary_says(reference):
    assert read("docs/glossary.md") == reference.glossary(), "run python docs/make_reference.py"


def test_the_settings_are_what_the_code_reads(reference):
    assert read("docs/settings.md") == reference.settings(), "run python docs/make_reference.py"


@pytest.mark.parametrize(
    "name", ["protocol.md", "operations.md", "algorithm.md", "results.md", "templates.md"]
)
def test_made_tables_are_what_the_code_says(reference, name):
    page = read(f"docs/{name}")
    assert page == reference.filled(page), "run python docs/make_reference.py"


def test_every_topic_and_message_occurs_in_the_protocol():
    page = read("docs/protocol.md")
    names = [kind.name for kind in topics.TABLE] + list(messages.KINDS)
    assert [name for name in names if f"`{name}`" not in page] == []


def test_every_command_occurs_in_the_operators_page():
    page = read("docs/operations.md")
    assert [words for words, _ in COMMANDS if f"outrider {words}" not in page] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page):
    targets = re.findall(r"\]\((?!http)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_commands_of_make_in_the_docs_exist():
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), flags=re.MULTILINE))
    named = {
        name
        for page in PAGES
        for name in re.findall(
            r"(?<!-)\bmake ([a-z-]+)(?=[`\s]|$)", page.read_text(encoding="utf-8")
        )
    }
    sentences = {"that", "one", "it", "of", "from", "is", "the", "a", "and", "phones", "up"}
    assert named - sentences <= targets


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs" / "adr").glob("0*.md")), ids=lambda page: page.stem
)
def test_a_decision_fits_a_page_and_says_what_is_bad_about_it(page):
    text = page.read_text(encoding="utf-8")
    assert len(text.split()) <= 450
    for part in ("**Context.**", "**Options.**", "**Decision.**", "**Consequences.**", "- Bad:"):
        assert part in text
