"""Episodes as tensors: encoded again, checked against the phone's own encoding, padded.

The four decisions of an action share one space of choices, so that masks, entropies and KL need no
case for a head: 20 action types, then 12 words, then L tokens (what pointers point to).

Notation: B steps, L tokens, D = 4 decisions, N = 32 + L choices, d width of a text vector.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from sync.decoding import choices_of, masks_of, prefix_of
from sync.grammar import ACTION_TYPES, MAX_DECISIONS, MAX_WORDS, heads_of
from sync.policy_io import EncodedInput, encode_episode
from sync.text_table import TextTable
from sync.vocabulary import Episode, Step

FIRST_WORD = len(ACTION_TYPES)
FIRST_POINTER = FIRST_WORD + MAX_WORDS
_OFFSETS = {"type": 0, "word": FIRST_WORD, "pointer": FIRST_POINTER}


@dataclass(slots=True, kw_only=True)
class StepSample:
    """What every algorithm reads of a step, whatever the family of the policy that acted.

    Attributes:
        count: decisions of the action.
        action_type: the action's type, by `ACTION_TYPES`.
        log_mu: log μ of the action, nats.
        usable: False where the encoding differs from the phone's, or the grammar has no such
            action.
        valid: whether the action could be carried out.
        repeats: how often it was already tried in a row on the same screen.
        state_hash: exact hash of the clone's state that was observed; empty on real phones.
        reference: log-probabilities under the reference policy, once known, as the family has them.
    """

    count: int
    action_type: int
    log_mu: float
    usable: bool
    valid: bool
    repeats: int
    state_hash: str = ""
    reference: npt.NDArray[np.float32] | None = None


@dataclass(slots=True, kw_only=True)
class LayoutSample(StepSample):
    """One step of layout_t5, ready for teacher forcing.

    Attributes:
        text_rows: int64 [L], rows of the text table's vectors.
        ids: int16 [L, C]. bits: uint8 [L, K].
        prefix: int64 [D, 2]. choices: int64 [D]; only the first `count` are decisions.
        masks: bool [D, N], what was allowed; rows behind `count` allow choice 0.
        reference: float32 [D, N].
    """

    text_rows: npt.NDArray[np.int64]
    ids: npt.NDArray[np.int16]
    bits: npt.NDArray[np.uint8]
    prefix: npt.NDArray[np.int64]
    choices: npt.NDArray[np.int64]
    masks: npt.NDArray[np.bool_]


def layout_samples(samples: Sequence[StepSample]) -> list[LayoutSample]:
    """`samples`, all of layout_t5.

    Raises: TypeError: one is of another family; the policy and its episodes do not go together.
    """
    known = [one for one in samples if isinstance(one, LayoutSample)]
    if len(known) != len(samples):
        raise TypeError("a step of another family came to layout_t5: score it with its own policy")
    return known


@dataclass(slots=True)
class Trajectory:
    """One episode as the learner keeps it.

    Attributes:
        row: the episode's row in the store.
        policy_round: the round of the weights that acted; None for scripted actors.
        priority: prioritised replay's weight, before the exponent.
        left_out: steps that are not usable.
        group_id: of the assignments that share task, seed and look; empty for none.
    """

    row: int
    episode_id: str
    template: str
    app: str
    success: bool
    steps: Sequence[StepSample]
    policy_round: int | None = None
    priority: float = 1.0
    left_out: int = 0
    group_id: str = ""

    @staticmethod
    def of(
        episode: Episode, steps: Sequence[StepSample], *, row: int, app: str, success: bool
    ) -> Trajectory:
        """The trajectory of an episode whose steps are samples now, of any family."""
        return Trajectory(
            row=row,
            episode_id=episode.id,
            template=episode.assignment.template,
            app=app,
            success=success,
            steps=list(steps),
            left_out=sum(not step.usable for step in steps),
            group_id=episode.assignment.group_id,
        )


def trajectory_of(
    episode: Episode, table: TextTable, *, row: int, app: str, success: bool, taught: bool = False
) -> Trajectory:
    """Encode an episode again.

    Args:
        taught: learn what the teacher would have done (`taught_action`) where a step has one.
    """
    steps = [
        _sample(step, encoded, table, taught=taught)
        for step, encoded in zip(episode.steps, encode_episode(episode), strict=True)
    ]
    return Trajectory.of(episode, steps, row=row, app=app, success=success)


def _sample(step: Step, encoded: EncodedInput, table: TextTable, *, taught: bool) -> LayoutSample:
    teaches = taught and step.taught_action is not None
    choices: Sequence[int] | None
    if step.decisions and not teaches:
        same = not step.input_digest or step.input_digest == encoded.digest
        choices = tuple(decision.choice for decision in step.decisions) if same else None
    else:
        action = step.taught_action if teaches and step.taught_action else step.action
        choices = choices_of(encoded, action)
    usable = choices is not None
    chosen = tuple(choices) if choices is not None else (int(encoded.type_mask.argmax()),)
    masks = np.zeros((MAX_DECISIONS, FIRST_POINTER + encoded.length), dtype=np.bool_)
    masks[:, 0] = True
    flat = np.zeros(MAX_DECISIONS, dtype=np.int64)
    prefix = np.zeros((MAX_DECISIONS, 2), dtype=np.int64)
    if usable:
        _fill(encoded, chosen, masks, flat, prefix)
    return LayoutSample(
        text_rows=table.rows(encoded.texts),
        ids=encoded.ids,
        bits=encoded.bits,
        prefix=prefix,
        choices=flat,
        count=len(chosen),
        action_type=chosen[0],
        masks=masks,
        log_mu=step.log_prob,
        usable=usable,
        valid=step.valid,
        repeats=step.repeat_count,
        state_hash=step.observation.state_hash or "",
    )


def _fill(
    encoded: EncodedInput,
    chosen: tuple[int, ...],
    masks: npt.NDArray[np.bool_],
    flat: npt.NDArray[np.int64],
    prefix: npt.NDArray[np.int64],
) -> None:
    heads = heads_of(ACTION_TYPES[chosen[0]])
    rows = zip(heads, chosen, masks_of(encoded, chosen), strict=True)
    for position, (head, choice, mask) in enumerate(rows):
        offset = _OFFSETS[head]
        masks[position, 0] = False
        masks[position, offset : offset + len(mask)] = mask
        flat[position] = offset + choice
    prefix[: len(chosen)] = prefix_of(chosen)


@dataclass(frozen=True, slots=True)
class StepBatch:
    """Steps, padded to one length.

    Attributes:
        text: float32 [B, L, d].
        text_rows: int64 [B, L], rows of the text table, -1 for padding.
        ids: int64 [B, L, C]. bits: float32 [B, L, K].
        mask: float32 [B, L], 1 for a token.
        prefix: int64 [B, D, 2]. choices: int64 [B, D]. decided: float32 [B, D], 1 for a decision.
        choice_masks: bool [B, D, N].
        log_mu, usable, valid: float32 [B].
        reference: float32 [B, D, N]; has_reference: float32 [B], 0 for a step that has none.
    """

    text: Tensor
    text_rows: Tensor
    ids: Tensor
    bits: Tensor
    mask: Tensor
    prefix: Tensor
    choices: Tensor
    decided: Tensor
    choice_masks: Tensor
    log_mu: Tensor
    usable: Tensor
    valid: Tensor
    reference: Tensor
    has_reference: Tensor

    def sent_by(self, send: Callable[[Tensor], Tensor]) -> StepBatch:
        """The same batch, every tensor of it sent elsewhere."""
        return StepBatch(**{one.name: send(getattr(self, one.name)) for one in fields(self)})


def step_batch(samples: Sequence[LayoutSample], table: TextTable) -> StepBatch:
    """Pad `samples` and look their texts up."""
    size = len(samples)
    length = max(len(sample.text_rows) for sample in samples)
    rows = np.full((size, length), -1, dtype=np.int64)
    ids = np.zeros((size, length, samples[0].ids.shape[1]), dtype=np.int64)
    bits = np.zeros((size, length, samples[0].bits.shape[1]), dtype=np.float32)
    masks = np.zeros((size, MAX_DECISIONS, FIRST_POINTER + length), dtype=np.bool_)
    reference = np.zeros(masks.shape, dtype=np.float32)
    for index, sample in enumerate(samples):
        count = len(sample.text_rows)
        rows[index, :count] = sample.text_rows
        ids[index, :count] = sample.ids
        bits[index, :count] = sample.bits
        masks[index, :, : sample.masks.shape[1]] = sample.masks
        if sample.reference is not None:
            reference[index, :, : sample.reference.shape[1]] = sample.reference
    vectors = table.vectors
    text = np.where(rows[..., None] >= 0, vectors[rows], np.float32(0.0))
    decided = np.arange(MAX_DECISIONS)[None, :] < np.array([s.count for s in samples])[:, None]
    return StepBatch(
        text=torch.from_numpy(text),
        text_rows=torch.from_numpy(rows),
        ids=torch.from_numpy(ids),
        bits=torch.from_numpy(bits),
        mask=torch.from_numpy((rows >= 0).astype(np.float32)),
        prefix=torch.from_numpy(np.stack([sample.prefix for sample in samples])),
        choices=torch.from_numpy(np.stack([sample.choices for sample in samples])),
        decided=torch.from_numpy(decided.astype(np.float32)),
        choice_masks=torch.from_numpy(masks),
        log_mu=torch.tensor([sample.log_mu for sample in samples], dtype=torch.float32),
        usable=torch.tensor([float(sample.usable) for sample in samples]),
        valid=torch.tensor([float(sample.valid) for sample in samples]),
        reference=torch.from_numpy(reference),
        has_reference=torch.tensor([float(sample.reference is not None) for sample in samples]),
    )
