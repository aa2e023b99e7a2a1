"""Grammars over bytes, and masks over tokens."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from sync.byte_grammar import (
    ByteGrammar,
    TokenMasks,
    any_of,
    literal,
    many,
    one_of,
    optional,
    sequence,
)
from sync.errors import RejectedError
from sync.text_decoding import decide_text, masks_along

END = 6
PIECES = (b"a", b"b", b"ab", b"c", b"ba", None, None)


def reads(fragment, text: bytes) -> bool:
    grammar = ByteGrammar(fragment)
    reached = grammar.after(grammar.start, text)
    return bool(reached) and grammar.accepts(reached)


def test_fragments_read_what_they_say():
    digit = any_of(b"0123456789")
    number = sequence(optional(literal("-")), digit, many(digit))
    assert [reads(number, text) for text in (b"7", b"-70", b"", b"-", b"7-")] == [
        *(True, True),
        *(False, False, False),
    ]
    either = one_of(literal("ä"), literal("äh"))
    assert reads(either, "ä".encode())
    assert reads(either, "äh".encode())
    assert not reads(either, "ä".encode()[:1])


def test_loops_inside_loops_end():
    nested = sequence(many(sequence(literal("a"), many(literal("b")))), literal("c"))
    assert [reads(nested, text) for text in (b"c", b"abbabc", b"bc")] == [True, True, False]


@pytest.fixture
def masks() -> TokenMasks:
    """Any number of a and b, then c; after two tokens the shortest way out."""
    grammar = ByteGrammar(sequence(many(any_of(b"ab")), literal("c")))
    return TokenMasks(grammar, PIECES, end=END, most_free=2)


def test_a_mask_allows_the_tokens_that_keep_a_text_within_the_grammar(masks):
    assert masks.mask(masks.start, 0).tolist() == [True, True, True, True, True, False, False]
    whole = masks.after(masks.start, 3)
    assert masks.mask(whole, 1).nonzero()[0].tolist() == [END]


def test_a_long_text_may_only_come_nearer_to_its_end(masks):
    assert masks.mask(masks.start, 2).nonzero()[0].tolist() == [3]


def test_what_is_drawn_is_always_whole_and_has_the_log_probability_of_its_masks(masks):
    logits = np.array([0.3, -0.2, 1.0, 0.1, 0.0, 5.0, 5.0], dtype=np.float32)
    for seed in range(20):
        choice = decide_text(lambda _: logits, masks, temperature=1.0, random=Random(seed))
        rows = masks_along(masks, choice.tokens)
        assert rows is not None
        expected = [
            float(logits[token]) - float(np.log(np.exp(logits[row].astype(float)).sum()))
            for token, row in zip(choice.tokens, rows, strict=True)
        ]
        assert choice.log_prob == pytest.approx(sum(expected), abs=1e-6)


def test_a_forced_token_needs_no_network(masks):
    asked = []

    def next_logits(tokens):
        asked.append(tuple(tokens))
        return np.array([0, 0, 0, 9, 0, 0, 0], dtype=np.float32)

    choice = decide_text(next_logits, masks, temperature=0.0, random=Random(0))
    assert (choice.tokens, choice.log_prob, asked) == ((3, END), 0.0, [()])


def test_texts_that_the_grammar_forbids_or_that_do_not_end_have_no_masks(masks):
    assert masks_along(masks, (3, 3, END)) is None
    assert masks_along(masks, (0, 3)) is None
    assert masks_along(masks, (5, END)) is None
    assert masks_along(masks, ()) is None


def test_logits_that_are_no_numbers_are_refused(masks):
    broken = np.full(7, np.nan, dtype=np.float32)
    with pytest.raises(RejectedError) as caught:
        decide_text(lambda _: broken, masks, temperature=1.0, random=Random(0))
    assert caught.value.reason == "not_finite"


def test_a_vocabulary_that_cannot_write_the_text_is_refused():
    masks = TokenMasks(ByteGrammar(literal("xyz")), PIECES, end=END, most_free=9)
    with pytest.raises(RejectedError) as caught:
        decide_text(lambda _: np.zeros(7), masks, temperature=0.0, random=Random(0))
    assert caught.value.reason == "vocabulary"
