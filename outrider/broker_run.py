"""`outrider broker run`: the broker of a fleet's folder, until Ctrl-C."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from outrider.broker import Make
from outrider.options import Json, fleet_option
from outrider.output import Output

if TYPE_CHECKING:
    from sync.broker_server import BrokerServer

CREDENTIALS: Final = "cloud-password"
"""File in the broker's folder that `outrider cloud serve --credentials` takes."""


def run_broker(
    *,
    data: Annotated[
        Path, typer.Option("--data", help="Folder of the fleet; the broker keeps to DIR/broker.")
    ],
    make: Annotated[
        Make, typer.Option("--make", help="Which broker; a folder stays with its first.")
    ] = Make.NATS,
    fleet: Annotated[str, fleet_option("Name of the fleet.")] = "home",
    port: Annotated[
        int,
        typer.Option("--port", min=0, max=65535, help="Its port; 0 takes the one of before."),
    ] = 0,
    json: Json = False,
) -> None:
    """Run a fleet's own broker on 127.0.0.1 until Ctrl-C; one that ends is started again.

    Its cloud then keeps the accounts of phones: outrider fleet invite, rotate and revoke.
    """
    from outrider.interrupts import stop_on_interrupt
    from sync.broker import SERVICE, BrokerProcess
    from sync.broker_accounts import write_private

    out = Output(json_lines=json)
    restarts: list[int] = []

    def restarted(pid: int) -> None:
        restarts.append(pid)
        out.event("restarted", pid=pid)

    broker = BrokerProcess(data / "broker", fleet=fleet, port=port, server=server_of(make))
    with stop_on_interrupt() as stop:
        broker.start()
        try:
            broker.watch(restarted)
            file = data / "broker" / CREDENTIALS
            write_private(file, f"{broker.address(SERVICE).password}\n".encode())
            url = f"mqtt://127.0.0.1:{broker.port}"
            out.event("started", broker=make.value, url=url, pid=broker.pid, credentials=str(file))
            out.note(f"next: outrider cloud serve --data {data} --broker {url}")
            out.note(f"        --credentials {file}")
            stop.wait()
        finally:
            broker.stop()
    out.summary(broker=make.value, restarts=len(restarts))


def server_of(make: Make) -> BrokerServer:
    """The server of a make of broker that we run ourselves."""
    from sync.mosquitto_server import MosquittoServer
    from sync.nats_server import NatsServer

    return NatsServer() if make is Make.NATS else MosquittoServer()
