"""Operations are counted as a hand would, and a row says what its times say."""

import pytest
import torch

from exporters.families import layout_t5
from exporters.families.layout_t5 import LayoutT5, LayoutT5Config
from outrider.bench_sizes import _batch, operations, sgemm_rate, size_rows
from sync.grammar import ACTION_TYPES, MAX_WORDS
from sync.tokens import BIT_COLUMNS

WIDTH, INNER, LENGTH = 16, 24, 10


def test_operations_are_those_of_the_matrix_products():
    config = LayoutT5Config(d_model=WIDTH, d_ff=INNER, heads=2, encoder_layers=2)
    network = LayoutT5(config).eval()
    attention = 4 * WIDTH * WIDTH
    feed_forward = 2 * WIDTH * INNER

    token = len(BIT_COLUMNS) * WIDTH + 2 * (attention + feed_forward) + WIDTH * WIDTH
    encoder = LENGTH * token + 2 * 2 * LENGTH * LENGTH * WIDTH
    # torch projects keys and values of the memory anew at each decision
    projected = LENGTH * 2 * WIDTH * WIDTH
    heads = WIDTH * (len(ACTION_TYPES) + MAX_WORDS + WIDTH) + LENGTH * WIDTH
    decoder = 0
    for prefix in (1, 2):
        entry = WIDTH * WIDTH + attention + 2 * WIDTH * WIDTH + feed_forward
        mixed = 2 * (prefix + LENGTH) * WIDTH
        decoder += prefix * (entry + mixed) + projected + heads

    assert operations(network, _batch(WIDTH, LENGTH)) == 2 * (encoder + decoder)


def test_a_row_compares_every_way_with_torch_and_the_floor(monkeypatch):
    config = LayoutT5Config(d_model=WIDTH, d_ff=INNER, heads=2, encoder_layers=1)
    monkeypatch.setitem(layout_t5.SIZES, "tiny", config)
    (row,) = size_rows(["tiny"], [LENGTH], repeats=2, rate=1e9)
    ways = ("torch", "torch_lora", "fp32", "fp32_lora", "int8", "int8_lora")
    assert all(row[f"{way}_ms"] > 0 for way in ways)
    assert row["speedup"] == pytest.approx(row["torch_ms"] / row["fp32_lora_ms"], rel=0.05)
    assert row["floor_ms"] == pytest.approx(row["mflop"], abs=0.06)  # at 1e9 a second
    assert (row["size"], row["tokens"]) == ("tiny", LENGTH)


def test_the_rate_of_this_machine_is_a_number_of_operations():
    torch.set_num_threads(1)
    assert sgemm_rate(repeats=1) > 1e8
