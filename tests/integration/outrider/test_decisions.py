"""The shipped base decides as it did: on this Python, this onnxruntime, this processor."""

from __future__ import annotations

import json

from outrider import cli
from tests.decisions import ELEMENTS, GOLDEN, SCREENS, decided

REMAKE = "the base or the encoding changed: python -m tests.decisions, once that is on purpose"
MOST_UNLIKE = SCREENS // 100
"""Screens on which a processor that rounds otherwise may draw another of two even choices."""


def test_the_shipped_base_decides_on_made_up_screens_as_it_did_when_it_was_made():
    golden, now = json.loads(GOLDEN.read_text("utf-8")), decided()

    assert now["base"] == golden["base"], REMAKE
    pairs = zip(now["choices"], golden["choices"], strict=True)
    assert sum(one != other for one, other in pairs) <= MOST_UNLIKE, REMAKE
    assert len(set(now["choices"])) > 10


def test_the_bench_prints_the_digest_of_the_same_decisions(capsys):
    command = ["bench", "policy", "--elements", str(ELEMENTS), "--actions", str(SCREENS), "--json"]

    assert cli.run(command) == 0

    summary = json.loads(capsys.readouterr().out.splitlines()[-1])
    now = decided()
    assert (summary["base"], summary["decisions"]) == (now["base"], now["digest"])
