"""`outrider bench release` measures with real parts: a broker, a service, and whole phones."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from outrider.cli import build_app


@pytest.mark.slow
def test_each_phone_comes_to_act_with_each_release_and_its_bytes_are_counted():
    result = CliRunner().invoke(
        build_app(),
        ["bench", "release", "--json", "--phones", "3", "--processes", "2", "--releases", "2"],
    )
    assert result.exit_code == 0, result.output
    started, *updates, summary = [json.loads(line) for line in result.stdout.splitlines()]

    assert started == {"event": "started", "phones": 3, "processes": 2}
    assert [one["version"] for one in updates] == [1, 2]
    assert summary["n"] == 6
    assert 0 < summary["p50_s"] <= summary["p95_s"]
    assert summary["met"] is (summary["p95_s"] < summary["aim_p95_s"])
    assert 1.0 < summary["update_bytes"] / summary["adapter_bytes"] < 1.2
    assert all(0 < one["cpu_ms_per_phone"] < 5000 for one in updates)
    assert all(one["sign_s"] < one["p50_s"] for one in updates)
