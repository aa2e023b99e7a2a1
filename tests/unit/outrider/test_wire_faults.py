"""Each harm to a packet does what it is called, and is counted; the seed repeats it."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from outrider.mqtt_frames import FrameSplitter, NotMqttError, Packet
from outrider.wire_faults import FRAME_FAULTS, FrameChances, WireHarm
from outrider.wire_proxy import CutError, Direction


def publish(payload, topic=b"a/b", *, qos=1):
    body = len(topic).to_bytes(2, "big") + topic + (b"\0\x07" if qos else b"") + payload
    return bytes([0x30 | qos << 1]) + packed(body)


def packed(body):
    length, encoded = len(body), b""
    while True:
        length, low = divmod(length, 128)
        encoded += bytes([low | (128 if length else 0)])
        if not length:
            return encoded + body


ACK = b"\x40\x02\x00\x07"
MESSAGES = [publish(bytes([number]) * 300) for number in range(20)]


def carried(chances, frames, *, seed=3, connection=0):
    """What comes out of a flow, whether it ended the connection, and what it counted."""
    harm = WireHarm(chances, seed=seed)
    out = bytearray()

    async def write(data):
        out.extend(data)

    async def whole():
        flow = harm.flow(connection, Direction.UP)
        try:
            for frame in frames:
                await flow.carry(frame, write)
            await asyncio.sleep(0.08 if chances.reorder else 0)
        except CutError:
            return True
        finally:
            flow.close()
        return False

    ended = asyncio.run(whole())
    return bytes(out), ended, harm.counts


@pytest.mark.parametrize("size", [0, 1, 120, 130, 20_000])
@pytest.mark.parametrize("step", [1, 7, 100_000])
def test_packets_are_found_wherever_the_stream_is_torn(size, step):
    sent = [publish(bytes(size)), ACK, publish(b"x", qos=0)]
    stream = b"".join(sent)
    splitter = FrameSplitter()
    found = [
        frame
        for at in range(0, len(stream), step)
        for frame in splitter.feed(stream[at : at + step])
    ]
    assert [frame.raw for frame in found] == sent
    assert [frame.kind for frame in found] == [Packet.PUBLISH, Packet.PUBACK, Packet.PUBLISH]
    assert found[0].raw[found[0].payload_at :] == bytes(size)
    assert found[2].raw[found[2].payload_at :] == b"x"


@pytest.mark.parametrize("garbage", [b"\xff\xff\xff\xff\xff\x01", b"\x30\xff\xff\xff\x7f"])
def test_what_is_no_mqtt_is_said_to_be_none(garbage):
    with pytest.raises(NotMqttError):
        list(FrameSplitter().feed(garbage))


def test_without_chances_everything_passes():
    assert carried(FrameChances(), MESSAGES) == (b"".join(MESSAGES), False, {})


def test_dropped_messages_are_missing_and_the_rest_is_whole():
    out, _, counts = carried(FrameChances(drop=0.5), MESSAGES)
    left = [frame.raw for frame in FrameSplitter().feed(out)]
    assert 0 < counts["drop"] < len(MESSAGES)
    assert len(left) == len(MESSAGES) - counts["drop"]
    assert set(left) <= set(MESSAGES)


def test_duplicated_messages_come_twice():
    out, _, counts = carried(FrameChances(duplicate=1.0), [*MESSAGES, ACK])
    assert out == b"".join(frame + frame for frame in [*MESSAGES, ACK])
    assert counts == {"duplicate": len(MESSAGES) + 1}


def test_reordered_messages_all_come_in_another_order():
    out, _, counts = carried(FrameChances(reorder=0.5), MESSAGES)
    came = [frame.raw for frame in FrameSplitter().feed(out)]
    assert counts["reorder"]
    assert came != MESSAGES
    assert sorted(came) == sorted(MESSAGES)


def test_truncated_messages_are_shorter_packets_of_the_same_topic():
    out, _, counts = carried(FrameChances(truncate=1.0), [*MESSAGES, ACK])
    came = list(FrameSplitter().feed(out))
    assert counts == {"truncate": len(MESSAGES)}
    assert came[-1].raw == ACK
    for frame, sent in zip(came, MESSAGES, strict=False):
        assert b"a/b" in frame.raw
        assert sent[-300:].startswith(frame.raw[frame.payload_at :])
        assert len(frame.raw) < len(sent)


def test_corrupt_messages_have_the_same_length_and_other_bits():
    out, _, counts = carried(FrameChances(corrupt=1.0), MESSAGES[:1])
    differ = (int.from_bytes(out, "big") ^ int.from_bytes(MESSAGES[0], "big")).bit_count()
    assert len(out) == len(MESSAGES[0])
    assert 1 <= differ <= 4
    assert counts == {"corrupt": 1}


def test_cut_connection_ends_within_a_packet():
    out, ended, counts = carried(FrameChances(cut=1.0), MESSAGES)
    assert ended
    assert out == MESSAGES[0][: len(MESSAGES[0]) // 2]
    assert counts == {"cut": 1}


@pytest.mark.parametrize("kind", ["delay", "stall"])
def test_held_up_messages_keep_their_order(kind):
    chances = FrameChances(**{kind: 0.5}, delay_s=0.002, stall_s=0.002)
    out, _, counts = carried(chances, MESSAGES)
    assert out == b"".join(MESSAGES)
    assert counts[kind]


def test_hand_shakes_are_neither_lost_nor_repeated():
    connect = bytes([Packet.CONNECT << 4]) + packed(b"\0\x04MQTT\x04\x02\0\x1e\0\0")
    for name in ("drop", "duplicate", "reorder", "truncate"):
        assert carried(FrameChances(**{name: 1.0}), [connect])[0] == connect


def test_the_seed_repeats_the_harm_and_connections_differ():
    chances = FrameChances(**dict.fromkeys(FRAME_FAULTS[:2], 0.2), corrupt=0.2)
    first, again = (carried(chances, MESSAGES, seed=9) for _ in range(2))
    assert first == again
    assert carried(chances, MESSAGES, seed=9, connection=1) != first
    assert carried(chances, MESSAGES, seed=10) != first


def test_a_torn_stream_meets_the_same_harm_as_a_whole_one():
    stream = b"".join(MESSAGES)
    torn, at, random = [], 0, Random(1)
    while at < len(stream):
        size = random.randint(1, 500)
        torn.append(stream[at : at + size])
        at += size
    chances = FrameChances(drop=0.2, duplicate=0.2, corrupt=0.2)
    assert carried(chances, torn) == carried(chances, MESSAGES)
