"""Keys on the wire: a hand-written server proves who it is, or does not."""

from __future__ import annotations

import base64
import struct

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa, utils

from apps_mock.adb_auth import AuthProfile, public_key
from apps_mock.adb_profile import PhoneProfile
from apps_mock.adb_server import MockAdbDaemon
from apps_mock.errors import AdbProtocolError
from apps_mock.phone import MockPhone
from tests.adb_peer import Peer

TOKEN, SIGNATURE, PUBLIC_KEY = 1, 2, 3


@pytest.fixture(scope="module")
def phone():
    phone = MockPhone()
    phone.load("contacts_search", 1)
    return phone


@pytest.fixture(scope="module")
def key():
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture
def daemon(phone, request):
    daemon = MockAdbDaemon(phone, profile=PhoneProfile(auth=request.param))
    daemon.start()
    yield daemon
    daemon.stop()


def signed(key, token):
    return key.sign(token, padding.PKCS1v15(), utils.Prehashed(hashes.SHA1()))


def line_of(key):
    """A public key as an adb server sends it."""
    numbers = key.public_key().public_numbers()
    inverse = (-pow(numbers.n, -1, 1 << 32)) & 0xFFFFFFFF
    blob = struct.pack("<2I", 64, inverse)
    blob += numbers.n.to_bytes(256, "little") + pow(2, 4096, numbers.n).to_bytes(256, "little")
    return base64.b64encode(blob + struct.pack("<I", numbers.e)) + b" somebody@somewhere\0"


@pytest.mark.parametrize("daemon", [AuthProfile.RSA_AUTO], indirect=True)
def test_unknown_key_is_asked_for_allowed_and_known_from_then_on(daemon, key):
    with Peer(daemon.port) as peer:
        command, kind, _, token, total = peer.greet()
        assert (command, kind, len(token)) == (b"AUTH", TOKEN, 20)
        assert total == sum(token)
        peer.send(b"AUTH", SIGNATURE, 0, signed(key, token))
        command, kind, _, other, _ = peer.receive()
        assert (command, kind) == (b"AUTH", TOKEN)
        assert other != token
        peer.send(b"AUTH", PUBLIC_KEY, 0, line_of(key))
        assert peer.receive()[0] == b"CNXN"
        assert peer.everything(b"shell:echo in") == [b"in\n"]
    with Peer(daemon.port) as peer:
        token = peer.greet()[3]
        peer.send(b"AUTH", SIGNATURE, 0, signed(key, token))
        assert peer.receive()[0] == b"CNXN"


@pytest.mark.parametrize("daemon", [AuthProfile.RSA_AUTO], indirect=True)
def test_signature_of_another_token_or_key_lets_nobody_in(daemon, key):
    with Peer(daemon.port) as peer:
        peer.greet()
        peer.send(b"AUTH", PUBLIC_KEY, 0, line_of(key))
        assert peer.receive()[0] == b"CNXN"
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    with Peer(daemon.port) as peer:
        token = peer.greet()[3]
        for signature in (signed(stranger, token), signed(key, b"x" * 20), b"", b"\0" * 4096):
            peer.send(b"AUTH", SIGNATURE, 0, signature)
            command, _, _, token, _ = peer.receive()
            assert command == b"AUTH"


@pytest.mark.parametrize("daemon", [AuthProfile.RSA_DENY], indirect=True)
def test_denied_key_is_never_answered_and_opens_nothing(daemon, key):
    with Peer(daemon.port) as peer:
        peer.greet()
        peer.send(b"AUTH", PUBLIC_KEY, 0, line_of(key))
        peer.socket.settimeout(0.3)
        with pytest.raises(TimeoutError):
            peer.receive()
        peer.send(b"OPEN", 7, 0, b"shell:id\0")
        peer.socket.settimeout(5)
        assert peer.is_gone()


@pytest.mark.parametrize("daemon", [AuthProfile.RSA_LATE], indirect=True)
def test_late_owner_lets_the_key_in_after_a_while(daemon, key):
    with Peer(daemon.port) as peer:
        peer.greet()
        peer.send(b"AUTH", PUBLIC_KEY, 0, line_of(key))
        peer.socket.settimeout(0.2)
        with pytest.raises(TimeoutError):
            peer.receive()
        peer.socket.settimeout(5)
        assert peer.receive()[0] == b"CNXN"


@pytest.mark.parametrize("daemon", [AuthProfile.RSA_LATE], indirect=True)
def test_daemon_stops_while_its_owner_thinks(daemon, key):
    with Peer(daemon.port) as peer:
        peer.greet()
        peer.send(b"AUTH", PUBLIC_KEY, 0, line_of(key))

        daemon.stop()

        assert peer.is_gone()


@pytest.mark.parametrize("daemon", [AuthProfile.RSA_AUTO], indirect=True)
@pytest.mark.parametrize(
    ("kind", "payload"), [(PUBLIC_KEY, b"no key"), (PUBLIC_KEY, b""), (7, b""), (0, b"x")]
)
def test_what_is_no_key_ends_the_link(daemon, kind, payload):
    with Peer(daemon.port) as peer:
        peer.greet()
        peer.send(b"AUTH", kind, 0, payload)
        assert peer.is_gone()


def test_key_is_read_from_its_line(key):
    assert public_key(line_of(key)).public_numbers() == key.public_key().public_numbers()


def test_key_of_another_size_is_refused():
    with pytest.raises(AdbProtocolError, match="524"):
        public_key(base64.b64encode(b"x" * 100))
