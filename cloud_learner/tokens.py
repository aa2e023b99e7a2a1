"""The API's bearer tokens: shown once, kept only as their SHA-256 in a file of mode 0600.

Each has a name, so that what was ordered can be told by whose token it was, and one token be ended
without the others.
"""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from sync.durable_file import write_durably

_NAME = re.compile("[a-z0-9_-]{1,32}")


class Scope(StrEnum):
    """What a token may do."""

    READ = "read"
    OPERATE = "operate"

    def covers(self, wanted: Scope) -> bool:
        """Whether a token of this scope may do what needs `wanted`."""
        return self is Scope.OPERATE or wanted is Scope.READ


@dataclass(frozen=True, slots=True)
class TokenHolder:
    """Whose a token is, and what it may do."""

    name: str
    scope: Scope


class TokenFile:
    """The hashes of the tokens that open the API, one of each name.

    Args:
        path: where the hashes lie, a line each: hash, scope and name.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def exists(self) -> bool:
        """Whether a token was ever made here."""
        return self._path.is_file()

    def write(self, token: str, scope: Scope = Scope.OPERATE, *, name: str = "") -> None:
        """Accept `token` from now on, and no other of its name.

        Args:
            name: whose it is; the scope's own name where nobody is named.

        Raises: ValueError: the token is too short, or the name no name.
        """
        if len(token) < 16:
            raise ValueError("a token has at least 16 characters")
        if name and _NAME.fullmatch(name) is None:
            raise ValueError("a token's name is 1 to 32 of a-z, 0-9, - and _")
        holder = TokenHolder(name or scope.value, scope)
        others = {digest: one for digest, one in self._read().items() if one.name != holder.name}
        self._write(others | {_digest(token): holder})

    def remove(self, name: str) -> bool:
        """Refuse the token of that name from now on; whether there was one."""
        known = self._read()
        kept = {digest: holder for digest, holder in known.items() if holder.name != name}
        if len(kept) < len(known):
            self._write(kept)
        return len(kept) < len(known)

    def holder_of(self, token: str) -> TokenHolder | None:
        """Whose `token` is, None for nobody's; takes the same time for every wrong one."""
        digest = _digest(token)
        found = [one for known, one in self._read().items() if hmac.compare_digest(known, digest)]
        return found[0] if found else None

    def accepts(self, token: str) -> bool:
        """Whether `token` may do anything."""
        return self.holder_of(token) is not None

    def _write(self, known: dict[str, TokenHolder]) -> None:
        lines = "".join(f"{digest} {one.scope} {one.name}\n" for digest, one in known.items())
        write_durably(self._path, lines.encode(), mode=0o600)

    def _read(self) -> dict[str, TokenHolder]:
        """Holders by hash.

        Lines of older programs have no name, or no scope either: those may everything.
        """
        if not self.exists():
            return {}
        known = {}
        for line in self._path.read_text("ascii").splitlines():
            digest, *words = line.split()
            scope = Scope(words[0]) if words else Scope.OPERATE
            known[digest] = TokenHolder(words[1] if len(words) > 1 else scope.value, scope)
        return known


def _digest(token: str) -> str:
    return sha256(token.encode()).hexdigest()
