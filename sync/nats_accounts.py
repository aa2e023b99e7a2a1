"""The accounts of our nats-server, kept in its directory: any process of its owner may change them.

    accounts.lock ─► state.json ─► nats.json ─► SIGHUP to the running server ─► its log says so

The process that runs the server and the cloud service, which enrols and revokes, change the same
files under one lock, so neither forgets what the other did.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sync.broker_accounts import (
    OWNER,
    RESERVED,
    SERVICE,
    BrokerState,
    check_device_id,
    load_state,
    no_account,
    random_password,
    save_state,
    write_private,
)
from sync.broker_address import MqttAddress
from sync.broker_config import accounts_section
from sync.clock import Clock, SystemClock
from sync.durable_file import exclusive
from sync.errors import BrokerError
from sync.local_ports import HOST

STATE_FILE: Final = "state.json"
CONFIG_FILE: Final = "nats.json"
LOG_FILE: Final = "nats.log"
PID_FILE: Final = "nats.pid"
RELOAD_TIMEOUT_S: Final = 5.0
POLL_S: Final = 0.01


class NatsAccounts:
    """Implements `BrokerAccounts` for the nats-server of a directory, running or not.

    Args:
        directory: the broker's, readable by its owner only.
        fleet: whose topics the accounts may use.
        new_password: makes the secret of a new account.
    """

    def __init__(
        self,
        directory: Path,
        *,
        fleet: str,
        clock: Clock | None = None,
        new_password: Callable[[], str] = random_password,
    ) -> None:
        self._directory = directory
        self._fleet = fleet
        self._clock = clock or SystemClock()
        self._new_password = new_password

    @contextmanager
    def locked(self) -> Iterator[BrokerState]:
        """The state as it is on disk, held against other processes; saved at the end.

        Raises: BrokerError: it cannot be read, or belongs to another fleet.
        """
        path = self._directory / STATE_FILE
        with exclusive(self._directory / "accounts.lock"):
            state = load_state(path, self._fleet)
            for name in sorted(RESERVED):
                state.passwords.setdefault(name, self._new_password())
            yield state
            save_state(path, state)

    @property
    def devices(self) -> tuple[str, ...]:
        """See BrokerAccounts."""
        return tuple(sorted(name for name in self._read().passwords if name not in RESERVED))

    def add_devices(self, device_ids: Iterable[str]) -> None:
        """See BrokerAccounts."""
        wanted = [check_device_id(one) for one in device_ids]

        def add(passwords: dict[str, str]) -> bool:
            fresh = [one for one in wanted if one not in passwords]
            passwords.update((one, self._new_password()) for one in fresh)
            return bool(fresh)

        self._change(add)

    def add_device(self, device_id: str) -> MqttAddress:
        """See BrokerAccounts."""
        self.add_devices([device_id])
        return self.address(device_id)

    def set_password(self, device_id: str, password: str) -> MqttAddress:
        """See BrokerAccounts; nats-server ends the device's connection with its old password."""

        def replace(passwords: dict[str, str]) -> bool:
            if device_id in RESERVED or device_id not in passwords:
                raise no_account(device_id)
            changed = passwords[device_id] != password
            passwords[device_id] = password
            return changed

        self._change(replace)
        return self.address(device_id)

    def remove_device(self, device_id: str) -> None:
        """See BrokerAccounts."""
        if device_id not in RESERVED:
            self._change(lambda passwords: passwords.pop(device_id, None) is not None)

    def address(self, name: str = SERVICE) -> MqttAddress:
        """See BrokerAccounts."""
        state = self._read()
        password = state.passwords.get(name)
        if password is None:
            raise no_account(name)
        return MqttAddress(
            host=HOST, port=state.mqtt_port, client_id=name, username=name, password=password
        )

    def orphan(self) -> int | None:
        """Process id of the server that runs with this directory's configuration, or None."""
        try:
            pid = int((self._directory / PID_FILE).read_text())
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (OSError, ValueError):
            return None
        config = str(self._directory.resolve() / CONFIG_FILE).encode()
        return pid if config in command.split(b"\0") else None

    def _read(self) -> BrokerState:
        return load_state(self._directory / STATE_FILE, self._fleet)

    def _change(self, change: Callable[[dict[str, str]], bool]) -> None:
        """Change the passwords, and make a running server go by them.

        Args:
            change: changes them in place; whether anything is different now.
        """
        with self.locked() as state:
            if not change(state.passwords):
                return
        self._apply()

    def _apply(self) -> None:
        """Write what state.json says into the configuration, and have it read."""
        with exclusive(self._directory / "accounts.lock"):
            path = self._directory / CONFIG_FILE
            if not path.is_file():
                return
            config = json.loads(path.read_bytes())
            passwords = self._read().passwords
            config["accounts"] = accounts_section(
                self._fleet, passwords, service=SERVICE, owner=OWNER
            )
            write_private(path, json.dumps(config, indent=1).encode())
            self._reload()

    def _reload(self) -> None:
        pid = self.orphan()
        if pid is None:
            return
        log = self._directory / LOG_FILE
        seen_bytes = log.stat().st_size
        os.kill(pid, signal.SIGHUP)
        deadline_s = self._clock.monotonic_s() + RELOAD_TIMEOUT_S
        while self._clock.monotonic_s() < deadline_s:
            news = _tail(log, seen_bytes)
            if "Reloaded server configuration" in news:
                return
            if "Failed to reload" in news or self.orphan() is None:
                break
            self._clock.sleep(POLL_S)
        raise BrokerError(f"the broker did not take its new accounts: see {log}")


def _tail(log: Path, offset: int) -> str:
    with log.open("rb") as stream:
        stream.seek(offset)
        return stream.read().decode(errors="replace")
