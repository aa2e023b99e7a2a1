"""Mosquitto as our broker: password and ACL file from the topic table, and how it reloads.

Its ACL file grants every subscription and filters what is delivered, so a device that asks for
another's topics is not refused: it hears nothing.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sync.broker_accounts import BrokerState, write_private
from sync.broker_server import STORE, text_from, wait_for
from sync.clock import Clock
from sync.errors import BrokerError
from sync.local_ports import HOST
from sync.mosquitto_config import Listener, acl_file, password_file, server_config

ACL_FILE: Final = "acl"
PASSWORD_FILE: Final = "passwords"  # noqa: S105 - a file's name
_KNOCK_TIMEOUT_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class ServerTls:
    """What a broker needs for TLS, as files.

    Attributes:
        ca: the authority that clients check the broker's certificate with.
        client_ca: the authority of the clients' own certificates, where they must have one; its
            common name is then the account's name, and no password is asked for.
    """

    ca: Path
    certificate: Path
    key: Path
    client_ca: Path | None = None


@dataclass(frozen=True, slots=True)
class MosquittoServer:
    """A `BrokerServer`; Mosquitto comes with the system (Debian: apt install mosquitto)."""

    tls: ServerTls | None = None
    name: str = "mosquitto"
    config_file: str = "mosquitto.conf"
    log_file: str = "mosquitto.log"
    pid_file: str = "mosquitto.pid"

    def command(self, directory: Path) -> list[str]:
        """See BrokerServer."""
        binary = mosquitto_binary()
        if binary is None:
            raise BrokerError("mosquitto is not installed: apt install mosquitto, or use nats")
        return [str(binary), "-c", str(directory / self.config_file)]

    def configure(self, directory: Path, state: BrokerState) -> None:
        """See BrokerServer."""
        (directory / STORE).mkdir(mode=0o700, exist_ok=True)
        state.ca = "" if self.tls is None else str(self.tls.ca)
        config = server_config(
            Listener(
                host=HOST,
                port=state.mqtt_port,
                tls=None
                if self.tls is None
                else (self.tls.certificate, self.tls.key, self.tls.client_ca),
            ),
            accounts=[
                f"password_file {directory / PASSWORD_FILE}",
                f"acl_file {directory / ACL_FILE}",
            ],
            store=directory / STORE,
            pid=directory / self.pid_file,
            log=directory / self.log_file,
            user="root" if os.geteuid() == 0 else "",  # another could not write to our directory
        )
        write_private(directory / self.config_file, config.encode())
        self.write_accounts(directory, state)

    def write_accounts(self, directory: Path, state: BrokerState) -> None:
        """See BrokerServer."""
        if (directory / self.config_file).is_file():
            passwords = password_file(state.passwords)
            write_private(directory / PASSWORD_FILE, passwords.encode())
            acl = acl_file(state.fleet, state.passwords)
            write_private(directory / ACL_FILE, acl.encode())

    def reload(self, directory: Path, state: BrokerState, pid: int, clock: Clock) -> None:
        """See BrokerServer."""
        log = directory / self.log_file
        seen_bytes = log.stat().st_size
        os.kill(pid, signal.SIGHUP)
        wait_for(
            lambda: "Reloading config" in text_from(log, seen_bytes),
            clock,
            why=f"the broker did not take its new accounts: see {log}",
        )
        _knock(state.mqtt_port)


def mosquitto_binary() -> Path | None:
    """Where mosquitto is, or None; Debian puts it where a user's PATH does not lead."""
    found = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")
    return None if found is None else Path(found)


def _knock(port: int) -> None:
    """Say something wrong and wait for the end: the server's one thread is then past its reload."""
    with suppress(OSError), socket.create_connection((HOST, port), _KNOCK_TIMEOUT_S) as knock:
        knock.sendall(b"\xc0\x00")  # a ping before any CONNECT
        while knock.recv(64):
            pass
