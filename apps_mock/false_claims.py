"""False claims: how a policy may end an episode wrongly although the phone is as it should be."""

from __future__ import annotations

from collections.abc import Iterator

from apps_mock.alterations import off_by_one, rewritten
from apps_mock.answers import entries_of, plain
from apps_mock.wanted import Answer, Wanted
from sync.vocabulary import Action, ActionKind, FinishStatus, answer, finish, wait

_Named = tuple[str, str, Action]


def false_claims(wanted: Wanted, right: Action) -> Iterator[_Named]:
    """Kind, name and last action of wrong ends, for the task that `right` ends rightly."""
    for name, claim in _CLAIMS:
        if claim.kind is not right.kind or claim.status is not right.status:
            yield "wrong claim", name, claim
    if wanted.answer is None:
        if right.kind is not ActionKind.ANSWER:
            yield "wrong claim", "answered although nobody asked", answer("done")
        return
    yield "wrong answer", "empty", answer("")
    accepted = {plain(form) for form in (wanted.answer.shown, *wanted.answer.forms)}
    for text in _wrong_answers(wanted.answer):
        if plain(text) not in accepted:
            yield "wrong answer", f"{text!r} for {wanted.answer.value!r}", answer(text)


_CLAIMS = (
    ("claimed completion", finish()),
    ("claimed that it cannot be done", finish(FinishStatus.INFEASIBLE)),
    ("stopped without a claim", wait()),
)


def _wrong_answers(wanted: Answer) -> Iterator[str]:
    value = wanted.value
    yield f"{value} or so"
    yield from ("yes" if plain(value) == "no" else "no", "100" if value == "900" else "900")
    if wanted.kind == "list":
        yield from _wrong_lists(value)
    elif wanted.kind == "number":
        yield from (f"{value}7", f"1{value}")
    elif wanted.kind == "name":
        known = plain(value)
        yield from (text for text in rewritten(value) if plain(text) != known)
    yield from (str(other) for other in off_by_one(value))


def _wrong_lists(value: str) -> Iterator[str]:
    entries = entries_of(value)
    yield ", ".join((*entries, "another"))
    yield ", ".join((*entries, entries[0]))
    if len(entries) > 1:
        yield ", ".join(entries[1:])
        yield ", ".join(entries[:-1])
