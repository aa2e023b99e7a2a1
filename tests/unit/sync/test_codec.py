from __future__ import annotations

import zlib
from dataclasses import replace
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync import codec, columns, episode_dictionary
from sync.errors import RejectedError
from sync.messages import AssignmentBatch, Birth, Cancel, EpisodeUpload, Event, FileChunk
from sync.vocabulary import Assignment, AssignmentId, Decision, DeviceId, Observation, ScreenMark
from tests.wire import episode, event, upload

ENVELOPE = codec.Envelope(
    v=1,
    kind="event",
    device="phone-1",
    install_id="install",
    boot_id="boot",
    stream="outbox",
    seq=7,
    sent_at_ms=1,
    enc=codec.PLAIN,
    body=b"",
)


def reason_of(caught) -> str:
    return caught.value.reason


@pytest.mark.parametrize(
    ("data", "enc"),
    [(Random(1).randbytes(60_000), codec.PLAIN), (b"a table " * 7_000, codec.DEFLATED)],
)
def test_part_of_a_file_is_deflated_where_that_makes_it_smaller(data, enc):
    said = FileChunk(request_id="r", path="p", data=data)
    body = codec.encode_body(said)
    assert body.enc == enc
    assert codec.decode_body(body) == said


def test_a_long_body_is_deflated_and_comes_back_equal():
    message = AssignmentBatch(
        assignments=tuple(
            Assignment(AssignmentId(f"a-{number}"), template="wifi_on") for number in range(12)
        )
    )
    body = codec.encode_body(message)
    assert body.enc == codec.DEFLATED
    assert codec.decode_body(body) == message


def test_an_episode_is_packed_with_the_dictionary_that_its_encoding_names():
    message = upload(3, steps=12)
    body = codec.encode_body(message)
    assert body.enc == episode_dictionary.newest()
    assert codec.decode_body(body) == message
    assert codec.decode_body(codec.encode_body_for(1, body)) == message
    assert len(body.data) < len(codec.encode_body_for(1, body).data) / 2


def test_a_peer_of_before_there_were_dictionaries_is_sent_what_it_reads():
    body = codec.encode_body(upload(3))
    assert codec.encode_body_for(2, body) is body
    assert codec.encode_body_for(1, body).enc == codec.DEFLATED
    short = codec.encode_body(event(1))
    assert codec.encode_body_for(1, short) is short


def test_a_dictionary_that_is_not_here_is_newer_than_this_code():
    body = codec.EncodedBody("episode_upload", "columns+zlib:00000000", b"")
    with pytest.raises(RejectedError) as caught:
        codec.decode_body(body)
    assert reason_of(caught) == "unknown_version"


def test_a_released_dictionary_never_changes():
    assert episode_dictionary.newest() == "columns+zlib:62078889"


@pytest.mark.parametrize(
    "said",
    [
        None,
        [],
        [99],
        [0, []],
        [0, [1, 2]],
        [1, [0, [1]], 5],
        [4, {"episode": [0, []]}],
        [5, 3, [0, [1, 2, 3]], [9]],
        [6, b"short"],
        [7, b"xyz"],
        [9, 0, [1]],
    ],
    ids=str,
)
def test_columns_that_nobody_packed_are_malformed(said):
    enc = episode_dictionary.newest()
    data = episode_dictionary.deflate(msgspec.msgpack.encode(said), enc)
    with pytest.raises(RejectedError) as caught:
        codec.decode_body(codec.EncodedBody("episode_upload", enc, data))
    assert reason_of(caught) == "malformed"


@pytest.mark.requirement("OR-ENV-2")
def test_columns_that_unfold_without_end_are_refused_before_they_do():
    packed = msgspec.msgpack.decode(msgspec.msgpack.encode(columns.packed(upload(1, steps=1))))
    episode_columns = packed[1]["episode"][1]
    many = 100_000
    episode_columns["steps"] = [3, [0, [many]], many, [1, episode_columns["steps"][3]]]
    enc = episode_dictionary.newest()
    data = episode_dictionary.deflate(msgspec.msgpack.encode(packed), enc)
    assert len(data) < 1_000
    with pytest.raises(RejectedError, match="unfolds to over"):
        codec.decode_body(codec.EncodedBody("episode_upload", enc, data))


