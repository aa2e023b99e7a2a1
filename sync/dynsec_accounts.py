"""The accounts of a Mosquitto with dynamic security, changed by messages: any broker, anywhere.

    command on $CONTROL/dynamic-security/v1 ─► the plugin obeys and says so ─► state.json remembers

The plugin never tells a password, so those of the devices are kept in a folder of ours, which only
its owner may read.
"""

from __future__ import annotations

import json
import queue
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

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
from sync.durable_file import exclusive
from sync.errors import BrokerError, LinkLostError
from sync.mosquitto_dynsec import role_of
from sync.mqtt import PahoTransport
from sync.ports import Connected, Incoming, TransportEvent

STATE_FILE: Final = "dynsec.json"
_CONTROL: Final = "$CONTROL/dynamic-security/v1"
_WAIT_S: Final = 10.0
_EXISTS: Final = "already exists"
_MISSING: Final = "not found"

_Command = Mapping[str, Any]  # Any: JSON


class DynsecAccounts:
    """Implements `BrokerAccounts` for a broker that we only reach over the network.

    Args:
        admin: where the broker is, and its administrator's account.
        folder: where the accounts' passwords are kept.
        fleet: whose topics the accounts may use.
        passwords: of accounts that the broker has already (the service, the owner).
        new_password: makes the secret of a new account.

    Raises: BrokerError: the folder's state cannot be read, or belongs to another fleet.
    """

    def __init__(
        self,
        admin: MqttAddress,
        folder: Path,
        *,
        fleet: str,
        passwords: Mapping[str, str] | None = None,
        new_password: Callable[[], str] = random_password,
    ) -> None:
        self._admin = admin
        self._folder = folder
        self._fleet = fleet
        self._new_password = new_password
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._locked() as state:
            state.server = "mosquitto-dynsec"
            state.passwords.update(passwords or {})

    @property
    def devices(self) -> tuple[str, ...]:
        """See BrokerAccounts."""
        return tuple(sorted(name for name in self._read().passwords if name not in RESERVED))

    def add_devices(self, device_ids: Iterable[str]) -> None:
        """See BrokerAccounts; an account that the broker has already gets a new password."""
        wanted = [check_device_id(one) for one in device_ids]
        with self._locked() as state:
            fresh = {one: self._new_password() for one in wanted if one not in state.passwords}
            if not fresh:
                return
            commands = [one for name in fresh for one in self._creation(name, fresh[name])]
            self._obey(commands, tolerated=_EXISTS)
            state.passwords.update(fresh)

    def add_device(self, device_id: str) -> MqttAddress:
        """See BrokerAccounts."""
        self.add_devices([device_id])
        return self.address(device_id)

    def set_password(self, device_id: str, password: str) -> MqttAddress:
        """See BrokerAccounts; a live connection is left."""
        with self._locked() as state:
            if device_id in RESERVED or device_id not in state.passwords:
                raise no_account(device_id)
            self._obey([_password(device_id, password)])
            state.passwords[device_id] = password
        return self.address(device_id)

    def remove_device(self, device_id: str) -> None:
        """See BrokerAccounts."""
        if device_id in RESERVED:
            return
        with self._locked() as state:
            if device_id in state.passwords:
                gone = [
                    {"command": "deleteClient", "username": device_id},
                    {"command": "deleteRole", "rolename": device_id},
                ]
                self._obey(gone, tolerated=_MISSING)
                del state.passwords[device_id]

    def address(self, name: str = SERVICE) -> MqttAddress:
        """See BrokerAccounts."""
        password = self._read().passwords.get(name)
        if password is None:
            raise no_account(name)
        return replace(self._admin, client_id=name, username=name, password=password)

    def _creation(self, name: str, password: str) -> list[_Command]:
        role = role_of(self._fleet, name)
        return [
            {"command": "createRole", **role},
            {
                "command": "createClient",
                "username": name,
                "password": password,
                "roles": [{"rolename": name}],
            },
            _password(name, password),
        ]

    def _obey(self, commands: Sequence[_Command], *, tolerated: str = "") -> None:
        """Have the plugin obey commands, and wait until it says that it did.

        Args:
            tolerated: what an error may say, because the broker is then as it is wanted.

        Raises: BrokerError: it refused one, or does not answer.
        """
        for answer in self._answers(commands):
            error = answer.get("error")
            if error is not None and not (tolerated and tolerated in str(error)):
                raise BrokerError(
                    f"the broker refused {answer.get('command')} ({error}): check its "
                    "administrator's account and its dynamic security"
                )

    def _answers(self, commands: Sequence[_Command]) -> list[dict[str, Any]]:
        events: queue.SimpleQueue[TransportEvent] = queue.SimpleQueue()
        transport = PahoTransport(self._admin)
        try:
            transport.connect(events.put)
            said = events.get(timeout=_WAIT_S)
            if not isinstance(said, Connected):
                raise BrokerError(f"the broker refused its administrator ({said}): check --user")
            transport.subscribe((f"{_CONTROL}/response",))
            payload = json.dumps({"commands": list(commands)}).encode()
            transport.publish(_CONTROL, payload, qos=1, retain=False)
            answer = events.get(timeout=_WAIT_S)
        except (LinkLostError, queue.Empty) as error:
            raise BrokerError(
                "the broker's dynamic security does not answer: check that it is on"
            ) from error
        finally:
            transport.close()
        if not isinstance(answer, Incoming):
            raise BrokerError(f"the broker ended the administrator's connection ({answer})")
        return list(json.loads(answer.payload).get("responses", ()))

    @contextmanager
    def _locked(self) -> Iterator[BrokerState]:
        with exclusive(self._folder / "dynsec.lock"):
            state = self._read()
            yield state
            save_state(self._folder / STATE_FILE, state)

    def _read(self) -> BrokerState:
        return load_state(self._folder / STATE_FILE, self._fleet)


def _password(name: str, password: str) -> _Command:
    return {"command": "setClientPassword", "username": name, "password": password}
