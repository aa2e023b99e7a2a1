"""How far a judge agrees with verdicts of code on the same episodes: shares with their intervals.

Code's verdicts are taken as the truth. A judge that could not decide neither agrees nor disagrees:
it is counted apart, as share of all, and never as a success.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cloud_learner.figures import wilson95


@dataclass(frozen=True, slots=True)
class Share:
    """Some of many, with the 95 % interval of the share."""

    count: int
    of: int

    @property
    def rate(self) -> float | None:
        """The share; None of nothing."""
        return self.count / self.of if self.of else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Wilson's 95 % interval; None of nothing."""
        return wilson95(self.count, self.of)


@dataclass(frozen=True, slots=True)
class Agreement:
    """What comparing a judge with code came to.

    Attributes:
        n: episodes that code decided and the judge was shown.
        agreed: of those that the judge decided, how often it said what code says.
        false_positives: of code's failures that the judge decided, how many it called a success.
        false_negatives: of code's successes that the judge decided, how many it called a failure.
        undecided: how many of all the judge could not decide.
    """

    n: int
    agreed: Share
    false_positives: Share
    false_negatives: Share
    undecided: Share

    def as_row(self) -> dict[str, object]:
        """Plain values for a table or a line of JSON."""
        row: dict[str, object] = {"n": self.n}
        for name in ("agreed", "false_positives", "false_negatives", "undecided"):
            share: Share = getattr(self, name)
            row[name] = f"{share.count}/{share.of}"
            row[f"{name}_rate"] = None if share.rate is None else round(share.rate, 4)
            interval = share.interval
            row[f"{name}_ci95"] = None if interval is None else [round(x, 4) for x in interval]
        return row


def agreement(pairs: Iterable[tuple[bool, bool | None]]) -> Agreement:
    """Compare (what code says, what the judge says or None) of each episode."""
    compared = list(pairs)
    decided = [(truth, said) for truth, said in compared if said is not None]
    failures = [said for truth, said in decided if not truth]
    successes = [said for truth, said in decided if truth]
    return Agreement(
        n=len(compared),
        agreed=Share(sum(truth == said for truth, said in decided), len(decided)),
        false_positives=Share(sum(failures), len(failures)),
        false_negatives=Share(len(successes) - sum(successes), len(successes)),
        undecided=Share(len(compared) - len(decided), len(compared)),
    )
