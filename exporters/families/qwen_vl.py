"""Qwen-VL networks (Qwen2-VL, Qwen2.5-VL): read a chat with a picture, write tool calls.

The chat is Qwen's own: a system message, the user's picture and prompt, then the answer. Texts from
goal and screen are cut as text, so nothing that an app shows can stand for a chat's control tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from exporters.families.vision_language import Answered, Shown, VisionLanguage, padded
from sync.text_policy_io import TOOL_CALLS, Vocabulary

if TYPE_CHECKING:
    import numpy.typing as npt

_PIXELS, _GRID = "pixel_values", "image_grid_thw"
_SYSTEM = "system\nYou are a helpful assistant."


class QwenVL(VisionLanguage):
    """The family's network.

    Args:
        network: transformers' Qwen2VLForConditionalGeneration or Qwen2_5_VL....
        pictures: transformers' image processor of the checkpoint.
        tokenizer: of the `tokenizers` library.
        turn: the token that begins a message; `vocabulary.end` ends it.
    """

    language = TOOL_CALLS
    lora_targets = ("q_proj", "k_proj", "v_proj", "o_proj")

    def __init__(
        self,
        network: Any,  # transformers ships no types
        *,
        pictures: Any,
        tokenizer: Any,
        vocabulary: Vocabulary,
        turn: int,
    ) -> None:
        super().__init__()
        self.network = network
        self.pictures = pictures
        self.tokenizer = tokenizer
        self.vocabulary = vocabulary
        self.feature_dim = 2 * network.config.text_config.hidden_size
        self._turn = turn
        self.eval()

    def show(self, prompt: str, rgb: npt.NDArray[np.uint8] | None) -> Shown:
        """The chat's tokens up to the answer, and the picture in patches."""
        picture = {} if rgb is None else self._patches(rgb)
        end, newline = self.vocabulary.end, self._cut("\n")
        tokens = (
            *(self._turn, *self._cut(_SYSTEM), end, *newline),
            *(self._turn, *self._cut("user\n"), *self._placeholders(picture)),
            *(*self.vocabulary.plain(self._cut(prompt)), end, *newline),
            *(self._turn, *self._cut("assistant\n")),
        )
        return Shown(tokens, picture)

    def answer_tokens(self, text: str) -> tuple[int, ...]:
        """`text` as Qwen's tokenizer cuts it."""
        return (*self._cut(text), self.vocabulary.end)

    def score(self, shown: Sequence[Shown], answers: Sequence[Sequence[int]]) -> Answered:
        """See `VisionLanguage.score`."""
        prompts = [len(one.prompt) for one in shown]
        rows = [(*one.prompt, *answer[:-1]) for one, answer in zip(shown, answers, strict=True)]
        ids, mask = padded(rows, self.vocabulary.end, self.device)
        is_picture = (ids == self.network.config.image_token_id) & (mask > 0)
        hidden = self.network.model(
            input_ids=ids,
            attention_mask=mask,
            mm_token_type_ids=is_picture.to(torch.int32),
            use_cache=False,
            **self._joined(shown),
        ).last_hidden_state
        longest = max(map(len, answers))
        ends = torch.tensor(prompts, device=self.device)[:, None]
        places = ends - 1 + torch.arange(longest, device=self.device)
        places = places.clamp(max=hidden.shape[1] - 1)
        at = hidden.gather(1, places.unsqueeze(-1).expand(-1, -1, hidden.shape[-1]))
        before = (torch.arange(ids.shape[1], device=self.device)[None, :] < ends).float()
        mean = torch.einsum("bl,bld->bd", before / before.sum(1, keepdim=True), hidden)
        return Answered(self.network.lm_head(at), torch.cat([at[:, 0], mean], dim=-1))

    def _cut(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def _patches(self, rgb: npt.NDArray[np.uint8]) -> dict[str, npt.NDArray[Any]]:
        seen = self.pictures(images=[rgb], return_tensors="np")
        return {
            _PIXELS: np.asarray(seen[_PIXELS], dtype=np.float32),
            _GRID: np.asarray(seen[_GRID], dtype=np.int64),
        }

    def _placeholders(self, picture: dict[str, npt.NDArray[Any]]) -> list[int]:
        """Where the picture's states come in: one token for each merged patch."""
        if not picture:
            return []
        config = self.network.config
        merged = config.vision_config.spatial_merge_size**2
        count = int(picture[_GRID].prod()) // merged
        return [
            config.vision_start_token_id,
            *[config.image_token_id] * count,
            config.vision_end_token_id,
        ]

    def _joined(self, shown: Sequence[Shown]) -> dict[str, torch.Tensor]:
        seen = [one.picture for one in shown if one.picture]
        if not seen:
            return {}
        return {
            name: torch.from_numpy(np.concatenate([one[name] for one in seen])).to(self.device)
            for name in (_PIXELS, _GRID)
        }
