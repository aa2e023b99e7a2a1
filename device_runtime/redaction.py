"""Secrets leave the observation before anybody looks at it: pure, and the same on clone and phone.

What a password field holds, one-time codes, numbers of cards and telephones, addresses and whatever
the owner lists become typed slots such as `⟨password_1⟩`. The policy, the log and the learner see
the slot; only `resolve`, right before the phone's driver, turns it back into text.

Clones show made-up people: their texts are the tasks' content, so `CLONE_REDACTION` hides passwords
and codes only. `OWNED_REDACTION` is what a person's phone starts with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from device_runtime.label_words import WordList
from device_runtime.secret_patterns import (
    RedactionRules,
    Secret,
    code_alone,
    digits_of,
    is_card,
    secrets_in,
    speaks_of_codes,
)
from device_runtime.slot_names import (
    OPENING,
    SECRET_FIELDS,
    WRITTEN,
    is_secret_field,
    kind_of,
    written,
)
from sync.vocabulary import Action, Element, Observation, Rect, SlotRef

_SHORTEST_HIDDEN: Final = 4
"""Shorter secrets are hidden only in their own field: they would be found inside other words."""
_MASKS: Final = frozenset("•●∙·⦁*＊⚫◦")
_MASKED: Final = "••••"
_NO_BRACKET: Final = "‹"
"""Takes the place of a slot's bracket in a label of the screen: no screen can forge a slot."""
_CARD_FIELDS: Final = WordList.of(
    ["card number", "cardnumber", "cvv", "cvc", "security code", "kartennummer", "カード番号"]
)

NO_SLOTS: Mapping[str, str] = MappingProxyType({})

CLONE_REDACTION: Final = RedactionRules()
OWNED_REDACTION: Final = RedactionRules(
    cards=True, accounts=True, phone_numbers=True, mail_addresses=True, thorough=True
)


@dataclass(frozen=True, slots=True)
class Redacted:
    """An observation without its secrets.

    Attributes:
        slots: what stands for what (slot → text).
        covered: where the screen shows something hidden, to be painted out of its picture.
    """

    observation: Observation
    slots: Mapping[str, str]
    covered: tuple[Rect, ...] = ()


def redact(
    observation: Observation,
    rules: RedactionRules,
    known: Mapping[str, str] = NO_SLOTS,
    *,
    goal: str = "",
) -> Redacted:
    """`observation` with secrets replaced; `known` slots of the episode keep their names.

    Returns the very same observation object where there is nothing to hide.

    Args:
        goal: numbers and addresses that it names are no secrets.
    """
    if not (rules.thorough or _any_secret(observation.elements, rules)):
        return Redacted(observation, known)
    screen = _Screen(observation.elements, rules, _named_by(goal, rules))
    if not (screen.has_secrets or (rules.thorough and known)):
        return Redacted(observation, known)
    names = _Names(known, rules)
    elements = tuple(
        screen.hidden(index, element, names) for index, element in enumerate(observation.elements)
    )
    changed = [
        old.bounds
        for old, new in zip(observation.elements, elements, strict=True)
        if new is not old
    ]
    if not changed:
        return Redacted(observation, names.slots)
    covered = tuple(dict.fromkeys(changed))
    return Redacted(replace(observation, elements=elements), names.slots, covered)


def redact_goal(
    goal: str, rules: RedactionRules, known: Mapping[str, str] = NO_SLOTS
) -> tuple[str, Mapping[str, str]]:
    """The goal as the policy and the log see it, and the slots.

    What the owner listed always becomes a slot; what else it names, where `rules.goals` says so.
    Slots can be typed, so a goal stays possible.
    """
    secrets = [one for one in secrets_in(goal, rules) if rules.goals or one.kind == "owner"]
    if not secrets:
        return goal, known
    names = _Names(known, rules)
    for secret in secrets:
        names.name(secret)
    return _replaced(goal, secrets, names), names.slots


def resolve(action: Action, slots: Mapping[str, str]) -> Action:
    """`action` with its slots turned into their texts, for the driver only.

    Raises: KeyError: no such slot in this episode.
    """
    if isinstance(action.text, SlotRef):
        return replace(action, text=slots[action.text.slot])
    if action.text is None or OPENING not in action.text:
        return action
    return replace(action, text=WRITTEN.sub(lambda found: slots[found[1]], action.text))


def _is_hint(slot: str, text: str) -> bool:
    """Whether a "password" is what an empty field says: "Password" stands in other labels, too."""
    return kind_of(slot) == "password" and SECRET_FIELDS.is_all_of(text)


class _Names:
    """The names of secrets in one episode."""

    def __init__(self, known: Mapping[str, str], rules: RedactionRules) -> None:
        self.slots = dict(known)
        self._spares_hints = rules.thorough
        self._of = {Secret(kind_of(slot), text).key: slot for slot, text in known.items()}

    def name(self, secret: Secret) -> str:
        """The slot of a secret: the one that it has, or the next free one."""
        slot = self._of.get(secret.key)
        if slot is None:
            number = 1
            while f"{secret.kind}_{number}" in self.slots:
                number += 1
            slot = self._of[secret.key] = f"{secret.kind}_{number}"
            self.slots[slot] = secret.text
        return slot

    def hide_known(self, label: str) -> str:
        """`label` with every known secret replaced in one pass, the longest first."""
        shown = {
            text: slot
            for slot, text in self.slots.items()
            if len(text) >= _SHORTEST_HIDDEN
            and text in label
            and not (self._spares_hints and _is_hint(slot, text))
        }
        if not shown:
            return label
        pattern = "|".join(re.escape(text) for text in sorted(shown, key=len, reverse=True))
        return re.sub(pattern, lambda found: written(shown[found[0]]), label)


