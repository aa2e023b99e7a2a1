"""T5 with image features, as AutoUI has it: reads a prompt and a picture, writes AutoUI text.

    image  = image_dense(features)                    features: pooled state of an image encoder
    seen   = attention(query: text states, keys and values: image)          one head
    gate   = sigmoid(gate_dense([text states, seen]))
    memory = (1 - gate) text states + gate seen → T5 decoder

The names of the fusion's tensors are those of AutoUI's checkpoints, so that theirs load; a plain
(FLAN-)T5 folder gets a fresh fusion. The image encoder stays frozen: a picture's features are
worked out once and kept with its step.

Source: Zhang and Zhang 2023, You Only Look at Screens (arXiv 2309.11436), section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from exporters.families.vision_language import Answered, Shown, VisionLanguage, padded, pooled
from sync.picture import PictureForm, pixels_of
from sync.text_policy_io import AUTOUI, Vocabulary, latest_tokens

if TYPE_CHECKING:
    import numpy.typing as npt

_FEATURES = "features"


class ImageFusion(nn.Module):
    """The part of AutoUI that T5 lacks.

    Args:
        features: width of a picture's feature vectors.
        width: d of the T5.
    """

    def __init__(self, features: int, width: int) -> None:
        super().__init__()
        self.image_dense = nn.Linear(features, width)
        self.mha_layer = nn.MultiheadAttention(width, num_heads=1, batch_first=True)
        self.gate_dense = nn.Linear(2 * width, width)

    def forward(self, text: Tensor, features: Tensor) -> Tensor:
        """float32 [B, L, d]: text states with what they find in the picture.

        Args:
            text: float32 [B, L, d]; features: float32 [B, K, F].
        """
        image = self.image_dense(features)
        seen, _ = self.mha_layer(text, image, image, need_weights=False)
        gate = torch.sigmoid(self.gate_dense(torch.cat([text, seen], dim=-1)))
        fused: Tensor = (1.0 - gate) * text + gate * seen
        return fused


class FusedT5(VisionLanguage):
    """The family's network.

    Args:
        t5: transformers' T5ForConditionalGeneration.
        eyes: transformers' Blip2VisionModel, whose pooled state is the picture's feature vector.
        tokenizer: of the `tokenizers` library.
    """

    language = AUTOUI
    lora_targets = ("q", "k", "v", "o", "wi", "wi_0", "wi_1", "wo", "image_dense", "gate_dense")

    def __init__(
        self,
        t5: Any,  # transformers ships no types
        fusion: ImageFusion,
        eyes: Any,
        *,
        picture_form: PictureForm,
        tokenizer: Any,
        vocabulary: Vocabulary,
    ) -> None:
        super().__init__()
        self.t5 = t5
        self.fusion = fusion
        self.eyes = eyes
        self.picture_form = picture_form
        self.tokenizer = tokenizer
        self.vocabulary = vocabulary
        self.feature_dim = 2 * t5.config.d_model
        self.eval()

    def show(self, prompt: str, rgb: npt.NDArray[np.uint8] | None) -> Shown:
        """Prompt tokens, and the picture's feature vector."""
        ids = self.tokenizer.encode(prompt, add_special_tokens=False).ids
        tokens = (*latest_tokens(self.vocabulary.plain(ids)), self.vocabulary.end)
        if rgb is None:
            return Shown(tokens)
        return Shown(tokens, {_FEATURES: self.features_of(pixels_of(rgb, self.picture_form))})

    @torch.inference_mode()
    def features_of(self, pixels: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """float32 [1, F]: what the image encoder sees in pixels float32 [3, H, W]."""
        seen = self.eyes(pixel_values=torch.from_numpy(pixels[None]).to(self.device)).pooler_output
        return np.array(seen.cpu().numpy(), dtype=np.float32)

    def answer_tokens(self, text: str) -> tuple[int, ...]:
        """`text` as T5's tokenizer cuts it."""
        ids = self.tokenizer.encode(text, add_special_tokens=False).ids
        return (*ids, self.vocabulary.end)

    def score(self, shown: Sequence[Shown], answers: Sequence[Sequence[int]]) -> Answered:
        """See `VisionLanguage.score`."""
        config = self.t5.config
        prompts, mask = padded([one.prompt for one in shown], config.pad_token_id, self.device)
        known = [one.memory for one in shown if one.memory is not None]
        is_read = len(known) == len(shown)
        memory = torch.cat(known) if is_read else self._memory(shown, prompts, mask)
        start = config.decoder_start_token_id
        rows = [(start, *answer[:-1]) for answer in answers]
        before, _ = padded(rows, config.pad_token_id, self.device)
        logits = self.t5(
            encoder_outputs=(memory,),
            attention_mask=mask,
            decoder_input_ids=before,
            use_cache=False,
        ).logits
        return Answered(logits, pooled(memory, mask))

    @torch.inference_mode()
    def read(self, shown: Shown) -> Shown:
        """See `VisionLanguage.read`: the encoder's states."""
        prompts, mask = padded([shown.prompt], self.t5.config.pad_token_id, self.device)
        return replace(shown, memory=self._memory([shown], prompts, mask))

    def _memory(self, shown: Sequence[Shown], prompts: Tensor, mask: Tensor) -> Tensor:
        text = self.t5.encoder(input_ids=prompts, attention_mask=mask).last_hidden_state
        nothing = np.zeros((1, self.fusion.image_dense.in_features), dtype=np.float32)
        pictures = [one.picture.get(_FEATURES, nothing) for one in shown]
        fused: Tensor = self.fusion(text, torch.from_numpy(np.stack(pictures)).to(self.device))
        return fused
