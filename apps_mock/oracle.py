"""The oracle: a policy that looks at the phone's state and takes the shortest way to the goal.

It has no memory: each action follows from the state and the screen alone, so it goes on from any
state that noise has led to. It only does what a policy's grammar can say.
"""

from __future__ import annotations

from collections.abc import Sequence

from apps_mock.app import Page
from apps_mock.launcher import LAUNCHER
from apps_mock.phone import MockPhone
from apps_mock.phone_state import PhoneState
from apps_mock.places import LaidOut, Target
from apps_mock.plans import Entry, Fill, Press
from apps_mock.verifiers import Findings
from apps_mock.widgets import Event
from device_runtime.ports import Decided, PolicyRequest
from sync.vocabulary import (
    Action,
    Direction,
    Key,
    Observation,
    finish,
    press,
    scroll,
    tap_element,
    type_text,
)


class OraclePolicy:
    """Plays the task that is loaded on one mock phone."""

    wants_encoding = False

    def __init__(self, phone: MockPhone) -> None:
        self._phone = phone

    def decide(self, requests: Sequence[PolicyRequest]) -> list[Decided]:
        """The next action, the same for each request: they are all about this one phone."""
        return [
            Decided(next_action(self._phone, request.observation), policy_version="oracle")
            for request in requests
        ]


def next_action(phone: MockPhone, observation: Observation) -> Action:
    """What the oracle does next on the phone, whose screen is `observation`."""
    task, state, screen = phone.task, phone.state, phone.laid_out
    findings = phone.findings()
    if findings.reached:
        return finish()
    repair = _repair(findings, state, screen, observation)
    if repair is not None:
        return repair
    changed = bool(task.wanted.changes) and all(check.passed for check in findings.checks)
    if changed:
        return finish()
    if state.foreground != task.template.app:
        if state.foreground == LAUNCHER:
            return _touch(Event("launch", task.template.app), state, screen, observation)
        return press(Key.HOME)
    page = state.app_state(task.template.app).page
    move = task.plan.get((page.name, page.argument))
    if isinstance(move, Press):
        return _touch(move.event, state, screen, observation)
    if isinstance(move, Fill):
        return _fill(move, page, state, screen, observation)
    return press(Key.BACK)


def _fill(
    move: Fill, page: Page, state: PhoneState, screen: LaidOut, observation: Observation
) -> Action:
    wanted = {entry.field: entry for entry in move.entries}
    for field, text in page.drafts:
        if field not in wanted and text:
            return press(Key.BACK)
    for entry in move.entries:
        if page.draft(entry.field, entry.default) != entry.text:
            return _enter(entry, page, state, screen, observation)
    if move.then is None:
        return finish()
    return _touch(move.then, state, screen, observation)


def _enter(
    entry: Entry, page: Page, state: PhoneState, screen: LaidOut, observation: Observation
) -> Action:
    if entry.event is not None:
        return _touch(entry.event, state, screen, observation)
    if not entry.text:
        return press(Key.BACK)
    if state.focus == entry.field and any(each.focused for each in observation.elements):
        return type_text(entry.text, clear=bool(page.draft(entry.field)))
    return _reach(None, entry.field, state, screen, observation)


def _touch(event: Event, state: PhoneState, screen: LaidOut, observation: Observation) -> Action:
    return _reach(event, "", state, screen, observation)


def _reach(
    event: Event | None,
    field: str,
    state: PhoneState,
    screen: LaidOut,
    observation: Observation,
) -> Action:
    """Touch what sends the event or is the field; bring it into view first where it is not."""
    for target in screen.targets:
        if target.event == event and target.field == field:
            index = _element_at(target, observation)
            if index is not None:
                return tap_element(observation, index)
    if state.keyboard:
        return press(Key.BACK)
    for hidden in screen.hidden:
        if hidden.event == event and hidden.field == field:
            return scroll(Direction.UP if hidden.above else Direction.DOWN)
    return press(Key.BACK)


def _element_at(target: Target, observation: Observation) -> int | None:
    for index, element in enumerate(observation.elements):
        acts = element.clickable or element.checkable or element.editable
        if element.bounds == target.bounds and acts:
            return index
    return None


def _repair(
    findings: Findings, state: PhoneState, screen: LaidOut, observation: Observation
) -> Action | None:
    """Turn back a switch that was turned by mistake, where it is on this screen."""
    for effect in findings.side_effects:
        event = Event("toggle", effect.record, effect.field)
        if any(target.event == event for target in screen.targets):
            return _touch(event, state, screen, observation)
    return None
