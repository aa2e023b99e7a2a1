"""`outrider bench sync` measures with real parts: a broker, phones, ingest and a database."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from outrider.cli import build_app
from outrider.errors import MisuseError


def run(*arguments):
    result = CliRunner().invoke(build_app(), ["bench", "sync", "--json", *arguments])
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.slow
def test_a_step_without_screens_takes_a_small_part_of_its_json():
    *_, summary = run("--parts", "bytes", "--played", "6")
    tree = summary["bytes"]["tree"]
    assert summary["event"] == "summary"
    assert 0 < tree["ratio"] < 0.07
    assert summary["bytes"]["screens"]["ratio"] < 0.06
    assert summary["met"] is (max(tree["ratio"], summary["bytes"]["screens"]["ratio"]) <= 0.05)


@pytest.mark.slow
def test_a_step_with_photographs_takes_a_small_part_of_their_pngs():
    *_, summary = run("--parts", "photos", "--played", "1")
    photos = summary["photos"]
    assert photos["pictures"]["bytes_each"] > 4_000
    assert photos["met"] is (photos["ratio"] <= 0.05) is True


@pytest.mark.slow
def test_rates_and_memory_are_of_every_episode():
    rows = run("--parts", "rates,memory", "--phones", "1,3", "--uploads", "12", "--episodes", "20")
    summary = rows[-1]
    assert [row["episodes"] for row in summary["rates"]] == [12, 12]
    assert all(row["episodes_per_s"] > 0 for row in summary["rates"])
    assert all(row["broker_cpu_ms_per_episode"] > 0 for row in summary["rates"])
    assert summary["memory"]["episodes"] == 20


def test_a_part_that_does_not_exist_is_misuse():
    result = CliRunner().invoke(build_app(), ["bench", "sync", "--parts", "bites"])
    assert isinstance(result.exception, MisuseError)
