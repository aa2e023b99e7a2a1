"""Grammars over bytes, and which tokens of a vocabulary keep a text within one.

A policy that writes its action as text may only write texts that are actions. A grammar is a small
automaton over UTF-8 bytes, put together from fragments; `TokenMasks` walks the pieces of a
vocabulary through it, so that every drawn text can be read back, whatever the tokenizer cuts.

A text that has become long may only go where its shortest end comes nearer, and so every text ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

State = frozenset[int]
"""The nodes of the automaton that a text may have led to; empty where it is no beginning."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """An automaton with one start and one end, its nodes numbered from 0.

    Attributes:
        size: number of nodes; 0 is the start and size - 1 the end.
        steps: (node, bytes that may follow, node).
        jumps: (node, node): taken without a byte.
    """

    size: int
    steps: tuple[tuple[int, frozenset[int], int], ...] = ()
    jumps: tuple[tuple[int, int], ...] = ()

    def shifted(self, by: int) -> Fragment:
        """The same with every node's number raised."""
        return Fragment(
            self.size + by,
            tuple((one + by, allowed, other + by) for one, allowed, other in self.steps),
            tuple((one + by, other + by) for one, other in self.jumps),
        )


def any_of(allowed: bytes) -> Fragment:
    """Exactly one of these bytes."""
    return Fragment(2, steps=((0, frozenset(allowed), 1),))


def literal(text: str) -> Fragment:
    """Exactly this text."""
    data = text.encode()
    steps = tuple((place, frozenset((byte,)), place + 1) for place, byte in enumerate(data))
    return Fragment(len(data) + 1, steps=steps)


def sequence(*parts: Fragment) -> Fragment:
    """One part after the other."""
    return reduce(_followed, parts)


def _followed(first: Fragment, second: Fragment) -> Fragment:
    moved = second.shifted(first.size)
    joint = (first.size - 1, first.size)
    return Fragment(moved.size, first.steps + moved.steps, (*first.jumps, joint, *moved.jumps))


def one_of(*parts: Fragment) -> Fragment:
    """Any one of the parts."""
    end = 1 + sum(part.size for part in parts)
    steps: list[tuple[int, frozenset[int], int]] = []
    jumps: list[tuple[int, int]] = []
    start = 1
    for part in parts:
        moved = part.shifted(start)
        steps += moved.steps
        jumps += [(0, start), *moved.jumps, (moved.size - 1, end)]
        start = moved.size
    return Fragment(end + 1, tuple(steps), tuple(jumps))


def optional(part: Fragment) -> Fragment:
    """The part or nothing."""
    return one_of(part, Fragment(1))


def many(part: Fragment) -> Fragment:
    """The part as often as wanted, also never."""
    moved = part.shifted(1)
    last, end = moved.size - 1, moved.size
    jumps = (*moved.jumps, (0, 1), (last, 0), (0, end))
    return Fragment(end + 1, moved.steps, jumps)


class ByteGrammar:
    """The texts that a fragment allows."""

    def __init__(self, fragment: Fragment) -> None:
        self._end = fragment.size - 1
        self._steps: list[list[tuple[frozenset[int], int]]] = [[] for _ in range(fragment.size)]
        self._jumps: list[list[int]] = [[] for _ in range(fragment.size)]
        for node, allowed, following in fragment.steps:
            self._steps[node].append((allowed, following))
        for node, following in fragment.jumps:
            self._jumps[node].append(following)
        self._distances = _distances_to_end(fragment)
        self._known: dict[tuple[State, int], State] = {}
        self.start: State = self._closure({0})

    def accepts(self, state: State) -> bool:
        """Whether a text that led here is whole."""
        return self._end in state

    def distance(self, state: State) -> int:
        """Bytes that the shortest text that begins like this one still needs."""
        return min(self._distances[node] for node in state)

    def after(self, state: State, data: bytes) -> State:
        """Where `data` leads from `state`; empty where it may not follow."""
        for byte in data:
            if not state:
                break
            key = (state, byte)
            known = self._known.get(key)
            if known is None:
                known = self._known[key] = self._closure(
                    {
                        following
                        for node in state
                        for allowed, following in self._steps[node]
                        if byte in allowed
                    }
                )
            state = known
        return state

    def _closure(self, nodes: set[int]) -> State:
        reached, waiting = set(nodes), list(nodes)
        while waiting:
            for following in self._jumps[waiting.pop()]:
                if following not in reached:
                    reached.add(following)
                    waiting.append(following)
        return frozenset(reached)


def _distances_to_end(fragment: Fragment) -> list[int]:
    """Fewest bytes from every node to the end."""
    before: list[list[tuple[int, int]]] = [[] for _ in range(fragment.size)]
    for node, _, following in fragment.steps:
        before[following].append((node, 1))
    for node, following in fragment.jumps:
        before[following].append((node, 0))
    distances = [fragment.size] * fragment.size  # farther than any way
    waiting = [(0, fragment.size - 1)]
    while waiting:
        distance, node = heappop(waiting)
        if distance < distances[node]:
            distances[node] = distance
            for earlier, cost in before[node]:
                if distance + cost < distances[earlier]:
                    heappush(waiting, (distance + cost, earlier))
    return distances


class TokenMasks:
    """Which tokens may follow, for one vocabulary and one grammar. Pure, with a memory.

    Args:
        pieces: the bytes that each token stands for; None for tokens that no text contains.
        end: the token that ends a text.
        most_free: tokens after which a text may only come nearer to its end.
    """

    def __init__(
        self,
        grammar: ByteGrammar,
        pieces: Sequence[bytes | None],
        *,
        end: int,
        most_free: int,
    ) -> None:
        self.end = end
        self.start = grammar.start
        self._grammar = grammar
        self._pieces = pieces
        self._most_free = most_free
        self._by_first: dict[int, list[tuple[int, bytes]]] = {}
        for token, piece in enumerate(pieces):
            if piece:
                self._by_first.setdefault(piece[0], []).append((token, piece))
        self._known: dict[tuple[State, bool], npt.NDArray[np.bool_]] = {}

    def mask(self, state: State, position: int) -> npt.NDArray[np.bool_]:
        """The tokens that may stand at `position`: bool [V], not to be written to.

        Args:
            state: where the tokens before it have led.
        """
        key = (state, position >= self._most_free)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._walk(state, closing=key[1])
        return known

    def after(self, state: State, token: int) -> State:
        """Where `token` leads; empty where it may not follow, or ends the text."""
        piece = self._pieces[token]
        return frozenset() if piece is None else self._grammar.after(state, piece)

    def _walk(self, state: State, *, closing: bool) -> npt.NDArray[np.bool_]:
        mask = np.zeros(len(self._pieces), dtype=np.bool_)
        mask[self.end] = self._grammar.accepts(state)
        limit = self._grammar.distance(state)
        for first, tokens in self._by_first.items():
            if not self._grammar.after(state, bytes((first,))):
                continue
            for token, piece in tokens:
                reached = self._grammar.after(state, piece)
                mask[token] = bool(reached) and not (
                    closing and self._grammar.distance(reached) >= limit
                )
        mask.setflags(write=False)
        return mask
