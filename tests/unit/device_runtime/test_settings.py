from pathlib import Path

import pytest

from device_runtime.errors import SettingsError
from device_runtime.settings import read_settings


def read(file=None, environment=None, defaults=None, **given):
    given = {"device_id": "farm-1", "data_dir": "data", **given}
    return read_settings(file, environment=environment or {}, given=given, defaults=defaults or {})


@pytest.fixture
def toml(tmp_path):
    def write(text):
        file = tmp_path / "device.toml"
        file.write_text(text, encoding="utf-8")
        return file

    return write


def test_command_line_wins_over_environment_over_file_over_defaults(toml):
    file = toml('[device]\nseats = 3\nchannel = "canary"\nfleet = "ours"\n')

    settings = read(
        file,
        environment={"OUTRIDER_SEATS": "4", "OUTRIDER_CHANNEL": "beta"},
        defaults={"seats": 2, "health_every_s": 9.0},
        seats=5,
    )

    assert settings.seats == 5
    assert settings.channel == "beta"
    assert settings.fleet == "ours"
    assert settings.health_every_s == 9.0


def test_options_that_were_not_given_change_nothing(toml):
    assert read(toml("[device]\nseats = 3\n"), seats=None).seats == 3


def test_values_become_what_their_fields_are(tmp_path):
    settings = read(
        environment={"OUTRIDER_REFRESH_EVERY_S": "2.5", "OUTRIDER_BASE_DIR": str(tmp_path)}
    )

    assert settings.refresh_every_s == 2.5
    assert settings.graphs_dir == tmp_path
    assert settings.data_dir == Path("data")


def test_folders_follow_from_data_and_name():
    settings = read()

    assert settings.phone_dir == Path("data/phones/farm-1")
    assert settings.database == Path("data/phones/farm-1/phone.db")
    assert settings.graphs_dir == Path("data/base")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[device]\nseets = 3\n", "unknown key 'seets'"),
        ("[device\n", "cannot be read"),
        ("device = 3\n", r"\[device\] table"),
        ('[device]\nseats = "many"\n', "seats cannot be 'many'"),
    ],
)
def test_file_that_cannot_be_used_is_refused(toml, text, said):
    with pytest.raises(SettingsError, match=said):
        read(toml(text))


@pytest.mark.parametrize(
    "wrong",
    [
        {"device_id": "Über phone"},
        {"device_id": "../escape"},
        {"device_id": ""},
        {"seats": 0},
        {"trial_episodes": 0},
        {"demonstration_noise": 1.5},
        {"pin_patience_s": 0},
        {"refresh_every_s": -1},
        {"health_every_s": 0},
    ],
)
def test_value_that_makes_no_sense_is_refused(wrong):
    [name] = wrong
    with pytest.raises(SettingsError, match=name.replace("device_id", "device id")):
        read(**wrong)


@pytest.mark.parametrize("missing", ["device_id", "data_dir"])
def test_device_needs_a_name_and_a_folder(missing):
    with pytest.raises(SettingsError, match=missing):
        read(**{missing: None})


def test_password_is_the_first_line_of_its_file(tmp_path):
    file = tmp_path / "secret"
    file.write_text("open sesame\nignored\n", encoding="utf-8")

    assert read(credentials_file=file).password() == "open sesame"
    assert read().password() == ""


def test_credentials_that_cannot_be_read_are_an_error(tmp_path):
    with pytest.raises(SettingsError, match="cannot be read"):
        read(credentials_file=tmp_path / "nothing").password()
