"""Messages ↔ bytes: a small envelope around a body, both msgpack, long bodies deflated.

A body is encoded once, when its outbox row is written; the envelope is put around it each time it
is sent. Episodes are turned into columns and deflated with a dictionary that both sides hold; a
peer of before there was one is sent what it knows. Decoding never trusts: sizes are bounded before
and after inflating, garbage becomes RejectedError(reason="malformed") and a newer schema
RejectedError(reason="unknown_version").
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Final, TypeVar

import msgspec

from sync import columns, compact_envelope, episode_dictionary, vocabulary
from sync.errors import RejectedError
from sync.messages import (
    KINDS,
    SCHEMA_VERSION,
    BlobChunk,
    EpisodeUpload,
    FileChunk,
    Message,
    kind_name,
)
from sync.versions import MINOR, OLDEST_MINOR
from sync.vocabulary import Episode, Verdict

ENVELOPE_VERSION: Final = 1
MAX_WIRE_BYTES: Final = 3_900_000
"""Largest envelope; stays under the broker's limit, beyond which it drops the connection."""
MAX_BODY_BYTES: Final = 32_000_000
"""Largest body after inflating."""
DEFLATE_FROM_BYTES: Final = 512
_SAMPLE_BYTES: Final = 4_096
_DENSE_FROM: Final = 0.95
"""Part of a file whose beginning does not get smaller than that is sent as it is."""
_MARGIN_BYTES: Final = 4_096
MAX_NAME: Final = 128
"""Most characters of an installation's or a boot's name: what reads them keeps them in memory."""
_CHECKED_SINCE_MINOR: Final = 2
_COLUMNS_SINCE_MINOR: Final = 2
_COMPACT_SINCE_MINOR: Final = 2

PLAIN: Final = "msgpack"
DEFLATED: Final = "msgpack+zlib"


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """What travels: who sent which message, where it stands in the sender's order, and the body.

    Attributes:
        v: version of the envelope itself.
        kind: name of the message in `messages.KINDS`.
        device: sender or addressee; the cloud checks it against the topic.
        install_id: made with the device's database, so that a wiped device cannot collide.
        boot_id: the sender's process.
        stream: "outbox" (seq = row of the outbox) or "live" (seq = counter of the boot).
        attempt: how often the row was sent, this time included.
        enc: how the body is encoded.
        minor: the newest minor version that the sender speaks (sync.versions).
        oldest: the lowest row of the sender's outbox that is still to be settled; 0 says nothing.
        check: CRC-32 over all of the above and the body, from minor version 2 on; it finds what a
            bad link or a bad memory did, not what an enemy did: accounts and TLS are for that.
    """

    v: int
    kind: str
    device: str
    install_id: str
    boot_id: str
    stream: str
    seq: int
    sent_at_ms: int
    enc: str
    body: bytes
    attempt: int = 1
    minor: int = OLDEST_MINOR
    oldest: int = 0
    check: int = 0


@dataclass(frozen=True, slots=True)
class EncodedBody:
    """A message's body as bytes, with the name of the encoding."""

    kind: str
    enc: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Sender:
    """The device that an envelope is about, and which start of which database sends it."""

    device: str
    install_id: str
    boot_id: str


class _VersionOnly(msgspec.Struct):
    v: int = 0
    schema_version: int = 0


def encode_body(message: Message) -> EncodedBody:
    """The body of a message, deflated where it is long.

    Raises: RejectedError: larger than a broker takes (reason "too_large"), or with a value that
        cannot be written ("malformed").
    """
    kind = kind_name(message)
    if isinstance(message, EpisodeUpload):
        enc = episode_dictionary.newest()
        raw = _ENCODER.encode(columns.packed(message))
        return _fitting(EncodedBody(kind, enc, episode_dictionary.deflate(raw, enc)), len(raw))
    return _encode_rows(message)


