"""What vision-language families have in common: what they are shown, and how answers are scored.

A family turns a prompt and a picture into its own input (`show`) and scores given answers token by
token (`score`), with gradients. Acting is scoring of what was written so far, so a policy that
learns and one that acts cannot drift apart.

Notation: B steps, D tokens of an answer, V vocabulary, K feature vectors of a picture, d width.
"""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    import numpy.typing as npt

    from sync.byte_grammar import TokenMasks
    from sync.text_policy_io import TextLanguage, Vocabulary


@dataclass(frozen=True, slots=True)
class Shown:
    """What a network is shown at one step.

    Attributes:
        prompt: token ids.
        picture: the family's own arrays by name; empty where there was no picture.
        memory: what the family has read of both already, for acting alone.
    """

    prompt: tuple[int, ...]
    picture: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)  # any kind of number
    memory: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """What a network says of given answers.

    Attributes:
        logits: float32 [B, D, V]; row d is about token d, and sees the tokens before it.
        features: float32 [B, 2d], what a critic reads of the step: without the answer.
    """

    logits: Tensor
    features: Tensor


class VisionLanguage(nn.Module, ABC):
    """A network that reads a prompt and a picture, and writes an action.

    Attributes:
        language: how it is asked, and how it answers.
        vocabulary: its tokens.
        lora_targets: last parts of the names of the layers that adapters change.
        feature_dim: width of `Answered.features`.
    """

    language: TextLanguage
    vocabulary: Vocabulary
    lora_targets: tuple[str, ...]
    feature_dim: int

    @cached_property
    def masks(self) -> TokenMasks:
        """Which tokens may follow while an action is written."""
        return self.vocabulary.masks(self.language)

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        return next(self.parameters()).device

    @abstractmethod
    def show(self, prompt: str, rgb: npt.NDArray[np.uint8] | None) -> Shown:
        """The network's input.

        Args:
            rgb: uint8 [H, W, 3], the screen; None where no picture was taken.
        """

    @abstractmethod
    def answer_tokens(self, text: str) -> tuple[int, ...]:
        """`text` as the tokenizer cuts it, with the token that ends it."""

    @abstractmethod
    def score(self, shown: Sequence[Shown], answers: Sequence[Sequence[int]]) -> Answered:
        """Teacher-forced logits of `answers`, padded to the longest.

        Args:
            answers: token ids of each step's answer, at least one.
        """

    @torch.inference_mode()
    def text_logits(
        self, shown: Shown, texts: Sequence[Sequence[int]]
    ) -> list[npt.NDArray[np.float32]]:
        """float32 [D, V] for each text: logits of its tokens, each after those before it."""
        logits = self.score([shown] * len(texts), texts).logits
        return [rows[: len(text)].cpu().numpy() for rows, text in zip(logits, texts, strict=True)]

    def next_logits(self, shown: Shown, tokens: Sequence[int]) -> npt.NDArray[np.float32]:
        """float32 [V]: logits of the token that follows `tokens`."""
        (rows,) = self.text_logits(shown, [(*tokens, self.vocabulary.end)])
        last: npt.NDArray[np.float32] = rows[-1]
        return last

    def writer(
        self, prompt: str, rgb: npt.NDArray[np.uint8] | None
    ) -> Callable[[Sequence[int]], npt.NDArray[np.float32]]:
        """Logits of the token that follows, for one prompt and picture: what decoding asks."""
        shown = self.read(self.show(prompt, rgb))

        def next_logits(tokens: Sequence[int]) -> npt.NDArray[np.float32]:
            return self.next_logits(shown, tokens)

        return next_logits

    def read(self, shown: Shown) -> Shown:
        """The same input, with what needs to be worked out only once for it; without a gradient."""
        return shown


def rgb_of(picture: bytes) -> npt.NDArray[np.uint8]:
    """uint8 [H, W, 3]: the picture in a file's bytes."""
    from PIL import Image  # noqa: PLC0415 - only where pictures are looked at

    with Image.open(io.BytesIO(picture)) as image:
        return np.asarray(image.convert("RGB"))


def padded(
    rows: Sequence[Sequence[int]], filler: int, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Token ids int64 [B, L] padded on the right, and a mask int64 [B, L], 1 for a token."""
    length = max(map(len, rows))
    ids = np.full((len(rows), length), filler, dtype=np.int64)
    mask = np.zeros((len(rows), length), dtype=np.int64)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = row
        mask[index, : len(row)] = 1
    return torch.from_numpy(ids).to(device), torch.from_numpy(mask).to(device)


def pooled(hidden: Tensor, mask: Tensor) -> Tensor:
    """float32 [B, 2d]: the first token's state and the mean of all, for a critic.

    Args:
        hidden: float32 [B, L, d]; mask: int64 [B, L].
    """
    weights = mask.to(hidden.dtype)
    weights = weights / weights.sum(1, keepdim=True)
    return torch.cat([hidden[:, 0], torch.einsum("bl,bld->bd", weights, hidden)], dim=-1)
