"""What the conformance kit runs on: a broker, its accounts, and what a check can say."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from sync import topics
from sync.broker_accounts import BrokerAccounts
from sync.broker_address import MqttAddress, MqttProtocol
from sync.conformance_probe import ProbeClient
from sync.topics import TopicKind


class Outcome(StrEnum):
    """What came of one check."""

    PASS = "pass"  # noqa: S105 - a word
    FAIL = "fail"
    NOT_APPLICABLE = "not_applicable"


class Failed(Exception):  # noqa: N818 - a finding, not an error
    """The requirement is not met; the text says what happened."""


class NotApplicable(Exception):  # noqa: N818 - a finding, not an error
    """The requirement could not be checked here; the text says why."""


@dataclass(frozen=True, slots=True)
class Result:
    """One requirement on one version of MQTT."""

    id: str
    protocol: MqttProtocol
    outcome: Outcome
    detail: str = ""


def made_up_names() -> tuple[str, str]:
    """Ids of two devices that nobody else uses."""
    return f"kit-{secrets.token_hex(4)}", f"kit-{secrets.token_hex(4)}"


@dataclass(frozen=True, slots=True)
class Bench:
    """A broker to check.

    Attributes:
        service: the account that may everything in the fleet.
        devices: accounts of two devices; None where none were given, and permissions are not
            checked.
        names: the two devices' ids; without accounts made-up ones, that use the service's account.
        accounts: the broker's accounts, where the kit may make and remove one.
        patience_s: how long what a broker may do by itself (repeat, end a connection) is waited
            for.
        wait_s: how long what must come is waited for.
    """

    service: MqttAddress
    fleet: str
    devices: tuple[MqttAddress, MqttAddress] | None = None
    accounts: BrokerAccounts | None = None
    patience_s: float = 12.0
    wait_s: float = 30.0
    names: tuple[str, str] = field(default_factory=made_up_names)

    def cloud(self) -> ProbeClient:
        """A connection with the service's account."""
        return ProbeClient(self.service)

    def device_address(self, which: int = 0) -> MqttAddress:
        """Where and as whom a device connects."""
        if self.devices is None:
            return replace(self.service, client_id=self.names[which])
        return self.devices[which]

    def device(self, which: int = 0) -> ProbeClient:
        """A connection of a device, with its client id."""
        return ProbeClient(self.device_address(which), client_id=self.names[which])

    def need_devices(self) -> None:
        """Go on where accounts of two devices were given.

        Raises: NotApplicable: none were.
        """
        if self.devices is None:
            raise NotApplicable("needs the accounts of two devices: give --device twice")

    def topic(self, kind: TopicKind, which: int = 0) -> str:
        """A device's topic."""
        return topics.build(self.fleet, kind, self.names[which])

    def forget(self, *wanted: str) -> None:
        """Take retained messages away again."""
        with self.cloud() as cloud:
            for topic in wanted:
                cloud.publish(topic, b"", retain=True)


Check = Callable[[Bench], str]
"""Checks one requirement; returns what is worth telling, or raises Failed or NotApplicable."""

CHECKS: Final[dict[str, Check]] = {}
"""Checks by requirement id, in the order in which they run."""


def checks(requirement: str) -> Callable[[Check], Check]:
    """Register a check under the id of its requirement."""

    def register(check: Check) -> Check:
        CHECKS[requirement] = check
        return check

    return register


def expect(condition: object, otherwise: str) -> None:
    """Go on where `condition` holds.

    Raises: Failed: it does not.
    """
    if not condition:
        raise Failed(otherwise)
