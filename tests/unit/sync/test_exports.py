"""What `import sync` offers."""

from __future__ import annotations

import ast
from pathlib import Path

import sync

WORDS = ("clock", "errors", "vocabulary")


def public_names(module: str) -> set[str]:
    source = Path(sync.__file__).with_name(f"{module}.py").read_text(encoding="utf-8")
    names = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return {name for name in names if not name.startswith("_")}


def test_all_lists_the_public_words_once():
    assert sorted(sync.__all__) == sorted(name for module in WORDS for name in public_names(module))


def test_every_listed_word_exists():
    assert [name for name in sync.__all__ if not hasattr(sync, name)] == []