def encode_body_for(minor: int, body: EncodedBody) -> EncodedBody:
    """A body as a peer of a minor version can read it.

    Raises: RejectedError: it cannot be read itself, or is too large in the older encoding.
    """
    return body if reads(minor, body.enc) else _encode_rows(decode_body(body))


def reads(minor: int, encoding: str) -> bool:
    """Whether a peer of a minor version reads an encoding of ours."""
    return encoding in {PLAIN, DEFLATED} or minor >= _COLUMNS_SINCE_MINOR


def _encode_rows(message: Message) -> EncodedBody:
    """A message as every version reads it."""
    kind = kind_name(message)
    try:
        raw = _ENCODER.encode(message)
    except (OverflowError, ValueError) as error:  # a number of over 64 bits, half a character
        raise RejectedError(
            f"{kind} holds what no message can ({error}): correct it", reason="malformed"
        ) from error
    is_plain = len(raw) < DEFLATE_FROM_BYTES or _is_dense(message)
    data, enc = (raw, PLAIN) if is_plain else (zlib.compress(raw, 3), DEFLATED)
    return _fitting(EncodedBody(kind, enc, data), len(raw))


def _is_dense(message: Message) -> bool:
    """Whether deflating a message would cost time and save nothing: pictures and adapters."""
    if isinstance(message, FileChunk):
        start = message.data[:_SAMPLE_BYTES]
        return len(zlib.compress(start, 1)) > _DENSE_FROM * len(start)
    return isinstance(message, BlobChunk)  # WebP already


def _fitting(body: EncodedBody, raw_bytes: int) -> EncodedBody:
    if len(body.data) > MAX_WIRE_BYTES - _MARGIN_BYTES or raw_bytes > MAX_BODY_BYTES:
        raise RejectedError(
            f"{body.kind} of {raw_bytes} bytes does not fit {MAX_WIRE_BYTES} bytes on the wire: "
            "split it",
            reason="too_large",
        )
    return body


def decode_body(body: EncodedBody) -> Message:
    """The message in a body.

    Raises: RejectedError: "unknown_kind", "unknown_version", "too_large" or "malformed".
    """
    return _read(body)[0]


def _read(body: EncodedBody) -> tuple[Message, object]:
    """The message in a body, and what was said of it: its columns, or its msgpack."""
    message_type = KINDS.get(body.kind)
    if message_type is None:
        raise RejectedError(f"no message is called {body.kind[:64]!r}", reason="unknown_kind")
    raw = _inflate(body)
    said: object = raw
    if episode_dictionary.is_known(body.enc):
        said, value = _unfolded(raw)
        message = _convert(value, message_type)
    else:
        message = _decode(raw, message_type, known=SCHEMA_VERSION)
    if not 1 <= message.schema_version <= SCHEMA_VERSION:
        raise _unknown_version(body.kind, message.schema_version)
    return message, said


def encode_envelope(envelope: Envelope, *, reader: int = OLDEST_MINOR) -> bytes:
    """An envelope as it is published, with its check where its version has one.

    Args:
        reader: minor version of whoever is to read it; 2 and later read the short form.
    """
    if envelope.minor >= _CHECKED_SINCE_MINOR:
        envelope = msgspec.structs.replace(envelope, check=_checksum(envelope))
    if reader >= _COMPACT_SINCE_MINOR:
        is_dense = envelope.enc != PLAIN or len(envelope.body) >= DEFLATE_FROM_BYTES
        head = msgspec.structs.replace(envelope, body=b"") if is_dense else envelope
        short = compact_envelope.joined(_ENCODER.encode(head), envelope.body if is_dense else b"")
        if short is not None:
            return short
    return _ENCODER.encode(envelope)


