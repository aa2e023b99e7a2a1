"""The accounts of our broker, kept in its directory: any process of its owner may change them.

    accounts.lock ─► state.json ─► the server's files ─► SIGHUP to the running server, which obeys

The process that runs the server and the cloud service, which enrols and revokes, change the same
files under one lock, so neither forgets what the other did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from sync.broker_accounts import (
    RESERVED,
    SERVICE,
    BrokerState,
    check_device_id,
    load_state,
    no_account,
    random_password,
    save_state,
)
from sync.broker_address import MqttAddress
from sync.broker_server import BrokerServer
from sync.clock import Clock, SystemClock
from sync.durable_file import exclusive
from sync.errors import BrokerError
from sync.local_ports import HOST, accepts
from sync.mosquitto_server import MosquittoServer
from sync.nats_server import NatsServer

STATE_FILE: Final = "state.json"
_SERVERS: Final[dict[str, Callable[[], BrokerServer]]] = {
    "nats": NatsServer,
    "mosquitto": MosquittoServer,
}


class KeptAccounts:
    """Implements `BrokerAccounts` for the broker of a directory, running or not.

    Args:
        directory: the broker's, readable by its owner only.
        fleet: whose topics the accounts may use.
        server: the broker; None takes the one that the directory is of.
        new_password: makes the secret of a new account.

    Raises: BrokerError: the directory's state cannot be read, or belongs to another fleet.
    """

    def __init__(
        self,
        directory: Path,
        *,
        fleet: str,
        server: BrokerServer | None = None,
        clock: Clock | None = None,
        new_password: Callable[[], str] = random_password,
    ) -> None:
        self._directory = directory.resolve()
        self._fleet = fleet
        self.server = server or self._server_of_directory()
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
            if state.passwords and state.server != self.server.name:
                raise BrokerError(
                    f"{self._directory} is of a {state.server} broker: "
                    f"choose another directory for {self.server.name}"
                )
            state.server = self.server.name
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
        """See BrokerAccounts; the device's connection with its old password ends."""

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
        return address_of(state, name)

    def orphan(self) -> int | None:
        """Process id of the server that runs with this directory's configuration, or None."""
        try:
            pid = int((self._directory / self.server.pid_file).read_text())
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (OSError, ValueError):
            return None
        config = str(self._directory / self.server.config_file).encode()
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
        """Write what state.json says into the server's files, and have them read."""
        with exclusive(self._directory / "accounts.lock"):
            state = self._read()
            self.server.write_accounts(self._directory, state)
            pid = self.orphan()
            if pid is not None:
                self.server.reload(self._directory, state, pid, self._clock)

    def _server_of_directory(self) -> BrokerServer:
        name = self._read().server
        if name not in _SERVERS:
            raise BrokerError(f"{self._directory} is of {name!r}, which is unknown: update")
        return _SERVERS[name]()


def address_of(state: BrokerState, name: str) -> MqttAddress:
    """Where and as whom an account connects.

    Raises: BrokerError: there is no such account.
    """
    password = state.passwords.get(name)
    if password is None:
        raise no_account(name)
    return MqttAddress(
        host=HOST,
        port=state.mqtt_port,
        client_id=name,
        username=name,
        password=password,
        certificates=Path(state.ca) if state.ca else None,
    )


def local_address(directory: Path, name: str) -> MqttAddress | None:
    """Where an account reaches the broker of a directory; None where none listens there."""
    try:
        state = msgspec.json.decode((directory / STATE_FILE).read_bytes(), type=BrokerState)
    except (OSError, msgspec.MsgspecError):
        return None
    if name not in state.passwords or not (state.mqtt_port and accepts(state.mqtt_port)):
        return None
    return address_of(state, name)
