"""A Transport that leaves out what the broker repeats while the first copy still waits here.

Brokers may send again what was not acknowledged for a while (NATS does, after its `ack_wait`), with
the message's own packet id. Where everything waits longer than that, each message comes again and
again: the copies make those behind them wait longer still, and nothing moves any more.
"""

from __future__ import annotations

from sync.ports import Incoming, Sink, Transport, TransportEvent, Will


class UnansweredOnce:
    """Passes everything on to and from a transport, but no copy of what is unacknowledged.

    Use it where every message is acknowledged in the end, or the connection is made anew.

    Attributes:
        repeats: how many copies were left out.
    """

    def __init__(self, transport: Transport) -> None:
        self.repeats = 0
        self._transport = transport
        self._waiting: set[object] = set()

    def connect(self, sink: Sink, will: Will | None = None) -> None:
        """See Transport."""
        waiting: set[object] = set()
        self._waiting = waiting

        def pass_on(event: TransportEvent) -> None:
            if isinstance(event, Incoming) and event.receipt is not None:
                if event.redelivered and event.receipt in waiting:
                    self.repeats += 1
                    return
                waiting.add(event.receipt)
            sink(event)

        self._transport.connect(pass_on, will)

    def subscribe(self, filters: tuple[str, ...]) -> None:
        """See Transport."""
        self._transport.subscribe(filters)

    def publish(self, topic: str, payload: bytes, *, qos: int, retain: bool) -> None:
        """See Transport."""
        self._transport.publish(topic, payload, qos=qos, retain=retain)

    def acknowledge(self, incoming: Incoming) -> None:
        """See Transport."""
        self._waiting.discard(incoming.receipt)
        self._transport.acknowledge(incoming)

    def close(self) -> None:
        """See Transport."""
        self._transport.close()
