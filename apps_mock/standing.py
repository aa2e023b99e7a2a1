"""Where an oracle stood when it did not get on, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from apps_mock.oracle import under_way
from apps_mock.phone import MockPhone
from apps_mock.phone_state import installed
from apps_mock.plans import Fill, GiveAnswer, GiveUp, Hold, Move, Press

_LAST = 6
"""How many of the last decisions are looked at: an oracle that does not get on goes in circles."""


class Stand(NamedTuple):
    """Where an oracle stood when it decided.

    Attributes:
        app: the app that it wants to do something in.
        front: the app that showed; empty for the launcher.
        page: the page of `app` on top, with its argument.
        move: what its plan says of that page.
    """

    app: str
    front: str
    page: tuple[str, str]
    move: Move | None


def stand_of(phone: MockPhone) -> Stand:
    """Where the oracle of the phone's task stands."""
    state = phone.state
    app, plan = under_way(phone.task, state)
    if app not in {each.name for each in installed(state)}:
        return Stand(app, state.foreground, ("", ""), None)
    page = state.app_state(app).page
    key = (page.name, page.argument)
    return Stand(app, state.foreground, key, plan.get(key))


def why_stuck(stands: Sequence[Stand]) -> str:
    """What kept an oracle that went through these stands from its goal."""
    last = stands[-_LAST:]
    within = [stand for stand in last if stand.front == stand.app]
    if not within:
        front = last[-1].front or "the launcher" if last else "the launcher"
        return f"stood in {front} and did not come to {last[-1].app}" if last else "did nothing"
    for stand in reversed(within):
        if stand.move is None:
            return f"stood on page {stand.page} of {stand.app}, for which the plan has no move"
    common, _ = Counter((stand.app, stand.page) for stand in within).most_common(1)[0]
    move = next(stand.move for stand in reversed(within) if (stand.app, stand.page) == common)
    return f"kept doing {_said(move)} on page {common[1]} of {common[0]}"


def _said(move: Move | None) -> str:
    match move:
        case Press(event) | Hold(event):
            return f"{type(move).__name__} {' '.join(part for part in event if part)}"
        case Fill(entries, _):
            return f"Fill {', '.join(entry.field for entry in entries)}"
        case GiveAnswer() | GiveUp():
            return type(move).__name__
        case None:
            return "nothing"
