"""Reaching things: the next action that brings a place to touch nearer, or touches it.

What sends an event is touched where it shows. Where it does not, the way there is another action:
hide the keyboard, open the menu that it is in, scroll, or go back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from apps_mock.laid_out import LaidOut
from apps_mock.phone_state import PhoneState
from apps_mock.places import Hidden, Target
from apps_mock.widgets import Event
from sync.vocabulary import (
    Action,
    ActionKind,
    Direction,
    Key,
    Observation,
    press,
    scroll,
    tap_element,
)


@dataclass(frozen=True, slots=True)
class Scene:
    """What an oracle knows of one moment.

    Attributes:
        screen: what shows, in its places.
        observation: the same as a policy sees it.
    """

    state: PhoneState
    screen: LaidOut
    observation: Observation

    def shows(self, event: Event) -> bool:
        """Whether something that sends the event can be touched."""
        return any(target.event == event for target in self.screen.targets)

    def events(self, name: str) -> Iterator[Event]:
        """The events of that name that what shows can send."""
        for target in self.screen.targets:
            if target.event is not None and target.event.name == name:
                yield target.event


def touch(event: Event, scene: Scene) -> Action:
    """Touch what sends the event."""
    return _reached(event, "", scene) or press(Key.BACK)


def hold(event: Event, scene: Scene) -> Action:
    """Press long what sends the event when it is held."""
    for target in scene.screen.targets:
        if target.hold == event:
            index = _element_at(target, scene.observation)
            if index is not None:
                return tap_element(scene.observation, index, ActionKind.LONG_PRESS)
    return _nearer(event, "", scene) or press(Key.BACK)


def touch_field(field: str, scene: Scene, kind: ActionKind = ActionKind.TAP) -> Action:
    """Touch a text field, or press it long."""
    return _reached(None, field, scene, kind) or press(Key.BACK)


def touch_first(events: tuple[Event, ...], scene: Scene) -> Action:
    """Touch what sends the first of the events that can be reached from here."""
    for event in events:
        action = _reached(event, "", scene)
        if action is not None:
            return action
    return press(Key.BACK)


def towards_month(key: str, month: str, scene: Scene) -> Event | None:
    """What leads an open date picker to the offered month that is nearest to one, as `2025-03`."""
    wanted = _months(month)
    return min(
        (
            event
            for event in scene.events("open")
            if event.value.startswith(f"{key}|") and "-" in event.value
        ),
        key=lambda event: abs(_months(event.value.partition("|")[2]) - wanted),
        default=None,
    )


def towards_value(slide: Event, scene: Scene) -> Event:
    """What moves a slider nearest to the value that an event asks for; the event itself at best."""
    wanted = int(slide.extra)
    return min(
        (event for event in scene.events("slide") if event.value == slide.value),
        key=lambda event: abs(int(event.extra) - wanted),
        default=slide,
    )


def _months(month: str) -> int:
    """Months since the year 0 of a month such as `2025-03`."""
    year, _, number = month.partition("-")
    return int(year) * 12 + int(number)


def _reached(
    event: Event | None, field: str, scene: Scene, kind: ActionKind = ActionKind.TAP
) -> Action | None:
    for target in scene.screen.targets:
        if target.event == event and target.field == field:
            index = _element_at(target, scene.observation)
            if index is not None:
                return tap_element(scene.observation, index, kind)
    return _nearer(event, field, scene)


def _nearer(event: Event | None, field: str, scene: Scene) -> Action | None:
    """What brings something into view that does not show; None where nothing does."""
    hidden = _hidden(event, field, scene.screen)
    if hidden is None:
        return None
    if scene.state.keyboard:
        return press(Key.BACK)
    if hidden.via is not None:
        return _reached(hidden.via, "", scene)
    return scroll(Direction.UP if hidden.above else Direction.DOWN)


def _hidden(event: Event | None, field: str, screen: LaidOut) -> Hidden | None:
    for hidden in screen.hidden:
        if hidden.event == event and hidden.field == field:
            return hidden
    return None


def _element_at(target: Target, observation: Observation) -> int | None:
    for index, element in enumerate(observation.elements):
        acts = element.clickable or element.checkable or element.editable or element.long_clickable
        if element.bounds == target.bounds and acts:
            return index
    return None
