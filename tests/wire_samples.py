"""One message of every kind with fixed values, and the bytes that each version made of them.

`python -m tests.wire_samples` writes tests/golden/wire_vN.json for the minor version that the code
speaks. Run it after a field or a message was added on purpose; the files of earlier versions are
never written again: they are what old devices and old clouds really send.
"""

from __future__ import annotations

import dataclasses
import json
import types
import typing
import zlib
from base64 import b64decode, b64encode
from enum import Enum
from pathlib import Path
from typing import Any, Final

import msgspec

from sync import codec
from sync.messages import KINDS, SCHEMA_VERSION, Message
from sync.versions import MINOR

GOLDEN: Final = Path(__file__).parent / "golden"
SENDER: Final = codec.Sender("phone-1", install_id="install-1", boot_id="boot-1")


def sample(kind: str) -> Message:
    """The message of `kind` with a value of its own in every field, none of them the default."""
    return _dataclass(KINDS[kind], 0)


def sealed(kind: str) -> bytes:
    """The sample of `kind` as it is published."""
    body = codec.encode_body(sample(kind))
    return codec.sealed(body, SENDER, stream="outbox", seq=7, sent_at_ms=1_700_000_000_123)


def plain_body(payload: bytes) -> bytes:
    """The body in a payload, inflated: what must not change, whatever zlib is installed."""
    envelope = codec.decode_envelope(payload)
    return codec.plain_body(codec.EncodedBody(envelope.kind, envelope.enc, envelope.body))


def read(version: int) -> dict[str, tuple[bytes, dict[str, Any]]]:  # Any: JSON
    """What a minor version sent: by kind, the payload and what its body says."""
    text = (GOLDEN / f"wire_v{version}.json").read_text(encoding="utf-8")
    return {kind: (b64decode(one["bytes"]), one["says"]) for kind, one in json.loads(text).items()}


def written() -> dict[str, dict[str, Any]]:  # Any: JSON
    """What the file of the current minor version is to hold."""
    return {
        kind: {
            "bytes": b64encode(payload := sealed(kind)).decode(),
            "says": json.loads(msgspec.json.encode(msgspec.msgpack.decode(plain_body(payload)))),
        }
        for kind in sorted(KINDS)
    }


def _dataclass(cls: type, variant: int) -> Any:  # Any: an instance of cls
    hints = typing.get_type_hints(cls)
    return cls(
        **{
            one.name: SCHEMA_VERSION
            if one.name == "schema_version"
            else _value(hints[one.name], one.name, variant, default=one.default)
            for one in dataclasses.fields(cls)
        }
    )


def _value(hint: Any, name: str, variant: int, *, default: object = None) -> Any:
    """A value of a type, made from the field's name; `variant` chooses among several."""
    hint = getattr(hint, "__supertype__", hint)
    arguments = typing.get_args(hint)
    match typing.get_origin(hint) or hint:
        case typing.Union | types.UnionType:
            choices = [one for one in arguments if one is not type(None)]
            return _value(choices[variant % len(choices)], name, variant, default=default)
        case origin if origin is tuple and arguments[-1] is Ellipsis:
            return tuple(_value(arguments[0], f"{name}{at}", at) for at in range(2))
        case origin if origin is tuple:
            return tuple(_value(one, f"{name}{at}", at) for at, one in enumerate(arguments))
        case origin if origin is dict:
            made = [_value(arguments[1], f"{name}{at}", at) for at in range(4)]
            return {f"{name}-{at}": one for at, one in enumerate(made)}
        case cls if dataclasses.is_dataclass(cls):
            return _dataclass(cls, variant)
        case cls if issubclass(cls, Enum):
            return list(cls)[-1 - variant]
        case cls:
            return _plain(cls, name, default)


def _plain(cls: type, name: str, default: object) -> Any:
    number = zlib.crc32(name.encode())
    plain = {bool: default is not True, int: number, float: 0.25, str: f"{name} ✓"}
    return plain[cls] if cls in plain else name.encode() + b"\x00\xff"


if __name__ == "__main__":
    (GOLDEN / f"wire_v{MINOR}.json").write_text(
        json.dumps(written(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
