"""The brokers that the wire is tested on: which there are, and how a client speaks to each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pytest

from sync.broker import SERVICE, BrokerProcess
from sync.broker_address import MqttAddress, MqttProtocol
from sync.broker_server import BrokerServer
from sync.mosquitto_server import MosquittoServer, mosquitto_binary
from sync.mqtt import PahoTransport
from sync.nats_server import NatsServer

WAYS: Final = ("nats-3.1.1", "mosquitto-3.1.1", "mosquitto-5")
"""Each broker with each version of MQTT that it speaks."""
FAST_WAYS: Final = (
    "nats-3.1.1",
    pytest.param("mosquitto-3.1.1", marks=pytest.mark.slow),
    "mosquitto-5",
)
"""The same for tests that take long: one version of MQTT for each broker in every run."""
MAKES: Final = ("nats", "mosquitto")


@dataclass(frozen=True)
class RunningBroker:
    """A broker of one make, whose clients speak one version of MQTT."""

    process: BrokerProcess
    protocol: MqttProtocol

    def address(self, name: str = SERVICE) -> MqttAddress:
        """Where `name` connects; a device that is new gets its account."""
        known = name in {"cloud", "owner"}
        address = self.process.address(name) if known else self.process.add_device(name)
        return replace(address, protocol=self.protocol)

    def transport(self, name: str = SERVICE) -> PahoTransport:
        """A fresh connection for `name`."""
        return PahoTransport(self.address(name))


def server(make: str, require: Callable[[object, str], None], *, ack_wait_s: int = 10):
    """The server of a make; a test is skipped where it is not installed, and fails in CI."""
    if make == "nats":
        return NatsServer(ack_wait_s=ack_wait_s)
    require(mosquitto_binary() is not None, "mosquitto is not installed")
    return MosquittoServer()


def make_broker(
    way: str,
    folder: Path,
    require: Callable[[object, str], None],
    *,
    fleet: str = "home",
    ack_wait_s: int = 10,
) -> RunningBroker:
    """A broker for one of WAYS; it is not started yet."""
    make, _, protocol = way.partition("-")
    chosen: BrokerServer = server(make, require, ack_wait_s=ack_wait_s)
    process = BrokerProcess(folder, fleet=fleet, server=chosen)
    return RunningBroker(process, MqttProtocol(protocol))