@pytest.mark.parametrize("version", [2, "later"])
def test_a_newer_episode_in_columns_is_told_from_a_malformed_one(version):
    enc = episode_dictionary.newest()
    raw = msgspec.msgpack.encode(columns.packed(upload(1)))
    changed = msgspec.msgpack.decode(raw)
    changed[1]["schema_version"] = [0, [version]]
    data = episode_dictionary.deflate(msgspec.msgpack.encode(changed), enc)
    with pytest.raises(RejectedError) as caught:
        codec.decode_body(codec.EncodedBody("episode_upload", enc, data))
    assert reason_of(caught) == ("unknown_version" if version == 2 else "malformed")


def test_unknown_columns_are_left_out_and_counted():
    enc = episode_dictionary.newest()
    changed = msgspec.msgpack.decode(msgspec.msgpack.encode(columns.packed(upload(1))))
    changed[1]["colour"] = [0, ["red"]]
    data = episode_dictionary.deflate(msgspec.msgpack.encode(changed), enc)
    envelope = msgspec.structs.replace(ENVELOPE, kind="episode_upload", enc=enc, body=data)
    assert codec.read_message(envelope) == (upload(1), 1)


def test_what_was_packed_comes_back_to_the_bit():
    zeros = tuple(Decision("type", 0, zero, b"\x80") for zero in (0.0, -0.0, 1 / 3, 1e300))
    played = episode(1, steps=2)
    steps = tuple(replace(step, decisions=zeros, log_prob=-0.0) for step in played.steps)
    message = EpisodeUpload(episode=replace(played, steps=steps))
    back = codec.decode_body(codec.encode_body(message))
    assert msgspec.msgpack.encode(back) == msgspec.msgpack.encode(message)


def test_a_short_body_stays_plain():
    assert codec.encode_body(event(1)).enc == codec.PLAIN


def test_an_envelope_comes_back_equal_and_carries_its_message():
    body = codec.encode_body(event(1))
    sent = msgspec.structs.replace(ENVELOPE, enc=body.enc, body=body.data)
    got = codec.decode_envelope(codec.encode_envelope(sent))
    assert got == sent
    assert codec.decode_message(got) == event(1)


def test_an_episode_and_a_verdict_come_back_from_their_log_rows():
    played = upload(5)
    assert codec.decode_episode(codec.encode_episode(played.episode)) == played.episode
    assert codec.decode_verdict(codec.encode_verdict(played.verdicts[0])) == played.verdicts[0]


def test_a_field_that_a_newer_writer_added_is_ignored():
    raw = msgspec.msgpack.encode({"kind": "x", "at_ms": 1, "colour": "red", "schema_version": 1})
    body = codec.EncodedBody("event", codec.PLAIN, raw)
    assert codec.decode_body(body) == Event(kind="x", at_ms=1)


@pytest.mark.requirement("OR-VER-3")
@pytest.mark.parametrize(
    ("added", "count"),
    [
        ({}, 0),
        ({"colour": "red"}, 1),
        ({"colour": {"red": 1, "blue": 2}, "taste": "sweet"}, 2),
    ],
)
def test_fields_that_this_reader_does_not_know_are_counted(added, count):
    raw = msgspec.msgpack.decode(msgspec.msgpack.encode(upload(1)))
    raw["episode"]["assignment"].update(added)
    body = msgspec.msgpack.encode(raw)
    envelope = msgspec.structs.replace(ENVELOPE, kind="episode_upload", body=body)
    assert codec.read_message(envelope) == (upload(1), count)


def test_a_field_that_an_older_writer_lacks_is_not_unknown():
    raw = msgspec.msgpack.encode({"kind": "x", "schema_version": 1})
    envelope = msgspec.structs.replace(ENVELOPE, kind="event", body=raw)
    assert codec.read_message(envelope) == (Event(kind="x"), 0)


def test_a_field_that_an_older_writer_did_not_know_gets_its_default():
    raw = msgspec.msgpack.encode({"device_id": "phone-1"})
    body = codec.EncodedBody("birth", codec.PLAIN, raw)
    assert codec.decode_body(body) == Birth(device_id=DeviceId("phone-1"))


@pytest.mark.parametrize(
    "raw",
    [{"kind": "x", "schema_version": 2}, {"kind": 17, "schema_version": 2}],
    ids=["readable", "another shape"],
)
def test_a_newer_message_is_rejected_as_such(raw):
    body = codec.EncodedBody("event", codec.PLAIN, msgspec.msgpack.encode(raw))
    with pytest.raises(RejectedError) as caught:
        codec.decode_body(body)
    assert reason_of(caught) == "unknown_version"


@pytest.mark.parametrize(
    "raw", [{"v": 2, "wholly": "other"}, {**msgspec.to_builtins(ENVELOPE), "v": 2}]
)
def test_a_newer_envelope_is_rejected_as_such(raw):
    raw.pop("body", None)
    with pytest.raises(RejectedError) as caught:
        codec.decode_envelope(msgspec.msgpack.encode(raw))
    assert reason_of(caught) == "unknown_version"


