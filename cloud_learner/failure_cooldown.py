"""Which templates are asked for less, because whole groups of them fail (AdaGRPO's FCF).

After some groups that failed in a row, a template is asked for with weight exp(−f), f the groups
that failed since; after some more it is dropped. One success takes it back to normal.

Source: AdaGRPO (arXiv 2509.18119), failure curriculum filtering: two epochs, then three cooler
ones, then removal. Deviation: groups are counted, not epochs, because tasks arrive in no fixed
order; and a dropped template may keep a small weight, so that it can come back.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import exp

from cloud_learner.algorithm_settings import GroupSettings


class FailureCooldown:
    """Counts groups that failed, by template."""

    def __init__(self, settings: GroupSettings) -> None:
        self._settings = settings
        self._failed: dict[str, int] = {}

    def observe(self, template: str, *, solved: bool) -> None:
        """A group of this template is complete."""
        self._failed[template] = 0 if solved else self._failed.get(template, 0) + 1

    def weights(self) -> dict[str, float]:
        """Of the templates that are not at 1."""
        settings = self._settings
        if not settings.cool_down_after:
            return {}
        return {
            template: self._weight(failed)
            for template, failed in sorted(self._failed.items())
            if failed >= settings.cool_down_after
        }

    def counts(self) -> dict[str, int]:
        """Groups that failed in a row, by template."""
        return dict(self._failed)

    def restore(self, counts: Mapping[str, int]) -> None:
        """Go on from `counts`."""
        self._failed = dict(counts)

    def _weight(self, failed: int) -> float:
        settings = self._settings
        since = failed - settings.cool_down_after
        if since >= settings.cool_down_groups:
            return settings.dropped_weight
        return exp(-(since + 1))
