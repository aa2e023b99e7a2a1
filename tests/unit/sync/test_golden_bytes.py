"""Fixed bytes: what this version writes, and what it makes of what earlier versions wrote."""

from __future__ import annotations

import json

import msgspec
import pytest

from sync import codec
from sync.messages import KINDS
from sync.versions import MINOR, OLDEST_MINOR, since
from tests import wire_samples

VERSIONS = range(OLDEST_MINOR, MINOR + 1)
SENT = [(version, kind) for version in VERSIONS for kind in wire_samples.read(version)]


def fields_of(message):
    """What a message says, as JSON has it."""
    return json.loads(msgspec.json.encode(msgspec.msgpack.decode(msgspec.msgpack.encode(message))))


def says(found, golden):
    """Whether `found` says all that `golden` does; a newer reader may know more fields."""
    if isinstance(golden, dict):
        return isinstance(found, dict) and all(
            name in found and says(found[name], value) for name, value in golden.items()
        )
    if isinstance(golden, list):
        return len(found) == len(golden) and all(map(says, found, golden))
    return found == golden


@pytest.mark.parametrize("version", VERSIONS)
def test_every_kind_has_golden_bytes_in_each_version_that_knows_it(version):
    known = {kind for kind in KINDS if since(kind) <= version}
    assert set(wire_samples.read(version)) == known, "run python -m tests.wire_samples"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_what_is_written_today_has_not_changed_by_accident(kind):
    golden, _ = wire_samples.read(MINOR)[kind]
    fresh = wire_samples.sealed(kind)
    assert wire_samples.plain_body(fresh) == wire_samples.plain_body(golden), (
        "run python -m tests.wire_samples if it was changed on purpose"
    )
    assert codec.decode_message(codec.decode_envelope(golden)) == wire_samples.sample(kind)


@pytest.mark.requirement("OR-VER-1", "OR-VER-2")
@pytest.mark.parametrize(("version", "kind"), SENT)
def test_what_any_version_sent_is_read_as_it_was_meant(version, kind):
    payload, meant = wire_samples.read(version)[kind]
    envelope = codec.decode_envelope(payload)
    message = codec.decode_message(envelope)
    sent = (envelope.kind, envelope.device, envelope.stream, envelope.seq, envelope.minor)
    assert sent == (kind, "phone-1", "outbox", 7, version)
    assert isinstance(message, KINDS[kind])
    assert says(fields_of(message), meant)
