"""The one table of MQTT topics: who may send what where, with which QoS, retained or not.

    or/1/{fleet}/u/{shard}/{device}/{kind}     up: from a device to the cloud
    or/1/{fleet}/c/{device}/{kind}             down: from the cloud to one device
    or/1/{fleet}/g/{channel}/{kind}            broadcast: to every device on a release channel

The broker's permissions, the sessions' subscriptions and docs/protocol.md are made from TABLE. A
shard is sha256(device) mod 16: ingest workers split by shard and one device's order stays with one
worker, which no shared subscription promises. Names hold letters, digits, "-" and "_" only, so they
mean the same on every broker (no dots, no spaces, no wildcards) and depth stays below eight levels.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from sync.errors import RejectedError

ROOT: Final = "or"
VERSION: Final = "1"
SHARDS: Final = 16
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Direction(StrEnum):
    """Which way a topic flows; the value is its level in the topic tree."""

    UP = "u"
    DOWN = "c"
    BROADCAST = "g"


@dataclass(frozen=True, slots=True)
class TopicKind:
    """One row of the table: a kind of topic, how it is sent and which messages travel on it."""

    name: str
    direction: Direction
    qos: int
    retain: bool
    messages: tuple[str, ...]
    purpose: str


PRESENCE: Final = TopicKind(
    "presence",
    Direction.UP,
    1,
    retain=True,
    messages=("birth", "offline"),
    purpose="who is there and what it can play; `offline` is also the will",
)
EPISODE: Final = TopicKind(
    "episode",
    Direction.UP,
    1,
    retain=False,
    messages=("episode_upload",),
    purpose="one ended episode with its verdicts, from the outbox",
)
EVENT: Final = TopicKind(
    "event",
    Direction.UP,
    1,
    retain=False,
    messages=("event",),
    purpose="something that happened once (an install, a revert), from the outbox",
)
HEALTH: Final = TopicKind(
    "health",
    Direction.UP,
    0,
    retain=False,
    messages=("health",),
    purpose="how the device does right now; a lost one does not matter",
)
REQUEST: Final = TopicKind(
    "request",
    Direction.UP,
    0,
    retain=False,
    messages=("file_request",),
    purpose="asks for one chunk of a release file; the device repeats it until it is answered",
)
ACCEPTED: Final = TopicKind(
    "accepted",
    Direction.UP,
    1,
    retain=False,
    messages=("assignments_accepted",),
    purpose="assignments that are durably in the device's inbox",
)
QUESTION: Final = TopicKind(
    "question",
    Direction.UP,
    1,
    retain=True,
    messages=("owner_question",),
    purpose="what a device asks its owner before a sensitive action, and what became of it",
)
REPORTED: Final = TopicKind(
    "reported",
    Direction.UP,
    1,
    retain=True,
    messages=("reported_settings",),
    purpose="which settings a device goes by, and the version of the desired ones that it took",
)
HAVE: Final = TopicKind(
    "have",
    Direction.UP,
    0,
    retain=False,
    messages=("blob_offer",),
    purpose="blobs (pictures of screens) that a device can send; repeated until they are settled",
)
BLOB: Final = TopicKind(
    "blob",
    Direction.UP,
    0,
    retain=False,
    messages=("blob_chunk",),
    purpose="a chunk of a blob that was asked for; a lost one is asked for again",
)
ACK: Final = TopicKind(
    "ack",
    Direction.DOWN,
    0,
    retain=False,
    messages=("acknowledgement",),
    purpose="outbox rows that the cloud has committed or rejected; a lost one causes a resend",
)
ASSIGNMENT: Final = TopicKind(
    "assignment",
    Direction.DOWN,
    1,
    retain=False,
    messages=("assignment_batch", "cancel"),
    purpose="episodes to play, or to play no longer",
)
CHUNK: Final = TopicKind(
    "chunk",
    Direction.DOWN,
    0,
    retain=False,
    messages=("file_chunk",),
    purpose="answers a file request",
)
WANT: Final = TopicKind(
    "want",
    Direction.DOWN,
    0,
    retain=False,
    messages=("blob_want", "blob_ack"),
    purpose="which chunks of blobs the cloud asks a device for, and what became of blobs",
)
CONTROL: Final = TopicKind(
    "control",
    Direction.DOWN,
    1,
    retain=True,
    messages=("stop", "start"),
    purpose="the owner's last word on whether the device may act",
)
ANSWER: Final = TopicKind(
    "answer",
    Direction.DOWN,
    1,
    retain=False,
    messages=("owner_answer",),
    purpose="the owner's answer to a question; one that comes too late counts as no",
)
DESIRED: Final = TopicKind(
    "desired",
    Direction.DOWN,
    1,
    retain=True,
    messages=("desired_settings",),
    purpose="how a device's settings are to be; the highest version counts",
)
CREDENTIALS: Final = TopicKind(
    "credentials",
    Direction.DOWN,
    1,
    retain=False,
    messages=("new_credentials",),
    purpose="what a device is to connect with from soon on",
)
RELEASE: Final = TopicKind(
    "release",
    Direction.BROADCAST,
    1,
    retain=True,
    messages=("release_announcement",),
    purpose="which release a channel points at; trust comes from the signed files, not from here",
)

TABLE: Final = (
    PRESENCE,
    EPISODE,
    EVENT,
    HEALTH,
    REQUEST,
    ACCEPTED,
    QUESTION,
    REPORTED,
    HAVE,
    BLOB,
    ACK,
    ASSIGNMENT,
    CHUNK,
    WANT,
    CONTROL,
    ANSWER,
    DESIRED,
    CREDENTIALS,
    RELEASE,
)

KEPT_OF_DEVICES: Final = tuple(
    row for row in reversed(TABLE) if row.retain and row.direction is not Direction.BROADCAST
)
"""What brokers keep for a device and of it; last its presence, by which it is seen to be there."""
_BY_NAME: Final = {(row.direction, row.name): row for row in TABLE}
_BY_MESSAGE: Final = {message: row for row in TABLE for message in row.messages}


@dataclass(frozen=True, slots=True)
class Topic:
    """A parsed topic; `owner` is the device (up, down) or the channel (broadcast)."""

    fleet: str
    kind: TopicKind
    owner: str

    def __str__(self) -> str:
        """The topic as it is sent."""
        shard = f"{shard_of(self.owner):02d}/" if self.kind.direction is Direction.UP else ""
        return f"{_prefix(self.fleet)}/{self.kind.direction}/{shard}{self.owner}/{self.kind.name}"


def check_name(value: str, what: str) -> str:
    """`value` itself, if it can be a level of a topic.

    Raises: ValueError: it is empty, too long or holds anything but letters, digits, "-" and "_".
    """
    if _NAME.fullmatch(value) is None:
        raise ValueError(
            f"{what} must be 1 to 64 letters, digits, '-' or '_', got {value!r}: rename it"
        )
    return value


def shard_of(device_id: str) -> int:
    """Shard of a device, 0..15."""
    return int.from_bytes(hashlib.sha256(device_id.encode()).digest(), "big") % SHARDS


def kind_of(message: str) -> TopicKind:
    """The row that a message kind travels on.

    Raises: KeyError: no such message.
    """
    return _BY_MESSAGE[message]


def build(fleet: str, kind: TopicKind, owner: str) -> str:
    """The topic of `kind` for a device or a channel.

    Raises: ValueError: a name that no topic can hold.
    """
    check_name(fleet, "fleet")
    check_name(owner, "channel" if kind.direction is Direction.BROADCAST else "device id")
    return str(Topic(fleet, kind, owner))


def parse(topic: str) -> Topic:
    """What a topic says.

    Raises: RejectedError: it is none of ours (reason "unknown_topic").
    """
    levels = topic.split("/")
    if len(levels) < 4 or levels[:2] != [ROOT, VERSION]:
        raise _unknown(topic)
    fleet, letter, rest = levels[2], levels[3], levels[4:]
    if letter == Direction.UP and len(rest) == 3:
        shard, owner, name = rest
    elif letter in {Direction.DOWN, Direction.BROADCAST} and len(rest) == 2:
        shard, (owner, name) = "", rest
    else:
        raise _unknown(topic)
    kind = _BY_NAME.get((Direction(letter), name))
    if kind is None or not (_NAME.fullmatch(fleet) and _NAME.fullmatch(owner)):
        raise _unknown(topic)
    if shard and shard != f"{shard_of(owner):02d}":
        raise _unknown(topic)
    return Topic(fleet, kind, owner)


def device_filters(fleet: str, device_id: str) -> tuple[str, ...]:
    """What a device subscribes to: its own downward topics and every channel's releases."""
    return _device_filters(fleet, check_name(device_id, "device id"))


