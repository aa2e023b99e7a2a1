"""What `outrider do` shows of each step: the screen, the action, why, and what became of it.

For people a few lines that fit 80 columns; for programs one JSON object a step.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from sync.step_text import described, label_beside, name_of
from sync.vocabulary import Action, Element, EndReason, Observation, Step

if TYPE_CHECKING:
    from device_runtime.alternatives import Alternative
    from outrider.output import Output
    from sync.screen_text import Item

WIDTH: Final = 80
TOP: Final = 0.2
"""The share of a screen's height in which its title stands."""
LABELS: Final = 6
"""How many labels of a screen are shown at most."""
_INDENT: Final = "    "
_LABEL_WIDTH: Final = 24


@dataclass(slots=True)
class Asked:
    """A question of the guard's, and what was answered."""

    question: str
    agreed: bool


@dataclass(slots=True)
class Chosen:
    """A decision as it was taken, before anything became of it.

    Attributes:
        alternatives: the likeliest actions, the likeliest first; empty where nobody can say.
        asked: what the guard asked about it.
    """

    index: int
    screen: Observation
    action: Action
    policy: str
    alternatives: tuple[Alternative, ...] = ()
    asked: list[Asked] = field(default_factory=list)


class StepView:
    """Shows steps as they happen.

    Args:
        out: where to; for people through its console.
    """

    def __init__(self, out: Output) -> None:
        self._out = out

    def goal(self, goal: str) -> None:
        """What is pursued, as the policy sees it."""
        self._out.note(_cut(f"goal   {goal}", 4 * WIDTH))

    def chosen(self, choice: Chosen) -> None:
        """A person sees what is about to happen, and why; programs get the whole step later."""
        note = self._out.note
        head = f"{choice.index + 1:>2}  {place_of(choice.screen)}"
        count = f"{len(choice.screen.elements)} elements"
        note(f"{_cut(head, WIDTH - len(count) - 2):<{WIDTH - len(count)}}{count}")
        note(_cut(f"{_INDENT}sees   {', '.join(labels_of(choice.screen)) or 'nothing'}"))
        note(_cut(f"{_INDENT}does   {_said(choice.screen, choice.action)}"))
        why = _why(choice)
        if why:
            note(_cut(f"{_INDENT}why    {why}"))

    def asked(self, asked: Asked) -> None:
        """The guard's question was answered."""
        answer = "yes" if asked.agreed else "no"
        self._out.note(_cut(f"{_INDENT}asked  {asked.question}  {answer}"))

    def done(self, step: Step, choice: Chosen | None) -> None:
        """What became of the step."""
        if self._out.json_lines:
            self._out.line({"event": "step", **step_fields(step, choice)})
        elif not step.valid:
            self._out.note(f"{_INDENT}       not carried out")

    def ended(self, reason: EndReason, detail: str, *, steps: int) -> None:
        """Why the episode stopped."""
        said = {
            EndReason.FINISH: "the policy said that it is done",
            EndReason.ANSWER: "the policy answered",
            EndReason.BUDGET: "no steps are left; --steps allows more",
            EndReason.GUARD: detail,
            EndReason.ENV_ERROR: f"the phone broke: {detail}",
        }[reason]
        self._out.note(_cut(f"ended after {steps} steps: {said}", 4 * WIDTH))


def step_fields(step: Step, choice: Chosen | None) -> dict[str, object]:
    """A step as one line of JSON."""
    screen, action = step.observation, step.action
    alternatives = choice.alternatives if choice is not None else ()
    return {
        "index": step.index,
        "app": screen.package,
        "activity": screen.activity,
        "title": title_of(screen),
        "labels": labels_of(screen),
        "elements": len(screen.elements),
        "action": described(step),
        "kind": action.kind,
        "element": _target_label(screen, action),
        "x": action.x,
        "y": action.y,
        "valid": step.valid,
        "policy": step.policy_version,
        "probability": _probability(action, alternatives),
        "alternatives": [
            {"action": _said(screen, one.action), "probability": round(one.probability, 4)}
            for one in alternatives
            if one.action != action
        ],
        "asked": [
            {"question": asked.question, "agreed": asked.agreed}
            for asked in (choice.asked if choice is not None else ())
        ],
        "decide_ms": step.decide_ms,
        "act_ms": step.act_ms,
    }