def sealed(
    body: EncodedBody,
    sender: Sender,
    *,
    stream: str,
    seq: int,
    sent_at_ms: int,
    attempt: int = 1,
    oldest: int = 0,
    reader: int = OLDEST_MINOR,
) -> bytes:
    """A body in its envelope, as it is published; see `encode_envelope`."""
    return encode_envelope(
        Envelope(
            v=ENVELOPE_VERSION,
            kind=body.kind,
            device=sender.device,
            install_id=sender.install_id,
            boot_id=sender.boot_id,
            stream=stream,
            seq=seq,
            sent_at_ms=sent_at_ms,
            enc=body.enc,
            body=body.data,
            attempt=attempt,
            minor=MINOR,
            oldest=oldest,
        ),
        reader=reader,
    )


def decode_envelope(payload: bytes) -> Envelope:
    """The envelope in a published payload; its body is still encoded.

    Raises: RejectedError: "too_large", "unknown_version", "malformed" or "damaged": its check says
        that it is not what was sent, so nothing in it, not even the sender's name, can be trusted.
    """
    if len(payload) > MAX_WIRE_BYTES:
        raise RejectedError(f"payload of {len(payload)} bytes is too large", reason="too_large")
    head, body = (
        compact_envelope.parted(payload)
        if payload.startswith(compact_envelope.MARK)
        else (payload, b"")
    )
    envelope = _decode(head, Envelope, known=ENVELOPE_VERSION)
    if body:
        envelope = msgspec.structs.replace(envelope, body=body)
    if envelope.v != ENVELOPE_VERSION:
        raise _unknown_version("envelope", envelope.v)
    is_checked = envelope.check or envelope.minor >= _CHECKED_SINCE_MINOR
    if is_checked and envelope.check != _checksum(envelope):
        raise RejectedError("not what was sent: drop it, it comes again", reason="damaged")
    if max(len(envelope.install_id), len(envelope.boot_id)) > MAX_NAME:
        raise _malformed(f"an envelope names its sender in more than {MAX_NAME} characters")
    return envelope


def decode_message(envelope: Envelope) -> Message:
    """The message that an envelope carries.

    Raises: RejectedError: see `decode_body`.
    """
    return decode_body(EncodedBody(envelope.kind, envelope.enc, envelope.body))


def read_message(envelope: Envelope) -> tuple[Message, int]:
    """The message that an envelope carries, and how many of its fields are a newer writer's.

    Fields that this version does not know are left out and counted, at any depth.

    Raises: RejectedError: see `decode_body`.
    """
    message, said = _read(EncodedBody(envelope.kind, envelope.enc, envelope.body))
    if not isinstance(said, bytes):
        return message, sum(name not in _FIELDS for name in columns.names(said))
    read = _ENCODER.encode(message)
    if said == read:  # a writer of this version writes every field
        return message, 0
    return message, _surplus(msgspec.msgpack.decode(said), msgspec.msgpack.decode(read))


def encode_episode(episode: Episode) -> bytes:
    """An episode for a log table, deflated."""
    return zlib.compress(_ENCODER.encode(episode), 3)


def decode_episode(data: bytes) -> Episode:
    """The episode in a log row.

    Raises: RejectedError: it cannot be read (reason "malformed" or "too_large").
    """
    return _decode(_bounded_inflate(data), Episode, known=0)


def encode_verdict(verdict: Verdict) -> bytes:
    """A verdict for a log table."""
    return _ENCODER.encode(verdict)


def decode_verdict(data: bytes) -> Verdict:
    """The verdict in a log row.

    Raises: RejectedError: it cannot be read (reason "malformed").
    """
    return _decode(data, Verdict, known=0)


_ENCODER: Final = msgspec.msgpack.Encoder()
_FIELDS: Final = frozenset(
    one.name
    for known in (*KINDS.values(), *vars(vocabulary).values())
    if isinstance(known, type) and is_dataclass(known)
    for one in fields(known)
)
"""Names of all fields that this version knows."""
_T = TypeVar("_T")


class _Decoders(dict[type, msgspec.msgpack.Decoder[Any]]):  # Any: one cache for every type
    def __missing__(self, wanted: type) -> msgspec.msgpack.Decoder[Any]:
        return self.setdefault(wanted, msgspec.msgpack.Decoder(wanted))


_DECODERS: Final = _Decoders()


