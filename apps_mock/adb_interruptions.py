"""Faults that put something over the clone's screen, as values of its state."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from apps_mock.adb_faults import FaultKind
from apps_mock.apps.system import Notification
from apps_mock.phone_state import Overlay, PhoneState, installed, is_locked
from apps_mock.records import fresh_id

HEADS_UP_TITLE: Final = "New message"
HEADS_UP_TEXT: Final = "Are you there?"
POP_UP: Final = "Rate this app\nDo you like it?"


def interrupted(state: PhoneState, kind: FaultKind) -> PhoneState:
    """The phone with what a fault of `WINDOW_FAULTS` puts over it."""
    app = state.foreground if state.front is not None else installed(state)[0].name
    match kind:
        case FaultKind.ANR:
            return state.under(Overlay("hung", app))
        case FaultKind.CRASH:
            return state.under(Overlay("crash", app))
        case FaultKind.PERMISSION:
            return state.under(Overlay("permission", f"{app}/notifications"))
        case FaultKind.POP_UP:
            return state.under(Overlay("popup", text=POP_UP))
        case FaultKind.HEADS_UP:
            return _with_message(state, app).under(
                Overlay("popup", text=f"{HEADS_UP_TITLE}\n{HEADS_UP_TEXT}")
            )
        case _:
            return locked(state)


def locked(state: PhoneState) -> PhoneState:
    """The phone with its lock screen in front."""
    return state if is_locked(state) else state.under(Overlay("lock"))


def unlocked(state: PhoneState) -> PhoneState:
    """The phone without its lock screen."""
    return state.uncovered() if is_locked(state) else state


def _with_message(state: PhoneState, app: str) -> PhoneState:
    """The phone with one more notification, as a message brings it."""
    system = state.system
    if system is None:
        return state
    entry = Notification(fresh_id(system.notifications, "n"), app, HEADS_UP_TITLE, HEADS_UP_TEXT)
    return state.with_system(replace(system, notifications=(entry, *system.notifications)))