def test_a_kind_that_nobody_knows_is_rejected_as_such():
    with pytest.raises(RejectedError) as caught:
        codec.decode_body(codec.EncodedBody("poem", codec.PLAIN, b"\x80"))
    assert reason_of(caught) == "unknown_kind"


def test_an_encoding_that_nobody_knows_is_rejected_as_a_version():
    with pytest.raises(RejectedError) as caught:
        codec.decode_body(codec.EncodedBody("event", "msgpack+zstd", b"\x80"))
    assert reason_of(caught) == "unknown_version"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"garbage",
        zlib.compress(b"\xc1"),
        zlib.compress(b"\x80")[:-1],
        zlib.compress(b"\x80") + b"tail",
    ],
)
def test_garbage_in_a_deflated_body_is_malformed(data):
    with pytest.raises(RejectedError) as caught:
        codec.decode_body(codec.EncodedBody("event", codec.DEFLATED, data))
    assert reason_of(caught) == "malformed"


@pytest.mark.requirement("OR-ENV-2")
def test_a_body_that_would_inflate_without_end_is_stopped():
    bomb = zlib.compress(bytes(codec.MAX_BODY_BYTES + 1))
    with pytest.raises(RejectedError) as caught:
        codec.decode_body(codec.EncodedBody("event", codec.DEFLATED, bomb))
    assert reason_of(caught) == "too_large"


@pytest.mark.requirement("OR-ENV-2")
def test_a_payload_over_the_limit_is_not_even_looked_at():
    with pytest.raises(RejectedError) as caught:
        codec.decode_envelope(bytes(codec.MAX_WIRE_BYTES + 1))
    assert reason_of(caught) == "too_large"


def test_a_message_that_no_broker_would_take_is_refused_before_it_is_queued():
    noise = Random(1).randbytes(codec.MAX_WIRE_BYTES)
    with pytest.raises(RejectedError) as caught:
        codec.encode_body(FileChunk(request_id="r", path="p", data=noise))
    assert reason_of(caught) == "too_large"


def test_an_action_that_cannot_be_is_malformed():
    played = upload(1)
    raw = msgspec.msgpack.decode(msgspec.msgpack.encode(played))
    raw["episode"]["steps"][0]["action"]["x"] = 7.0
    body = codec.EncodedBody("episode_upload", codec.PLAIN, msgspec.msgpack.encode(raw))
    with pytest.raises(RejectedError) as caught:
        codec.decode_body(body)
    assert reason_of(caught) == "malformed"


def test_identifiers_keep_their_order():
    ids = tuple(AssignmentId(str(number)) for number in range(20))
    cancel = Cancel(assignment_ids=ids)
    assert codec.decode_body(codec.encode_body(cancel)) == cancel


def test_an_episode_of_another_shape_is_malformed():
    data = zlib.compress(msgspec.msgpack.encode({"id": 1}))
    with pytest.raises(RejectedError) as caught:
        codec.decode_episode(data)
    assert reason_of(caught) == "malformed"


def test_equal_messages_have_equal_bytes():
    again = replace(upload(2), schema_version=1)
    assert codec.encode_body(again) == codec.encode_body(upload(2))
    assert codec.encode_episode(episode(2)) == codec.encode_episode(episode(2))


VERSION_1 = bytes.fromhex(
    "8ba17601a46b696e64a56576656e74a6646576696365a770686f6e652d31aa696e7374616c6c5f6964a169a7626f"
    "6f745f6964a162a673747265616da66f7574626f78a373657107aa73656e745f61745f6d73cf0000018bcfe56801"
    "a3656e63a76d73677061636ba4626f6479c44284a46b696e64a9696e7374616c6c6564a66669656c647381a77265"
    "6c65617365a27231a561745f6d73cf0000018bcfe56800ae736368656d615f76657273696f6e01a7617474656d70"
    "7402"
)
"""An event as version 1 of the wire sent it; a device that was never updated still does."""


def test_what_version_1_sent_is_still_read():
    envelope = codec.decode_envelope(VERSION_1)
    assert (envelope.device, envelope.stream, envelope.seq, envelope.attempt) == (
        "phone-1",
        "outbox",
        7,
        2,
    )
    assert codec.decode_message(envelope) == Event(
        kind="installed", fields={"release": "r1"}, at_ms=1_700_000_000_000
    )


