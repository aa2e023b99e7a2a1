"""Settings from afar: checked by version, type and range, kept over restarts, acknowledged."""

from __future__ import annotations

import json

import pytest

from device_runtime.remote_settings import FILE, RULES, RemoteSettings
from sync.clock import ManualClock
from sync.codec import decode_body, encode_body
from sync.messages import DesiredSettings, ReportedSettings


@pytest.fixture
def opened(tmp_path):
    """`opened()`: the settings as a new process of the device finds them."""

    def make(**own):
        return RemoteSettings(tmp_path, clock=ManualClock(), own=own)

    return make


def desired(version, **values):
    return DesiredSettings(version=version, values=values)


def test_what_nobody_set_has_the_devices_own_value(opened):
    settings = opened(health_every_s=3.0)
    assert settings.number("temperature") == 0.0
    assert settings.number("health_every_s") == 3.0
    assert settings.report() is None
    with pytest.raises(KeyError):
        settings.number("no such setting")


def test_a_value_is_taken_acknowledged_with_its_version_and_outlives_the_process(opened):
    report = opened().take(desired(3, temperature=0.5))

    assert (report.version, report.values["temperature"], report.refused) == (3, 0.5, ())
    again = opened()
    assert again.number("temperature") == 0.5
    assert again.report().version == 3


def test_integers_are_numbers(opened):
    settings = opened()
    assert settings.take(desired(1, temperature=1)).values["temperature"] == 1.0


@pytest.mark.requirement("OR-SET-2")
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("0.5", "type"),
        (True, "type"),
        (-0.1, "range"),
        (4.1, "range"),
        (float("nan"), "range"),
        (float("inf"), "range"),
        (10**400, "range"),
    ],
)
def test_a_value_of_wrong_type_or_range_leaves_the_one_before(opened, value, reason):
    settings = opened()
    settings.take(desired(1, temperature=0.5))

    report = settings.take(desired(2, temperature=value, health_every_s=20.0))

    assert report.version == 2
    assert report.refused == (("temperature", reason),)
    assert report.values == {
        "temperature": 0.5,
        "health_every_s": 20.0,
        "outbox_quota_mb": 256.0,
        "log_quota_mb": 512.0,
        "upload_screens": False,
    }
    assert opened().number("temperature") == 0.5


def test_unknown_names_are_told_and_counted(opened):
    settings = opened()
    settings.take(desired(1, colour="red"))
    report = settings.take(desired(2, temperature=0.1, colour="red", shape=1))

    assert report.refused == (("colour", "unknown"), ("shape", "unknown"))
    assert report.unknown == 3
    assert opened().report().unknown == 3


@pytest.mark.requirement("OR-SET-1")
def test_an_older_or_equal_version_changes_nothing_and_is_answered_with_what_holds(opened):
    settings = opened()
    settings.take(desired(5, temperature=0.5))
    for version in (5, 4, 0):
        report = settings.take(desired(version, temperature=0.9))
        assert (report.version, report.values["temperature"]) == (5, 0.5)


def test_a_name_that_is_no_longer_desired_has_its_own_value_again(opened):
    settings = opened()
    settings.take(desired(1, temperature=0.5, health_every_s=20.0))
    assert settings.take(desired(2, health_every_s=20.0)).values["temperature"] == 0.0


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"version": "1", "values": {}}'])
def test_a_file_that_cannot_be_read_starts_anew_and_takes_what_is_said_again(
    opened, tmp_path, content
):
    (tmp_path / FILE).write_bytes(content)
    settings = opened()
    assert settings.report() is None
    assert settings.take(desired(1, temperature=0.5)).version == 1


def test_a_file_cannot_bring_in_what_a_message_could_not(opened, tmp_path):
    kept = {"version": 2, "values": {"temperature": 99.0, "colour": 1.0}}
    (tmp_path / FILE).write_text(json.dumps(kept))
    assert opened().number("temperature") == 0.0
    assert set(opened().report().values) == set(RULES)


def test_the_bytes_of_both_messages_stay_what_they_are():
    """Version 1: fields may be added, none may change its name or form."""
    wanted = encode_body(DesiredSettings(version=7, values={"temperature": 0.5}, at_ms=9))
    said = encode_body(
        ReportedSettings(
            version=7,
            values={"temperature": 0.5},
            refused=(("colour", "unknown"),),
            unknown=1,
            at_ms=9,
        )
    )
    assert wanted.data == (
        b"\x84\xa7version\x07\xa6values\x81\xabtemperature\xcb?\xe0\x00\x00\x00\x00\x00\x00"
        b"\xa5at_ms\t\xaeschema_version\x01"
    )
    assert said.data == (
        b"\x86\xa7version\x07\xa6values\x81\xabtemperature\xcb?\xe0\x00\x00\x00\x00\x00\x00"
        b"\xa7refused\x91\x92\xa6colour\xa7unknown\xa7unknown\x01\xa5at_ms\t\xaeschema_version\x01"
    )
    assert decode_body(said) == ReportedSettings(
        version=7,
        values={"temperature": 0.5},
        refused=(("colour", "unknown"),),
        unknown=1,
        at_ms=9,
    )


@pytest.mark.requirement("OR-BLB-2")
@pytest.mark.parametrize(
    ("own", "asked", "holds", "refused"),
    [
        (0.0, True, False, "range"),
        (0.0, False, False, None),
        (1.0, False, False, None),
        (1.0, True, True, None),
        (1.0, 1, True, "type"),
        (0.0, "true", False, "type"),
    ],
)
def test_a_permit_can_be_taken_back_from_afar_but_not_given(opened, own, asked, holds, refused):
    settings = opened(upload_screens=own)
    report = settings.take(desired(1, upload_screens=asked))
    assert report.values["upload_screens"] is holds
    assert dict(report.refused).get("upload_screens") == refused
    assert bool(settings.number("upload_screens")) is holds


def test_a_permit_that_was_taken_back_stays_so_over_a_restart_and_can_be_given_back(opened):
    opened(upload_screens=1.0).take(desired(1, upload_screens=False))
    again = opened(upload_screens=1.0)
    assert again.number("upload_screens") == 0.0
    assert again.take(desired(2, upload_screens=True)).values["upload_screens"] is True


def test_a_device_that_says_no_now_keeps_no_yes_from_afar_of_before(opened):
    opened(upload_screens=1.0).take(desired(1, upload_screens=True))
    assert opened(upload_screens=0.0).number("upload_screens") == 0.0
