"""What a broker's directory remembers between two starts: the ports and each account's password."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import msgspec

from sync.errors import BrokerError


class BrokerState(msgspec.Struct, forbid_unknown_fields=True):
    """The contents of state.json; `passwords` holds every account by its name."""

    fleet: str
    mqtt_port: int = 0
    native_port: int = 0
    passwords: dict[str, str] = {}


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
