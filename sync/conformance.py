"""The conformance kit: does a broker do what the protocol needs, and do our sessions work on it?

    for result in run(Bench(service=address, fleet="home")): ...

Every requirement gets one result per version of MQTT; those that cannot be seen from outside are
not applicable, and proved by the project's tests instead.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from sync import (
    conformance_broker as _broker,  # noqa: F401 - registers its checks
)
from sync import (
    conformance_permissions as _permissions,  # noqa: F401 - registers its checks
)
from sync import (
    conformance_wire as _wire,  # noqa: F401 - registers its checks
)
from sync import topics
from sync.broker_address import MqttProtocol
from sync.codec import decode_envelope, decode_message
from sync.conformance_bench import (
    CHECKS,
    Bench,
    Failed,
    NotApplicable,
    Outcome,
    Result,
    made_up_names,
)
from sync.conformance_probe import Refused
from sync.errors import BrokerError, LinkLostError, RejectedError, TransientError
from sync.messages import Birth
from sync.requirements import REQUIREMENTS

__all__ = ["Bench", "Outcome", "Result", "made_up_names", "run"]

_LOOK_S = 1.0


def run(bench: Bench, protocol: MqttProtocol, *, only: Collection[str] = ()) -> Iterator[Result]:
    """Check every requirement on one version of MQTT, one result each, as they come.

    Args:
        only: ids of the requirements to check; empty means all.

    Raises:
        LinkLostError: nobody answers at the address, or nobody does any more.
        BrokerError: the account or the version is refused, it may not even listen, or devices of
            the fleet are connected, whose messages the kit would answer in their cloud's place.
    """
    spoken = _speaking(bench, protocol)
    _refuse_a_fleet_in_use(spoken)
    for requirement in (one for one in REQUIREMENTS if not only or one.id in only):
        outcome, detail = _checked(spoken, requirement.id)
        yield Result(requirement.id, protocol, outcome, detail)
        if outcome is Outcome.FAIL:
            _require_a_broker(spoken, requirement.id)


def _speaking(bench: Bench, protocol: MqttProtocol) -> Bench:
    devices = bench.devices and (
        replace(bench.devices[0], protocol=protocol),
        replace(bench.devices[1], protocol=protocol),
    )
    return replace(bench, service=replace(bench.service, protocol=protocol), devices=devices)


def _checked(bench: Bench, requirement: str) -> tuple[Outcome, str]:
    check = CHECKS.get(requirement)
    if check is None:
        return Outcome.NOT_APPLICABLE, "cannot be seen from outside; the project's tests prove it"
    try:
        return Outcome.PASS, check(bench)
    except NotApplicable as why:
        return Outcome.NOT_APPLICABLE, str(why)
    except (Failed, Refused, TransientError, RejectedError) as why:
        return Outcome.FAIL, str(why)


def _require_a_broker(bench: Bench, failed: str) -> None:
    """Go on where the broker is still there: the other checks would wait for it in vain."""
    try:
        bench.cloud().close()
    except (Refused, LinkLostError) as why:
        raise LinkLostError(
            f"the broker lets nobody in since {failed} was checked ({why}): see its log"
        ) from why


def _refuse_a_fleet_in_use(bench: Bench) -> None:
    try:
        cloud = bench.cloud()
    except Refused as refused:
        raise BrokerError(
            f"no connection as {bench.service.username or 'nobody'} on MQTT "
            f"{bench.service.protocol} ({refused}): check the address and the account"
        ) from refused
    with cloud:
        if not cloud.subscribe(*topics.presence_filters(bench.fleet)):
            raise BrokerError(
                f"the broker lets {bench.service.username or 'us'} in and then takes no "
                "subscription: check what the account may do, and that this is an MQTT broker"
            )
        while (got := cloud.next(_LOOK_S)) is not None:
            cloud.acknowledge(got)
            try:
                envelope = decode_envelope(got.payload)
                is_here = isinstance(decode_message(envelope), Birth)
            except RejectedError:
                continue
            if is_here and envelope.device not in bench.names:
                raise BrokerError(
                    f"device {envelope.device!r} of fleet {bench.fleet!r} is connected here: "
                    "choose another --fleet, or a broker that no fleet uses"
                )
