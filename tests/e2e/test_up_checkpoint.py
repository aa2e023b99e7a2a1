"""`outrider up --base CHECKPOINT` closes the loop with a network that looks at the screen."""

from __future__ import annotations

import pytest

from tests.fleet import Up
from tests.vlm_checkpoints import tiny_t5

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

TINY = """
[service]
linger_s = 0.5
progress_s = 0.2
[campaign]
templates = ["contacts_open"]
old_apps = []
demonstrations = 2
old_demonstrations = 1
evaluate_new = 2
evaluate_old = 0
settle_timeout_s = 240.0
show_timeout_s = 240.0
[gate]
per_template = 1
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A campaign on a tiny checkpoint with random weights, run to its end."""
    root = tmp_path_factory.mktemp("up")
    (root / "fleet.toml").write_text(TINY)
    checkpoint = tiny_t5(root / "t5")
    up = Up(
        root / "fleet",
        *("--base", checkpoint, "--app", "contacts", "--learner", "filtered_bc"),
        *("--warm-up-updates", 4, "--seats", 2, "--minutes", 15),
        env_steps=20,
    )
    try:
        assert up.end() == 0, up.errors
        yield up
    finally:
        up.close()


def test_phones_act_with_what_was_learnt_on_the_checkpoint(finished):
    summary = finished.events[-1]

    assert summary["phase"] == "finished"
    assert summary["env_steps"] >= 20
    assert summary["releases"]["published"] >= 1
    assert summary["episodes"]["lost"] == 0
    assert summary["test"]["after"]["n"] > 0
    assert summary["releases"]["reached"]["phone-1"] >= 1


def test_what_was_learnt_from_was_seen(finished):
    """The demonstrations' pictures were waited for, and then imitated."""
    log = (finished.folder / "logs" / "learner.log").read_text()
    assert "warm_up_finished" in log
    assert "warm_up_skipped" not in log
