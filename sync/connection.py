"""Keeps one connection to the broker alive: connects, waits with jitter, connects again.

A state machine without a thread: `handle` takes the driver's events, `pump` does what is due and
says how long nothing is. Both links stand on it.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from random import Random
from typing import Final

from sync.clock import Clock
from sync.errors import LinkLostError
from sync.outbox import Backoff
from sync.ports import Connected, Disconnected, Incoming, Sink, Transport, TransportEvent, Will

RECONNECT: Final = Backoff(first_s=0.2, cap_s=30.0)
CONTENDED: Final = Backoff(first_s=30.0, cap_s=900.0)
"""Where another process connects under our name, each throws the other off: both wait long."""
_SPREAD_FAILURES: Final = 3
"""A connection that held and is lost is tried again as after so many failures, within 3.2 s: when a
broker ends, all phones lose theirs at once and must not come back at once."""
ANSWER_TIMEOUT_S: Final = 10.0
STABLE_AFTER_S: Final = 5.0
"""A connection that held this long was good: the next wait is short again."""


class _State(Enum):
    DOWN = "down"
    CONNECTING = "connecting"
    ONLINE = "online"
    CLOSED = "closed"


class Connection:
    """One endless connection over a transport; used by one thread.

    Args:
        will: called for each connection, before it is made.
        sink: where the transport's events go; the owner hands them back to `handle`.
        changed: called after the connection came online or went down, inside the causing call.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        sink: Sink,
        will: Callable[[], Will | None],
        changed: Callable[[], None],
        clock: Clock,
        random: Random,
        backoff: Backoff = RECONNECT,
    ) -> None:
        self._transport = transport
        self._sink = sink
        self._will = will
        self._changed = changed
        self._clock = clock
        self._random = random
        self._backoff = backoff
        self._state = _State.DOWN
        self._failures = 0
        self._since_s = clock.monotonic_s()
        self._retry_at_s = self._since_s
        self._contended = False
        self.connects = 0
        self.last_error = ""

    @property
    def online(self) -> bool:
        """Whether messages can be published now."""
        return self._state is _State.ONLINE

    @property
    def contended(self) -> bool:
        """Whether the cloud sees another process connect under our name."""
        return self._contended

    def set_contended(self, *, contended: bool) -> None:
        """Wait long from now on before connecting again, or no longer so."""
        if contended != self._contended:
            self._contended = contended
            self._failures = 0

    def pump(self) -> float | None:
        """Connect if it is time to; seconds until there is something to do, None if nothing is."""
        now_s = self._clock.monotonic_s()
        if self._state is _State.DOWN and now_s >= self._retry_at_s:
            self._connect(now_s)
        elif self._state is _State.CONNECTING and now_s - self._since_s >= ANSWER_TIMEOUT_S:
            self.lose(f"the broker did not answer within {ANSWER_TIMEOUT_S:.0f} s")
        if self._state is _State.DOWN:
            return max(0.0, self._retry_at_s - now_s)
        if self._state is _State.CONNECTING:
            return max(0.0, self._since_s + ANSWER_TIMEOUT_S - now_s)
        return None

    def handle(self, event: TransportEvent) -> None:
        """Take an event about the connection itself."""
        if isinstance(event, Connected) and self._state is _State.CONNECTING:
            self._state = _State.ONLINE
            self._since_s = self._clock.monotonic_s()
            self.connects += 1
            self._changed()
        elif isinstance(event, Disconnected):
            self.lose(event.reason)

    def subscribe(self, filters: tuple[str, ...]) -> None:
        """Subscribe; a connection that is lost meanwhile is made again later."""
        try:
            self._transport.subscribe(filters)
        except LinkLostError as error:
            self.lose(str(error))

    def publish(self, topic: str, payload: bytes, *, qos: int, retain: bool) -> bool:
        """Publish; False where there is no connection (any more)."""
        if not self.online:
            return False
        try:
            self._transport.publish(topic, payload, qos=qos, retain=retain)
        except LinkLostError as error:
            self.lose(str(error))
        return self.online

    def acknowledge(self, incoming: Incoming) -> None:
        """Tell the broker that a message is dealt with."""
        self._transport.acknowledge(incoming)

    def lose(self, reason: str) -> None:
        """Give the connection up and plan the next one."""
        if self._state in {_State.DOWN, _State.CLOSED}:
            return
        now_s = self._clock.monotonic_s()
        was_online = self.online
        if was_online and now_s - self._since_s >= STABLE_AFTER_S and not self._contended:
            self._failures = _SPREAD_FAILURES
        self._transport.close()
        self._plan(reason, now_s)
        if was_online:
            self._changed()

    def close(self) -> None:
        """End the connection for good."""
        self._state = _State.CLOSED
        self._transport.close()

    def _connect(self, now_s: float) -> None:
        self._state = _State.CONNECTING
        self._since_s = now_s
        try:
            self._transport.connect(self._sink, self._will())
        except LinkLostError as error:
            self._plan(str(error), now_s)

    def _plan(self, reason: str, now_s: float) -> None:
        self._state = _State.DOWN
        self.last_error = reason
        backoff = CONTENDED if self._contended else self._backoff
        self._retry_at_s = now_s + backoff.delay_s(self._failures, self._random)
        self._failures += 1
