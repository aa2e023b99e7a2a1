"""Portraits of the clones: screens that are worth a look, found by playing tasks halfway.

Each app shows its first page, a page on the oracle's way to some goal, and a dialog; the phone
shows what is around the apps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from apps_mock.catalogue import LOCALES
from apps_mock.errors import TaskDrawError
from apps_mock.look import SCREEN_SIZES, Look, draw_look, look_number
from apps_mock.nodes import DIALOG, MENU
from apps_mock.oracle import next_action
from apps_mock.phone import MockPhone
from apps_mock.phone_state import Overlay, launch
from apps_mock.registry import TASK_APPS
from apps_mock.scene import Scene
from apps_mock.tasks import templates
from apps_mock.templates import Template
from device_runtime.ui_tree import walk
from sync.vocabulary import ActionKind, Split

PHONE = "phone"
"""What is around the apps, as if it were one of them."""

PORTRAYED: tuple[str, ...] = (PHONE, *(app.name for app in TASK_APPS))
"""What portraits are made of."""

_MOST_STEPS = 24
_DIALOG_TRIES = 12
_ENDS = frozenset({ActionKind.FINISH, ActionKind.ANSWER})


@dataclass(frozen=True, slots=True)
class Portrait:
    """One screen of one app in one look.

    Attributes:
        page: which screen it is: "home", "detail", "dialog", or the phone's own.
        title: the goal on whose way it was met; empty where there was none.
    """

    app: str
    look: Look
    page: str
    title: str
    scene: Scene


def portrait_looks(count: int) -> list[int]:
    """Numbers of so many looks: all locales in turn, light and dark, all sizes of screen."""
    numbers: list[int] = []
    for index in range(count):
        dark = (index + index // len(LOCALES)) % 2 == 1
        size = SCREEN_SIZES[(index + 1) % len(SCREEN_SIZES)]
        locale = LOCALES[index % len(LOCALES)]
        number = look_number(locale, 0)
        while True:
            look = draw_look(Split.TRAIN, number)
            fits = (look.dark, look.width_px) == (dark, size.width_px)
            if fits and number not in numbers:
                break
            number += 1
        numbers.append(number)
    return numbers


def portraits(app: str, look: int) -> Iterator[Portrait]:
    """The portraits of an app (one of `PORTRAYED`) in a look."""
    if app == PHONE:
        yield from _of_phone(look)
        return
    own = [
        template
        for template in templates()
        if template.app == app and "cross_app" not in template.tags
    ]
    longest = sorted(own, key=lambda template: (-template.oracle_steps, template.name))
    phone = _loaded(longest, look)
    if phone is None:
        return
    phone.restore(launch(phone.task.state, app))
    yield _portrait(phone, app, look, "home")
    phone.restore(phone.task.state)
    _play(phone, phone.task.template.oracle_steps // 2)
    yield _portrait(phone, app, look, "detail")
    shown = _with_dialog(own, look)
    if shown is not None:
        yield _portrait(shown, app, look, "dialog")


def _of_phone(look: int) -> Iterator[Portrait]:
    own = [template for template in templates() if template.app == "settings"]
    phone = _loaded(own, look)
    if phone is None:
        return
    start = phone.state
    yield _portrait(phone, PHONE, look, "home")
    overlays = {
        "shade": Overlay("shade"),
        "lock": Overlay("lock"),
        "permission": Overlay("permission", "messages/Contacts"),
        "hung": Overlay("hung", "settings"),
    }
    for page, overlay in overlays.items():
        phone.restore(launch(start, "settings"))
        phone.show(overlay)
        yield _portrait(phone, PHONE, look, page)


def _portrait(phone: MockPhone, app: str, look: int, page: str) -> Portrait:
    title = "" if app == PHONE else phone.task.goal
    return Portrait(app, draw_look(Split.TRAIN, look), page, title, phone.scene())


def _loaded(candidates: list[Template], look: int) -> MockPhone | None:
    """A phone with a task of the first template that can be drawn."""
    phone = MockPhone(state_hashes=False)
    for template in candidates:
        try:
            phone.load(template.name, look % 1000, Split.TRAIN, look)
        except TaskDrawError:
            continue
        return phone
    return None


def _play(phone: MockPhone, steps: int) -> None:
    for _ in range(steps):
        action = next_action(phone, phone.observe())
        if action.kind in _ENDS:
            return
        phone.act(action)


def _with_dialog(own: list[Template], look: int) -> MockPhone | None:
    """A phone on which a dialog or menu of the app shows, on the way to one of its goals."""
    likely = sorted(own, key=lambda template: "delete" not in template.name)
    for template in likely[:_DIALOG_TRIES]:
        phone = _loaded([template], look)
        if phone is None:
            continue
        for _ in range(_MOST_STEPS):
            if _shows_dialog(phone):
                return phone
            action = next_action(phone, phone.observe())
            if action.kind in _ENDS:
                break
            phone.act(action)
    return None


def _shows_dialog(phone: MockPhone) -> bool:
    return any(node.class_name in {DIALOG, MENU} for node in walk((phone.tree(),)))
