"""`outrider up` closes the loop on PostgreSQL, though its server is restarted while it learns."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import psutil
import pytest

from outrider.cloud_database import DATABASE_VARIABLE
from tests.fleet import ROOT, SMALL, Up, prepared
from tests.postgresql import PASSWORD

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


def words_of(process):
    """The command line of a process, and what else anybody may see of it."""
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""


def test_the_loop_closes_and_the_audit_finds_nothing(tmp_path, postgres_server):
    url = postgres_server.empty()
    named = SMALL.replace("[service]", f"[service]\ndatabase_url = {json.dumps(url)}")
    (tmp_path / "fleet.toml").write_text(named)
    up = Up(prepared(tmp_path / "fleet"))
    try:
        up.wait_phase("learn")
        seen = " ".join(map(words_of, up.family))
        postgres_server.stop()
        postgres_server.start()
        assert up.end() == 0, up.errors
    finally:
        up.close()

    summary = up.events[-1]
    assert summary["phase"] == "finished"
    assert summary["valid"] is True, summary
    assert summary["episodes"]["lost"] == 0
    assert summary["releases"]["reached"]["phone-1"] >= 1
    audit = subprocess.run(
        [sys.executable, "-m", "outrider", "audit", "--data", str(up.folder), "--json"],
        cwd=ROOT,
        env={**os.environ, DATABASE_VARIABLE: url},
        capture_output=True,
        text=True,
        check=False,
    )
    assert audit.returncode == 0, audit.stdout + audit.stderr
    assert not (up.folder / "cloud" / "cloud.db").exists()
    told = "".join([seen, up.errors, json.dumps(up.events), audit.stdout, audit.stderr])
    kept = (path.read_bytes() for path in up.folder.rglob("*") if path.is_file())
    secrets = (PASSWORD, url.partition(":")[2].partition("@")[0].rpartition(":")[2])
    for secret in secrets:
        assert secret not in told
    assert not any(secret.encode() in data for data in kept for secret in secrets)
