"""`outrider bench phone` over a real adb server: what it prints, not how fast this machine is."""

from __future__ import annotations

import json

import pytest

from outrider import cli

pytestmark = pytest.mark.integration


def lines_of(capsys, *arguments):
    code = cli.run(["bench", "phone", "--json", *arguments])
    return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_each_part_is_a_line_and_the_summary_the_last(capsys):
    code, lines = lines_of(
        capsys, "--repeats", "4", "--elements", "20", "--parts", "tap,observe,step"
    )

    assert code == 0
    assert [line.get("part") for line in lines] == ["tap", "observe", "step", None]
    tap, observe, step, summary = lines
    assert tap["ratio"] == pytest.approx(tap["p50_ms"] / tap["bare_p50_ms"], rel=0.05)
    assert set(observe["parts_p50_ms"]) == {"round_trip", "reading"}
    assert set(step["parts_p50_ms"]) == {"observe", "act", "decide", "log"}
    assert step["steps"] > 0
    assert 0 < step["added_cpu_p50_ms"] < step["p50_ms"] * 10
    assert summary["event"] == "summary"
    assert summary["tap_ratio"] == tap["ratio"]
    assert summary["step_added_cpu_p50_ms"] == step["added_cpu_p50_ms"]


def test_part_that_there_is_none_of_is_misuse(capsys):
    assert cli.run(["bench", "phone", "--parts", "speed"]) == 2
    assert "choose of tap, observe, step, growth" in capsys.readouterr().err
