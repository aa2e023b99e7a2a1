"""Secrets leave the observation before anybody looks at it: pure, and the same on clone and phone.

What a password field holds, one-time codes and whatever the owner lists become typed slots such as
`⟨password_1⟩`. The policy, the log and the learner see the slot; only `resolve`, right before the
phone's driver, turns a `SlotRef` back into text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType

from sync.vocabulary import Action, Element, Observation, SlotRef

_ONE_TIME_CODE = re.compile(
    r"\b(?:verification|one[- ]time|security|log-?in|sign-?in)\s+(?:code|password|pin)\b\D{0,16}"
    r"(?P<code>\d{4,8})\b",
    re.IGNORECASE,
)
_SHORTEST_HIDDEN = 4
"""Shorter secrets are hidden only in their own field: they would be found inside other words."""

NO_SLOTS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class RedactionRules:
    """What counts as a secret.

    Attributes:
        password_fields: the text of fields that the platform marks as passwords.
        one_time_codes: digits that follow words such as "verification code".
        owner_secrets: texts that the owner listed; each becomes a slot wherever it is seen.
    """

    password_fields: bool = True
    one_time_codes: bool = True
    owner_secrets: tuple[str, ...] = ()


DEFAULT_REDACTION = RedactionRules()


@dataclass(frozen=True, slots=True)
class Redacted:
    """An observation without its secrets, and the slots that stand for them (slot → text)."""

    observation: Observation
    slots: Mapping[str, str]


def redact(
    observation: Observation, rules: RedactionRules, known: Mapping[str, str] = NO_SLOTS
) -> Redacted:
    """`observation` with secrets replaced; `known` slots of the episode keep their names.

    Returns the very same observation object where there is nothing to hide.
    """
    secrets = _secrets_of(observation, rules)
    if not secrets:
        return Redacted(observation, known)
    slots = dict(known)
    names = {text: slot for slot, text in slots.items()}
    for kind, text in secrets:
        if text not in names:
            names[text] = _free_name(kind, slots)
            slots[names[text]] = text
    elements = tuple(_hide(element, rules, names) for element in observation.elements)
    return Redacted(replace(observation, elements=elements), slots)


def resolve(action: Action, slots: Mapping[str, str]) -> Action:
    """`action` with a slot turned into its text, for the driver only.

    Raises: KeyError: no such slot in this episode.
    """
    if not isinstance(action.text, SlotRef):
        return action
    return replace(action, text=slots[action.text.slot])


def _secrets_of(observation: Observation, rules: RedactionRules) -> list[tuple[str, str]]:
    """Each secret on the screen with its kind; runs on every step, so it avoids needless work."""
    found: list[tuple[str, str]] = []
    for element in observation.elements:
        text, description = element.text, element.description
        if element.password and text and rules.password_fields:
            found.append(("password", text))
        if rules.one_time_codes:
            if text and (code := _one_time_code(text)):
                found.append(("code", code))
            if description and (code := _one_time_code(description)):
                found.append(("code", code))
        if rules.owner_secrets:
            seen = f"{text}\n{description}"
            found.extend(("owner", secret) for secret in rules.owner_secrets if secret in seen)
    return found


@lru_cache(maxsize=16384)
def _one_time_code(label: str) -> str | None:
    match = _ONE_TIME_CODE.search(label)
    return match["code"] if match else None


def _free_name(kind: str, slots: Mapping[str, str]) -> str:
    number = 1
    while f"{kind}_{number}" in slots:
        number += 1
    return f"{kind}_{number}"


def _hide(element: Element, rules: RedactionRules, names: Mapping[str, str]) -> Element:
    if rules.password_fields and element.password and element.text:
        return replace(element, text=f"⟨{names[element.text]}⟩")
    text, description = _hidden(element.text, names), _hidden(element.description, names)
    if text == element.text and description == element.description:
        return element
    return replace(element, text=text, description=description)


def _hidden(label: str, names: Mapping[str, str]) -> str:
    """`label` with every known secret replaced in one pass, the longest first."""
    secrets = [text for text in names if len(text) >= _SHORTEST_HIDDEN and text in label]
    if not secrets:
        return label
    pattern = "|".join(re.escape(text) for text in sorted(secrets, key=len, reverse=True))
    return re.sub(pattern, lambda match: f"⟨{names[match[0]]}⟩", label)
