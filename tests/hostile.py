"""Messages that an enemy, or a broken writer, could send: whole, well sealed, and absurd.

A message of the golden samples has some of its values replaced by extreme ones of the same type,
and some facts of its envelope likewise, so that it passes every check of form and reaches whoever
acts on it. Bytes that are merely spoilt never come so far; they are made here, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec
from hypothesis import strategies as st

from sync import codec
from tests.wire_samples import sample, sealed

NUMBERS: Final = (0, 1, -1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, -(2**63))
FRACTIONS: Final = (0.0, -1.0, 1e300, -1e300, float("inf"), float("-inf"), float("nan"))
TEXTS: Final = ("", "\0", "a/b", "+", "#", "../../etc/passwd", "é" * 300, "x" * 70_000, "\ufeff\n")
BYTES: Final = (b"", b"\0", b"\xff" * 32, bytes(32), bytes(70_000))
_ENVELOPE_NUMBERS: Final = ("seq", "attempt", "oldest", "sent_at_ms")
_ENVELOPE_TEXTS: Final = ("install_id", "boot_id", "stream")


def extreme(value: Any) -> st.SearchStrategy[Any]:  # Any: decoded msgpack
    """Something of the same type that no sound writer says."""
    match value:
        case bool():
            return st.just(not value)
        case int():
            return st.sampled_from(NUMBERS)
        case float():
            return st.sampled_from(FRACTIONS)
        case str():
            return st.sampled_from(TEXTS)
        case bytes():
            return st.sampled_from(BYTES)
        case list():
            return st.sampled_from(([], value * 2, value * 300))
        case dict():
            return st.sampled_from(({}, {**value, "unheard_of": 2**64 - 1}))
        case _:
            return st.sampled_from((None, *NUMBERS, *FRACTIONS, *TEXTS))


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:  # Any: as above
    """The way to every value within a decoded body."""
    found = [at] if at else []
    if isinstance(value, dict | list):
        keys = value if isinstance(value, dict) else range(len(value))
        for key in keys:
            found += places(value[key], (*at, key))
    return found


@st.composite
def bodies(draw: st.DrawFn, kind: str, says: Mapping[str, Any]) -> bytes:
    """The body of a message of `kind` with one to three values replaced, as msgpack.

    Args:
        says: values that the sample is to have before that.
    """
    told = msgspec.to_builtins(sample(kind), builtin_types=(bytes,)) | says
    told = msgspec.msgpack.decode(msgspec.msgpack.encode(told))  # of its own: it is changed
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from(places(told)))
        holder = told
        for key in way:
            holder = holder[key]
        holder[last] = draw(extreme(holder[last]))
        if not told:
            break
    return msgspec.msgpack.encode(told)


@st.composite
def payloads(
    draw: st.DrawFn, kind: str, device: str, says: Mapping[str, Any] = MappingProxyType({})
) -> bytes:
    """A payload that names `device`: absurd, or the golden one with spoilt or missing bytes."""
    if draw(st.integers(0, 4)) == 0:
        return draw(spoilt(sealed(kind)))
    raw = draw(bodies(kind, says))
    body = codec.EncodedBody(kind, codec.PLAIN, raw)
    if draw(st.booleans()):
        body = codec.EncodedBody(kind, codec.DEFLATED, codec.zlib.compress(raw, 1))
    facts: dict[str, Any] = {"stream": draw(st.sampled_from(("outbox", "live")))}
    if draw(st.booleans()):
        name = draw(st.sampled_from((*_ENVELOPE_NUMBERS, *_ENVELOPE_TEXTS)))
        facts[name] = draw(extreme(0 if name in _ENVELOPE_NUMBERS else ""))
    envelope = codec.Envelope(
        **{
            "v": 1,
            "kind": kind,
            "device": device,
            "install_id": "install",
            "boot_id": "boot",
            "seq": 1,
            "sent_at_ms": 1,
            "enc": body.enc,
            "body": body.data,
            "minor": draw(st.sampled_from((1, 2, 3, 2**40))),
            **facts,
        }
    )
    return codec.encode_envelope(envelope, reader=draw(st.sampled_from((1, 2))))


@st.composite
def spoilt(draw: st.DrawFn, payload: bytes) -> bytes:
    """A payload with flipped bits, a missing end, or more behind its end."""
    cut = payload[: draw(st.integers(0, len(payload)))]
    if draw(st.booleans()) or not cut:
        return cut + draw(st.binary(max_size=8))
    changed = bytearray(payload)
    for _ in range(draw(st.integers(1, 4))):
        bit = draw(st.integers(0, len(payload) * 8 - 1))
        changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)
