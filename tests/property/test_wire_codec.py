"""Whatever is sent comes back equal; whatever else arrives is rejected and never crashes."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from sync import codec, topics
from sync.errors import RejectedError
from sync.messages import KINDS, Message
from sync.vocabulary import Action, ActionKind, Direction, FinishStatus, Key, SlotRef

fraction = st.floats(0.0, 1.0)
actions = st.builds(
    Action,
    kind=st.sampled_from(ActionKind),
    x=fraction,
    y=fraction,
    x2=fraction,
    y2=fraction,
    element=st.none() | st.integers(0, 500),
    direction=st.sampled_from(Direction),
    text=st.text(max_size=20) | st.builds(SlotRef, slot=st.text(max_size=8)),
    clear=st.booleans(),
    key=st.sampled_from(Key),
    app=st.text(max_size=8),
    duration_ms=st.none() | st.integers(0, 60_000),
    status=st.sampled_from(FinishStatus),
)
st.register_type_strategy(Action, actions)
st.register_type_strategy(int, st.integers(-(2**40), 2**60))
st.register_type_strategy(float, st.floats(allow_nan=False))
st.register_type_strategy(str, st.text(max_size=12))
st.register_type_strategy(bytes, st.binary(max_size=64))


def read(reader, data):
    """What `reader` makes of `data`, or None and the reason why it was rejected."""
    try:
        return reader(data), ""
    except RejectedError as error:
        return None, error.reason


@st.composite
def messages(draw: st.DrawFn) -> Message:
    """Any message of the current version."""
    message_type = draw(st.sampled_from(sorted(KINDS.values(), key=lambda cls: cls.__name__)))
    return draw(st.builds(message_type, schema_version=st.just(1)))


@given(messages())
def test_every_message_comes_back_equal(message):
    assert codec.decode_body(codec.encode_body(message)) == message


@given(messages(), st.integers(0, 2**62), st.text(max_size=64))
def test_every_message_survives_its_envelope(message, seq, device):
    body = codec.encode_body(message)
    sent = codec.Envelope(
        v=1,
        kind=body.kind,
        device=device,
        install_id="install",
        boot_id="boot",
        stream="outbox",
        seq=seq,
        sent_at_ms=1,
        enc=body.enc,
        body=body.data,
    )
    got = codec.decode_envelope(codec.encode_envelope(sent))
    assert got == sent
    assert codec.decode_message(got) == message


@given(st.binary(max_size=300))
def test_no_bytes_crash_the_envelope_reader(data):
    envelope, reason = read(codec.decode_envelope, data)
    if envelope is None:
        assert reason in {"malformed", "unknown_version"}
    else:
        assert envelope.v == 1


@given(
    st.sampled_from(sorted(KINDS)),
    st.sampled_from([codec.PLAIN, codec.DEFLATED]),
    st.binary(max_size=200)
    | st.recursive(
        st.none() | st.integers(-(2**63), 2**63) | st.text(max_size=5) | st.floats(),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3)
        ),
    ).map(msgspec.msgpack.encode),
)
def test_no_bytes_crash_the_body_reader(kind, enc, data):
    message, reason = read(codec.decode_body, codec.EncodedBody(kind, enc, data))
    if message is None:
        assert reason in {"malformed", "unknown_version"}
    else:
        assert isinstance(message, KINDS[kind])


@given(messages(), st.data())
def test_a_body_that_lost_a_byte_is_never_taken_for_another_message(message, data):
    body = codec.encode_body(message)
    cut = data.draw(st.integers(0, len(body.data) - 1))
    got, reason = read(codec.decode_body, codec.EncodedBody(body.kind, body.enc, body.data[:cut]))
    if got is None:
        assert reason == "malformed"
    else:
        raise AssertionError(f"{cut} of {len(body.data)} bytes were read as {got}")


names = st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True)


@given(names, st.sampled_from(topics.TABLE), names)
def test_parsing_a_topic_undoes_building_it(fleet, row, owner):
    assert topics.parse(topics.build(fleet, row, owner)) == topics.Topic(fleet, row, owner)


@given(
    st.text(max_size=80)
    | st.lists(st.sampled_from(["or", "1", "u", "c", "g", "00", "a", "ack", ""]), max_size=8).map(
        "/".join
    )
)
def test_no_text_crashes_the_topic_reader(text):
    topic, reason = read(topics.parse, text)
    if topic is None:
        assert reason == "unknown_topic"
    else:
        assert str(topic) == text


@given(names, names)
def test_no_device_may_publish_or_read_anothers_topics(one, other):
    allowed = topics.device_permissions("home", one)
    for row in topics.TABLE:
        if row.direction is topics.Direction.BROADCAST or one == other:
            continue
        topic = topics.build("home", row, other)
        assert not any(topics.matches(a, topic) for a in allowed.publish + allowed.subscribe)
