"""Ports of this machine: which are free, and who answers."""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import Final

from sync.errors import BrokerError, PortInUseError

HOST: Final = "127.0.0.1"


def free_port() -> int:
    """A port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def is_free(port: int) -> bool:
    """Whether nobody listens on `port`."""
    with suppress(PortInUseError):
        require_free(port)
        return True
    return False


def require_free(port: int) -> None:
    """Do nothing where nobody listens on `port`.

    Raises:
        PortInUseError: somebody does.
        BrokerError: this user may not listen there.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except PermissionError as error:
            raise BrokerError(
                f"port {port} may not be used by this user: choose one from 1024 to 65535"
            ) from error
        except OSError as error:
            raise PortInUseError(
                f"port {port} on {HOST} is in use: stop the program that has it or choose another",
                port=port,
            ) from error


def accepts(port: int) -> bool:
    """Whether somebody answers on `port`."""
    try:
        with socket.create_connection((HOST, port), timeout=1.0):
            return True
    except OSError:
        return False
