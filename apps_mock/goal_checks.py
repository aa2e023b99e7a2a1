"""What is wrong with a template's goals: literal dates, missing translations, shared by splits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from apps_mock.catalogue import LOCALES, Locale, file_of, knows, month_name, say
from apps_mock.tasks import draw
from apps_mock.templates import Template
from sync.vocabulary import Split

_LITERAL: Final = re.compile(r"\b(?:19|20)\d\d\b|\b\d{1,2}[./-]\d{1,2}\b|\d{1,2}月|\d{1,2}日")
_WITH_OTHERS: Final = frozenset({"no_parameters", "starts_satisfied"})
"""Tags of templates whose goals are the same in every split, because nothing in them is drawn."""


def goal_faults(template: Template, seeds: Sequence[int]) -> tuple[str, ...]:
    """One line per fault; none is good."""
    phrasings = (*template.phrasings, *template.held_out)
    return (
        *(fault for phrasing in phrasings for fault in _phrasing_faults(phrasing, template.app)),
        *_shared_goals(template, seeds),
    )


def _phrasing_faults(phrasing: str, app: str) -> Iterator[str]:
    for locale in LOCALES:
        if not knows(phrasing, locale):
            yield f"the phrasing {phrasing!r} has no {locale} translation; add it to {file_of(app)}"
            continue
        said = say(phrasing, locale)
        if _LITERAL.search(said) or _months(locale).search(said):
            yield f"the phrasing {said!r} names a date; draw it and leave a gap"


@lru_cache(maxsize=len(LOCALES))
def _months(locale: Locale) -> re.Pattern[str]:
    names = "|".join(month_name(month, locale) for month in range(1, 13))
    return re.compile(rf"(?<!\w)(?:{names})(?!\w)")


def _shared_goals(template: Template, seeds: Sequence[int]) -> Iterator[str]:
    if _WITH_OTHERS.intersection(template.tags):
        return
    splits: dict[str, Split] = {}
    for split in Split:
        for seed in seeds:
            goal = draw(template.name, seed=seed, split=split, look=0).goal
            other = splits.setdefault(goal, split)
            if other is not split:
                yield f"{split} and {other} share the goal {goal!r}; draw its words by split"
