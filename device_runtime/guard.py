"""What the agent may do on a phone that somebody owns: pure rules, asked before every action.

A clone has no owner, so `PERMISSIVE` lets everything pass there; `owned_rules` is what a person's
phone starts with. What cannot be decided is never allowed: an unknown app is no allowed one, and a
touch on what nobody can read is asked about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from device_runtime.guard_rules import (
    PERMISSIVE,
    Consequence,
    GuardRules,
    ScreenRules,
    Then,
    Wording,
    fits,
)
from device_runtime.label_words import is_disguised, is_picture, scripts, visible
from device_runtime.slot_names import is_secret_field, kind_of, slots_in
from device_runtime.touched import Touched, touched_by
from sync.vocabulary import Action, ActionKind, Element, Key, Observation, ScreenMark

_HARMLESS: Final = frozenset(
    {ActionKind.WAIT, ActionKind.FINISH, ActionKind.ANSWER, ActionKind.ASK_USER}
)
_WAYS_OUT: Final = frozenset({Key.BACK, Key.HOME})
_SERVICE_CODE = re.compile(r"[*#][*#\d]{2,}")
_ID_AFFIX = re.compile(
    r"(?i:btn|button|icon)|(?<![A-Za-z])(?:ic|ib|iv|img|fab|action|menu)(?=[ A-Z])"
)
"""What ids are glued to and what says nothing of what a touch does."""
_NAMED_SLOTS: Final = frozenset({"phone", "mail"})
"""Kinds of slots that may be typed anywhere: they are copied all day."""
_DIALOG_YES: Final = "android:id/button1"
_KEYBOARD_KEYS: Final = 0.85
"""Below this share of the screen's height lies a shown keyboard's row with Enter."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """The action may be carried out."""


@dataclass(frozen=True, slots=True)
class Denied:
    """The action must not be carried out; the episode ends.

    Attributes:
        reason: one line for the owner.
        rule: the rule's place in the TOML.
        element: index of the element that it is about, where there is one.
    """

    reason: str
    rule: str = ""
    element: int | None = None


@dataclass(frozen=True, slots=True)
class AskOwner:
    """The action may be carried out only after a yes from the owner; fields as in `Denied`."""

    question: str
    rule: str = ""
    element: int | None = None


Ruling = Allowed | Denied | AskOwner
ALLOWED: Final = Allowed()


def decide(action: Action, observation: Observation, rules: GuardRules) -> Ruling:
    """Whether `action` may be carried out on the screen that `observation` shows."""
    if rules is PERMISSIVE or action.kind in _HARMLESS:
        return ALLOWED
    if rules.stopped:
        return Denied("the phone was stopped by its owner", "guard.stopped")
    if action.kind is ActionKind.KEY and action.key in _WAYS_OUT:
        return ALLOWED
    if action.kind is ActionKind.OPEN_APP:
        return _about_opening(action.app or "", rules)
    points = touched_by(action, observation)
    return (
        _about_apps(points, observation, rules)
        or _about_screen(observation, rules)
        or _about_text(action, observation, rules)
        or _about_enter(action, observation, rules)
        or _about_touches(points, observation, rules)
        or ALLOWED
    )


def _about_opening(app: str, rules: GuardRules) -> Ruling:
    """An app is named by package, or by a label, which is compared with the packages' parts."""
    if pattern := _named_by(app, rules.forbidden_packages):
        return Denied(f"{app} may not be opened", f"guard.forbidden_packages: {pattern}")
    if rules.allowed_packages and not _named_by(app, rules.allowed_packages):
        return Denied(f"{app} is not among the allowed apps", "guard.allowed_packages")
    return ALLOWED


def _named_by(app: str, patterns: Iterable[str]) -> str | None:
    if (found := fits(app, patterns)) is not None:
        return found
    plain = app.casefold().replace(" ", "")
    return next((one for one in patterns if plain in one.casefold().split(".")), None)


