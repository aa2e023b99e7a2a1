"""Settings come from the command line, then the file, then the defaults; nothing is guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloud_learner.errors import SettingsError
from cloud_learner.settings import CampaignSettings
from cloud_learner.settings_file import read_settings

DATA = Path("data")


def written(folder, text):
    path = folder / "cloud.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults_hold_without_a_file():
    settings = read_settings(None, data_dir=DATA)

    assert settings.campaign == CampaignSettings()
    assert settings.host == "127.0.0.1"
    assert settings.adapters_dir == DATA / "cloud" / "adapters"


def test_command_line_wins_over_file_and_file_over_default(tmp_path):
    file = written(
        tmp_path,
        '[campaign]\nseed = 3\nenv_steps = 9\nold_apps = ["clock"]\n[gate]\nper_template = 2\n'
        "[dispatch]\nphone_capacity = 4\n[service]\nport = 7000\n",
    )

    settings = read_settings(file, data_dir=DATA, campaign={"seed": 5, "env_steps": None})

    assert (settings.campaign.seed, settings.campaign.env_steps) == (5, 9)
    assert settings.campaign.old_apps == ("clock",)
    assert settings.campaign.gate.per_template == 2
    assert (settings.dispatch.phone_capacity, settings.port) == (4, 7000)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("[campaign]\nepochs = 3\n", "epochs"),
        ("[campaign]\ndemonstrations = 5\n", "demonstrations"),
        ("[campaign]\nseed = 'one'\n", "seed"),
        ("[gate]\nmargin = 'a lot'\n", "margin"),
        ("[service]\ndata_dir = '/'\n", "data_dir"),
        ("campaign = 3\n", "campaign"),
        ("[campaign\n", "cannot be read"),
    ],
)
def test_what_cannot_be_used_is_named_in_one_line(tmp_path, text, word):
    with pytest.raises(SettingsError, match=word) as caught:
        read_settings(written(tmp_path, text), data_dir=DATA)

    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(SettingsError, match=r"missing\.toml"):
        read_settings(tmp_path / "missing.toml", data_dir=DATA)


@pytest.mark.parametrize(
    "change", [{"demonstrations": 5}, {"new_share": 1.5}, {"env_steps": -1}, {"app": "clock"}]
)
def test_campaign_refuses_settings_that_make_no_sense(change):
    with pytest.raises(ValueError, match=r"is 0\.\.|not negative|cannot be both"):
        CampaignSettings(**change)
