"""Who may use the mock phone: the RSA keys of adb servers, and an owner who answers the dialog.

A server proves that it has a key by signing a token of ours. A key that is not known yet is sent in
the open, and the phone's owner is asked; here a profile answers in the owner's place. Everything in
a key is a stranger's input.
"""

from __future__ import annotations

import base64
import binascii
import secrets
import struct
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from apps_mock.errors import AdbProtocolError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

TOKEN_BYTES: Final = 20
LATE_S: Final = 1.0
"""How long the owner of `rsa-late` takes to touch Allow."""

_WORDS: Final = 64
_MODULUS: Final = slice(8, 264)
_EXPONENT: Final = slice(520, 524)
_KEY_BYTES: Final = 524
_LONGEST_LINE: Final = 4096


class AuthProfile(StrEnum):
    """How the phone's owner answers.

    Attributes:
        NONE: no key is asked for.
        RSA_AUTO: every key is allowed at once, and known from then on.
        RSA_DENY: no key is ever allowed; the phone stays unauthorized.
        RSA_LATE: a key is allowed some time after it was shown.
    """

    NONE = "none"
    RSA_AUTO = "rsa-auto"
    RSA_DENY = "rsa-deny"
    RSA_LATE = "rsa-late"


class KnownKeys:
    """The keys that a phone's owner allowed; shared by the connections of one phone.

    Args:
        new_token: makes the 20 bytes that a server has to sign.
    """

    def __init__(
        self,
        profile: AuthProfile,
        *,
        new_token: Callable[[], bytes] = lambda: secrets.token_bytes(TOKEN_BYTES),
    ) -> None:
        self.profile = profile
        self.new_token = new_token
        self._keys: list[RSAPublicKey] = []

    def has_signed(self, token: bytes, signature: bytes) -> bool:
        """Whether a known key made the signature of the token."""
        return any(_verifies(key, token, signature) for key in self._keys)

    def answer_s(self, line: bytes) -> float | None:
        """Ask the owner about a key: seconds until it is allowed; None for never.

        Raises: AdbProtocolError: that is no public key.
        """
        key = public_key(line)
        if self.profile is AuthProfile.RSA_DENY:
            return None
        self._keys.append(key)
        return LATE_S if self.profile is AuthProfile.RSA_LATE else 0.0


def public_key(line: bytes) -> RSAPublicKey:
    """The key in what an adb server sends: base64 of Android's structure, a blank, a name.

    Raises: AdbProtocolError: it is something else.
    """
    from cryptography.hazmat.primitives.asymmetric import rsa  # noqa: PLC0415 - only with keys

    encoded = line[:_LONGEST_LINE].rstrip(b"\0").partition(b" ")[0]
    try:
        blob = base64.b64decode(encoded, validate=True)
        if len(blob) != _KEY_BYTES or struct.unpack_from("<I", blob)[0] != _WORDS:
            raise AdbProtocolError(f"a public key has {len(blob)} bytes, not {_KEY_BYTES}")
        modulus = int.from_bytes(blob[_MODULUS], "little")
        exponent = int.from_bytes(blob[_EXPONENT], "little")
        return rsa.RSAPublicNumbers(exponent, modulus).public_key()
    except (binascii.Error, ValueError) as error:
        raise AdbProtocolError(f"a peer's public key is none: {error}") from error


def _verifies(key: RSAPublicKey, token: bytes, signature: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - only with keys
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415 - only with keys
    from cryptography.hazmat.primitives.asymmetric import padding, utils  # noqa: PLC0415 - as above

    digest = utils.Prehashed(hashes.SHA1())  # noqa: S303 - the protocol's; the token stands for it
    try:
        key.verify(signature, token, padding.PKCS1v15(), digest)
    except InvalidSignature:
        return False
    return True
