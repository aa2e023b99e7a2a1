"""Hugging Face checkpoints as folders: whether one is there, and which.

This module loads nothing but JSON: whoever only wants to know asks here first.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from exporters.shipped import CARD_FILE

CONFIG_FILE = "config.json"
EYES_DIR = "image_encoder"
"""Where the image encoder of a T5 lies."""

_CHUNK_BYTES = 1 << 20


def is_checkpoint(directory: Path) -> bool:
    """Whether the folder's card is a Hugging Face config that names a `model_type`."""
    if (directory / CARD_FILE).is_file():
        return False
    try:
        card = json.loads((directory / CONFIG_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(card, dict) and isinstance(card.get("model_type"), str)


def contents_digest(directory: Path) -> str:
    """SHA-256 (hex) over the names and bytes of a checkpoint's files."""
    digest = hashlib.sha256()
    for path in sorted((*directory.glob("*"), *(directory / EYES_DIR).glob("*"))):
        if path.is_file():
            digest.update(f"{path.relative_to(directory)} {path.stat().st_size}\n".encode())
            with path.open("rb") as file:
                while chunk := file.read(_CHUNK_BYTES):
                    digest.update(chunk)
    return digest.hexdigest()