def _any_secret(elements: tuple[Element, ...], rules: RedactionRules) -> bool:
    """Whether a clone's screen shows any secret; asked at every step of a farm."""
    for element in elements:
        text, description = element.text, element.description
        if text and (secrets_in(text, rules) or (element.password and rules.password_fields)):
            return True
        if description and secrets_in(description, rules):
            return True
    return False


class _Screen:
    """What is secret on one screen."""

    def __init__(
        self, elements: tuple[Element, ...], rules: RedactionRules, spared: frozenset[str]
    ) -> None:
        self._rules = rules
        self._spared = spared
        self._whole = dict(_across(elements, rules)) if rules.thorough else {}
        for index, element in enumerate(elements):
            if element.text and rules.password_fields and _hides(element, rules):
                self._whole[index] = Secret("password", element.text)
        self._in_labels = [index for index, element in enumerate(elements) if self._shows(element)]

    @property
    def has_secrets(self) -> bool:
        """Whether anything is to be hidden, before what is known from earlier screens."""
        return bool(self._whole or self._in_labels)

    def hidden(self, index: int, element: Element, names: _Names) -> Element:
        """The element without its secrets, or itself where it has none."""
        whole = self._whole.get(index)
        if whole is None:
            text = self._hidden_label(element.text, names)
            description = self._hidden_label(element.description, names)
        else:
            is_masked = self._rules.thorough and _MASKS.issuperset(whole.text)
            mark = _MASKED if is_masked else written(names.name(whole))
            text = mark if element.text else ""
            description = element.description
            if self._rules.thorough:
                description = self._hidden_label(description, names) if text else mark
        if text == element.text and description == element.description:
            return element
        return replace(element, text=text, description=description)

    def _shows(self, element: Element) -> bool:
        if element.text and self._secrets(element.text):
            return True
        if element.description and self._secrets(element.description):
            return True
        return self._rules.thorough and OPENING in element.text + element.description

    def _secrets(self, label: str) -> tuple[Secret, ...]:
        found = secrets_in(label, self._rules)
        if found and self._spared:
            return tuple(one for one in found if one.key not in self._spared)
        return found

    def _hidden_label(self, label: str, names: _Names) -> str:
        if not label:
            return label
        secrets = self._secrets(label)
        if self._rules.thorough:
            label = label.replace(OPENING, _NO_BRACKET)
        return names.hide_known(_replaced(label, secrets, names))


def _hides(element: Element, rules: RedactionRules) -> bool:
    """Whether the element is a password's field; by its name only where people own the phone."""
    return element.password or (rules.thorough and is_secret_field(element))


def _named_by(goal: str, rules: RedactionRules) -> frozenset[str]:
    """Keys of the numbers and addresses in the goal: what the owner wrote there is no secret."""
    if not goal or rules.goals or not (rules.phone_numbers or rules.mail_addresses):
        return frozenset()
    return frozenset(one.key for one in secrets_in(goal, rules) if one.kind in {"phone", "mail"})


def _across(elements: tuple[Element, ...], rules: RedactionRules) -> Iterator[tuple[int, Secret]]:
    """Secrets that no label tells alone: a code below its words, digits in boxes of their own."""
    about_codes = rules.one_time_codes and any(
        speaks_of_codes(label) for one in elements for label in (one.text, one.description) if label
    )
    for index, element in enumerate(elements):
        if about_codes and (code := code_alone(element.label)):
            yield index, Secret("code", code)
        elif rules.cards and element.editable and _is_card_field(element):
            yield index, Secret("card", element.text)
    for run in _digit_runs(elements):
        digits = "".join(digits_of(elements[index].label) for index in run)
        is_code = about_codes and 4 <= len(digits) <= 8
        if len(run) > 1 and (is_code or (rules.cards and is_card(digits))):
            kind = "code" if is_code else "card"
            yield from ((index, Secret(kind, digits)) for index in run)


def _is_card_field(element: Element) -> bool:
    if len(digits_of(element.text)) < 3:
        return False
    own_id = element.resource_id.rpartition("/")[2].replace("_", " ")
    return bool(_CARD_FIELDS.found_in(own_id) or _CARD_FIELDS.found_in(element.description))


def _digit_runs(elements: tuple[Element, ...]) -> Iterator[list[int]]:
    """Neighbours in a row that hold nothing but a few digits each."""
    run: list[int] = []
    for index, element in enumerate(elements):
        is_digits = 0 < len(element.label) <= 4 and element.label.isdecimal()
        if run and not (is_digits and _same_row(elements[run[-1]], element)):
            yield run
            run = []
        if is_digits:
            run.append(index)
    if run:
        yield run


def _same_row(one: Element, other: Element) -> bool:
    return abs(one.bounds[1] - other.bounds[1]) * 2 < one.bounds[3] - one.bounds[1]


def _replaced(label: str, secrets: Iterable[Secret], names: _Names) -> str:
    for secret in sorted(secrets, key=lambda one: one.start, reverse=True):
        label = label[: secret.start] + written(names.name(secret)) + label[secret.end :]
    return label
