"""Mosquitto's dynamic security: its first configuration, made from the topic table.

The plugin keeps accounts and roles in one JSON file that only it writes to once it runs, and is
changed by messages below `$CONTROL/dynamic-security`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from sync import topics
from sync.broker_accounts import OWNER, SERVICE
from sync.mosquitto_config import PASSWORD_ITERATIONS, hashed_password

ADMIN: Final = "admin"
_EVERYTHING: Final = "publishClientSend publishClientReceive subscribePattern".split()


def first_configuration(fleet: str, passwords: Mapping[str, str], *, admin: str) -> str:
    """dynamic-security.json with an account and a role for each name, and one that administers.

    Args:
        admin: the administrator's password.
    """
    clients = [_client(name, password) for name, password in sorted(passwords.items())]
    roles = [role_of(fleet, name) for name in sorted(passwords)]
    control = _role(ADMIN, [_rule(kind, "$CONTROL/dynamic-security/#") for kind in _EVERYTHING])
    document = {
        "defaultACLAccess": {
            "publishClientSend": False,
            "publishClientReceive": False,
            "subscribe": False,
            "unsubscribe": True,
        },
        "clients": [*clients, _client(ADMIN, admin)],
        "groups": [],
        "roles": [*roles, control],
    }
    return json.dumps(document, indent=1) + "\n"


def role_of(fleet: str, name: str) -> dict[str, Any]:  # Any: JSON
    """What an account may do, as a role of its own name."""
    if name == SERVICE:
        everything = f"{topics.ROOT}/{topics.VERSION}/{fleet}/#"
        return _role(name, [_rule(kind, everything) for kind in _EVERYTHING])
    allowed = (
        topics.owner_permissions(fleet) if name == OWNER else topics.device_permissions(fleet, name)
    )
    return _role(
        name,
        [
            *(_rule("publishClientSend", one) for one in allowed.publish),
            *(_rule("publishClientReceive", one) for one in allowed.subscribe),
            *(_rule("subscribePattern", one) for one in allowed.subscribe),
        ],
    )


def _role(name: str, rules: list[dict[str, Any]]) -> dict[str, Any]:
    return {"rolename": name, "acls": rules}


def _rule(kind: str, topic: str) -> dict[str, Any]:
    return {"acltype": kind, "topic": topic, "priority": 0, "allow": True}


def _client(name: str, password: str) -> dict[str, Any]:
    salt, key = hashed_password(password)
    return {
        "username": name,
        "password": key,
        "salt": salt,
        "iterations": PASSWORD_ITERATIONS,
        "roles": [{"rolename": name}],
    }
