"""Which database a command's cloud has, and who hands the choice on."""

from __future__ import annotations

import os
import sys

import pytest

from outrider.cloud_database import DATABASE_VARIABLE, cloud_database, has_database
from outrider.errors import CommandError, MisuseError
from outrider.learning_fleet import Campaign, campaign_row
from outrider.up import _share_database

NAMED = "sqlite:////nowhere/named.db"


@pytest.mark.parametrize("empty", [None, ""])
def test_an_empty_name_names_none(tmp_path, empty):
    assert not has_database(tmp_path, empty)
    with (
        pytest.raises(MisuseError, match="holds no cloud database"),
        cloud_database(tmp_path, empty),
    ):
        pass


@pytest.mark.parametrize(("exported", "shared"), [("", NAMED), ("sqlite:///x", "sqlite:///x")])
def test_the_settings_database_is_shared_where_the_environment_names_none(
    tmp_path, monkeypatch, exported, shared
):
    config = tmp_path / "fleet.toml"
    config.write_text(f'[service]\ndatabase_url = "{NAMED}"\n')
    monkeypatch.setenv(DATABASE_VARIABLE, exported)

    _share_database(config)

    assert os.environ[DATABASE_VARIABLE] == shared


def test_a_campaign_of_the_comparison_is_played_into_its_own_database(tmp_path, monkeypatch):
    told = tmp_path / "told"
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\necho "${{{DATABASE_VARIABLE}-none}}" > {told}\nexit 3\n')
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setenv(DATABASE_VARIABLE, NAMED)
    campaign = Campaign(
        base=tmp_path,
        learner="a_ride",
        seed=1,
        env_steps=1,
        minutes=1.0,
        validation_n=1,
        test_n=1,
        curriculum=True,
        folder=tmp_path / "fleet",
    )

    with pytest.raises(CommandError, match="ended with code 3"):
        campaign_row(campaign)

    assert told.read_text() == "none\n"