def _about_apps(
    points: tuple[Touched, ...], observation: Observation, rules: GuardRules
) -> Ruling | None:
    """The app in front, and the apps that own what is touched: an overlay is another app's."""
    elements = observation.elements
    owners: dict[str, int | None] = {observation.package: None}
    for point in points:
        for index in point.voices:
            owners.setdefault(elements[index].package or observation.package, index)
    for package, touched in owners.items():
        if pattern := fits(package, rules.forbidden_packages):
            rule = f"guard.forbidden_packages: {pattern}"
            return Denied(f"{package} may not be used", rule, touched)
        if rules.allowed_packages and not fits(package, rules.allowed_packages):
            reason = f"{package or 'an unknown app'} is not among the allowed apps"
            return Denied(reason, "guard.allowed_packages", touched)
    return None


def _about_screen(observation: Observation, rules: GuardRules) -> Ruling | None:
    for screen in rules.screens:
        if screen.then is Then.ALLOW:
            continue
        for rule, index in _signs(screen, observation):
            return _ruling(
                screen.then,
                f"this is a {screen.name} screen: it can only be left",
                f"guard.screens.{screen.name}.{rule}",
                index,
            )
    return None


def _signs(screen: ScreenRules, observation: Observation) -> Iterator[tuple[str, int | None]]:
    """What says that the screen is of that kind: the rule's key, and the element."""
    if screen.secure and ScreenMark.SECURE in observation.marks:
        yield "secure", None
    if pattern := fits(observation.package, screen.packages):
        yield f"packages: {pattern}", None
    if pattern := fits(observation.activity, screen.activities):
        yield f"activities: {pattern}", None
    for index, element in enumerate(observation.elements):
        if screen.password_field and is_secret_field(element):
            yield "password_field", index
        if (screen.texts or screen.ids) and (word := _said(screen.wording, element, None)):
            yield f"texts: {word}", index


def _about_text(action: Action, observation: Observation, rules: GuardRules) -> Ruling | None:
    """What may be typed where."""
    if action.kind is not ActionKind.TYPE:
        return None
    slots = slots_in(action.text)
    focused = next((i for i, one in enumerate(observation.elements) if one.focused), None)
    is_secret = focused is not None and is_secret_field(observation.elements[focused])
    if is_secret and not slots and not rules.types_passwords:
        reason = "only a slot may be typed into a password field"
        return Denied(reason, "guard.types_passwords", focused)
    for slot in slots:
        kind = kind_of(slot)
        if kind == "password" and not is_secret:
            reason = f"{slot} may be typed into a password field only"
            return Denied(reason, "guard.slots", focused)
        if kind not in _NAMED_SLOTS and kind != "password" and rules.slots is not Then.ALLOW:
            return _ruling(rules.slots, f"type the hidden {kind}", "guard.slots", focused)
    if isinstance(action.text, str) and _SERVICE_CODE.search(visible(action.text)):
        text = f"type the service code {action.text}"
        return _ruling(rules.unknown, text, "guard.unknown: a service code", focused)
    return None


def _about_enter(action: Action, observation: Observation, rules: GuardRules) -> Ruling | None:
    """Enter, a line break in typed text, and a touch on the keyboard's lowest row may all send."""
    is_key = action.kind is ActionKind.KEY and action.key is Key.ENTER
    breaks = action.kind is ActionKind.TYPE and _breaks_line(action)
    on_keyboard = (
        action.kind in {ActionKind.TAP, ActionKind.LONG_PRESS, ActionKind.DOUBLE_TAP}
        and observation.keyboard_shown
        and (action.y or 0.0) > _KEYBOARD_KEYS
    )
    if not (is_key or breaks or on_keyboard):
        return None
    focused = next((i for i, one in enumerate(observation.elements) if one.focused), None)
    if focused is not None:
        element = observation.elements[focused]
        if not element.editable:
            point = Touched(0, 0, focused, (focused,))
            return None if on_keyboard else _about_touches((point,), observation, rules)
        if _only_searches(element, rules):
            return None
    return _ruling(rules.submit, "press Enter, which may send", "guard.submit", focused)


def _breaks_line(action: Action) -> bool:
    return isinstance(action.text, str) and any(one in action.text for one in "\n\r")


def _only_searches(element: Element, rules: GuardRules) -> bool:
    """Whether the field says of itself that it searches; what was typed into it says nothing."""
    if _consequence_of(element, rules) is not None:
        return False
    words, ids = rules.search.in_labels, rules.search.in_ids
    return bool(
        ids.found_in(_own_id(element))
        or words.found_in(element.description)
        or words.is_all_of(element.text)
    )


