from __future__ import annotations

import pytest

from sync.broker_address import MqttAddress, MqttProtocol, parse_url, redacted


@pytest.mark.parametrize(
    ("url", "host", "port", "tls"),
    [
        ("mqtt://127.0.0.1", "127.0.0.1", 1883, False),
        ("mqtts://broker.example.org", "broker.example.org", 8883, True),
        ("mqtt://[::1]:1999", "::1", 1999, False),
        ("mqtt://cloud:secret@host:77", "host", 77, False),
    ],
)
def test_a_url_says_where_and_how(url, host, port, tls):
    parts = parse_url(url)
    assert (parts.host, parts.port, parts.tls) == (host, port, tls)


def test_a_url_can_hold_an_account_whose_letters_are_quoted():
    parts = parse_url("mqtt://cloud:a%40b%2Fc@host")
    assert (parts.username, parts.password) == ("cloud", "a@b/c")


def test_mqtt_5_is_spoken_only_where_it_is_asked_for():
    assert parse_url("mqtt://host").protocol is MqttProtocol.V3_1_1
    assert parse_url("mqtt://host?protocol=5").protocol is MqttProtocol.V5


@pytest.mark.parametrize(
    "url",
    [
        "http://host",
        "host:1883",
        "",
        "mqtt://",
        "mqtt://host:0",
        "mqtt://host:99999",
        "mqtt://h?protocol=4",
    ],
)
def test_what_is_no_address_is_refused(url):
    with pytest.raises(ValueError, match="is no address such as"):
        parse_url(url)


@pytest.mark.parametrize(
    "url", ["http://cloud:hush@host", "mqtt://cloud:hush@host:x", "mqtt://u:hu@hush@host:0"]
)
def test_no_error_and_no_text_shows_the_password(url):
    with pytest.raises(ValueError) as caught:
        parse_url(url)
    assert "hush" not in str(caught.value)
    assert "hush" not in redacted(url)


def test_an_address_and_a_url_show_no_password():
    parts = parse_url("mqtt://cloud:hush@host:77")
    address = MqttAddress("host", 77, "cloud", "cloud", "hush")
    assert str(parts) == "mqtt://cloud@host:77"
    assert "hush" not in repr(parts) + repr(address)
