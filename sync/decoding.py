"""From logits to actions and back: masks, sampling, exact log-probabilities, teacher forcing.

Pure numpy over two callables, so that phone, farm, learner and parity run the same decoding:

    encoder(batch) -> memory            once per observation
    decoder(memory, prefix) -> Logits   once per decision

A prefix entry is a pair (kind, index): (0, 0) begins, (1, t) chose action type t, (2, i) pointed to
token i, (3, w) chose word w. Notation: B batch, L tokens, P prefix length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sync.grammar import ACTION_TYPES, MAX_DECISIONS, MAX_SPAN, MAX_WORDS, Head, heads_of
from sync.policy_io import EncodedInput, span_words
from sync.tokens import BIT_COLUMNS, ID_COLUMNS
from sync.vocabulary import (
    Action,
    ActionKind,
    Decision,
    Direction,
    FinishStatus,
    Key,
    Observation,
    answer,
    finish,
    press,
    scroll,
    tap_element,
    type_text,
    wait,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

    import numpy.typing as npt

    from sync.text_table import TextTable

PREFIX_BEGIN, PREFIX_TYPE, PREFIX_POINTER, PREFIX_WORD = 0, 1, 2, 3
_PREFIX_KIND: dict[str, int] = {"type": PREFIX_TYPE, "pointer": PREFIX_POINTER, "word": PREFIX_WORD}


@dataclass(frozen=True, slots=True)
class Batch:
    """Encoded observations, padded to one length.

    Attributes:
        text: float32 [B, L, d], vectors of the tokens' texts.
        ids: int64 [B, L, C].
        bits: float32 [B, L, K].
        mask: float32 [B, L], 1 for a token, 0 for padding.
    """

    text: npt.NDArray[np.float32]
    ids: npt.NDArray[np.int64]
    bits: npt.NDArray[np.float32]
    mask: npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Logits:
    """What the decoder says about the next decision.

    Attributes:
        types: float32 [B, len(ACTION_TYPES)].
        pointers: float32 [B, L], over all tokens.
        words: float32 [B, MAX_WORDS].
    """

    types: npt.NDArray[np.float32]
    pointers: npt.NDArray[np.float32]
    words: npt.NDArray[np.float32]

    def of(self, head: Head) -> npt.NDArray[np.float32]:
        """The logits of one head."""
        if head == "type":
            return self.types
        return self.pointers if head == "pointer" else self.words


class Encoder(Protocol):
    """The first graph."""

    def __call__(self, batch: Batch) -> Any:
        """Memory of B observations, passed on to the decoder as it is."""
        ...


class Decoder(Protocol):
    """The second graph."""

    def __call__(
        self, memory: Any, prefix: npt.NDArray[np.int64], rows: Sequence[int] | None = None
    ) -> Logits:
        """Logits of the decision that follows `prefix`: int64 [B, P, 2].

        Args:
            rows: which B observations of the memory the prefixes belong to; all of them if None.
        """
        ...


def collate(inputs: Sequence[EncodedInput], table: TextTable) -> Batch:
    """Pad encoded observations to the longest and look their texts up."""
    size = len(inputs)
    length = max(item.length for item in inputs)
    ids = np.zeros((size, length, len(ID_COLUMNS)), dtype=np.int64)
    bits = np.zeros((size, length, len(BIT_COLUMNS)), dtype=np.float32)
    mask = np.zeros((size, length), dtype=np.float32)
    for row, item in enumerate(inputs):
        ids[row, : item.length] = item.ids
        bits[row, : item.length] = item.bits
        mask[row, : item.length] = 1.0
    return Batch(table.embed_padded([item.texts for item in inputs]), ids, bits, mask)


def choice_mask(item: EncodedInput, chosen: Sequence[int]) -> npt.NDArray[np.bool_]:
    """Which choices the grammar allows next, given the choices so far.

    Returns: bool [number of choices of the head]: len(ACTION_TYPES), L or MAX_WORDS.
    """
    if not chosen:
        return item.type_mask
    action_type = ACTION_TYPES[chosen[0]]
    head = heads_of(action_type)[len(chosen)]
    if head == "word":
        return _word_mask(item, action_type, chosen)
    mask = np.zeros(item.length, dtype=np.bool_)
    if action_type.endswith("_goal"):
        first = chosen[1] if len(chosen) > 1 else item.goal_start
        last = item.goal_start + len(item.goal_words)
        if len(chosen) > 1:
            last = min(last, first + MAX_SPAN)
        mask[first:last] = True
    elif action_type.endswith("_memory"):
        for index, text in enumerate(item.memory):
            mask[item.memory_start + index] = bool(text.split())
    else:
        mask[item.item_start : item.item_start + len(item.items)] = _pointable(item, action_type)
    return mask


def _pointable(item: EncodedInput, action_type: str) -> npt.NDArray[np.bool_]:
    if action_type == "tap":
        touchable = [one.touchable for one in item.items]
        possible = [one.touchable and one.enabled for one in item.items]
        return np.array(
            next((some for some in (possible, touchable) if any(some)), [True] * len(touchable)),
            dtype=np.bool_,
        )
    if action_type == "long_press":
        return np.array([one.long_clickable for one in item.items], dtype=np.bool_)
    return np.array([bool(one.label) for one in item.items], dtype=np.bool_)


def _word_mask(
    item: EncodedInput, action_type: str, chosen: Sequence[int]
) -> npt.NDArray[np.bool_]:
    if action_type == "answer_number":
        return np.ones(MAX_WORDS, dtype=np.bool_)
    count = len(span_words(_source_text(item, action_type, chosen[1])))
    first = chosen[2] if len(chosen) > 2 else 0
    mask = np.zeros(MAX_WORDS, dtype=np.bool_)
    mask[first : min(count, first + MAX_SPAN)] = True
    return mask


def _source_text(item: EncodedInput, action_type: str, token: int) -> str:
    if action_type.endswith("_memory"):
        return item.memory[token - item.memory_start]
    return item.items[token - item.item_start].label


def log_softmax(
    logits: npt.NDArray[np.floating],
    mask: npt.NDArray[np.bool_],
    temperature: float | npt.NDArray[np.float64] = 1.0,
) -> npt.NDArray[np.float64]:
    """Log-probabilities of decisions: -inf where the mask forbids.

    Args:
        logits: float [..., n]; mask: bool [..., n]; temperature: above 0, one or float [..., 1].
    """
    scaled = np.where(mask, logits.astype(np.float64) / temperature, -np.inf)
    shifted = scaled - scaled.max(axis=-1, keepdims=True)
    totals = np.exp(shifted).sum(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(totals), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Choice:
    """A whole action as decisions, with its log-probability in nats."""

    decisions: tuple[Decision, ...]
    log_prob: float

    @property
    def choices(self) -> tuple[int, ...]:
        """The chosen indices, in order."""
        return tuple(decision.choice for decision in self.decisions)


def decide(
    inputs: Sequence[EncodedInput],
    encoder: Encoder,
    decoder: Decoder,
    *,
    table: TextTable,
    temperatures: Sequence[float],
    randoms: Sequence[Random],
) -> list[Choice]:
    """Choose one action per observation.

    Temperature 0 takes the likeliest choice at every decision, and its log-probability is 0 (the
    greedy policy is deterministic). Otherwise each decision is drawn with its own generator, one
    number a decision, so that what is drawn does not depend on the batch.
    """
    memory = encoder(collate(inputs, table))
    chains: list[list[Decision]] = [[] for _ in inputs]
    prefix = np.zeros((len(inputs), MAX_DECISIONS, 2), dtype=np.int64)
    active = list(range(len(inputs)))
    for position in range(1, MAX_DECISIONS + 1):
        everybody = len(active) == len(inputs)
        logits = decoder(memory, prefix[active, :position], None if everybody else active)
        for head, places in _places_by_head(chains, active).items():
            rows = [active[place] for place in places]
            drawn = _draw(
                [choice_mask(inputs[row], [one.choice for one in chains[row]]) for row in rows],
                logits.of(head)[places],
                [temperatures[row] for row in rows],
                [randoms[row] for row in rows],
            )
            for row, (choice, log_prob, mask) in zip(rows, drawn, strict=True):
                chains[row].append(Decision(head, choice, log_prob, mask))
                if position < MAX_DECISIONS:
                    prefix[row, position] = (_PREFIX_KIND[head], choice)
        active = [row for row in active if _next_head(chains[row]) is not None]
        if not active:
            break
    return [Choice(tuple(chain), sum(one.log_prob for one in chain)) for chain in chains]


def _next_head(chain: Sequence[Decision]) -> Head | None:
    """The head that decides next; None where the action is complete."""
    if not chain:
        return "type"
    heads = heads_of(ACTION_TYPES[chain[0].choice])
    return heads[len(chain)] if len(chain) < len(heads) else None


def _places_by_head(
    chains: Sequence[Sequence[Decision]], active: Sequence[int]
) -> dict[Head, list[int]]:
    """Which of the active rows each head decides for."""
    places: dict[Head, list[int]] = {}
    for place, row in enumerate(active):
        head = _next_head(chains[row])
        assert head is not None
        places.setdefault(head, []).append(place)
    return places


def _draw(
    masks: Sequence[npt.NDArray[np.bool_]],
    logits: npt.NDArray[np.float32],
    temperatures: Sequence[float],
    randoms: Sequence[Random],
) -> Iterator[tuple[int, float, bytes]]:
    """One decision a row: the choice, its log-probability, and the packed mask.

    Args:
        masks: bool [number of choices] a row.
        logits: float32 [rows, at least as many].
    """
    allowed = np.zeros((len(masks), max(map(len, masks))), dtype=np.bool_)
    for one, mask in zip(allowed, masks, strict=True):
        one[: len(mask)] = mask
    scale = np.array([[temperature or 1.0] for temperature in temperatures])
    log_probs = log_softmax(logits[:, : allowed.shape[1]], allowed, scale)
    likeliest = log_probs.argmax(axis=1).tolist()
    cumulative = np.exp(log_probs).cumsum(axis=1)
    bits = np.packbits(allowed, axis=1)
    for row, (mask, temperature) in enumerate(zip(masks, temperatures, strict=True)):
        packed_mask = bits[row, : -(-len(mask) // 8)].tobytes()
        if temperature <= 0:
            yield likeliest[row], 0.0, packed_mask
            continue
        sums = cumulative[row]
        drawn = int(sums.searchsorted(randoms[row].random() * sums[-1], side="right"))
        drawn = min(drawn, len(mask) - 1)
        while not mask[drawn]:  # rounding may land behind the last allowed choice
            drawn -= 1
        yield drawn, float(log_probs[row, drawn]), packed_mask


def packed(mask: npt.NDArray[np.bool_]) -> bytes:
    """The mask as bits, first choice first."""
    return np.packbits(mask).tobytes()


def unpacked(mask: bytes, count: int) -> npt.NDArray[np.bool_]:
    """The first `count` bits of a packed mask: bool [count]."""
    return np.unpackbits(np.frombuffer(mask, dtype=np.uint8), count=count).astype(np.bool_)


def prefix_of(choices: Sequence[int]) -> npt.NDArray[np.int64]:
    """int64 [len(choices), 2]: what the decoder reads before each of these choices."""
    heads = heads_of(ACTION_TYPES[choices[0]])
    rows = [(PREFIX_BEGIN, 0)]
    rows += [(_PREFIX_KIND[head], choice) for head, choice in zip(heads, choices, strict=True)]
    return np.array(rows[:-1], dtype=np.int64)


def action_of(item: EncodedInput, observation: Observation, choices: Sequence[int]) -> Action:
    """The action that these choices stand for on this observation."""
    name = ACTION_TYPES[choices[0]]
    if name in {"tap", "long_press"}:
        element = item.items[choices[1] - item.item_start].element
        return tap_element(observation, element, ActionKind(name))
    if name.startswith("type_"):
        return type_text(_span(item, name, choices))
    if name == "answer_number":
        return answer(str(choices[1]))
    if name.startswith("answer_"):
        return answer(_span(item, name, choices))
    if name.startswith("scroll_"):
        return scroll(Direction(name.removeprefix("scroll_")))
    if name.startswith("finish_"):
        return finish(FinishStatus(name.removeprefix("finish_")))
    return wait() if name == "wait" else press(Key(name))


def _span(item: EncodedInput, name: str, choices: Sequence[int]) -> str:
    if name.endswith("_goal"):
        first, last = (choice - item.goal_start for choice in choices[1:3])
        return " ".join(item.goal_words[first : last + 1]).strip(_QUOTES)
    words = span_words(_source_text(item, name, choices[1]))
    return " ".join(words[choices[2] : choices[3] + 1])


_QUOTES = "\"'“”‘’.,;:!?"


def choices_of(item: EncodedInput, action: Action) -> tuple[int, ...] | None:
    """The choices that stand for `action` (teacher forcing), or None where the grammar has none.

    Texts are looked for in the goal first, then in the memory slots, then on the screen.
    """
    if action.kind in {ActionKind.TAP, ActionKind.LONG_PRESS}:
        chosen = _touch_choices(item, action)
    elif action.kind in {ActionKind.TYPE, ActionKind.ANSWER}:
        chosen = _text_choices(item, action)
    else:
        chosen = _plain_choices(action)
    return chosen if chosen is not None and _allowed(item, chosen) else None


def _touch_choices(item: EncodedInput, action: Action) -> tuple[int, ...] | None:
    for index, one in enumerate(item.items):
        if action.element == one.element or action.element in one.absorbed:
            return (ACTION_TYPES.index(action.kind.value), item.item_start + index)
    return None


def _text_choices(item: EncodedInput, action: Action) -> tuple[int, ...] | None:
    if not isinstance(action.text, str):
        return None
    wanted = tuple(action.text.split())
    kind = "type" if action.kind is ActionKind.TYPE else "answer"
    goal = tuple(word.strip(_QUOTES) for word in item.goal_words)
    span = _find(wanted, goal)
    if span is not None:
        first, last = (item.goal_start + position for position in span)
        return (ACTION_TYPES.index(f"{kind}_goal"), first, last)
    sources = [
        (f"{kind}_memory", item.memory_start + index, text)
        for index, text in enumerate(item.memory)
    ]
    sources += [
        (f"{kind}_element", item.item_start + index, one.label)
        for index, one in enumerate(item.items)
    ]
    for name, token, text in sources:
        span = _find(wanted, span_words(text))
        if span is not None:
            return (ACTION_TYPES.index(name), token, *span)
    return _number_choices(kind, wanted)


def _number_choices(kind: str, wanted: tuple[str, ...]) -> tuple[int, ...] | None:
    """A small number that stands nowhere: how many there are of something."""
    if kind == "answer" and len(wanted) == 1 and wanted[0] in _NUMBERS:
        return (ACTION_TYPES.index("answer_number"), _NUMBERS.index(wanted[0]))
    return None


_NUMBERS = tuple(map(str, range(MAX_WORDS)))


def _find(wanted: tuple[str, ...], words: tuple[str, ...]) -> tuple[int, int] | None:
    """First and last position of `wanted` in `words`, or None."""
    if not 0 < len(wanted) <= MAX_SPAN:
        return None
    for start in range(len(words) - len(wanted) + 1):
        if words[start : start + len(wanted)] == wanted:
            return start, start + len(wanted) - 1
    return None


def _plain_choices(action: Action) -> tuple[int, ...] | None:
    match action.kind:
        case ActionKind.SCROLL:
            name = f"scroll_{action.direction}"
        case ActionKind.KEY:
            name = str(action.key)
        case ActionKind.WAIT:
            name = "wait"
        case ActionKind.FINISH:
            name = f"finish_{action.status}"
        case _:
            return None
    return (ACTION_TYPES.index(name),) if name in ACTION_TYPES else None


def _allowed(item: EncodedInput, choices: tuple[int, ...]) -> bool:
    for position, choice in enumerate(choices):
        mask = choice_mask(item, choices[:position])
        if not mask[choice]:
            return False
    return True


def masks_of(item: EncodedInput, choices: Sequence[int]) -> list[npt.NDArray[np.bool_]]:
    """The masks under which these choices are made, in order."""
    return [choice_mask(item, list(choices[:position])) for position in range(len(choices))]


def log_prob_of(
    inputs: Sequence[EncodedInput],
    choices: Sequence[Sequence[int]],
    encoder: Encoder,
    decoder: Decoder,
    *,
    table: TextTable,
) -> npt.NDArray[np.float64]:
    """float64 [B]: log-probability at temperature 1 of given actions, nats."""
    memory = encoder(collate(inputs, table))
    longest = max(len(chain) for chain in choices)
    totals = np.zeros(len(inputs))
    prefixes = [prefix_of(chain) for chain in choices]
    for position in range(longest):
        prefix = np.zeros((len(inputs), position + 1, 2), dtype=np.int64)
        for row, rows in enumerate(prefixes):
            prefix[row, : min(len(rows), position + 1)] = rows[: position + 1]
        logits = decoder(memory, prefix)
        for row, chain in enumerate(choices):
            if position < len(chain):
                head = heads_of(ACTION_TYPES[chain[0]])[position]
                mask = choice_mask(inputs[row], list(chain[:position]))
                scores = log_softmax(logits.of(head)[row][: len(mask)], mask)
                totals[row] += scores[chain[position]]
    return totals
