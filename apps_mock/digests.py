"""Exact hashes of a phone's state: equal states give equal hashes, cheap where little changed."""

from __future__ import annotations

import hashlib
from typing import Final

from apps_mock.app import AnyAppState
from apps_mock.phone_state import PhoneState
from apps_mock.records import canonical


class StateHasher:
    """Hashes the states of one phone; apps that did not change are not hashed again."""

    def __init__(self) -> None:
        self._apps: dict[str, tuple[AnyAppState, bytes]] = {}

    def digest(self, state: PhoneState) -> str:
        """SHA-256 (hex) over a canonical form of the whole state."""
        whole = hashlib.sha256()
        for name, app in state.apps:
            known = self._apps.get(name)
            if known is None or known[0] is not app:
                known = (app, _app_digest(name, app))
                self._apps[name] = known
            whole.update(known[1])
        rest = (state.foreground, state.recents, state.focus, state.keyboard, state.now)
        whole.update(repr(rest).encode())
        over = (state.notice, state.home_page, state.scroll_px)
        if state.overlays or any(over):
            overlays = [(each.kind, each.subject, each.text) for each in state.overlays]
            whole.update(repr((overlays, *over)).encode())
        return whole.hexdigest()


def _app_digest(name: str, app: AnyAppState) -> bytes:
    pages = [
        (page.name, page.argument, page.drafts, page.scroll_px, page.overlay) for page in app.stack
    ]
    return hashlib.sha256(_data_digest(app.data) + repr((name, pages)).encode()).digest()


_DIGESTS_SIZE: Final = 1024
_DIGESTS: dict[int, tuple[object, bytes]] = {}
"""Digests of data seen lately, by identity; holding on to the data keeps the identity unique."""


def _data_digest(data: object) -> bytes:
    known = _DIGESTS.get(id(data))
    if known is None:
        known = (data, hashlib.sha256(canonical(data)).digest())
        if len(_DIGESTS) >= _DIGESTS_SIZE:
            _DIGESTS.clear()
        _DIGESTS[id(data)] = known
    return known[1]