def _device_filters(fleet: str, name: str) -> tuple[str, ...]:
    prefix = _prefix(check_name(fleet, "fleet"))
    return (
        f"{prefix}/{Direction.DOWN}/{name}/+",
        f"{prefix}/{Direction.BROADCAST}/+/{RELEASE.name}",
    )


def cloud_filters(fleet: str, shards: tuple[int, ...] | None = None) -> tuple[str, ...]:
    """What an ingest worker subscribes to: every device, or the devices of its shards.

    Single-level wildcards on purpose: a "#" costs two consumers on the default broker.
    """
    prefix = f"{_prefix(check_name(fleet, 'fleet'))}/{Direction.UP}"
    levels = ("+",) if shards is None else tuple(f"{shard:02d}" for shard in shards)
    return tuple(f"{prefix}/{level}/+/+" for level in levels)


def owner_filters(fleet: str) -> tuple[str, ...]:
    """What an owner subscribes to: every device's questions."""
    prefix = f"{_prefix(check_name(fleet, 'fleet'))}/{Direction.UP}"
    return (f"{prefix}/+/+/{QUESTION.name}",)


def presence_filters(fleet: str) -> tuple[str, ...]:
    """Where it stands which devices there are, away ones included."""
    prefix = f"{_prefix(check_name(fleet, 'fleet'))}/{Direction.UP}"
    return (f"{prefix}/+/+/{PRESENCE.name}",)