def place_of(screen: Observation) -> str:
    """App and title of a screen in a few words."""
    app = screen.package.rpartition(".")[2] or "an unknown app"
    title = title_of(screen)
    return f"{app} · {title}" if title and title.casefold() != app.casefold() else app


def title_of(screen: Observation) -> str:
    """What stands alone at the top of a screen; empty where nothing does."""
    read = [each for each in screen.elements if each.text and not each.clickable]
    top = [each for each in read if each.bounds[3] <= TOP * screen.height_px and not each.editable]
    if not top:
        return ""
    first = top[0]
    beside = [each for each in read if each is not first and _overlap(each, first)]
    return "" if beside else _cut(name_of(first), 40)


def _overlap(one: Element, other: Element) -> bool:
    """Whether two elements stand at the same height."""
    return one.bounds[1] < other.bounds[3] and other.bounds[1] < one.bounds[3]


def labels_of(screen: Observation) -> list[str]:
    """A few labels of a screen, with the state of what is on or off; what can be touched first."""
    from sync.screen_text import items_of

    title = title_of(screen)
    named = [(item, _name(item, screen)) for item in items_of(screen)]
    shown = [(item, name) for item, name in named if name and name != title]
    shown.sort(key=lambda entry: not entry[0].touchable)
    switches = {name for item, name in shown if item.checkable}
    labels = [
        _cut(name, _LABEL_WIDTH) + _state(item)
        for item, name in shown
        if item.checkable or name not in switches
    ]
    return list(dict.fromkeys(labels))[:LABELS]


def _name(item: Item, screen: Observation) -> str:
    """An item's label on one line, or what stands beside it where it is a switch."""
    if item.label or not item.checkable:
        return " ".join(item.label.split())
    return label_beside(screen.elements[item.element], screen.elements)


def _state(item: Item) -> str:
    return (" [on]" if item.checked else " [off]") if item.checkable else ""


def _target_label(screen: Observation, action: Action) -> str | None:
    target = _target(screen, action)
    return None if target is None else name_of(target)


def _target(screen: Observation, action: Action) -> Element | None:
    if action.element is None or action.element >= len(screen.elements):
        return None
    return screen.elements[action.element]


def _said(screen: Observation, action: Action) -> str:
    return described(Step(index=0, observation=_labelled(screen, action), action=action))


def _labelled(screen: Observation, action: Action) -> Observation:
    """The screen, with a touched row under the name that its texts give it."""
    from dataclasses import replace

    from sync.screen_text import items_of

    target = _target(screen, action)
    if target is None or target.label:
        return screen
    row = next((item for item in items_of(screen) if item.element == action.element), None)
    if row is None or not row.label:
        return screen
    elements = list(screen.elements)
    elements[row.element] = replace(target, text=row.label)
    return replace(screen, elements=tuple(elements))


def _probability(action: Action, found: tuple[Alternative, ...]) -> float | None:
    share = next((one.probability for one in found if one.action == action), None)
    return None if share is None else round(share, 4)


def _why(choice: Chosen) -> str:
    """How sure the policy is, and what it would have done instead."""
    if not choice.alternatives:
        return f"policy {choice.policy}"
    mine = _probability(choice.action, choice.alternatives)
    others = [
        f"{_said(choice.screen, one.action)} {_percent(one.probability)}"
        for one in choice.alternatives
        if one.action != choice.action
    ]
    sure = "unlikely" if mine is None else f"{_percent(mine)} sure"
    return f"{sure}; else {', or '.join(others)}" if others else sure


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 else "under 1 %"


def _cut(text: str, width: int = WIDTH) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
