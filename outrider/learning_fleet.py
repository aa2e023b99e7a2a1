"""The comparison's scene as a whole fleet: `outrider up` over a broker, from the weak start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from outrider.cloud_database import DATABASE_VARIABLE, cloud_database
from outrider.errors import CommandError
from outrider.learning_scene import LONG, SHORT, chosen_templates
from sync.durable_file import write_durably
from sync.vocabulary import EndReason, Purpose

if TYPE_CHECKING:
    from outrider.ledger import Row

_SETTINGS_FILE = "campaign.toml"


@dataclass(frozen=True, slots=True)
class Campaign:
    """One campaign of the scene.

    Attributes:
        base: folder of the weak start.
        learner: by its name.
        minutes: time for the whole campaign.
        folder: of the fleet; a campaign that was interrupted there goes on.
    """

    base: Path
    learner: str
    seed: int
    env_steps: int
    minutes: float
    validation_n: int
    test_n: int
    curriculum: bool
    folder: Path

    def words(self) -> list[str]:
        """The words behind `outrider`."""
        return [
            *("up", "--data", str(self.folder), "--base", str(self.base)),
            *("--config", str(self.folder / _SETTINGS_FILE), "--app", self.apps()[0]),
            *("--env-steps", str(self.env_steps), "--minutes", f"{self.minutes:g}"),
            *("--seed", str(self.seed), "--learner", self.learner),
            # The start is the network as it is: the warm-up only has to end.
            *("--warm-up-updates", "1", "--json"),
        ]

    def apps(self) -> list[str]:
        """The apps of the scene, each once."""
        return list(dict.fromkeys(template.app for template in chosen_templates()))

    def settings(self) -> str:
        """The campaign's settings as TOML: everything is new, nothing old is played."""
        names = [*SHORT, *LONG]
        return "\n".join(
            [
                "[campaign]",
                f"more_apps = {json.dumps(self.apps()[1:])}",
                f"templates = {json.dumps(names)}",
                "old_apps = []",
                "demonstrations = 2",
                "new_share = 1.0",
                f"evaluate_new = {self.test_n}",
                "evaluate_old = 0",
                "[gate]",
                f"per_template = {-(-self.validation_n // len(names))}",
                "[curriculum]",
                f"enabled = {json.dumps(self.curriculum)}",
                "",
            ]
        )


def campaign_row(campaign: Campaign) -> Row:
    """Play a campaign to its end; its figures as a row of the comparison.

    Raises: CommandError: it did not end well.
    """
    write_durably(campaign.folder / _SETTINGS_FILE, campaign.settings().encode())
    command = [sys.executable, "-m", "outrider", *campaign.words()]
    # in its own folder's database: what is exported names one that all campaigns would share
    environment = {name: value for name, value in os.environ.items() if name != DATABASE_VARIABLE}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env=environment)
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        raise CommandError(
            f"the campaign in {campaign.folder} ended with code {done.returncode}: "
            "start the same command again to go on"
        )
    summary = json.loads(lines[-1])
    before, after = (_long(campaign.folder, batch) for batch in ("before-new", "after-new"))
    test = summary["test"]
    return {
        "command": f"outrider {' '.join(campaign.words())}",
        "env_steps": summary["env_steps"],
        "validation_curve": [[point["env_steps"], point["success"]] for point in summary["curve"]],
        "test_before": {"all": test["before"], "long": before},
        "test_after": {"all": test["after"], "long": after},
        "beside": {"lexical": test["lexical"]},
        "demonstrations": summary["demonstrations"],
        "learner_cpu_s": summary["learner_cpu_s"],
        "wall_s": summary["active_s"],
        "releases": {
            name: summary["releases"][name] for name in ("published", "promoted", "reverted")
        },
        "valid": summary["valid"],
    }


def _long(folder: Path, batch: str) -> dict[str, object]:
    """Success of the long templates in a batch, from the campaign's store."""
    from cloud_learner.figures import Figures
    from cloud_learner.report_store import EpisodeFilter, ReportStore
    from cloud_learner.summary import figure

    wanted = EpisodeFilter(purpose=Purpose.EVALUATE.value)
    with cloud_database(folder) as database:
        rows = ReportStore(database).episodes(wanted, limit=_MOST_EPISODES)
    counted = [
        row
        for row in rows
        if row["batch"] == batch
        and row["template"] in LONG
        and row["end_reason"] != EndReason.ENV_ERROR.value
        and not row["duplicate"]
    ]
    return figure(Figures(len(counted), sum(bool(row["success"]) for row in counted)))


_MOST_EPISODES = 1_000_000
