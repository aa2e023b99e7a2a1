"""The API's bearer tokens: shown once, kept only as their SHA-256 in a file of mode 0600."""

from __future__ import annotations

import hmac
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from sync.durable_file import write_durably


class Scope(StrEnum):
    """What a token may do."""

    READ = "read"
    OPERATE = "operate"

    def covers(self, wanted: Scope) -> bool:
        """Whether a token of this scope may do what needs `wanted`."""
        return self is Scope.OPERATE or wanted is Scope.READ


class TokenFile:
    """The hashes of the tokens that open the API, one of each scope.

    Args:
        path: where the hashes lie, a line each: hash and scope.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def exists(self) -> bool:
        """Whether a token was ever made here."""
        return self._path.is_file()

    def write(self, token: str, scope: Scope = Scope.OPERATE) -> None:
        """Accept `token` from now on, and no other of its scope."""
        if len(token) < 16:
            raise ValueError("a token has at least 16 characters")
        known = self._read() if self.exists() else {}
        known[scope] = _digest(token)
        lines = "".join(f"{digest} {which.value}\n" for which, digest in sorted(known.items()))
        write_durably(self._path, lines.encode(), mode=0o600)

    def scope_of(self, token: str) -> Scope | None:
        """What `token` may do, None for nothing; takes the same time for every wrong one."""
        if not self.exists():
            return None
        digest = _digest(token)
        found = [s for s, known in self._read().items() if hmac.compare_digest(known, digest)]
        return found[0] if found else None

    def accepts(self, token: str) -> bool:
        """Whether `token` may do anything."""
        return self.scope_of(token) is not None

    def _read(self) -> dict[Scope, str]:
        """Hash by scope; one without a scope is an older program's, and may everything."""
        lines = (line.split() for line in self._path.read_text("ascii").splitlines())
        return {Scope(words[1] if len(words) > 1 else "operate"): words[0] for words in lines}


def _digest(token: str) -> str:
    return sha256(token.encode()).hexdigest()
