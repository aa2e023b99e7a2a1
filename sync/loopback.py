"""A broker and its connections in one process: the fake of `Transport` that ships.

It obeys the same rules as the real one (permissions, retained messages, wills, clean sessions,
redelivery of what was not acknowledged) and it can be told to lose, repeat and reorder messages,
with the caller's random generator, so that a fault is repeatable.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from random import Random

from sync import topics
from sync.errors import LinkLostError
from sync.ports import Connected, Disconnected, Incoming, Sink, Will


@dataclass(frozen=True, slots=True)
class Faults:
    """Chances, 0..1 per delivered message: to be lost, sent twice, or held back behind the next."""

    drop: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0


NO_FAULTS = Faults()


@dataclass(slots=True)
class _Client:
    sink: Sink
    will: Will | None
    filters: tuple[str, ...] = ()
    unacknowledged: dict[int, Incoming] = field(default_factory=dict)
    held: list[Incoming] = field(default_factory=list)


class LoopbackBroker:
    """Routes messages between the transports that it hands out; thread-safe.

    Args:
        fleet: with it set, each device may do what `topics.device_permissions` allows and no more.
    """

    def __init__(
        self,
        *,
        fleet: str | None = None,
        faults: Faults = NO_FAULTS,
        random: Random | None = None,
    ) -> None:
        self.faults = faults
        self.delivered = 0
        self._fleet = fleet
        self._random = random or Random(0)
        self._lock = threading.RLock()
        self._clients: dict[str, _Client] = {}
        self._retained: dict[str, bytes] = {}
        self._receipts = 0
        self._up = True

    def transport(self, user: str, *, service: bool = False) -> LoopbackTransport:
        """A connection for a device, or for the service, which may do everything."""
        permissions = (
            None if service or self._fleet is None else topics.device_permissions(self._fleet, user)
        )
        return LoopbackTransport(self, user, permissions)

    def kill(self) -> None:
        """Stop at once: connections break, nobody's will is published, memory is lost."""
        with self._lock:
            self._up = False
            clients, self._clients = self._clients, {}
            self._retained.clear()
        for client in clients.values():
            client.sink(Disconnected("the broker went away"))

    def restart(self) -> None:
        """Accept connections again."""
        self._up = True

    def cut(self, user: str) -> None:
        """Break one connection as a lost network does: its will is published."""
        with self._lock:
            client = self._clients.pop(user, None)
        if client is not None:
            self._publish_will(client)
            client.sink(Disconnected("the connection was cut"))

    def redeliver(self) -> None:
        """Send again whatever was not acknowledged, as a real broker does after a while."""
        with self._lock:
            for client in self._clients.values():
                for incoming in list(client.unacknowledged.values()):
                    client.sink(replace(incoming, redelivered=True))

    def attach(self, user: str, client: _Client) -> bool:
        """Connect a client; an older connection of the same user is ended. False while down."""
        with self._lock:
            if not self._up:
                return False
            older = self._clients.get(user)
            self._clients[user] = client
        if older is not None:
            older.sink(Disconnected("another connection has the same name"))
        return True

    def detach(self, user: str, client: _Client) -> None:
        """End a connection cleanly."""
        with self._lock:
            if self._clients.get(user) is client:
                del self._clients[user]

    def subscribe(self, client: _Client, filters: tuple[str, ...]) -> None:
        """Add filters and send what is retained under them."""
        with self._lock:
            client.filters += filters
            for topic, payload in list(self._retained.items()):
                if any(topics.matches(wanted, topic) for wanted in filters):
                    self._send(client, Incoming(topic, payload, retained=True), qos=1)

    def route(self, topic: str, payload: bytes, *, qos: int, retain: bool) -> None:
        """Deliver a message to whoever subscribed, now."""
        with self._lock:
            if retain:
                self._retained[topic] = payload
                if not payload:
                    del self._retained[topic]
            for client in list(self._clients.values()):
                if any(topics.matches(wanted, topic) for wanted in client.filters):
                    self._deliver(client, Incoming(topic, payload), qos=qos)

    def settle(self, client: _Client, receipt: int) -> None:
        """Forget a message that its receiver has dealt with."""
        with self._lock:
            client.unacknowledged.pop(receipt, None)

    def is_attached(self, user: str, client: _Client | None) -> bool:
        """Whether this very connection still stands."""
        return client is not None and self._clients.get(user) is client

    def _publish_will(self, client: _Client) -> None:
        if client.will is not None:
            self.route(client.will.topic, client.will.payload, qos=1, retain=True)

    def _deliver(self, client: _Client, incoming: Incoming, *, qos: int) -> None:
        if self._random.random() < self.faults.drop:
            return
        if self._random.random() < self.faults.reorder:
            client.held.append(incoming)
            return
        self._send(client, incoming, qos=qos)
        if self._random.random() < self.faults.duplicate:
            self._send(client, replace(incoming, redelivered=True), qos=qos)
        held, client.held = client.held, []
        for late in held:
            self._send(client, late, qos=qos)

    def _send(self, client: _Client, incoming: Incoming, *, qos: int) -> None:
        if qos:
            self._receipts += 1
            incoming = replace(incoming, receipt=self._receipts)
            client.unacknowledged[self._receipts] = incoming
        self.delivered += 1
        client.sink(incoming)


