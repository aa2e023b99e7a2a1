"""Steps on their way to another process of the learner, by family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from cloud_learner.batch import LayoutSample, StepSample, layout_samples
from cloud_learner.text_batch import TextSample, text_masks, text_samples
from exporters.families.vision_language import VisionLanguage
from sync.text_table import TextTable


class Carrier(Protocol):
    """Packs steps for another process that has the same base, and unpacks them there."""

    def packed(self, samples: Sequence[StepSample]) -> object:
        """The steps as what can be pickled."""
        ...

    def unpacked(self, steps: object) -> Sequence[StepSample]:
        """The steps that another process packed."""
        ...


@dataclass(frozen=True, slots=True)
class _LayoutSteps:
    """Steps whose rows point into the texts that travel along."""

    samples: list[LayoutSample]
    texts: list[str]


class LayoutCarrier:
    """Steps of layout_t5: a process numbers its texts in its own way."""

    def __init__(self, table: TextTable) -> None:
        self._table = table

    def packed(self, samples: Sequence[StepSample]) -> object:
        """See `Carrier`."""
        if not samples:
            return _LayoutSteps([], [])
        own, texts = layout_samples(samples), self._table.texts
        rows = np.unique(np.concatenate([one.text_rows for one in own]))
        return _LayoutSteps(
            [replace(one, text_rows=np.searchsorted(rows, one.text_rows)) for one in own],
            [texts[row] for row in rows],
        )

    def unpacked(self, steps: object) -> list[LayoutSample]:
        """See `Carrier`."""
        assert isinstance(steps, _LayoutSteps)
        rows = self._table.rows(steps.texts)
        return [replace(one, text_rows=rows[one.text_rows]) for one in steps.samples]


class TextCarrier:
    """Steps of vision-language networks: masks follow from their tokens, and stay at home."""

    def __init__(self, network: VisionLanguage) -> None:
        self._network = network

    def packed(self, samples: Sequence[StepSample]) -> object:
        """See `Carrier`."""
        return [replace(one, masks=()) for one in text_samples(samples)]

    def unpacked(self, steps: object) -> list[TextSample]:
        """See `Carrier`."""
        assert isinstance(steps, list)
        return [replace(one, masks=text_masks(one.tokens, self._network)) for one in steps]
