"""Slots as they are written: `⟨card_1⟩` stands for a secret that only the phone's driver knows."""

from __future__ import annotations

import re
from typing import Final

from device_runtime.label_words import WordList
from sync.vocabulary import Element, SlotRef

OPENING: Final = "⟨"
CLOSING: Final = "⟩"
WRITTEN: Final = re.compile(f"{OPENING}([a-z]+_[0-9]+){CLOSING}")

SECRET_FIELDS: Final = WordList.of(
    """password passwd passwort kennwort passcode passphrase pwd pin パスワード 暗証番号
    السر المرور""".split()
)


def written(slot: str) -> str:
    """A slot as it stands in a label."""
    return f"{OPENING}{slot}{CLOSING}"


def kind_of(slot: str) -> str:
    """What kind of secret a slot stands for, such as "card"."""
    return slot.rpartition("_")[0]


def slots_in(text: str | SlotRef | None) -> tuple[str, ...]:
    """The slots that a typed text speaks of."""
    if isinstance(text, SlotRef):
        return (text.slot,)
    return tuple(WRITTEN.findall(text)) if text and OPENING in text else ()


def is_secret_field(element: Element) -> bool:
    """Whether the element is a field for a password, also where its owner made it readable."""
    if element.password:
        return True
    if not element.editable:
        return False
    own_id = element.resource_id.rpartition("/")[2].replace("_", " ")
    return bool(SECRET_FIELDS.found_in(own_id) or SECRET_FIELDS.found_in(element.description))