class LoopbackTransport:
    """A `Transport` to a LoopbackBroker."""

    def __init__(
        self, broker: LoopbackBroker, user: str, permissions: topics.Permissions | None
    ) -> None:
        self._broker = broker
        self._user = user
        self._permissions = permissions
        self._client: _Client | None = None

    def connect(self, sink: Sink, will: Will | None = None) -> None:
        """See Transport."""
        self.close()
        client = _Client(sink, will if will is not None and self._may_publish(will.topic) else None)
        if not self._broker.attach(self._user, client):
            raise LinkLostError("the loopback broker is down: call its restart()")
        self._client = client
        sink(Connected())

    def subscribe(self, filters: tuple[str, ...]) -> None:
        """See Transport."""
        client = self._connection()
        if not all(self._may_subscribe(wanted) for wanted in filters):
            self._broker.detach(self._user, client)
            client.sink(Disconnected("the broker refused a subscription"))
            return
        self._broker.subscribe(client, filters)

    def publish(self, topic: str, payload: bytes, *, qos: int, retain: bool) -> None:
        """See Transport."""
        self._connection()
        if self._may_publish(topic):
            self._broker.route(topic, payload, qos=qos, retain=retain)

    def acknowledge(self, incoming: Incoming) -> None:
        """See Transport."""
        if self._client is not None and isinstance(incoming.receipt, int):
            self._broker.settle(self._client, incoming.receipt)

    def close(self) -> None:
        """See Transport."""
        if self._client is not None:
            self._broker.detach(self._user, self._client)
            self._client = None

    def _connection(self) -> _Client:
        if self._client is None or not self._broker.is_attached(self._user, self._client):
            raise LinkLostError("not connected to the loopback broker: connect first")
        return self._client

    def _may_publish(self, topic: str) -> bool:
        if self._permissions is None:
            return True
        return any(topics.matches(allowed, topic) for allowed in self._permissions.publish)

    def _may_subscribe(self, wanted: str) -> bool:
        if self._permissions is None:
            return True
        return any(_covers(allowed, wanted) for allowed in self._permissions.subscribe)


def _covers(allowed: str, wanted: str) -> bool:
    """Whether everything that `wanted` matches is matched by `allowed` too."""
    have, want = allowed.split("/"), wanted.split("/")
    for index, level in enumerate(have):
        if level == "#":
            return True
        if index >= len(want) or want[index] == "#":
            return False
        if level not in {"+", want[index]}:
            return False
    return len(have) == len(want)
