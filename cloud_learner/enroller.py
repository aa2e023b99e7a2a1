"""Lets a phone in: its claim, its account at the broker, and what it is to trust."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

from cloud_learner.enrolment_store import EnrolmentStore
from sync.broker_accounts import BrokerAccounts
from sync.enrolment import Enrolment, EnrolmentRequest
from sync.errors import RejectedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """What a new phone is told beside its own credentials.

    Attributes:
        accounts: of the broker; None where somebody else keeps them, and nobody can be let in.
        broker_url: how phones reach the broker.
        broker_ca: the broker's certificate authority (PEM), where it has its own.
        root: gives the fleet's root of trust for releases.
    """

    fleet: str
    broker_url: str
    accounts: BrokerAccounts | None = None
    broker_ca: str = ""
    channel: str = "stable"
    root: Callable[[], bytes] = lambda: b""


class Enroller:
    """Answers enrolment requests; safe to use from any thread.

    A crash at any point is repaired by the phone's repeating its request with the same key: the
    claim names its device, and the account is there or is made.
    """

    def __init__(self, claims: EnrolmentStore, admission: Admission) -> None:
        self._claims = claims
        self._admission = admission

    def enrol(self, request: EnrolmentRequest) -> Enrolment:
        """Let a phone in. Idempotent for one token and key.

        Raises:
            RejectedError: its token is not taken (see EnrolmentStore.claim), or "unmanaged": this
                service keeps no accounts.
            BrokerError: the broker did not take the new account; the phone asks again.
        """
        given = self._admission
        if given.accounts is None:
            raise RejectedError(
                "this service keeps no accounts of its broker, so it lets nobody in: start it with "
                "the --data folder of a broker that it manages",
                reason="unmanaged",
            )
        admitted = self._claims.claim(request, accounts=given.accounts.devices)
        address = given.accounts.add_device(admitted.device_id)
        return Enrolment(
            device_id=admitted.device_id,
            fleet=given.fleet,
            broker_url=given.broker_url,
            client_id=client_id(admitted.device_id, address.password),
            password=address.password,
            credentials=admitted.credentials,
            channel=given.channel,
            root=given.root(),
            broker_ca=given.broker_ca,
            labels=admitted.labels,
        )


def client_id(device_id: str, password: str) -> str:
    """What a device calls itself to the broker.

    Nobody who has another account can guess it, so nobody can end the device's connection by
    taking its client id on a broker that binds none to an account.
    """
    return f"{device_id}-{sha256(b'client id ' + password.encode()).hexdigest()[:16]}"
