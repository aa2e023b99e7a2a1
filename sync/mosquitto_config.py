"""Mosquitto's files as texts, made from the topic table: configuration, ACL and passwords."""

from __future__ import annotations

import hashlib
import secrets
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sync import topics
from sync.broker_accounts import OWNER, SERVICE
from sync.broker_config import MAX_ACK_PENDING, MAX_PAYLOAD_BYTES

PASSWORD_ITERATIONS: Final = 101
"""What mosquitto_passwd takes too: our passwords are random, so guessing one is hopeless anyway."""
_SALT_BYTES: Final = 12
_HASH_BYTES: Final = 64


@dataclass(frozen=True, slots=True)
class Listener:
    """Where it listens.

    Attributes:
        tls: (certificate, key, authority of the clients' certificates or None) of the broker.
    """

    host: str
    port: int
    tls: tuple[Path, Path, Path | None] | None = None


def server_config(
    listener: Listener,
    *,
    accounts: Sequence[str],
    store: Path,
    pid: Path,
    log: Path | None = None,
    user: str = "",
) -> str:
    """mosquitto.conf.

    Args:
        accounts: lines that say who may connect and what each may do.
        log: where it writes; None leaves that to the system.
        user: as whom it runs when root starts it; empty leaves that to it.
    """
    lines = [
        "per_listener_settings false",
        f"listener {listener.port} {listener.host}".rstrip(),
        *_tls_lines(listener),
        "allow_anonymous false",
        *accounts,
        "persistence true",
        f"persistence_location {store}/",
        "autosave_interval 1",
        f"max_packet_size {MAX_PAYLOAD_BYTES}",
        "log_timestamp_format %Y-%m-%dT%H:%M:%S",
        f"max_inflight_messages {MAX_ACK_PENDING}",
        "max_queued_messages 10000",
        "allow_zero_length_clientid false",
        "set_tcp_nodelay true",
        f"pid_file {pid}",
        "log_dest syslog" if log is None else f"log_dest file {log}",
        *(f"log_type {kind}" for kind in ("error", "warning", "notice", "information")),
    ]
    if user:
        lines.append(f"user {user}")
    return "\n".join(lines) + "\n"


def _tls_lines(listener: Listener) -> list[str]:
    if listener.tls is None:
        return []
    certificate, key, clients = listener.tls
    lines = [f"certfile {certificate}", f"keyfile {key}", "tls_version tlsv1.2"]
    if clients is not None:
        lines += [f"cafile {clients}", "require_certificate true", "use_identity_as_username true"]
    return lines


def acl_file(fleet: str, names: Iterable[str]) -> str:
    """What each account may do: an entry per account."""
    parts = []
    for name in sorted(names):
        if name == SERVICE:
            lines = [f"topic readwrite {topics.ROOT}/{topics.VERSION}/{fleet}/#"]
        elif name == OWNER:
            lines = _lines("topic", topics.owner_permissions(fleet))
        else:
            lines = _lines("topic", topics.device_permissions(fleet, name))
        parts.append("\n".join([f"user {name}", *lines]))
    return "\n\n".join(parts) + "\n"


def acl_patterns(fleet: str) -> str:
    """What any account may do, its name being its device id; for accounts that are not listed."""
    lines = _lines("pattern", topics.pattern_permissions(fleet, "%u"))
    return acl_file(fleet, [SERVICE, OWNER]) + "\n" + "\n".join(lines) + "\n"


def _lines(word: str, allowed: topics.Permissions) -> list[str]:
    return [
        *(f"{word} write {one}" for one in allowed.publish),
        *(f"{word} read {one}" for one in allowed.subscribe),
    ]


def password_file(passwords: Mapping[str, str]) -> str:
    """The accounts with their hashed passwords, as mosquitto_passwd writes them."""
    lines = []
    for name in sorted(passwords):
        salt, key = hashed_password(passwords[name])
        lines.append(f"{name}:$7${PASSWORD_ITERATIONS}${salt}${key}\n")
    return "".join(lines)


def hashed_password(password: str) -> tuple[str, str]:
    """A fresh salt and the password's hash with it (PBKDF2, SHA-512), both in base64."""
    salt = secrets.token_bytes(_SALT_BYTES)
    key = hashlib.pbkdf2_hmac(
        "sha512", password.encode(), salt, PASSWORD_ITERATIONS, dklen=_HASH_BYTES
    )
    return b64encode(salt).decode(), b64encode(key).decode()