def _decode(raw: bytes, wanted: type[_T], *, known: int) -> _T:
    try:
        value: _T = _DECODERS[wanted].decode(raw)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError) as error:
        version = _claimed_version(raw)
        if known and version > known:
            raise _unknown_version(wanted.__name__, version) from error
        raise _malformed(f"{wanted.__name__} cannot be read ({error})") from error
    return value


def _claimed_version(raw: bytes) -> int:
    try:
        claimed: _VersionOnly = _DECODERS[_VersionOnly].decode(raw)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):
        return 0
    return max(claimed.v, claimed.schema_version)


def _inflate(body: EncodedBody) -> bytes:
    if body.enc == PLAIN:
        return body.data
    if body.enc == DEFLATED:
        return _bounded_inflate(body.data)
    if episode_dictionary.is_known(body.enc):
        return _bounded_inflate(body.data, episode_dictionary.inflater(body.enc))
    raise RejectedError(
        f"encoding {body.enc[:64]!r} is newer than this code: update it", reason="unknown_version"
    )


def plain_body(body: EncodedBody) -> bytes:
    """The message in a body as msgpack, whatever its encoding.

    Raises: RejectedError: "unknown_version", "too_large" or "malformed".
    """
    raw = _inflate(body)
    return _ENCODER.encode(_unfolded(raw)[1]) if episode_dictionary.is_known(body.enc) else raw


def _unfolded(raw: bytes) -> tuple[object, object]:
    """Columns, and the message that they stand for as builtins."""
    try:
        said = msgspec.msgpack.decode(raw)
        return said, columns.unpacked(said)
    except (msgspec.MsgspecError, columns.ColumnsError, ValueError, RecursionError) as error:
        raise _malformed(f"columns cannot be read ({error})") from error


def _convert(value: object, wanted: type[_T]) -> _T:
    try:
        return msgspec.convert(value, wanted)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError) as error:
        version = value.get("schema_version", 0) if isinstance(value, dict) else 0
        if isinstance(version, int) and version > SCHEMA_VERSION:
            raise _unknown_version(wanted.__name__, version) from error
        raise _malformed(f"{wanted.__name__} cannot be read ({error})") from error


def _bounded_inflate(data: bytes, inflater: zlib._Decompress | None = None) -> bytes:
    inflater = inflater or zlib.decompressobj()
    try:
        raw = inflater.decompress(data, MAX_BODY_BYTES)
    except zlib.error as error:
        raise _malformed(f"deflated body cannot be read ({error})") from error
    if inflater.unconsumed_tail:
        raise RejectedError(f"body inflates to over {MAX_BODY_BYTES} bytes", reason="too_large")
    if not inflater.eof or inflater.unused_data:
        raise _malformed("deflated body is cut off or has a tail")
    return raw


def _checksum(envelope: Envelope) -> int:
    """CRC-32 over the fields that minor version 2 has, so that later ones may add fields."""
    head = [
        *(envelope.v, envelope.kind, envelope.device, envelope.install_id, envelope.boot_id),
        *(envelope.stream, envelope.seq, envelope.sent_at_ms, envelope.enc),
        *(envelope.attempt, envelope.minor, envelope.oldest),
    ]
    return zlib.crc32(envelope.body, zlib.crc32(_ENCODER.encode(head)))


def _surplus(said: object, read: object) -> int:
    """Names in `said` that `read` lacks."""
    if isinstance(said, dict) and isinstance(read, dict):
        return sum(_surplus(said[name], read[name]) if name in read else 1 for name in said)
    if isinstance(said, list) and isinstance(read, list):
        return sum(map(_surplus, said, read))
    return 0


def _malformed(text: str) -> RejectedError:
    return RejectedError(f"{text}: drop it", reason="malformed")


def _unknown_version(what: str, version: int) -> RejectedError:
    return RejectedError(
        f"{what[:64]} has version {version}, newer than this code: update it",
        reason="unknown_version",
    )
