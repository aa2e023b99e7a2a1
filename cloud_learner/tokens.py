"""The API's bearer token: shown once, kept only as its SHA-256 in a file of mode 0600."""

from __future__ import annotations

import hmac
from hashlib import sha256
from pathlib import Path

from sync.durable_file import write_durably


class TokenFile:
    """The hash of the one token that opens the API.

    Args:
        path: where the hash lies.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def exists(self) -> bool:
        """Whether a token was ever made here."""
        return self._path.is_file()

    def write(self, token: str) -> None:
        """Accept `token` from now on, and no other."""
        if len(token) < 16:
            raise ValueError("a token has at least 16 characters")
        write_durably(self._path, _digest(token).encode() + b"\n", mode=0o600)

    def accepts(self, token: str) -> bool:
        """Whether `token` is the one; takes the same time for every wrong one."""
        if not self.exists():
            return False
        return hmac.compare_digest(self._path.read_text("ascii").strip(), _digest(token))


def _digest(token: str) -> str:
    return sha256(token.encode()).hexdigest()
