"""Bases that carry their graphs beside their weights, so that a phone without torch can run them.

    card.json  weights.safetensors  graphs/{base.json and what it lists}

This module loads nothing but JSON: whoever only wants to run a base asks here first.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_BASES_DIR = Path(__file__).parent / "bases"
DEFAULT_BASE_DIR = _BASES_DIR / "layout_t5_s"
"""The base that ships with the project: it was shown every app."""

CARD_FILE = "card.json"
GRAPHS_DIR = "graphs"
GRAPH_VERSION = 4
"""Changes whenever the same base would be exported to other graphs."""


def graphs_beside(base: Path) -> Path | None:
    """The graphs that lie beside a base's weights; None where they are missing or another base's.

    Args:
        base: a folder with a base's card.
    """
    graphs = base / GRAPHS_DIR
    described, card = _read(graphs / "base.json"), _read(base / CARD_FILE)
    is_same = described.get("digest") == card.get("digest") and "digest" in card
    return graphs if is_same and described.get("graph_version") == GRAPH_VERSION else None


def base_without(app: str) -> Path:
    """The shipped base that was shown the most suites and none called `app`.

    For a campaign that teaches an app: the default base may know it already. Where every shipped
    base was shown the app, the default.
    """
    shown = {base: card.get("recipe", {}).get("apps", []) for base, card in _cards().items()}
    fitting = [base for base, suites in shown.items() if app not in suites]
    return max(fitting, key=lambda base: len(shown[base]), default=DEFAULT_BASE_DIR)


def base_with(digest: str) -> Path | None:
    """The shipped base with this digest; None where none has it."""
    return next((base for base, card in _cards().items() if card.get("digest") == digest), None)


def _cards() -> dict[Path, dict[str, Any]]:
    return {path.parent: _read(path) for path in sorted(_BASES_DIR.glob(f"*/{CARD_FILE}"))}


def _read(path: Path) -> dict[str, Any]:
    """The JSON object in a file; empty where there is none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
