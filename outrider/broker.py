"""`outrider broker config`: ready files for a broker that somebody else runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Final

import typer

from outrider.errors import MisuseError
from outrider.options import Json, fleet_option
from outrider.output import Output

PLUGIN: Final = Path("/usr/lib/x86_64-linux-gnu/mosquitto_dynamic_security.so")
_PORTS: Final = {False: 1883, True: 8883}


class Make(Enum):
    """Which broker."""

    MOSQUITTO = "mosquitto"
    NATS = "nats"


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What the files are made for; paths are those on the broker's machine."""

    fleet: str
    host: str
    port: int
    folder: Path
    tls: tuple[Path, Path, Path | None] | None
    user: str


def write_config(
    make: Annotated[Make, typer.Argument(help="The broker to write files for.")],
    *,
    out_dir: Annotated[Path, typer.Option("--out", help="Folder for the files; made if missing.")],
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Take the accounts of this fleet's folder, passwords too."),
    ] = None,
    device: Annotated[
        list[str] | None, typer.Option("--device", metavar="NAME", help="A device; repeat it.")
    ] = None,
    fleet: Annotated[str, fleet_option("Name of the fleet.")] = "home",
    host: Annotated[str, typer.Option("--host", help="Where the broker listens.")] = "0.0.0.0",  # noqa: S104 - a broker for phones
    port: Annotated[
        int | None, typer.Option("--port", min=1, max=65535, help="1883, or 8883 with TLS.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--folder", help="Where the files will lie on the broker's machine."),
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option("--certificate", help="The broker's certificate: TLS.")
    ] = None,
    key: Annotated[Path | None, typer.Option("--key", help="Its private key.")] = None,
    client_authority: Annotated[
        Path | None, typer.Option("--client-ca", help="Authority of the devices' certificates.")
    ] = None,
    mtls: Annotated[
        bool, typer.Option("--mtls", help="Devices show certificates instead of passwords.")
    ] = False,
    dynsec: Annotated[
        bool, typer.Option("--dynsec", help="Accounts in Mosquitto's dynamic security.")
    ] = False,
    run_as: Annotated[
        str, typer.Option("--run-as", help="User that Mosquitto runs as when root starts it.")
    ] = "",
    json: Json = False,
) -> None:
    """Write configuration, permissions and accounts for a broker, and say what to do next.

    Permissions are made from the table of topics. A folder that holds files already is refused.
    """
    _check(make, mtls=mtls, dynsec=dynsec, tls=(certificate, key, client_authority))
    _require_lines(host, run_as, folder, out_dir, certificate, key, client_authority)
    _require_empty(out_dir)
    passwords = _passwords(data, fleet, device or [])
    wanted = _Wanted(
        fleet=fleet,
        host=host,
        port=port or _PORTS[certificate is not None],
        folder=folder or out_dir.resolve(),
        tls=None if certificate is None or key is None else (certificate, key, client_authority),
        user=run_as,
    )
    if make is Make.NATS:
        files = _nats(wanted, passwords)
    elif mtls:
        files = _mosquitto_mtls(wanted)
    elif dynsec:
        files = _mosquitto_dynsec(wanted, passwords)
    else:
        files = _mosquitto(wanted, passwords)
    if not mtls:
        files |= {f"credentials/{name}": f"{secret}\n" for name, secret in passwords.items()}
    _write(out_dir, files)
    out = Output(json_lines=json)
    for name in sorted(files):
        out.event("file", path=str(out_dir / name))
    for line in _next_steps(make, wanted, mtls=mtls, dynsec=dynsec):
        out.note(line)
    out.summary(broker=make.value, files=len(files), accounts=0 if mtls else len(passwords))


def _require_lines(*given: str | Path | None) -> None:
    for text in map(str, given):
        if not text.isprintable():
            raise MisuseError(f"{text!r} cannot stand in a line of a file: leave line breaks out")


