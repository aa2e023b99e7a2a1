"""layout_t5: a T5 that reads a screen token by token and points at what it wants to act on.

Torch half of the family; encoding and decoding are `sync.policy_io` and `sync.decoding`. Training
and export use this one module, so what is learnt is what phones run.

    token    = text vector + sum of category embeddings + linear(facts)
    memory   = T5 encoder(tokens)
    hidden_p = T5 decoder(prefix_0..p, memory)     causal over at most four decisions
    logits   = type_head(h) | pointer_query(h) · pointer_key(memory) / √d | word_head(h)

Notation: B batch, L tokens, C categories, K facts, D decisions, d width.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import T5Config
from transformers.models.t5.modeling_t5 import T5Stack

from sync.decoding import PREFIX_BEGIN, PREFIX_POINTER, PREFIX_TYPE, Batch, Logits
from sync.grammar import ACTION_TYPES, MAX_WORDS
from sync.text_table import BUCKETS, TextTable, buckets_of
from sync.tokens import BIT_COLUMNS, ID_SIZES

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

FAMILY = "layout_t5"

LORA_TARGETS = (
    "q",
    "k",
    "v",
    "o",
    "wi",
    "wo",
    "pointer_query",
    "pointer_key",
    "type_head",
    "word_head",
)
"""Last parts of the names of the linear layers that adapters change."""

NEVER = -1e9
"""Logit of what a mask forbids: finite, so that gradients stay finite."""


@dataclass(frozen=True, slots=True)
class LayoutT5Config:
    """Sizes of a layout_t5 network.

    Attributes:
        d_model: width d; a multiple of `heads`.
        d_ff: width of the feed-forward layers.
        heads: attention heads, each d_model / heads wide.
        encoder_layers, decoder_layers: T5 blocks.
        dropout: only for base training; adapters train without.
    """

    d_model: int = 96
    d_ff: int = 288
    heads: int = 4
    encoder_layers: int = 2
    decoder_layers: int = 1
    dropout: float = 0.0

    def __post_init__(self) -> None:
        if self.d_model % self.heads:
            raise ValueError(f"d_model {self.d_model} is no multiple of heads {self.heads}")

    def as_dict(self) -> dict[str, int | float]:
        """The fields by name, for cards and digests."""
        return asdict(self)


SIZES: dict[str, LayoutT5Config] = {
    "S": LayoutT5Config(),
    "M": LayoutT5Config(d_model=176, d_ff=528, encoder_layers=3),
    "L": LayoutT5Config(d_model=320, d_ff=960, heads=8, encoder_layers=5),
}
"""The sizes by name: about 1, 3 and 10 million parameters."""


class LayoutT5(nn.Module):
    """The network; see the module for its shape."""

    category_starts: Tensor

    def __init__(self, config: LayoutT5Config | None = None) -> None:
        super().__init__()
        self.config = config or LayoutT5Config()
        width = self.config.d_model
        self.text_table = nn.Parameter(torch.randn(BUCKETS, width))
        self.category_embedding = nn.Embedding(sum(ID_SIZES.values()), width)
        nn.init.normal_(self.category_embedding.weight, std=0.3)
        self.fact_projection = nn.Linear(len(BIT_COLUMNS), width)
        self.begin_embedding = nn.Parameter(torch.randn(width) * 0.5)
        self.type_embedding = nn.Embedding(len(ACTION_TYPES), width)
        self.word_embedding = nn.Embedding(MAX_WORDS, width)
        self.pointed_projection = nn.Linear(width, width, bias=False)
        self.encoder = _stack(self.config, decoder=False)
        self.decoder = _stack(self.config, decoder=True)
        self.type_head = nn.Linear(width, len(ACTION_TYPES), bias=False)
        self.pointer_query = nn.Linear(width, width, bias=False)
        self.pointer_key = nn.Linear(width, width, bias=False)
        self.word_head = nn.Linear(width, MAX_WORDS, bias=False)
        starts = torch.tensor([0, *ID_SIZES.values()])[:-1].cumsum(0)
        self.register_buffer("category_starts", starts, persistent=False)

    def embed_texts(self, texts: Sequence[str]) -> Tensor:
        """float32 [len(texts), d]: as `TextTable.embed`, but with a gradient to the table."""
        bags = [_bag(text) for text in texts]
        rows = torch.from_numpy(np.concatenate(bags))
        ends = torch.tensor([0, *map(len, bags)], dtype=torch.int64).cumsum(0)
        return functional.embedding_bag(rows, self.text_table, ends[:-1], mode="mean")

    def embed_tokens(self, text: Tensor, ids: Tensor, bits: Tensor) -> Tensor:
        """float32 [B, L, d]: what the encoder reads.

        Args:
            text: float32 [B, L, d]; ids: int64 [B, L, C]; bits: float32 [B, L, K].
        """
        rows = (ids + self.category_starts).flatten(0, 1)
        categories = functional.embedding_bag(rows, self.category_embedding.weight, mode="sum")
        tokens: Tensor = text + categories.view(text.shape) + self.fact_projection(bits)
        return tokens

    def encode_tokens(self, text: Tensor, ids: Tensor, bits: Tensor, mask: Tensor) -> Tensor:
        """float32 [B, L, d]: the memory of B observations; arguments as in `embed_tokens`.

        Args:
            mask: float32 [B, L], 1 for a token, 0 for padding.
        """
        states: Tensor = self.encoder(
            inputs_embeds=self.embed_tokens(text, ids, bits), attention_mask=additive_mask(mask)
        ).last_hidden_state
        return states

    def embed_prefix(self, memory: Tensor, prefix: Tensor) -> Tensor:
        """float32 [B, D, d]: what the decoder reads.

        Args:
            memory: float32 [B, L, d]; prefix: int64 [B, D, 2], pairs (kind, index).
        """
        kind, index = prefix[..., 0:1], prefix[..., 1]
        width = memory.shape[-1]
        at_token = index.clamp(max=memory.shape[1] - 1).unsqueeze(-1).expand(-1, -1, width)
        pointed = self.pointed_projection(memory.gather(1, at_token))
        typed = self.type_embedding(index.clamp(max=len(ACTION_TYPES) - 1))
        worded = self.word_embedding(index.clamp(max=MAX_WORDS - 1))
        chosen = torch.where(kind == PREFIX_POINTER, pointed, worded)
        chosen = torch.where(kind == PREFIX_TYPE, typed, chosen)
        return torch.where(kind == PREFIX_BEGIN, self.begin_embedding, chosen)

    def decode(self, memory: Tensor, mask: Tensor, prefix: Tensor) -> Tensor:
        """float32 [B, D, d]: a state per decision, each seeing the prefix up to itself."""
        states: Tensor = self.decoder(
            inputs_embeds=self.embed_prefix(memory, prefix),
            attention_mask=causal_mask(prefix.shape[1]).to(memory.device),
            encoder_hidden_states=memory,
            encoder_attention_mask=additive_mask(mask),
            use_cache=False,
        ).last_hidden_state
        return states

    def head_logits(self, hidden: Tensor, pointer_keys: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Type [..., D, types], pointer [..., D, L] and word logits [..., D, MAX_WORDS].

        Args:
            hidden: float32 [B, D, d]; pointer_keys: float32 [B, L, d], `pointer_key(memory)`.
        """
        queries = self.pointer_query(hidden) * self.config.d_model**-0.5
        pointers = torch.matmul(queries, pointer_keys.transpose(1, 2))
        return self.type_head(hidden), pointers, self.word_head(hidden)


