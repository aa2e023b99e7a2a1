"""The way out of the learner: its adapter as a file, checked, and handed to the service."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import structlog

from cloud_learner.checkpoints import save_checkpoint
from cloud_learner.learner_store import AdapterKind, LearnerStore
from cloud_learner.learning import Learning
from exporters.errors import ExportError
from sync.errors import RejectedError
from sync.vocabulary import Episode

_LOG = structlog.get_logger()
_RECENT_EPISODES = 12


class AdapterExport(Protocol):
    """Turns the adapter of a network into the bytes of its file, or refuses."""

    def __call__(self, network: Any, episodes: Sequence[Episode], steps: int) -> bytes:
        """The file, after its actions were compared with the phone's on logged episodes.

        Args:
            network: the family's own.
        """
        ...


class Delivery:
    """Delivers a learner's adapters, each once, and keeps the checkpoint that goes with them.

    Args:
        directory: of the checkpoints.
    """

    def __init__(
        self, store: LearnerStore, learning: Learning, export: AdapterExport, *, directory: Path
    ) -> None:
        self._store = store
        self._learning = learning
        self._export = export
        self._directory = directory
        self._recent: deque[Episode] = deque(maxlen=_RECENT_EPISODES)

    def keep_recent(self, episode: Episode) -> None:
        """Have an episode at hand to check adapters on."""
        self._recent.append(episode)

    def deliver(self, name: str, kind: AdapterKind) -> bool:
        """Hand the adapter over under a name that was not delivered yet; whether it was.

        What phones would act on differently is not delivered: learning goes on, and the next
        adapter is checked anew. An adapter with values that are no numbers cannot become better:
        learning goes on from the latest checkpoint.

        Raises:
            ExportError, RejectedError: the warm-up's adapter is refused: nothing can follow it.
        """
        state = self._learning.state
        if name in state.delivered:
            return False
        steps = self._learning.settings.parity_steps
        try:
            data = self._export(self._learning.network, list(self._recent), steps)
        except (ExportError, RejectedError) as error:
            _LOG.error("adapter_refused", adapter=name, error=str(error))
            if kind is AdapterKind.WARM_UP:
                raise
            if not self._learning.is_finite():
                self._learning.step_back()
                _LOG.error("adapter_taken_back", adapter=name, to=state.delivered[-1:])
            return False
        self._store.deliver_adapter(
            data,
            name=name,
            kind=kind,
            round_index=state.round_index,
            watermark=state.consumed_row,
            parent=state.delivered[-1] if state.delivered else "",
            learnt_rows=state.learnt_rows,
        )
        state.delivered.append(name)
        state.learnt_rows = []
        self.save()
        _LOG.info("adapter_delivered", adapter=name, size_bytes=len(data))
        return True

    def save(self) -> None:
        """Write the checkpoint: at every delivery, and when the process ends."""
        save_checkpoint(self._directory, self._learning.snapshot())
