"""How a new phone becomes a device of the fleet: what it asks, and what it is given.

    claim token + own Ed25519 key ─► EnrolmentRequest, signed ─► the cloud ─► Enrolment

The token says that somebody let this phone in, once; the signature says that whoever asks holds the
private key, so a repeated request of the same key is the same phone, and any other is a thief or a
mistake. The private key never leaves the phone.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

from sync.errors import RejectedError

TOKEN_PREFIX: Final = "claim_"  # noqa: S105 - what a token begins with
MAX_REQUEST_BYTES: Final = 16_384
_DOMAIN: Final = b"outrider enrolment 1\n"
_MOST_ATTRIBUTES: Final = 32
_LONGEST_ATTRIBUTE: Final = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class EnrolmentRequest:
    """What a phone says to be let in.

    Attributes:
        token: the claim token that somebody made for it.
        public_key: its Ed25519 key, 32 bytes.
        name: what it would like to be called; the cloud decides.
        attributes: what it is (model, android, …).
    """

    token: str = field(repr=False)
    public_key: bytes
    name: str = ""
    attributes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Enrolment:
    """What a phone is given when it is let in.

    Attributes:
        broker_url: mqtt://host:port or mqtts://host:port.
        client_id: its name to the broker; nobody else can guess it, so nobody can take it over.
        credentials: version of the password, from 1 on.
        root: the fleet's root of trust for releases (TUF root metadata); empty where the cloud
            publishes none.
        broker_ca: the broker's certificate authority (PEM); empty for a public or none.
        labels: what the fleet's operator says of it.
    """

    device_id: str
    fleet: str
    broker_url: str
    client_id: str
    password: str = field(repr=False)
    credentials: int = 1
    channel: str = "stable"
    root: bytes = b""
    broker_ca: str = ""
    labels: dict[str, str] = field(default_factory=dict)


class _Signed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request as it travels: its text, and the signature of exactly that text."""

    request: str
    signature: bytes


def new_token() -> str:
    """A claim token that nobody can guess: 256 bits."""
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def token_digest(token: str) -> str:
    """What is kept of a claim token: its SHA-256 in hex."""
    return sha256(token.encode()).hexdigest()


def new_key() -> bytes:
    """A new private key, PEM (PKCS 8)."""
    return Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def public_key_of(private_pem: bytes) -> bytes:
    """The public half of a private key, 32 bytes.

    Raises: ValueError: it is no Ed25519 key.
    """
    return _private(private_pem).public_key().public_bytes_raw()


def fingerprint(public_key: bytes) -> str:
    """What a key is called where a person reads it: 16 hex digits of its SHA-256."""
    return sha256(public_key).hexdigest()[:16]


def signed_request(request: EnrolmentRequest, private_pem: bytes) -> bytes:
    """A request as it is sent (JSON), signed with the key that it names.

    Raises: ValueError: the key is none, or another one than the request's.
    """
    key = _private(private_pem)
    if key.public_key().public_bytes_raw() != request.public_key:
        raise ValueError("the request names another key than the one that signs it")
    text = msgspec.json.encode(request)
    return msgspec.json.encode(_Signed(text.decode(), key.sign(_DOMAIN + text)))


def read_request(data: bytes) -> EnrolmentRequest:
    """The request in what was sent; its signature is that of the key that it names.

    Raises: RejectedError: "malformed", "too_large" or "bad_signature".
    """
    if len(data) > MAX_REQUEST_BYTES:
        raise RejectedError("an enrolment request is at most 16 kB long", reason="too_large")
    try:
        signed = msgspec.json.decode(data, type=_Signed)
        request = msgspec.json.decode(signed.request, type=EnrolmentRequest)
        key = Ed25519PublicKey.from_public_bytes(request.public_key)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise RejectedError(
            f"this is no enrolment request ({error}): use outrider phone enroll", reason="malformed"
        ) from error
    try:
        key.verify(signed.signature, _DOMAIN + signed.request.encode())
    except InvalidSignature as error:
        raise RejectedError(
            "the request is not signed by the key that it names: enrol again with the phone's own",
            reason="bad_signature",
        ) from error
    return EnrolmentRequest(
        token=request.token,
        public_key=request.public_key,
        name=request.name,
        attributes=bounded_attributes(request.attributes),
    )


def bounded_attributes(said: dict[str, str]) -> dict[str, str]:
    """The attributes of a device as far as somebody may want to read them."""
    return {
        name[:64]: value[:_LONGEST_ATTRIBUTE]
        for name, value in sorted(said.items())[:_MOST_ATTRIBUTES]
    }


def encode_enrolment(enrolment: Enrolment) -> bytes:
    """What a phone is given, as JSON."""
    return msgspec.json.encode(enrolment)


def decode_enrolment(data: bytes) -> Enrolment:
    """What the cloud gave.

    Raises: RejectedError: it cannot be read (reason "malformed").
    """
    try:
        return msgspec.json.decode(data, type=Enrolment)
    except (msgspec.MsgspecError, ValueError) as error:
        raise RejectedError(
            f"the cloud's answer is no enrolment ({error}): check --url", reason="malformed"
        ) from error


def _private(pem: bytes) -> Ed25519PrivateKey:
    key = serialization.load_pem_private_key(pem, password=None)
    if not isinstance(key, Ed25519PrivateKey):
        raise ValueError("this is no Ed25519 key")  # noqa: TRY004 - the file holds another
    return key
