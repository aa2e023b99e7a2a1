"""What the store says anew of episodes that a learner has read: verdicts, and devices left out.

A judge or an owner may decide an episode long after it was read, and a phone may be revoked with
its data while its episodes are being learnt from. Whoever starts now reads what is true now, so
only what changes afterwards counts here.
"""

from __future__ import annotations

from cloud_learner.learner_store import LearnerEpisode, LearnerStore

_READ_AT_ONCE = 64


class Corrections:
    """Asks the store what changed since it was asked last, or since this was made."""

    def __init__(self, store: LearnerStore) -> None:
        self._store = store
        self._late_row = store.newest_judged()
        self._left_out = store.left_out_devices()

    def judged(self) -> list[LearnerEpisode]:
        """Episodes as a late verdict left them, some at a time; none where nothing is new."""
        newest = self._store.newest_judged()
        if newest <= self._late_row:
            return []
        late = self._store.judged_after(self._late_row, limit=_READ_AT_ONCE)
        self._late_row = late[-1].late_row if len(late) == _READ_AT_ONCE else newest
        return [one.read for one in late]

    def left_out_rows(self) -> frozenset[int]:
        """Rows of the devices that are newly left out of training."""
        now = self._store.left_out_devices()
        fresh, self._left_out = now - self._left_out, now
        return self._store.rows_of(fresh) if fresh else frozenset()