def settings_filters(fleet: str) -> tuple[str, ...]:
    """Where it stands how devices are set, and how they are to be."""
    prefix = _prefix(check_name(fleet, "fleet"))
    return (
        f"{prefix}/{Direction.UP}/+/+/{REPORTED.name}",
        f"{prefix}/{Direction.DOWN}/+/{DESIRED.name}",
    )


@dataclass(frozen=True, slots=True)
class Permissions:
    """What one account may do, as MQTT filters."""

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]


def device_permissions(fleet: str, device_id: str) -> Permissions:
    """A device publishes its own upward topics only, and reads its own and the releases."""
    check_name(device_id, "device id")
    return _permissions_of(fleet, device_id, shard=f"{shard_of(device_id):02d}")


def pattern_permissions(fleet: str, name: str) -> Permissions:
    """What any device may do where a broker puts the account's name in the place of `name`.

    A pattern cannot compute the shard: the cloud drops what comes on another device's.
    """
    return _permissions_of(fleet, name, shard="+")


def _permissions_of(fleet: str, name: str, *, shard: str) -> Permissions:
    """Topic by topic, so that nobody fills a broker with retained messages on made-up topics."""
    up = f"{_prefix(check_name(fleet, 'fleet'))}/{Direction.UP}/{shard}/{name}"
    return Permissions(
        publish=tuple(f"{up}/{row.name}" for row in TABLE if row.direction is Direction.UP),
        subscribe=_device_filters(fleet, name),
    )


def owner_permissions(fleet: str) -> Permissions:
    """An owner stops, starts, answers and sets every device, and reads what they say to that."""
    prefix = f"{_prefix(check_name(fleet, 'fleet'))}/{Direction.DOWN}"
    return Permissions(
        publish=tuple(f"{prefix}/+/{kind.name}" for kind in (CONTROL, ANSWER, DESIRED)),
        subscribe=(*owner_filters(fleet), *presence_filters(fleet), *settings_filters(fleet)),
    )


def matches(topic_filter: str, topic: str) -> bool:
    """Whether an MQTT filter matches a topic ("+" one level, a final "#" the rest)."""
    wanted, have = topic_filter.split("/"), topic.split("/")
    for index, level in enumerate(wanted):
        if level == "#":
            return True
        if index >= len(have) or level not in {"+", have[index]}:
            return False
    return len(wanted) == len(have)


def _prefix(fleet: str) -> str:
    return f"{ROOT}/{VERSION}/{fleet}"


def _unknown(topic: str) -> RejectedError:
    return RejectedError(
        f"topic {topic[:200]!r} is not in the table: drop it", reason="unknown_topic"
    )