@lru_cache(maxsize=65536)
def _bag(text: str) -> npt.NDArray[np.int64]:
    return np.array(buckets_of(text), dtype=np.int64)


def additive_mask(mask: Tensor) -> Tensor:
    """float32 [B, 1, 1, L] from [B, L]: added to attention scores, 0 for a token."""
    return (1.0 - mask)[:, None, None, :] * NEVER


def causal_mask(length: int) -> Tensor:
    """float32 [1, 1, D, D]: a decision sees itself and what came before."""
    positions = torch.arange(length)
    return ((positions[None, :] > positions[:, None]).to(torch.float32) * NEVER)[None, None]


def _stack(config: LayoutT5Config, *, decoder: bool) -> T5Stack:
    """A T5 stack without its own token embedding."""
    sizes = T5Config(
        vocab_size=1,
        pad_token_id=0,
        eos_token_id=0,
        d_model=config.d_model,
        d_kv=config.d_model // config.heads,
        d_ff=config.d_ff,
        num_layers=config.decoder_layers if decoder else config.encoder_layers,
        num_heads=config.heads,
        dropout_rate=config.dropout,
        feed_forward_proj="relu",
        is_decoder=decoder,
        use_cache=False,
    )
    sizes._attn_implementation = "eager"  # noqa: SLF001 - transformers has no public setter
    stack = T5Stack(sizes)
    del stack.embed_tokens
    return stack


@dataclass(frozen=True, slots=True)
class TorchMemory:
    """What the torch encoder hands to the torch decoder."""

    states: Tensor
    pointer_keys: Tensor
    mask: Tensor

    def of(self, rows: Sequence[int]) -> TorchMemory:
        """The memory of some of its observations."""
        chosen = list(rows)
        return TorchMemory(self.states[chosen], self.pointer_keys[chosen], self.mask[chosen])


class TorchCallables:
    """The network as the two callables of `sync.decoding`."""

    def __init__(self, network: LayoutT5) -> None:
        """Keep `network`; it is read at every call, so later updates show."""
        self._network = network

    @torch.inference_mode()
    def encoder(self, batch: Batch) -> TorchMemory:
        """Memory of a batch."""
        mask = torch.from_numpy(batch.mask)
        states = self._network.encode_tokens(
            torch.from_numpy(batch.text),
            torch.from_numpy(batch.ids),
            torch.from_numpy(batch.bits),
            mask,
        )
        return TorchMemory(states, self._network.pointer_key(states), mask)

    @torch.inference_mode()
    def decoder(
        self,
        memory: TorchMemory,
        prefix: npt.NDArray[Any],
        rows: Sequence[int] | None = None,
    ) -> Logits:
        """Logits of the decision after `prefix`, for some rows of the memory or for all."""
        network = self._network
        if rows is not None:
            memory = memory.of(rows)
        hidden = network.decode(memory.states, memory.mask, torch.from_numpy(prefix))
        logits = network.head_logits(hidden[:, -1:], memory.pointer_keys)
        return Logits(*(one[:, 0].numpy() for one in logits))


def text_table_of(network: LayoutT5) -> TextTable:
    """The network's text table as phones use it."""
    return TextTable(network.text_table.detach().numpy().copy())
