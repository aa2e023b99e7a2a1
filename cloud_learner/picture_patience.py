"""Episodes come before the pictures of their screens: how long the learner waits for those."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cloud_learner.learner_store import LearnerEpisode
from sync.vocabulary import Episode

_PATIENCE_S = 60.0


class PicturePatience:
    """Holds rows back until their pictures are here, or have been waited for long enough.

    Rows are learnt from in order, so one that waits holds up those behind it; all that were read
    wait at the same time.

    Args:
        is_here: whether everything is here that an episode's steps were shown.
        now_s: monotonic seconds.

    Attributes:
        holds: whether the latest `ready` held rows back.
    """

    def __init__(
        self,
        is_here: Callable[[Episode], bool],
        *,
        now_s: Callable[[], float],
        patience_s: float = _PATIENCE_S,
    ) -> None:
        self._is_here = is_here
        self._now_s = now_s
        self._patience_s = patience_s
        self._since_s: dict[int, float] = {}
        self.holds = False

    def ready(self, read: Sequence[LearnerEpisode]) -> list[LearnerEpisode]:
        """The first rows of `read`, up to one that still waits."""
        now_s = self._now_s()
        waiting = {one.row: one for one in read if not self._is_here(one.episode)}
        self._since_s = {row: self._since_s.get(row, now_s) for row in waiting}
        held = [row for row, since in self._since_s.items() if now_s - since < self._patience_s]
        self.holds = bool(held)
        return [one for one in read if one.row < min(held)] if held else list(read)
