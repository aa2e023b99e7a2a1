"""What apps want of the phone, carried out: pure functions from state to state.

An app says what it wants with effects (see `app`); they are carried out in their order right after
the update that said so. An app that hears of it may want something in turn, up to `DEEPEST`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from apps_mock.app import (
    AnyApp,
    AnyAppState,
    AppState,
    AskPermission,
    Copy,
    Effect,
    Notify,
    Open,
    Page,
    Provided,
    Say,
    Share,
    Tell,
)
from apps_mock.apps.system import CLIP, Clip, Notification, Permission, SystemData
from apps_mock.blame import place_of
from apps_mock.errors import AppCrashError, UpdateError
from apps_mock.phone_state import (
    Overlay,
    PhoneState,
    is_installed,
    launch,
)
from apps_mock.records import changed, find, flipped, fresh_id
from apps_mock.registry import APPS
from apps_mock.widgets import Event

DEEPEST: Final = 8
"""How many updates may follow from each other; what is wanted beyond is not carried out."""

_NO_OTHERS: Final[Mapping[str, Any]] = MappingProxyType({})  # Any: data of any app
PERMISSION: Final = "permission"
"""The event by which an app hears the answer to `AskPermission`."""


def provided_for(app: AnyApp, state: PhoneState) -> Provided:
    """What an app may see of the rest of the phone."""
    others = _NO_OTHERS
    if app.uses:
        others = {name: other.data for name, other in state.apps if name in app.uses}
    return Provided(state.today, state.time, clipboard_of(state), others)


def clipboard_of(state: PhoneState) -> str:
    """The text on the clipboard."""
    system = state.system
    clip = find(system.clipboard, CLIP) if system is not None else None
    return clip.text if clip is not None else ""


def sent(state: PhoneState, name: str, event: Event, depth: int = 0) -> PhoneState:
    """The phone after an app had an event, its effects carried out.

    Raises: AppCrashError: the app broke.
    """
    before = state.app_state(name)
    app = APPS[name]
    after = _stepped(app, before.seeing(provided_for(app, state)), event)
    effects = after.effects
    after = AppState(after.data, after.stack)
    if after != before:
        state = state.with_app(name, after)
    return carried_out(state, name, effects, depth) if effects else state


def _stepped(app: AnyApp, state: AnyAppState, event: Event) -> AnyAppState:
    try:
        return _given(app, app.step(state, event))
    except Exception as error:
        raise AppCrashError(app.name, f"update on {event.name!r}", error) from error


def _given(app: AnyApp, after: object) -> AnyAppState:
    """What an update gave.

    Raises: UpdateError: it is no state.
    """
    if isinstance(after, AppState):
        return after
    raise UpdateError(
        f"{place_of(app.update)}update gave {after!r:.60}; return the AppState in every case"
    )


def carried_out(
    state: PhoneState, name: str, effects: Iterable[Effect], depth: int = 0
) -> PhoneState:
    """The phone after it did what app `name` wants of it."""
    if depth >= DEEPEST:
        return state
    for effect in effects:
        state = _carried_out(state, name, effect, depth + 1)
    return state


def _carried_out(state: PhoneState, name: str, effect: Effect, depth: int) -> PhoneState:
    match effect:
        case Copy(text):
            return copied(state, text)
        case Share(text):
            return state.queueing(Overlay("share", name, text))
        case Open(app, page, argument):
            return opened(state, app, page, argument)
        case Tell(app, event):
            return _told(state, app, event, depth)
        case Say(text):
            return replace(state, notice=text)
        case AskPermission(permission):
            return _asked(state, name, permission, depth)
        case Notify():
            return _notified(state, name, effect)


def copied(state: PhoneState, text: str) -> PhoneState:
    """The phone with a text on its clipboard."""
    system = state.system
    if system is None:
        return state
    return state.with_system(replace(system, clipboard=(Clip(CLIP, text),)))


def opened(state: PhoneState, name: str, page: str = "", argument: str = "") -> PhoneState:
    """The phone with an app in front: its home page, and a page of it on top where one is named."""
    if not is_installed(state, name):
        return replace(state, notice="This app is not installed")
    home = APPS[name].home
    top = (Page(page, argument),) if page and (page, argument) != (home.name, home.argument) else ()
    fresh = AppState(state.app_state(name).data, (home, *top))
    return launch(state.with_app(name, fresh), name)


def _told(state: PhoneState, name: str, event: Event, depth: int) -> PhoneState:
    """The phone after an app's data heard of something; its pages stay as they are."""
    if not state.has(name):
        return state
    app, before = APPS[name], state.app_state(name)
    if event.name == "toggle":
        return state.with_app(
            name, before.with_data(flipped(before.data, event.value, event.extra))
        )
    try:
        after = _given(app, app.update(before.seeing(provided_for(app, state)), event))
    except Exception as error:
        raise AppCrashError(name, f"update on {event.name!r}", error) from error
    told = state.with_app(name, AppState(after.data, before.stack))
    return carried_out(told, name, after.effects, depth)


def _asked(state: PhoneState, name: str, permission: str, depth: int) -> PhoneState:
    """A permission that was given is not asked for again."""
    known = find(state.system.permissions, f"{name}/{permission}") if state.system else None
    if known is not None and known.allowed:
        return sent(state, name, Event(PERMISSION, permission, "allowed"), depth)
    return state.queueing(Overlay("permission", f"{name}/{permission}"))


def answered(state: PhoneState, request: str, *, allowed: bool) -> PhoneState:
    """The phone after its owner said yes or no to a permission (`request`: app/permission)."""
    system = state.system
    if system is not None:
        state = state.with_system(_remembered(system, request, allowed=allowed))
    return refused(state, request) if not allowed else _heard(state, request, "allowed")


def refused(state: PhoneState, request: str) -> PhoneState:
    """The phone after an app heard that it has no permission, for now."""
    return _heard(state, request, "denied")


def _heard(state: PhoneState, request: str, answer: str) -> PhoneState:
    name, _, permission = request.partition("/")
    return sent(state, name, Event(PERMISSION, permission, answer)) if state.has(name) else state


def _remembered(system: SystemData, request: str, *, allowed: bool) -> SystemData:
    known = find(system.permissions, request)
    if known is not None:
        return replace(system, permissions=changed(system.permissions, request, allowed=allowed))
    return replace(system, permissions=(*system.permissions, Permission(request, allowed)))


def _notified(state: PhoneState, name: str, wanted: Notify) -> PhoneState:
    system = state.system
    if system is None:
        return state
    entry = Notification(fresh_id(system.notifications, "n"), name, *wanted)
    return state.with_system(replace(system, notifications=(entry, *system.notifications)))
