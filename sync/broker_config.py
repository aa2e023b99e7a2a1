"""The broker's configuration as a value, made from the topic table.

nats-server reads JSON. It maps an MQTT topic to a subject by turning "/" into "."; a filter that
ends in "#" needs two permissions there (the level itself and everything below it), and an MQTT
client also needs to subscribe to the server's own delivery subject. Everybody's messages pass
there, so accounts are for MQTT only: over the native protocol a device could read them all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sync import topics

MAX_PAYLOAD_BYTES: Final = 4 * 1024 * 1024
ACK_WAIT_S: Final = 10
MAX_ACK_PENDING: Final = 1024
MAX_STORE_BYTES: Final = 1 << 30
MAX_LOG_BYTES: Final = 10_000_000
_DELIVERY: Final = "$MQTT.sub.>"


@dataclass(frozen=True, slots=True)
class BrokerFiles:
    """Where a broker keeps what it writes."""

    store: Path
    log: Path
    pid: Path


@dataclass(frozen=True, slots=True)
class BrokerPorts:
    """Where it listens: MQTT for us, and the server's native port, which nobody uses."""

    mqtt: int
    native: int


def broker_config(
    *,
    fleet: str,
    host: str,
    ports: BrokerPorts,
    files: BrokerFiles,
    service: str,
    owner: str,
    passwords: Mapping[str, str],
    ack_wait_s: int = ACK_WAIT_S,
) -> dict[str, Any]:  # Any: a JSON document
    """The configuration, ready for `json.dumps`.

    Args:
        service: the account that may everything.
        owner: the account of the devices' owner.
        passwords: every account's, by its name.
    """
    return {
        "server_name": f"outrider-{fleet}",
        "listen": f"{host}:{ports.native}",
        "max_payload": MAX_PAYLOAD_BYTES,
        "log_file": str(files.log),
        "logfile_size_limit": MAX_LOG_BYTES,
        "pid_file": str(files.pid),
        "jetstream": {
            "store_dir": str(files.store),
            "max_memory_store": 64 << 20,
            "max_file_store": MAX_STORE_BYTES,
        },
        "mqtt": {
            "listen": f"{host}:{ports.mqtt}",
            "ack_wait": f"{ack_wait_s}s",
            "max_ack_pending": MAX_ACK_PENDING,
        },
        "accounts": accounts_section(fleet, passwords, service=service, owner=owner),
    }


def accounts_section(
    fleet: str, passwords: Mapping[str, str], *, service: str, owner: str
) -> dict[str, Any]:  # Any: as above
    """The part of the configuration that says who may connect, and what each may do."""
    return {
        "FLEET": {
            "jetstream": "enabled",
            "users": [
                _account(name, password, _allowed(fleet, name, service=service, owner=owner))
                for name, password in sorted(passwords.items())
            ],
        }
    }


def subjects(topic_filter: str) -> list[str]:
    """The subjects that an MQTT filter stands for."""
    levels = topic_filter.replace("+", "*").split("/")
    if levels[-1] == "#":
        return [".".join(levels[:-1]), ".".join([*levels[:-1], ">"])]
    return [".".join(levels)]


def _allowed(fleet: str, name: str, *, service: str, owner: str) -> topics.Permissions | None:
    """What an account may do; None for everything."""
    if name == service:
        return None
    if name == owner:
        return topics.owner_permissions(fleet)
    return topics.device_permissions(fleet, name)


def _account(name: str, password: str, allowed: topics.Permissions | None) -> dict[str, Any]:
    account: dict[str, Any] = {
        "user": name,
        "password": password,
        "allowed_connection_types": ["MQTT"],
    }
    if allowed is None:
        return account
    account["permissions"] = {
        "publish": {"allow": [s for one in allowed.publish for s in subjects(one)]},
        "subscribe": {
            "allow": [*(s for one in allowed.subscribe for s in subjects(one)), _DELIVERY]
        },
    }
    return account
