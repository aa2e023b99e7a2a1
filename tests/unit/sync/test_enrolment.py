"""What a phone says to be let in, and that nobody else can say it."""

from __future__ import annotations

import json

import pytest

from sync import enrolment
from sync.enrolment import Enrolment, EnrolmentRequest
from sync.errors import RejectedError

KEY, OTHER = enrolment.new_key(), enrolment.new_key()


def a_request(**more):
    said = {"token": "claim_x", "public_key": enrolment.public_key_of(KEY), "name": "pixel"}
    return EnrolmentRequest(**said, **more)


def test_a_signed_request_is_read_as_it_was_said():
    request = a_request(attributes={"model": "Pixel 7"})
    assert enrolment.read_request(enrolment.signed_request(request, KEY)) == request


def test_a_request_is_signed_by_no_other_key():
    with pytest.raises(ValueError, match="another key"):
        enrolment.signed_request(a_request(), OTHER)


@pytest.mark.requirement("OR-ENR-2")
@pytest.mark.parametrize("change", ["name", "token", "public_key", "attributes"])
def test_a_changed_request_is_refused(change):
    sent = json.loads(enrolment.signed_request(a_request(), KEY))
    said = json.loads(sent["request"])
    said[change] = {"name": "other", "token": "claim_y", "attributes": {"a": "b"}}.get(
        change, said["public_key"][:-4] + "AAA="
    )
    sent["request"] = json.dumps(said)

    with pytest.raises(RejectedError) as refused:
        enrolment.read_request(json.dumps(sent).encode())

    assert refused.value.reason == "bad_signature"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "malformed"),
        (b"{}", "malformed"),
        (b'{"request": "[]", "signature": ""}', "malformed"),
        (b"x" * (enrolment.MAX_REQUEST_BYTES + 1), "too_large"),
        (b"[" * 5000, "malformed"),
    ],
)
def test_what_is_no_request_is_refused_with_a_reason(data, reason):
    with pytest.raises(RejectedError) as refused:
        enrolment.read_request(data)
    assert refused.value.reason == reason


def test_attributes_are_kept_within_bounds():
    many = {f"a{number}": "v" * 200 for number in range(50)}
    kept = enrolment.read_request(enrolment.signed_request(a_request(attributes=many), KEY))
    assert len(kept.attributes) == 32
    assert max(map(len, kept.attributes.values())) == 128


def test_secrets_do_not_show_in_texts():
    given = Enrolment(
        device_id="p", fleet="home", broker_url="mqtt://h:1", client_id="p-1", password="hunter2"
    )
    assert "hunter2" not in repr(given)
    assert "claim_x" not in repr(a_request())
    assert enrolment.decode_enrolment(enrolment.encode_enrolment(given)) == given


def test_tokens_and_keys_are_new_each_time():
    assert enrolment.new_token() != enrolment.new_token()
    assert enrolment.public_key_of(KEY) != enrolment.public_key_of(OTHER)
    assert len(enrolment.token_digest("claim_x")) == 64
