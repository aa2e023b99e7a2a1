from __future__ import annotations

import json
from pathlib import Path

import pytest

from sync.broker_config import BrokerFiles, BrokerPorts, broker_config, subjects


@pytest.fixture
def config():
    return broker_config(
        fleet="home",
        host="127.0.0.1",
        ports=BrokerPorts(mqtt=1883, native=4222),
        files=BrokerFiles(Path("store"), Path("log"), Path("pid")),
        service="cloud",
        owner="owner",
        passwords={"cloud": "secret-c", "phone-1": "secret-1"},
    )


@pytest.mark.parametrize(
    ("topic_filter", "expected"),
    [
        ("a/b", ["a.b"]),
        ("a/+/c", ["a.*.c"]),
        ("a/#", ["a", "a.>"]),
    ],
)
def test_a_filter_becomes_the_subjects_that_it_stands_for(topic_filter, expected):
    assert subjects(topic_filter) == expected


def test_it_listens_on_this_machine_only(config):
    assert config["listen"].startswith("127.0.0.1:")
    assert config["mqtt"]["listen"] == "127.0.0.1:1883"


def test_a_device_is_confined_and_the_service_is_not(config):
    accounts = {user["user"]: user for user in config["accounts"]["FLEET"]["users"]}
    assert "permissions" not in accounts["cloud"]
    allowed = accounts["phone-1"]["permissions"]
    assert all(".phone-1." in subject for subject in allowed["publish"]["allow"])
    assert not [subject for subject in allowed["publish"]["allow"] if set(subject) & {"*", ">"}]
    assert allowed["subscribe"]["allow"] == [
        "or.1.home.c.phone-1.*",
        "or.1.home.g.*.release",
        "$MQTT.sub.>",
    ]


def test_accounts_are_for_mqtt_only(config):
    users = config["accounts"]["FLEET"]["users"]
    assert [user["allowed_connection_types"] for user in users] == [["MQTT"]] * len(users)


def test_nobody_gets_in_without_an_account(config):
    assert "no_auth_user" not in config
    assert "no_auth_user" not in config["mqtt"]


def test_it_is_a_json_document(config):
    assert json.loads(json.dumps(config)) == config
