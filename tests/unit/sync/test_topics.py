from __future__ import annotations

import pytest

from sync import topics
from sync.errors import RejectedError
from sync.messages import KINDS


@pytest.mark.requirement("OR-TOP-1")
def test_every_message_travels_on_exactly_one_topic():
    travelling = [message for row in topics.TABLE for message in row.messages]
    assert sorted(travelling) == sorted(KINDS)


def test_an_upward_topic_names_shard_device_and_kind():
    topic = topics.build("home", topics.EPISODE, "phone-1")
    assert topic == f"or/1/home/u/{topics.shard_of('phone-1'):02d}/phone-1/episode"


def test_no_topic_has_more_than_seven_slashes():
    built = [topics.build("home", row, "phone-1") for row in topics.TABLE]
    assert max(topic.count("/") for topic in built) <= 7


@pytest.mark.parametrize("row", topics.TABLE, ids=lambda row: f"{row.direction}-{row.name}")
def test_parsing_undoes_building(row):
    topic = topics.build("home", row, "phone-1")
    assert topics.parse(topic) == topics.Topic("home", row, "phone-1")


@pytest.mark.parametrize("name", ["", "a.b", "a b", "a/b", "+", "#", "x" * 65, "127.0.0.1:5555"])
def test_a_name_that_some_broker_would_misread_is_refused(name):
    with pytest.raises(ValueError, match="rename it"):
        topics.build("home", topics.EPISODE, name)


@pytest.mark.parametrize(
    "topic",
    [
        "",
        "or",
        "or/1/home",
        "or/2/home/c/phone-1/ack",
        "or/1/home/c/phone-1/episode",
        "or/1/home/c/phone-1",
        "or/1/home/u/phone-1/episode",
        "or/1/home/u/99/phone-1/episode",
        "or/1/home/x/phone-1/ack",
        "or/1/home/c//ack",
        "other/1/home/c/phone-1/ack",
    ],
)
def test_a_topic_outside_the_table_is_rejected(topic):
    with pytest.raises(RejectedError) as caught:
        topics.parse(topic)
    assert caught.value.reason == "unknown_topic"


def test_a_device_in_the_wrong_shard_is_rejected():
    wrong = (topics.shard_of("phone-1") + 1) % topics.SHARDS
    with pytest.raises(RejectedError):
        topics.parse(f"or/1/home/u/{wrong:02d}/phone-1/episode")


def test_a_device_may_publish_its_own_upward_topics_only():
    allowed = topics.device_permissions("home", "phone-1").publish
    own = [topics.build("home", row, "phone-1") for row in topics.TABLE]
    others = [topics.build("home", row, "phone-2") for row in topics.TABLE]
    may = [topic for topic in own + others if any(topics.matches(a, topic) for a in allowed)]
    assert may == [
        topics.build("home", row, "phone-1")
        for row in topics.TABLE
        if row.direction is topics.Direction.UP
    ]


def test_what_a_device_subscribes_to_is_what_it_may_read():
    filters = topics.device_filters("home", "phone-1")
    readable = [
        topics.build("home", row, owner)
        for row in topics.TABLE
        for owner in ("phone-1", "phone-2")
        if any(topics.matches(wanted, topics.build("home", row, owner)) for wanted in filters)
    ]
    assert readable == [
        *(
            topics.build("home", row, "phone-1")
            for row in topics.TABLE
            if row.direction is topics.Direction.DOWN
        ),
        "or/1/home/g/phone-1/release",
        "or/1/home/g/phone-2/release",
    ]


def test_the_shards_together_see_every_device_once():
    topic = topics.build("home", topics.EPISODE, "phone-1")
    seen_by = [
        shard
        for shard in range(topics.SHARDS)
        if any(topics.matches(f, topic) for f in topics.cloud_filters("home", (shard,)))
    ]
    assert seen_by == [topics.shard_of("phone-1")]
    assert any(topics.matches(f, topic) for f in topics.cloud_filters("home"))


@pytest.mark.parametrize(
    ("topic_filter", "topic", "expected"),
    [
        ("a/b", "a/b", True),
        ("a/+", "a/b", True),
        ("a/+", "a/b/c", False),
        ("a/#", "a/b/c", True),
        ("a/#", "a", True),
        ("a/b", "a", False),
        ("+/+", "a", False),
        ("#", "a/b", True),
    ],
)
def test_filters_match_as_the_standard_says(topic_filter, topic, expected):
    assert topics.matches(topic_filter, topic) is expected
