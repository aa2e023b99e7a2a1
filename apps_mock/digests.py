"""Exact hashes of a phone's state: equal states give equal hashes, cheap where little changed."""

from __future__ import annotations

import hashlib
from typing import Final

from apps_mock.app import AnyAppState
from apps_mock.phone_state import PhoneState
from apps_mock.records import canonical

_Entry = tuple[str, AnyAppState]


class StateHasher:
    """Hashes the states of one phone; apps that did not change are not hashed again."""

    def __init__(self) -> None:
        self._entries: tuple[_Entry, ...] = ()
        self._digests: list[bytes] = []
        self._joined = b""
        self._data: dict[str, tuple[object, bytes]] = {}

    def digest(self, state: PhoneState) -> str:
        """SHA-256 (hex) over a canonical form of the whole state."""
        if state.apps is not self._entries:
            self._look_through(state.apps)
        rest = (state.foreground, state.recents, state.focus, state.keyboard, state.now)
        parts = [self._joined, repr(rest).encode()]
        over = (state.notice, state.home_page, state.scroll_px)
        if state.overlays or any(over):
            overlays = [(each.kind, each.subject, each.text) for each in state.overlays]
            parts.append(repr((overlays, *over)).encode())
        return hashlib.sha256(b"".join(parts)).hexdigest()

    def _look_through(self, entries: tuple[_Entry, ...]) -> None:
        """Hash the apps that are not those of the last state."""
        if len(entries) != len(self._entries):
            self._digests = [self._digest_of(*entry) for entry in entries]
        else:
            for index, entry in enumerate(entries):
                if entry is not self._entries[index]:
                    self._digests[index] = self._digest_of(*entry)
        self._entries = entries
        self._joined = b"".join(self._digests)

    def _digest_of(self, name: str, app: AnyAppState) -> bytes:
        shared = _SHARED.get(id(app))
        if shared is not None:
            return shared[1]
        known = self._data.get(name)
        if known is None or known[0] is not app.data:
            known = self._data[name] = (app.data, _data_digest(app.data))
        return _app_digest(name, app, known[1])


_SHARED_SIZE: Final = 2048
_SHARED: Final[dict[int, tuple[AnyAppState, bytes]]] = {}
"""Digests by identity; holding on to the state keeps its identity unique."""


def share(name: str, app: AnyAppState) -> AnyAppState:
    """The state of an app that many phones begin with, hashed once for all of them."""
    if len(_SHARED) >= _SHARED_SIZE:
        _SHARED.pop(next(iter(_SHARED)), None)
    _SHARED[id(app)] = (app, _app_digest(name, app, _data_digest(app.data)))
    return app


def _app_digest(name: str, app: AnyAppState, data: bytes) -> bytes:
    pages = [
        (page.name, page.argument, page.drafts, page.scroll_px, page.overlay) for page in app.stack
    ]
    return hashlib.sha256(data + repr((name, pages)).encode()).digest()


def _data_digest(data: object) -> bytes:
    return hashlib.sha256(canonical(data)).digest()
