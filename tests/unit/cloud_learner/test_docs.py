"""docs/cloud.md names every setting, phase and path of the service."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from cloud_learner.campaign import Phase
from cloud_learner.curriculum import CurriculumSettings
from cloud_learner.settings import (
    CampaignSettings,
    DispatchSettings,
    GateSettings,
    ServiceSettings,
)

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "cloud.md").read_text(encoding="utf-8")


def test_every_setting_is_explained():
    nested = {"data_dir", "campaign", "gate", "dispatch", "curriculum"}
    names = {
        entry.name
        for table in (
            ServiceSettings,
            CampaignSettings,
            GateSettings,
            DispatchSettings,
            CurriculumSettings,
        )
        for entry in fields(table)
    }

    assert {name for name in names - nested if f"`{name}`" not in PAGE} == set()


def test_every_phase_is_explained():
    assert [phase for phase in Phase if f"`{phase}`" not in PAGE and phase != "finished"] == []
