"""How an enrolled device proves who it is where it fetches release files over HTTP.

    Authorization: Outrider-Device DEVICE.UNIX_MS.SIGNATURE

The signature is by the device's own key (`sync.enrolment`), over its name, the time and the path: a
pass opens one file for a few minutes. Whoever sees it can read that file once more, and no other;
what is read proves itself anyway (`sync.trust`).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from securesystemslib.signer import CryptoSigner

from sync.errors import RejectedError

SCHEME: Final = "Outrider-Device"
VALID_MS: Final = 10 * 60 * 1000
"""How far the device's time may be off, either way."""
_DOMAIN: Final = "outrider file 1"


def file_pass(device_id: str, private_pem: bytes, path: str, *, now_ms: int) -> str:
    """The value of the header that opens `path`.

    Raises: ValueError: the key is none.
    """
    key = CryptoSigner(load_pem_private_key(private_pem, password=None))
    signature = bytes.fromhex(key.sign(_text(device_id, path, now_ms)).signature)
    return f"{SCHEME} {device_id}.{now_ms}.{base64.urlsafe_b64encode(signature).decode()}"


def check_file_pass(
    header: str, path: str, *, key_of: Callable[[str], bytes | None], now_ms: int
) -> str:
    """The device whose pass `header` is.

    Args:
        key_of: the public key of a device that may read; None for any other.

    Raises: RejectedError: it is no pass for `path` now ("bad_pass").
    """
    try:
        scheme, _, value = header.partition(" ")
        device_id, at, signature = value.split(".")
        at_ms, raw = int(at), base64.urlsafe_b64decode(signature)
    except (ValueError, binascii.Error) as error:
        raise _refused("it cannot be read") from error
    if scheme != SCHEME or abs(now_ms - at_ms) > VALID_MS:
        raise _refused("it is of another time: set the device's clock")
    key = key_of(device_id)
    if key is None:
        raise _refused("no such device may read")
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(raw, _text(device_id, path, at_ms))
    except (InvalidSignature, ValueError) as error:
        raise _refused("its signature is wrong") from error
    return device_id


def _text(device_id: str, path: str, at_ms: int) -> bytes:
    return f"{_DOMAIN}\n{device_id}\n{at_ms}\n{path}".encode()


def _refused(why: str) -> RejectedError:
    return RejectedError(f"the pass for this file does not count: {why}", reason="bad_pass")
