"""Strings as vectors: what is forgotten comes back the same; rows last where all is kept."""

import numpy as np
import pytest

from sync.text_table import BUCKETS, TextTable, buckets_of

TABLE = np.random.default_rng(0).normal(size=(BUCKETS, 8)).astype(np.float32)


def vector(text: str):
    rows = [TABLE[bucket] for bucket in buckets_of(text)]
    return np.mean(rows, axis=0) if rows else np.zeros(8, np.float32)


def test_vector_is_the_mean_of_words_and_their_grams():
    texts = ["Add to cart!", "", "☆", "Add", "07:45", "naïve Straße", "日本語 の 設定"]
    assert np.allclose(TextTable(TABLE).embed(texts), [vector(text) for text in texts], atol=1e-6)


def test_buckets_of_a_text_are_those_of_its_words_in_turn():
    assert buckets_of("Add to") == (*buckets_of("Add"), *buckets_of("to"))
    assert len(buckets_of("add")) == 1 + 3 + 2  # the word, ^ad add dd$, ^add add$


def test_lists_are_padded_with_zeros():
    padded = TextTable(TABLE).embed_padded([["one"], ["two", "three words here"], [""]])
    assert padded.shape == (3, 2, 8)
    assert not padded[0, 1].any()
    assert not padded[2].any()
    assert np.allclose(padded[1, 1], vector("three words here"), atol=1e-6)


def test_a_table_with_a_limit_forgets_and_embeds_as_before():
    table, whole = TextTable(TABLE, most_texts=50), TextTable(TABLE)
    for start in range(0, 2000, 20):
        texts = [f"string {number}" for number in range(start, start + 20)]
        assert np.array_equal(table.embed(texts), whole.embed(texts))
        assert len(table.texts) <= 50 + 20 + 1
    assert len(whole.texts) == 2001
    assert np.array_equal(table.embed(["string 0"]), whole.embed(["string 0"]))


def test_rows_stay_and_name_their_vectors_where_nothing_is_forgotten():
    table = TextTable(TABLE)
    first = table.rows(["a", "b", "a"])
    table.embed([f"other {number}" for number in range(3000)])
    assert table.rows(["a", "b", "a"]).tolist() == first.tolist()
    assert [table.texts[row] for row in first] == ["a", "b", "a"]
    assert np.array_equal(table.vectors[first], table.embed(["a", "b", "a"]))


def test_rows_of_a_table_that_forgets_are_refused():
    with pytest.raises(RuntimeError, match="do not last"):
        TextTable(TABLE, most_texts=10).rows(["a"])


def test_a_table_of_another_size_is_refused():
    with pytest.raises(ValueError, match=str(BUCKETS)):
        TextTable(TABLE[:-1])
