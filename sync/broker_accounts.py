"""Who may connect to a broker, and what its directory remembers of that between two starts."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Protocol

import msgspec

from sync import topics
from sync.broker_address import MqttAddress
from sync.errors import BrokerError

SERVICE: Final = "cloud"
OWNER: Final = "owner"
RESERVED: Final = frozenset({SERVICE, OWNER})


class BrokerAccounts(Protocol):
    """The accounts of a broker that we keep: one per device, one for the cloud, one for the owner.

    Permissions are those of the topic table. A change holds when the call returns, and disturbs no
    connection but that of the account it is about. Methods may be called from any thread.
    """

    @property
    def devices(self) -> tuple[str, ...]:
        """Devices that have an account, sorted."""
        ...

    def add_devices(self, device_ids: Iterable[str]) -> None:
        """Make accounts for devices that have none.

        Raises:
            ValueError: a name that no topic can hold, or that is one of the broker's own.
            BrokerError: the running broker did not take the change.
        """
        ...

    def add_device(self, device_id: str) -> MqttAddress:
        """Make an account for a device, unless it has one, and return its address."""
        ...

    def set_password(self, device_id: str, password: str) -> MqttAddress:
        """Give a device another password; the old one opens no new connection from now on.

        A broker may end the device's live connection with it, or leave it.

        Raises: BrokerError: there is no such account, or the broker did not take the change.
        """
        ...

    def remove_device(self, device_id: str) -> None:
        """Revoke a device's account and end its live connection. Idempotent."""
        ...

    def address(self, name: str = SERVICE) -> MqttAddress:
        """Where and as whom a device, the service or the owner connects.

        Raises: BrokerError: there is no such account.
        """
        ...


def check_device_id(device_id: str) -> str:
    """`device_id` itself, if a device's account can have that name.

    Raises: ValueError: no topic can hold it, or it is an account of the broker's own.
    """
    topics.check_name(device_id, "device id")
    if device_id in RESERVED:
        raise ValueError(
            f"{device_id!r} is an account of the broker's own: choose another device id"
        )
    return device_id


class BrokerState(msgspec.Struct, forbid_unknown_fields=True):
    """The contents of state.json.

    Attributes:
        passwords: every account's, by its name.
        server: which broker it is ("nats", "mosquitto").
        ca: file with the authority of the broker's certificate; empty where it speaks no TLS.
    """

    fleet: str
    mqtt_port: int = 0
    native_port: int = 0
    passwords: dict[str, str] = {}
    server: str = "nats"
    ca: str = ""


def no_account(name: str) -> BrokerError:
    """What to raise where nobody has that name."""
    return BrokerError(f"the broker has no account for {name!r}: add the device first")


def random_password() -> str:
    """A new secret."""
    return secrets.token_urlsafe(24)


def load_state(path: Path, fleet: str) -> BrokerState:
    """The state in `path`, or a new one for `fleet`.

    Raises: BrokerError: it cannot be read, or belongs to another fleet.
    """
    try:
        state = msgspec.json.decode(path.read_bytes(), type=BrokerState)
    except FileNotFoundError:
        return BrokerState(fleet=fleet)
    except (OSError, msgspec.MsgspecError) as error:
        raise BrokerError(f"{path} cannot be read ({error}): repair or remove it") from error
    if state.fleet != fleet:
        raise BrokerError(
            f"{path.parent} belongs to fleet {state.fleet!r}, not {fleet!r}: "
            "choose another directory"
        )
    return state


def save_state(path: Path, state: BrokerState) -> None:
    """Write `state` whole or not at all."""
    write_private(path, msgspec.json.encode(state))


def write_private(path: Path, data: bytes) -> None:
    """Replace a file by a new one that only its owner may read."""
    fresh = path.with_suffix(".new")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
    fresh.replace(path)
