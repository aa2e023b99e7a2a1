"""What an enrolled phone connects with, on disk; and a transport that changes over to new ones.

    enrolment.json   who it is, where its broker is, its password, and the next one (mode 0600)
    identity.pem     its own key (mode 0600)
    broker_ca.pem    the broker's certificate authority, where it has its own

A rotation overlaps: the new password is stored beside the old one, then the cloud makes it valid;
whichever the broker takes is used, and the old one is forgotten once the new one worked.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from sync.broker_address import MqttAddress, parse_url
from sync.durable_file import write_durably
from sync.enrolment import Enrolment, new_key
from sync.errors import IntegrityError, LinkLostError
from sync.messages import NewCredentials
from sync.ports import Connected, Disconnected, Incoming, Sink, Transport, TransportEvent, Will

ENROLMENT_FILE: Final = "enrolment.json"
KEY_FILE: Final = "identity.pem"
CA_FILE: Final = "broker_ca.pem"


class StoredEnrolment(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of enrolment.json.

    Attributes:
        password, credentials: what the phone connects with, and its version.
        next_password, next_credentials: what is to replace them; empty and 0 between rotations.
        url: the cloud that enrolled it.
    """

    device_id: str
    fleet: str
    broker_url: str
    client_id: str
    password: str
    credentials: int
    channel: str = "stable"
    next_password: str = ""
    next_credentials: int = 0
    url: str = ""

    def __repr__(self) -> str:
        """Without the passwords."""
        return f"StoredEnrolment({self.device_id!r}, credentials={self.credentials})"


class CredentialStore:
    """The enrolment of the phone in one folder. Thread-safe.

    Every change is on disk, whole, when a method returns.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._tries_next = False

    @property
    def is_enrolled(self) -> bool:
        """Whether the phone was let into a fleet."""
        return (self._folder / ENROLMENT_FILE).is_file()

    def read(self) -> StoredEnrolment:
        """What the phone was given.

        Raises: IntegrityError: it was never enrolled, or the file is damaged.
        """
        path = self._folder / ENROLMENT_FILE
        try:
            return msgspec.json.decode(path.read_bytes(), type=StoredEnrolment)
        except (OSError, msgspec.MsgspecError) as error:
            raise IntegrityError(
                f"{path} cannot be read ({error}): run outrider phone enroll with a new token"
            ) from error

    def key(self) -> bytes:
        """The phone's private key (PEM); made where it has none.

        Raises: OSError: it cannot be read or written.
        """
        path = self._folder / KEY_FILE
        if not path.exists():
            write_durably(path, new_key(), mode=0o600)
        return path.read_bytes()

    def write(self, given: Enrolment, *, url: str) -> None:
        """Remember what the cloud gave."""
        if given.broker_ca:
            write_durably(self._folder / CA_FILE, given.broker_ca.encode(), mode=0o600)
        self._save(
            StoredEnrolment(
                device_id=given.device_id,
                fleet=given.fleet,
                broker_url=given.broker_url,
                client_id=given.client_id,
                password=given.password,
                credentials=given.credentials,
                channel=given.channel,
                url=url,
            )
        )

    def address(self) -> MqttAddress:
        """Where the broker is, and what to connect with this time.

        Raises: IntegrityError: see `read`.
        """
        stored = self.read()
        with self._lock:
            use_next = self._tries_next and bool(stored.next_password)
        where = parse_url(stored.broker_url)
        authority = self._folder / CA_FILE
        return MqttAddress(
            host=where.host,
            port=where.port,
            client_id=stored.client_id,
            username=stored.device_id,
            password=stored.next_password if use_next else stored.password,
            certificates=authority if where.tls and authority.is_file() else None,
        )

    def version(self) -> int:
        """Version of the credentials that the last address had."""
        stored = self.read()
        return stored.next_credentials if self._tries_next else stored.credentials

    def take(self, offered: NewCredentials) -> bool:
        """Store new credentials beside those in use; False where they are not newer."""
        with self._lock:
            stored = self.read()
            if offered.version <= stored.credentials:
                return False
            self._save(
                msgspec.structs.replace(
                    stored, next_password=offered.password, next_credentials=offered.version
                )
            )
            return True

    def worked(self) -> None:
        """The broker took the last address: forget the others."""
        with self._lock:
            if not self._tries_next:
                return
            stored = self.read()
            self._save(
                msgspec.structs.replace(
                    stored,
                    password=stored.next_password,
                    credentials=stored.next_credentials,
                    next_password="",
                    next_credentials=0,
                )
            )
            self._tries_next = False

    def refused(self) -> None:
        """The broker did not take the last address: try the other password next time."""
        with self._lock:
            self._tries_next = not self._tries_next and bool(self.read().next_password)

    def _save(self, stored: StoredEnrolment) -> None:
        write_durably(self._folder / ENROLMENT_FILE, msgspec.json.encode(stored), mode=0o600)


class EnrolledTransport:
    """A `Transport` with the credentials of a folder, as they are at each connection.

    Args:
        store: the phone's credentials.
        make: a transport to an address.
    """

    def __init__(self, store: CredentialStore, make: Callable[[MqttAddress], Transport]) -> None:
        self._store = store
        self._make = make
        self._inner: Transport | None = None

    def connect(self, sink: Sink, will: Will | None = None) -> None:
        """See Transport."""
        self.close()
        self._inner = self._make(self._store.address())
        answered = threading.Event()  # a refusal is told, and then that its link ended

        def watched(event: TransportEvent) -> None:
            if isinstance(event, Connected | Disconnected) and not answered.is_set():
                answered.set()
                if isinstance(event, Connected):
                    self._store.worked()
                else:
                    self._store.refused()
            sink(event)

        self._inner.connect(watched, will)

    def subscribe(self, filters: tuple[str, ...]) -> None:
        """See Transport."""
        self._connection().subscribe(filters)

    def publish(self, topic: str, payload: bytes, *, qos: int, retain: bool) -> None:
        """See Transport."""
        self._connection().publish(topic, payload, qos=qos, retain=retain)

    def acknowledge(self, incoming: Incoming) -> None:
        """See Transport."""
        if self._inner is not None:
            self._inner.acknowledge(incoming)

    def close(self) -> None:
        """See Transport."""
        inner, self._inner = self._inner, None
        if inner is not None:
            inner.close()

    def _connection(self) -> Transport:
        if self._inner is None:
            raise LinkLostError("not connected to the broker: connect first")
        return self._inner
