"""What the wire needs from the outside: a connection to a broker, and files to serve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from sync.messages import DesiredSettings, NewCredentials, ReportedSettings


@dataclass(frozen=True, slots=True)
class Will:
    """What the broker publishes when a connection ends without `close`; QoS 1, retained."""

    topic: str
    payload: bytes


@dataclass(frozen=True, slots=True)
class Connected:
    """The broker accepted the connection."""


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The connection ended or was refused; `reason` is one line."""

    reason: str


@dataclass(frozen=True, slots=True)
class Incoming:
    """A message from the broker.

    Attributes:
        receipt: what `acknowledge` needs; None for QoS 0.
        redelivered: the broker says that it sent this before.
    """

    topic: str
    payload: bytes
    receipt: object = None
    redelivered: bool = False
    retained: bool = False


TransportEvent = Connected | Disconnected | Incoming
Sink = Callable[[TransportEvent], None]
"""Takes events from any thread; it only queues them, so a driver may call it under a lock."""


class Transport(Protocol):
    """A connection to an MQTT 3.1.1 broker, without any queue of its own that outlives it.

    One thread calls the methods; events arrive through the sink, from any thread, in order per
    connection, and none from an earlier connection after `connect` returned. Sessions are clean:
    the broker keeps nothing for a client that is away.
    """

    def connect(self, sink: Sink, will: Will | None = None) -> None:
        """Begin to connect and return; Connected or Disconnected follows. Drops an old connection.

        Raises: LinkLostError: the broker cannot be reached at all.
        """
        ...

    def subscribe(self, filters: tuple[str, ...]) -> None:
        """Ask for messages at QoS 1; a refusal by the broker ends the connection.

        Raises: LinkLostError: not connected.
        """
        ...

    def publish(self, topic: str, payload: bytes, *, qos: int, retain: bool) -> None:
        """Hand one message to the connection without waiting; what happens to it is not told.

        Raises: LinkLostError: not connected.
        """
        ...

    def acknowledge(self, incoming: Incoming) -> None:
        """Tell the broker that `incoming` is dealt with; before that it may come again. Idempotent.

        Does nothing for QoS 0 or for a message of an earlier connection.
        """
        ...

    def close(self) -> None:
        """End the connection cleanly after what was published is sent; no will. Idempotent."""
        ...


@dataclass(frozen=True, slots=True)
class FilePart:
    """Some bytes of a file.

    Attributes:
        total: size of the whole file in bytes.
        version: changes when the file changes.
    """

    data: bytes
    total: int
    version: str


class FileSource(Protocol):
    """Files that devices may fetch by path."""

    def read(self, path: str, offset: int, length: int) -> FilePart | None:
        """At most `length` bytes from `offset` on, or None where there is no such file."""
        ...


class SettingsHolder(Protocol):
    """A device's settings from afar; called on the session's thread, and quick."""

    def take(self, desired: DesiredSettings) -> ReportedSettings:
        """Go by `desired` where it is newer, durably; what holds afterwards, either way."""
        ...

    def report(self) -> ReportedSettings | None:
        """What holds now; None where nothing was ever set from afar."""
        ...


class CredentialsHolder(Protocol):
    """An enrolled device's credentials; called on the session's thread, and quick."""

    def take(self, offered: NewCredentials) -> bool:
        """Store new ones beside those in use, durably; False where they are not newer."""
        ...

    def version(self) -> int:
        """Version of those that this connection was made with."""
        ...