def _about_touches(
    points: tuple[Touched, ...], observation: Observation, rules: GuardRules
) -> Ruling | None:
    asked: Ruling | None = None
    for point in points:
        ruling = _about_point(point, observation, rules)
        if isinstance(ruling, Denied):
            return ruling
        asked = asked or ruling
    return asked


def _about_point(point: Touched, observation: Observation, rules: GuardRules) -> Ruling | None:
    elements = observation.elements
    found: Ruling | None = None
    for index in point.voices:
        ruling = _about_element(index, observation, rules)
        if isinstance(ruling, Denied):
            return ruling
        found = found or ruling
    if found is not None:
        return found
    if not any(_says_something(elements[i]) for i in point.voices):
        text = f"touch the point ({point.x_px}, {point.y_px}), of which nothing is known"
        return _ruling(rules.unknown, text, "guard.unknown: says nothing", point.receiver)
    return None


def _says_something(element: Element) -> bool:
    return bool(element.resource_id or (element.label and not is_picture(element.label)))


def _about_element(index: int, observation: Observation, rules: GuardRules) -> Ruling | None:
    element = observation.elements[index]
    if (named := _consequence_of(element, rules)) is not None:
        consequence, word = named
        rule = f"guard.consequential.{consequence.name}: {word}"
        return _ruling(consequence.then, f"touch {_quoted(element)}", rule, index)
    if _affirms(element, rules):
        for other in observation.elements:
            if not other.editable and (named := _consequence_of(other, rules)) is not None:
                consequence, word = named
                rule = f"guard.affirmations, guard.consequential.{consequence.name}: {word}"
                text = f"touch {_quoted(element)}, which agrees to {_quoted(other)}"
                return _ruling(consequence.then, text, rule, index)
    if is_disguised(element.label):
        text = f"touch {_quoted(element)}, whose letters are disguised"
        return _ruling(rules.unknown, text, "guard.unknown: disguised", index)
    if (spoken := scripts(element.label)) and not (element.editable or spoken & rules.scripts):
        text = f"touch {_quoted(element)}, whose language the rules do not know"
        return _ruling(rules.unknown, text, "guard.unknown: script", index)
    return None


def _affirms(element: Element, rules: GuardRules) -> bool:
    says_yes = any(
        rules.affirmations.in_labels.is_all_of(text)
        for text in (element.text, element.description)
        if text
    )
    return says_yes or (element.resource_id == _DIALOG_YES and not element.label)


def _consequence_of(element: Element, rules: GuardRules) -> tuple[Consequence, str] | None:
    """What the element says that touching it sets off, and the word; the strictest first."""
    named = [
        (one, word)
        for one in rules.consequences
        if one.then is not Then.ALLOW and (word := _said(one.wording, element, rules.harmless))
    ]
    return next((one for one in named if one[0].then is Then.DENY), next(iter(named), None))


def _said(wording: Wording, element: Element, harmless: Wording | None) -> str | None:
    """The word of `wording` that the element says in its text, description or id.

    A field's text is what somebody typed into it: it counts where it is the word and nothing else.
    """
    words, without = wording.in_labels, None if harmless is None else harmless.in_labels
    for text in (element.text, element.description):
        if not text or (harmless is not None and element.editable and not words.is_all_of(text)):
            continue
        if word := words.found_in(text, without):
            return word
    if not wording.ids or (harmless is not None and element.editable):
        return None
    return wording.in_ids.found_in(_own_id(element), without)


def _own_id(element: Element) -> str:
    """The words of an element's id: "btnPay", "pay-button" and "paybtn" are "pay", too."""
    own = element.resource_id.rpartition("/")[2].replace("_", " ").replace("-", " ")
    return _ID_AFFIX.sub(" ", own)


def _quoted(element: Element) -> str:
    return f"“{element.label or element.resource_id}”"


def _ruling(then: Then, what: str, rule: str, element: int | None) -> Ruling | None:
    """`what` is a screen, or what the agent would do, in words."""
    match then:
        case Then.ALLOW:
            return None
        case Then.ASK:
            return AskOwner(f"May I {what}?", rule, element)
        case Then.DENY:
            return Denied(f"not allowed: {what}", rule, element)