def test_observation_of_before_there_were_marks_is_still_read():
    old = msgspec.msgpack.encode({"width_px": 10, "height_px": 20, "package": "org.app"})

    assert msgspec.msgpack.decode(old, type=Observation) == Observation(10, 20, package="org.app")


def test_reader_of_before_there_were_marks_leaves_them_out():
    marked = Observation(10, 20, marks=(ScreenMark.SECURE,))
    older = msgspec.defstruct("Observation", [("width_px", int), ("height_px", int)])

    assert msgspec.msgpack.decode(msgspec.msgpack.encode(marked), type=older) == older(10, 20)


def checked(**changes):
    return codec.encode_envelope(msgspec.structs.replace(ENVELOPE, minor=2, **changes))


def test_an_envelope_of_today_comes_back_with_its_check():
    envelope = codec.decode_envelope(checked())
    assert envelope.check
    assert msgspec.structs.replace(envelope, check=0, minor=1) == ENVELOPE


@pytest.mark.requirement("OR-ENV-3")
@given(st.data())
def test_a_flipped_bit_anywhere_is_never_taken_for_what_was_sent(data):
    sent = checked(oldest=5, attempt=2)
    bit = data.draw(st.integers(0, len(sent) * 8 - 1))
    spoilt = bytearray(sent)
    spoilt[bit // 8] ^= 1 << bit % 8
    with pytest.raises(RejectedError) as raised:
        codec.decode_envelope(bytes(spoilt))
    assert raised.value.reason in {"damaged", "malformed", "unknown_version"}


@pytest.mark.requirement("OR-ENV-3")
def test_a_check_that_is_left_out_is_damage_from_a_peer_that_makes_them():
    bare = msgspec.structs.asdict(msgspec.structs.replace(ENVELOPE, minor=2))
    with pytest.raises(RejectedError) as raised:
        codec.decode_envelope(msgspec.msgpack.encode(bare))
    assert raised.value.reason == "damaged"


def test_the_short_form_of_an_envelope_comes_back_equal_and_is_a_third_as_long():
    for sent in (
        msgspec.structs.replace(ENVELOPE, minor=2, enc=codec.PLAIN, body=b"\x81\xa1a\x01"),
        msgspec.structs.replace(ENVELOPE, minor=2, enc=codec.DEFLATED, body=b"\x01" * 100),
    ):
        short = codec.encode_envelope(sent, reader=2)
        long = codec.encode_envelope(sent, reader=1)
        assert codec.decode_envelope(short) == codec.decode_envelope(long)
        assert len(short) - len(sent.body) < (len(long) - len(sent.body)) / 3


@pytest.mark.parametrize("size", [512, 64 * 1024])
def test_a_part_of_an_adapter_stays_as_it_is_behind_a_short_head(size):
    data = Random(2).randbytes(size)
    body = codec.encode_body(FileChunk(request_id="r", path="p", data=data))
    sent = msgspec.structs.replace(ENVELOPE, minor=2, kind=body.kind, enc=body.enc, body=body.data)
    short = codec.encode_envelope(sent, reader=2)
    assert short.startswith(b"\x01")
    assert short.endswith(body.data)
    assert len(short) - size < 250
    assert codec.decode_envelope(short) == codec.decode_envelope(
        codec.encode_envelope(sent, reader=1)
    )


@given(st.binary(max_size=80))
def test_nothing_that_looks_like_a_short_form_crashes_its_reader(data):
    with pytest.raises(RejectedError) as caught:
        codec.decode_envelope(b"\x01" + data)
    assert reason_of(caught) in {"malformed", "damaged", "unknown_version"}


@pytest.mark.requirement("OR-ENV-2")
def test_a_short_form_that_unfolds_without_end_is_refused():
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    head = packer.compress(b"\0" * 200_000) + packer.flush()
    with pytest.raises(RejectedError) as caught:
        codec.decode_envelope(b"\x01" + len(head).to_bytes(2, "big") + head)
    assert reason_of(caught) == "malformed"


@pytest.mark.parametrize("name", ["install_id", "boot_id"])
def test_a_sender_with_a_name_without_end_is_malformed(name):
    longest = msgspec.structs.replace(ENVELOPE, **{name: "n" * codec.MAX_NAME})
    assert codec.decode_envelope(codec.encode_envelope(longest)) == longest
    longer = msgspec.structs.replace(ENVELOPE, **{name: "n" * (codec.MAX_NAME + 1)})
    with pytest.raises(RejectedError) as caught:
        codec.decode_envelope(codec.encode_envelope(longer))
    assert reason_of(caught) == "malformed"
