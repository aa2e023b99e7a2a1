"""Claim tokens and the devices that they let in.

A token is kept as its SHA-256 only and belongs to the first key that shows it. The same key may
show it again: a phone that crashed before it wrote down what it was given repeats itself and gets
the same answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, select, update

from cloud_learner import device_rows
from cloud_learner.store import Database, insert_new, row_count
from cloud_learner.tables import CLAIMS, DEVICES, PHONES
from sync.broker_accounts import RESERVED
from sync.clock import Clock
from sync.enrolment import EnrolmentRequest, fingerprint, new_token, token_digest
from sync.errors import RejectedError

MINUTE_MS: Final = 60_000
_NO_NAME: Final = re.compile(r"[^a-z0-9_-]+")
_LONGEST_NAME: Final = 32


@dataclass(frozen=True, slots=True)
class Claim:
    """A token as it is shown, this once."""

    token: str
    expires_at_ms: int


@dataclass(frozen=True, slots=True)
class Admitted:
    """A device that was let in.

    Attributes:
        credentials: version of its password.
    """

    device_id: str
    credentials: int
    labels: dict[str, str]


class EnrolmentStore:
    """Who may come in, and who came; safe to use from any thread.

    Args:
        make_token: makes what nobody can guess.
    """

    def __init__(
        self, database: Database, *, clock: Clock, make_token: Callable[[], str] = new_token
    ) -> None:
        self._database = database
        self._clock = clock
        self._make_token = make_token

    def invite(self, count: int, *, minutes: float, labels: Mapping[str, str]) -> list[Claim]:
        """Make tokens that each let one phone in, once.

        Args:
            labels: what the operator says of the phones that come with them.
        """
        now_ms = self._clock.wall_ms()
        expires_at_ms = now_ms + round(minutes * MINUTE_MS)
        claims = [Claim(self._make_token(), expires_at_ms) for _ in range(count)]
        with self._database.write() as connection:
            for claim in claims:
                row = {
                    "token_digest": token_digest(claim.token),
                    "labels": dict(labels),
                    "created_at_ms": now_ms,
                    "expires_at_ms": expires_at_ms,
                    "public_key": "",
                    "device_id": "",
                    "used_at_ms": 0,
                }
                insert_new(connection, CLAIMS, row)
        return claims

    def claim(self, request: EnrolmentRequest, *, accounts: Collection[str] = ()) -> Admitted:
        """Let a phone in: the device that it is from now on. Idempotent.

        Args:
            accounts: names that somebody has at the broker already.

        Raises: RejectedError: "token_unknown", "token_used", "token_expired" or "revoked".
        """
        now_ms = self._clock.wall_ms()
        key = request.public_key.hex()
        with self._database.write() as connection:
            claim = _claim_of(connection, request.token)
            if claim["public_key"] not in {"", key}:
                raise _refused("this token was used by another phone", "token_used")
            if not claim["public_key"] and now_ms > claim["expires_at_ms"]:
                raise _refused("this token has expired", "token_expired")
            device_id = claim["device_id"] or _known(connection, key)
            if not device_id:
                device_id = _free_name(connection, request, accounts)
                device_rows.ensure(connection, device_id)
                fields = {"key": fingerprint(request.public_key)}
                device_rows.record_cloud_event(
                    connection, device_id, "enrolled", fields, now_ms=now_ms
                )
            row = device_rows.ensure(connection, device_id)
            if row["revoked_at_ms"]:
                raise _refused(f"{device_id} was revoked", "revoked")
            labels = dict(row["labels"])
            if not claim["used_at_ms"]:
                labels |= claim["labels"]
            connection.execute(
                update(CLAIMS)
                .where(CLAIMS.c.token_digest == claim["token_digest"])
                .values(
                    public_key=key,
                    device_id=device_id,
                    used_at_ms=claim["used_at_ms"] or now_ms,
                )
            )
            device_rows.change(
                connection,
                [device_id],
                public_key=key,
                labels=labels,
                attributes={**row["attributes"], **request.attributes},
                enrolled_at_ms=row["enrolled_at_ms"] or now_ms,
                credentials=row["credentials"] or 1,
            )
        return Admitted(device_id, int(row["credentials"]) or 1, labels)

    def open_claims(self) -> int:
        """How many tokens could still be used."""
        with self._database.read() as connection:
            return row_count(
                connection,
                CLAIMS,
                CLAIMS.c.used_at_ms == 0,
                CLAIMS.c.expires_at_ms >= self._clock.wall_ms(),
            )


def _claim_of(connection: Connection, token: str) -> Mapping[str, Any]:  # Any: values of columns
    rows = connection.execute(select(CLAIMS).where(CLAIMS.c.token_digest == token_digest(token)))
    found = rows.mappings().first()
    if found is None:
        raise _refused("this fleet made no such token", "token_unknown")
    return dict(found)


def _known(connection: Connection, key: str) -> str:
    """The device whose key this is; "" where there is none."""
    found = connection.execute(select(DEVICES.c.device_id).where(DEVICES.c.public_key == key))
    return str(found.scalar() or "")


def _free_name(connection: Connection, request: EnrolmentRequest, accounts: Collection[str]) -> str:
    """What the phone would like to be called, or that with a part of its key."""
    wish = _NO_NAME.sub("-", request.name.lower()).strip("-_")[:_LONGEST_NAME] or "phone"
    if wish not in accounts and not _is_taken(connection, wish):
        return wish
    return f"{wish}-{fingerprint(request.public_key)[:7]}"


def _is_taken(connection: Connection, name: str) -> bool:
    return name in RESERVED or bool(
        row_count(connection, DEVICES, DEVICES.c.device_id == name)
        or row_count(connection, PHONES, PHONES.c.device_id == name)
    )


def _refused(what: str, reason: str) -> RejectedError:
    return RejectedError(f"{what}: ask for another with outrider fleet invite", reason=reason)
