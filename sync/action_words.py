"""What texts of actions have in common: how points, slots and bad texts are written."""

from __future__ import annotations

from sync.errors import RejectedError
from sync.vocabulary import Action, SlotRef


def text_in(action: Action) -> str:
    """The text of an action; a slot as it stands in a label."""
    text = action.text
    return f"⟨{text.slot}⟩" if isinstance(text, SlotRef) else text or ""


def inexpressible(action: Action, language: str) -> RejectedError:
    """The error for an action that a language has no words for."""
    return RejectedError(
        f"{language} has no {action.kind} like this one: leave the step out",
        reason="inexpressible",
    )


def malformed(text: str, language: str) -> RejectedError:
    """The error for a text that is no action of a language."""
    shown = text if len(text) <= 80 else f"{text[:77]}..."
    return RejectedError(f"no action of {language}: {shown!r}; write one", reason="malformed")