def _require_empty(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise MisuseError(f"{folder} is no folder: choose another name")
    if folder.is_dir() and any(folder.iterdir()):
        raise MisuseError(f"{folder} is not empty: choose another folder")


def _check(
    make: Make, *, mtls: bool, dynsec: bool, tls: tuple[Path | None, Path | None, Path | None]
) -> None:
    certificate, key, client_authority = tls
    if make is Make.NATS and (mtls or dynsec):
        raise MisuseError("--mtls and --dynsec are for mosquitto: leave them out, or change it")
    if mtls and dynsec:
        raise MisuseError("--mtls takes the account from the certificate: leave --dynsec out")
    if (certificate is None) != (key is None):
        raise MisuseError("TLS needs both --certificate and --key")
    if mtls != (client_authority is not None) or (mtls and certificate is None):
        raise MisuseError("--mtls needs --certificate, --key and --client-ca, which is only for it")


def _passwords(data: Path | None, fleet: str, devices: list[str]) -> dict[str, str]:
    """Every account's: those of a fleet's folder, and fresh ones for the rest."""
    from sync.broker_accounts import RESERVED, check_device_id, load_state, random_password
    from sync.kept_accounts import STATE_FILE

    known: Mapping[str, str] = {}
    if data is not None:
        file = data / "broker" / STATE_FILE
        if not file.is_file():
            raise MisuseError(
                f"{data} holds no broker's accounts: outrider broker run makes them; leave --data "
                "out for new ones"
            )
        known = load_state(file, fleet).passwords
    try:
        names = {*known, *RESERVED, *(check_device_id(one) for one in devices)}
    except ValueError as error:
        raise MisuseError(str(error)) from error
    return {name: known.get(name) or random_password() for name in sorted(names)}


def _nats(wanted: _Wanted, passwords: Mapping[str, str]) -> dict[str, str]:
    import json

    from sync.broker_accounts import OWNER, SERVICE
    from sync.broker_config import BrokerFiles, BrokerPorts, broker_config

    config = broker_config(
        fleet=wanted.fleet,
        host=wanted.host,
        ports=BrokerPorts(mqtt=wanted.port, native=4222),
        files=BrokerFiles(
            store=wanted.folder / "store",
            log=wanted.folder / "nats.log",
            pid=wanted.folder / "nats.pid",
        ),
        service=SERVICE,
        owner=OWNER,
        passwords=passwords,
    )
    config["listen"] = "127.0.0.1:4222"  # nobody needs the server's own protocol
    if wanted.tls is not None:
        certificate, key, _ = wanted.tls
        config["mqtt"]["tls"] = {"cert_file": str(certificate), "key_file": str(key)}
    return {"nats.json": json.dumps(config, indent=1) + "\n"}


def _server(wanted: _Wanted, accounts: list[str]) -> str:
    from sync.mosquitto_config import Listener, server_config

    return server_config(
        Listener(wanted.host, wanted.port, wanted.tls),
        accounts=accounts,
        store=wanted.folder / "store",
        pid=wanted.folder / "mosquitto.pid",
        log=wanted.folder / "mosquitto.log",
        user=wanted.user,
    )


def _mosquitto(wanted: _Wanted, passwords: Mapping[str, str]) -> dict[str, str]:
    from sync.mosquitto_config import acl_file, password_file

    accounts = [f"password_file {wanted.folder}/passwords", f"acl_file {wanted.folder}/acl"]
    return {
        "mosquitto.conf": _server(wanted, accounts),
        "passwords": password_file(passwords),
        "acl": acl_file(wanted.fleet, passwords),
        "store/.keep": "",
    }


def _mosquitto_mtls(wanted: _Wanted) -> dict[str, str]:
    from sync.mosquitto_config import acl_patterns

    return {
        "mosquitto.conf": _server(wanted, [f"acl_file {wanted.folder}/acl"]),
        "acl": acl_patterns(wanted.fleet),
        "store/.keep": "",
    }


def _mosquitto_dynsec(wanted: _Wanted, passwords: Mapping[str, str]) -> dict[str, str]:
    from sync.broker_accounts import random_password
    from sync.mosquitto_dynsec import ADMIN, first_configuration

    admin = random_password()
    state = wanted.folder / "dynamic-security.json"
    accounts = [f"plugin {PLUGIN}", f"plugin_opt_config_file {state}"]
    return {
        "mosquitto.conf": _server(wanted, accounts),
        "dynamic-security.json": first_configuration(wanted.fleet, passwords, admin=admin),
        "store/.keep": "",
        f"credentials/{ADMIN}": f"{admin}\n",
    }


def _write(folder: Path, files: Mapping[str, str]) -> None:
    """Write files that only their owner may read."""
    from sync.broker_accounts import write_private

    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(path, text.encode())


def _next_steps(make: Make, wanted: _Wanted, *, mtls: bool, dynsec: bool) -> list[str]:
    scheme = "mqtt" if wanted.tls is None else "mqtts"
    url = f"{scheme}://BROKER:{wanted.port}"
    start = {
        Make.NATS: f"nats-server -c {wanted.folder}/nats.json",
        Make.MOSQUITTO: f"mosquitto -c {wanted.folder}/mosquitto.conf",
    }[make]
    authority = "" if wanted.tls is None else " --ca ca.pem"
    if mtls:
        check = use = "--certificate cloud.pem --key cloud.key"
    else:
        check = "--user cloud --password-file credentials/cloud"
        use = "--credentials credentials/cloud"
    if dynsec:
        use += " --dynsec-admin credentials/admin"
    return [
        "What to do next:",
        f"1. Put the files at {wanted.folder}; the broker's user must read them.",
        f"2. Start it: {start}",
        f"3. Check it: outrider sync conformance --broker {url}",
        f"   {check}{authority}",
        f"4. Use it: outrider cloud serve --broker {url}",
        f"   {use}{authority}",
    ]
