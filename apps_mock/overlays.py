"""What lies over the app in front: dialogs, share sheet, text menu, shade, lock screen.

An overlay is a small value of the phone's state; it shows through the same widgets as an app does,
and what is touched on it is an event as elsewhere. The back key closes any but the lock screen.

Events of overlays (`overlay_events`):

- text menu: `paste`, `copy`, `cut`, `select_all`
- share sheet: `share_to` (app)
- permission dialog: `allow`, `deny`
- crash and not-responding dialogs: `close_app`, `app_info`, `wait`
- pop-up: `close`
- shade: `quick` (id of a switch of the settings app), `notification` (id: opens its app),
  `dismiss` (id), `clear_notifications`
- lock screen: `unlock`
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from apps_mock.effects import answered, clipboard_of, copied, opened, refused, sent
from apps_mock.look import Look
from apps_mock.phone_state import Overlay, OverlayKind, PhoneState, closed, installed, launch
from apps_mock.records import find, tables_of, without
from apps_mock.registry import APPS
from apps_mock.widgets import Button, Chip, Chips, Event, Field, Row, Screen, Text, Widget

SETTINGS = "settings"
QUICK_SETTINGS: Final = (
    "Wi-Fi",
    "Bluetooth",
    "Airplane mode",
    "Mobile data",
    "Dark theme",
    "Battery saver",
)
"""Switches of the settings app that the shade offers, where the phone has them."""

CLOSE = Event("close")


def overlay_view(
    state: PhoneState, overlay: Overlay, look: Look, field: Field | None = None
) -> Screen:
    """What an overlay shows.

    Args:
        field: the text field that has the focus, for the text menu.
    """
    match overlay.kind:
        case "lock":
            return _lock_view(state, look)
        case "shade":
            return _shade_view(state, look)
        case "share":
            return _share_view(state, overlay, look)
        case "permission":
            return _permission_view(overlay, look)
        case "text_menu":
            return _text_menu_view(state, overlay, look, field)
        case "crash":
            title = look.say("{name} keeps stopping")
            buttons = (("App info", Event("app_info")), ("Close app", Event("close_app")))
            return _about_app(overlay, look, title, buttons)
        case "hung":
            title = look.say("{name} is not responding")
            buttons = (("Close app", Event("close_app")), ("Wait", Event("wait")))
            return _about_app(overlay, look, title, buttons)
        case "popup":
            title, _, text = overlay.text.partition("\n")
            body = (Text(look.say(text)),) if text else ()
            close = Button(look.say("Not now"), CLOSE)
            return Screen(look.say(title), body, (close,), back=False, dialog=True)


def _about_app(
    overlay: Overlay, look: Look, title: str, buttons: tuple[tuple[str, Event], ...]
) -> Screen:
    actions = tuple(Button(look.say(label), event) for label, event in buttons)
    name = look.say(APPS[overlay.subject].label)
    return Screen(title.format(name=name), (), actions, back=False, dialog=True)


def _lock_view(state: PhoneState, look: Look) -> Screen:
    lines = (Text(state.time, heading=True), Text(look.day(state.today)))
    return Screen("", (*lines, Text(look.say("Swipe up to open"))), back=False, swipes=True)


def _shade_view(state: PhoneState, look: Look) -> Screen:
    body: list[Widget] = []
    tiles = [Chip(look.say(name), on, Event("quick", name)) for name, on in _quick_settings(state)]
    body.extend(Chips(tuple(tiles[start : start + 3])) for start in range(0, len(tiles), 3))
    notifications = state.system.notifications if state.system is not None else ()
    for entry in notifications:
        body.append(
            Row(
                look.say(entry.title),
                look.say(entry.text),
                on_tap=Event("notification", entry.id),
                badge=look.say(APPS[entry.app].label) if entry.app in APPS else "",
            )
        )
        body.append(Button(look.say("Dismiss"), Event("dismiss", entry.id)))
    if notifications:
        body.append(Button(look.say("Clear all"), Event("clear_notifications")))
    else:
        body.append(Text(look.say("No notifications")))
    return Screen("", tuple(body), back=False)


def _quick_settings(state: PhoneState) -> list[tuple[str, bool]]:
    """The switches that the shade offers: name and whether it is on."""
    data = state.app_state(SETTINGS).data if state.has(SETTINGS) else None
    if data is None:
        return []
    found = {
        record.id: bool(record.on)
        for _, records in tables_of(data)
        for record in records
        if hasattr(record, "on")
    }
    return [(name, found[name]) for name in QUICK_SETTINGS if name in found]


def _share_view(state: PhoneState, overlay: Overlay, look: Look) -> Screen:
    takers = [app for app in installed(state) if app.takes_shares and app.name != overlay.subject]
    rows = tuple(
        Row(look.say(app.label), on_tap=Event("share_to", app.name))
        for app in look.ordered(takers, lambda app: app.name)
    )
    body = (Text(overlay.text), *(rows or (Text(look.say("No app takes this")),)))
    return Screen(look.say("Share with"), body, back=False)


def _permission_view(overlay: Overlay, look: Look) -> Screen:
    name, _, permission = overlay.subject.partition("/")
    question = look.say("Allow {app} to use {permission}?")
    app = look.say(APPS[name].label) if name in APPS else name
    title = question.format(app=app, permission=look.say(permission))
    actions = (
        Button(look.say("Don't allow"), Event("deny")),
        Button(look.say("Allow"), Event("allow")),
    )
    return Screen(title, (), actions, back=False, dialog=True)


def _text_menu_view(state: PhoneState, overlay: Overlay, look: Look, field: Field | None) -> Screen:
    text = field.text if field is not None else ""
    entries: list[tuple[str, str]] = []
    if field is not None and text and not field.password:
        entries += [("Cut", "cut"), ("Copy", "copy")]
    if clipboard_of(state):
        entries.append(("Paste", "paste"))
    if text and overlay.text != "all":
        entries.append(("Select all", "select_all"))
    actions = tuple(Button(look.say(label), Event(name)) for label, name in entries)
    title = look.say("Text") if actions else look.say("Nothing to paste")
    return Screen(title, (), actions, back=False, dialog=True)


def overlay_event(state: PhoneState, event: Event, field: Field | None = None) -> PhoneState:
    """The phone after an event of the overlay that shows.

    Args:
        field: the text field that has the focus.
    Raises: AppCrashError: an app that heard of it broke.
    """
    overlay = state.overlay
    if overlay is None:
        return state
    if event.name in {"back", "close"}:
        return _left(state, overlay)
    if overlay.kind == "text_menu":
        return _text_menu_event(state, overlay, event, field) if field is not None else state
    return _HANDLERS[overlay.kind](state, overlay, event)


def _left(state: PhoneState, overlay: Overlay) -> PhoneState:
    """What closing an overlay means: nothing, but a permission is not given."""
    match overlay.kind:
        case "lock":
            return state
        case "permission":
            return refused(state.uncovered(), overlay.subject)
        case "crash":
            return closed(state.uncovered(), overlay.subject)
        case _:
            return state.uncovered()


def _lock_event(state: PhoneState, _overlay: Overlay, event: Event) -> PhoneState:
    return state.uncovered() if event.name == "unlock" else state


def _shade_event(state: PhoneState, _overlay: Overlay, event: Event) -> PhoneState:
    system = state.system
    match event.name:
        case "quick" if state.has(SETTINGS):
            return sent(state, SETTINGS, Event("toggle", event.value, "on"))
        case "clear_notifications" if system is not None:
            return state.with_system(replace(system, notifications=()))
        case "dismiss" if system is not None:
            return _dismissed(state, event.value)
        case "notification" if system is not None:
            entry = find(system.notifications, event.value)
            if entry is None:
                return state
            rest = _dismissed(state.uncovered(), entry.id)
            return opened(rest, entry.app, entry.page, entry.argument)
        case _:
            return state


def _dismissed(state: PhoneState, notification: str) -> PhoneState:
    system = state.system
    if system is None:
        return state
    rest = without(system.notifications, notification)
    return state.with_system(replace(system, notifications=rest))


def _share_event(state: PhoneState, overlay: Overlay, event: Event) -> PhoneState:
    if event.name != "share_to":
        return state
    front = launch(state.uncovered(), event.value)
    return sent(front, event.value, Event(APPS[event.value].takes_shares, overlay.text))


def _permission_event(state: PhoneState, overlay: Overlay, event: Event) -> PhoneState:
    if event.name not in {"allow", "deny"}:
        return state
    return answered(state.uncovered(), overlay.subject, allowed=event.name == "allow")


def _trouble_event(state: PhoneState, overlay: Overlay, event: Event) -> PhoneState:
    match event.name:
        case "close_app":
            return closed(state.uncovered(), overlay.subject)
        case "app_info":
            return opened(closed(state.uncovered(), overlay.subject), SETTINGS, "Apps")
        case "wait":
            return state.uncovered()
        case _:
            return state


def _popup_event(state: PhoneState, _overlay: Overlay, _event: Event) -> PhoneState:
    return state


def _text_menu_event(state: PhoneState, overlay: Overlay, event: Event, field: Field) -> PhoneState:
    plain = state.uncovered()
    match event.name:
        case "copy":
            return replace(copied(plain, field.text), notice="Copied")
        case "cut":
            return _edited(copied(plain, field.text), overlay, "")
        case "paste":
            before = "" if overlay.text == "all" else field.text
            pasted = clipboard_of(state)
            if field.lines == 1:
                pasted = " ".join(pasted.splitlines())
            return _edited(plain, overlay, before + pasted)
        case "select_all":
            return plain.under(replace(overlay, text="all"))
        case _:
            return state


def _edited(state: PhoneState, overlay: Overlay, text: str) -> PhoneState:
    return sent(state, state.foreground, Event("edit", overlay.subject, text))


_Handler = Callable[[PhoneState, Overlay, Event], PhoneState]
_HANDLERS: Final[dict[OverlayKind, _Handler]] = {
    "lock": _lock_event,
    "shade": _shade_event,
    "share": _share_event,
    "permission": _permission_event,
    "crash": _trouble_event,
    "hung": _trouble_event,
    "popup": _popup_event,
}
