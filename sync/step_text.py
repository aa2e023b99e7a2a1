"""A step in a few words, the same for terminals, logs and judges."""

from __future__ import annotations

from collections.abc import Sequence

from sync.vocabulary import Element, SlotRef, Step

LONGEST_LABEL = 48
"""Labels are cut after so many characters."""


def described(step: Step) -> str:
    """An action in a few words: its kind, what it is about, and where."""
    action, elements = step.action, step.observation.elements
    words: list[str] = [action.kind]
    if action.element is not None and action.element < len(elements):
        words.append(_target(elements[action.element], elements))
    elif action.x is not None and action.y is not None:
        words.append(f"({action.x:.2f}, {action.y:.2f})")
    if isinstance(action.text, SlotRef):
        words.append(f"<{action.text.slot}>")
    elif action.text:
        words.append(repr(action.text))
    words += [
        str(part) for part in (action.direction, action.key, action.app, action.status) if part
    ]
    return " ".join(words)


def label_beside(element: Element, elements: Sequence[Element]) -> str:
    """What stands beside an element without a label of its own, as a name beside its switch."""
    top, bottom = element.bounds[1], element.bounds[3]
    for other in elements:
        shared = min(bottom, other.bounds[3]) - max(top, other.bounds[1])
        if other.label and other is not element and 2 * shared >= bottom - top > 0:
            return name_of(other)
    return ""


def _target(element: Element, elements: Sequence[Element]) -> str:
    if element.label or element.resource_id:
        return repr(name_of(element))
    beside = label_beside(element, elements)
    kind = element.class_name.rpartition(".")[2] or element.class_name
    return f"{kind} beside {beside!r}" if beside else repr(element.class_name)


def name_of(element: Element) -> str:
    """What a person would call an element, on one line and not too long."""
    name = " ".join((element.label or element.resource_id or element.class_name).split())
    return name if len(name) <= LONGEST_LABEL else f"{name[: LONGEST_LABEL - 1]}…"
