"""What differs between the brokers that we run as a child process: files, command, reload."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

from sync.broker_accounts import BrokerState
from sync.clock import Clock
from sync.errors import BrokerError

RELOAD_TIMEOUT_S: Final = 15.0
"""nats-server reads its accounts only after a connection that is just being made, which can take it
5 s where it is made in the moment of the reload."""
POLL_S: Final = 0.01
STORE: Final = "store"
"""The folder in a broker's directory in which it keeps its messages."""


class BrokerServer(Protocol):
    """One make of broker; files are named within the broker's directory."""

    @property
    def name(self) -> str:
        """What state.json calls it."""
        ...

    @property
    def config_file(self) -> str:
        """Its configuration; stands in its command line, by which a running one is known."""
        ...

    @property
    def log_file(self) -> str:
        """Where it writes what happens."""
        ...

    @property
    def pid_file(self) -> str:
        """Where it writes its process id."""
        ...

    def command(self, directory: Path) -> list[str]:
        """How it is started.

        Raises: BrokerError: it is not installed.
        """
        ...

    def configure(self, directory: Path, state: BrokerState) -> None:
        """Write all of its configuration, accounts included."""
        ...

    def write_accounts(self, directory: Path, state: BrokerState) -> None:
        """Write what says who may connect; the rest stays. Nothing where it was never started."""
        ...

    def reload(self, directory: Path, state: BrokerState, pid: int, clock: Clock) -> None:
        """Make the running server go by its new accounts, and wait until it does.

        Raises: BrokerError: it did not.
        """
        ...


def wait_for(condition: Callable[[], bool], clock: Clock, *, why: str) -> None:
    """Wait until `condition` holds.

    Raises: BrokerError: it did not within RELOAD_TIMEOUT_S; the text is `why`.
    """
    deadline_s = clock.monotonic_s() + RELOAD_TIMEOUT_S
    while not condition():
        if clock.monotonic_s() >= deadline_s:
            raise BrokerError(why)
        clock.sleep(POLL_S)


def text_from(log: Path, offset: int) -> str:
    """What a log file says from a byte on."""
    with log.open("rb") as stream:
        stream.seek(offset)
        return stream.read().decode(errors="replace")
