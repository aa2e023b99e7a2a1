"""`outrider cloud …`: the service that ingests, directs, publishes and answers."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.cloud_database import CloudDatabase
from outrider.device_options import Broker, Credentials, DataDir, Fleet
from outrider.errors import MisuseError
from outrider.options import Json
from outrider.output import Output

if TYPE_CHECKING:
    from cloud_learner.director import Notice
    from cloud_learner.enroller import Admission
    from cloud_learner.publishing import Published
    from cloud_learner.service import Edges, Progress
    from cloud_learner.staged_director import StagedChanged
    from device_runtime.settings import Settings
    from sync.broker_accounts import BrokerAccounts
    from sync.broker_address import MqttAddress

SERVICE_NAME = "cloud"
DEFAULT_BROKER = "mqtt://127.0.0.1:1883"
Port = Annotated[int | None, typer.Option("--port", help="Port of the API; 0 takes a free one.")]
Host = Annotated[str | None, typer.Option("--host", help="Address of the API; this machine only.")]


class TokenScope(StrEnum):
    """What a token of the API may do."""

    READ = "read"
    OPERATE = "operate"


def serve_cloud(
    *,
    data: DataDir,
    broker: Broker = None,
    credentials: Credentials = None,
    fleet: Fleet = None,
    database: CloudDatabase = None,
    host: Host = None,
    port: Port = None,
    tls_cert: Annotated[
        str | None,
        typer.Option("--tls-cert", help="Certificate chain of the API, which then speaks https."),
    ] = None,
    tls_key: Annotated[
        str | None, typer.Option("--tls-key", help="Private key of the API's certificate.")
    ] = None,
    app: Annotated[
        str | None, typer.Option("--app", help="The app that the fleet is to learn.")
    ] = None,
    env_steps: Annotated[
        int | None, typer.Option("--env-steps", min=0, help="Training steps to collect.")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option("--minutes", help="Time for the whole campaign.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of what is played.")] = None,
    group_size: Annotated[
        int | None,
        typer.Option("--group-size", min=1, help="Episodes in a row on one task, to compare them."),
    ] = None,
    phone_broker: Annotated[
        str | None,
        typer.Option("--phone-broker", help="How phones reach the broker; --broker if not set."),
    ] = None,
    authority: Annotated[
        Path | None, typer.Option("--ca", help="Authority of an mqtts:// broker's certificate.")
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option("--certificate", help="Our certificate at the broker.")
    ] = None,
    key: Annotated[Path | None, typer.Option("--key", help="Its private key.")] = None,
    dynsec_admin: Annotated[
        Path | None,
        typer.Option(
            "--dynsec-admin",
            help="Password of a Mosquitto's dynamic security: phones get their accounts there.",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            help="TOML file with [service], [campaign], [gate], [dispatch], [curriculum].",
        ),
    ] = None,
    until_finished: Annotated[
        bool, typer.Option("--until-finished", help="End when the campaign is finished.")
    ] = False,
    json: Json = False,
) -> None:
    """Run the cloud service until Ctrl-C: ingest, campaign, releases and API."""
    from cloud_learner.service import CloudService
    from cloud_learner.settings_file import read_settings
    from device_runtime.settings import Settings
    from outrider.device_wiring import stop_on_signals
    from outrider.publisher import sole_publisher
    from sync.vocabulary import DeviceId

    out = Output(json_lines=json)
    settings = read_settings(
        config,
        data_dir=data,
        service={
            "database_url": database,
            "fleet": fleet,
            "host": host,
            "port": port,
            "tls_cert": tls_cert,
            "tls_key": tls_key,
        },
        campaign={
            "app": app,
            "env_steps": env_steps,
            "minutes": minutes,
            "seed": seed,
            "group_size": group_size,
        },
    )
    with stop_on_signals() as stop, sole_publisher(data):
        edges = _edges(
            Settings(
                device_id=DeviceId(SERVICE_NAME),
                data_dir=data,
                broker_url=broker or DEFAULT_BROKER,
                broker_ca_file=authority,
                broker_certificate_file=certificate,
                broker_key_file=key,
                credentials_file=credentials,
                fleet=settings.fleet,
            ),
            phone_broker=phone_broker,
            dynsec_admin=dynsec_admin,
        )
        _make_token_once(settings.token_path, out)
        service = CloudService(settings, edges, tell=Teller(out))
        try:
            bound = service.start()
            out.event("started", role=SERVICE_NAME, pid=os.getpid(), port=bound, host=settings.host)
            service.run(stop, until_finished=until_finished)
            summary = service.summary()
        finally:
            service.close()
    if summary is not None:
        out.summary(**summary)


def make_token(
    *,
    data: DataDir,
    scope: Annotated[
        TokenScope, typer.Option("--scope", help="What it may do: read, or operate the fleet.")
    ] = TokenScope.OPERATE,
    name: Annotated[
        str,
        typer.Option("--name", help="Whose it is, for audit logs; the scope's name if not set."),
    ] = "",
    remove: Annotated[
        bool, typer.Option("--remove", help="End the token of that --name instead.")
    ] = False,
    json: Json = False,
) -> None:
    """Make a new token for the API and show it once; the old one of its name is refused then."""
    from secrets import token_urlsafe

    from cloud_learner.settings import ServiceSettings
    from cloud_learner.tokens import Scope, TokenFile

    file = TokenFile(ServiceSettings(data_dir=data).token_path)
    whose = name or scope.value
    if remove:
        if not file.remove(whose):
            raise MisuseError(f"no token is called {whose!r}: --name the one to end")
        Output(json_lines=json).summary(name=whose, removed=True)
        return
    token = token_urlsafe(32)
    try:
        file.write(token, Scope(scope.value), name=name)
    except ValueError as error:
        raise MisuseError(str(error)) from error
    Output(json_lines=json).summary(token=token, scope=scope.value, name=whose)


def _edges(settings: Settings, *, phone_broker: str | None, dynsec_admin: Path | None) -> Edges:
    """The broker's connection and accounts, the signing keys, time and chance.

    Args:
        settings: of the cloud's connection to the broker.
    """
    from random import Random

    from cloud_learner.service import Edges
    from outrider.device_wiring import broker_address
    from sync.broker_address import redacted
    from sync.clock import SystemClock
    from sync.mqtt import PahoTransport
    from sync.repository import Repository
    from sync.vocabulary import new_uuid7

    clock, data = SystemClock(), settings.data_dir
    address = broker_address(settings)
    signer = Repository.create(data / "tuf", data / "keys", clock=clock)
    signer.renew()
    return Edges(
        transport=PahoTransport(address),
        signer=signer,
        clock=clock,
        random=Random(),
        new_id=new_uuid7,
        admission=_admission(
            settings,
            accounts=_accounts(settings, address, dynsec_admin),
            broker_url=phone_broker or redacted(settings.broker_url),  # ours is not for phones
            root=lambda: signer.root_bytes,
        ),
    )


def _accounts(
    settings: Settings, address: MqttAddress, dynsec_admin: Path | None
) -> BrokerAccounts | None:
    """The broker's accounts, where they are ours to change."""
    from dataclasses import replace

    from outrider.phone_stop import BROKER
    from sync.broker_accounts import SERVICE
    from sync.dynsec_accounts import DynsecAccounts
    from sync.kept_accounts import STATE_FILE, KeptAccounts
    from sync.mosquitto_dynsec import ADMIN

    if dynsec_admin is not None:
        password = replace(settings, credentials_file=dynsec_admin).password()
        return DynsecAccounts(
            replace(address, client_id=f"{ADMIN}-{os.getpid()}", username=ADMIN, password=password),
            settings.data_dir / "broker-accounts",
            fleet=settings.fleet,
            passwords={SERVICE: address.password},
        )
    if (settings.data_dir / BROKER / STATE_FILE).is_file():
        return KeptAccounts(settings.data_dir / BROKER, fleet=settings.fleet)
    return None


def _admission(
    settings: Settings,
    *,
    accounts: BrokerAccounts | None,
    broker_url: str,
    root: Callable[[], bytes],
) -> Admission:
    """How phones are let in: only where the broker's accounts are ours to change."""
    from cloud_learner.enroller import Admission
    from sync.broker_accounts import SERVICE

    if accounts is None:
        return Admission(fleet=settings.fleet, broker_url=broker_url)
    authority = accounts.address(SERVICE).certificates
    return Admission(
        fleet=settings.fleet,
        broker_url=broker_url,
        accounts=accounts,
        broker_ca="" if authority is None else authority.read_text("ascii"),
        root=root,
    )


def _make_token_once(path: Path, out: Output) -> None:
    """Make the API's token at the first start, and show it to a person once."""
    from secrets import token_urlsafe

    from cloud_learner.tokens import TokenFile

    file = TokenFile(path)
    if file.exists():
        return
    token = token_urlsafe(32)
    file.write(token)
    out.note(f"API token (shown this once; `outrider cloud token` makes another): {token}")


class Teller:
    """Prints what the service has to tell."""

    def __init__(self, out: Output) -> None:
        self._out = out

    def __call__(self, notice: Notice | Published | Progress | StagedChanged) -> None:
        """One event."""
        from cloud_learner.campaign import GateRecord
        from cloud_learner.director import PhaseChanged
        from cloud_learner.publishing import Published
        from cloud_learner.staged_director import StagedChanged
        from cloud_learner.summary import figure

        match notice:
            case Published(release=release):
                self._out.event(
                    "release",
                    release_id=release.id,
                    version=release.version,
                    state=release.state.value,
                    kind=release.kind,
                    digest=release.digest,
                    parent=release.parent,
                    env_steps=release.env_steps,
                )
            case GateRecord():
                self._out.event(
                    "gate",
                    release_id=notice.release_id,
                    promoted=notice.promoted,
                    validation=figure(notice.figures),
                    reason=notice.reason,
                )
            case PhaseChanged():
                self._out.event("phase", **asdict(notice))
            case StagedChanged(release_id=release_id, entry=entry):
                self._out.event("staged_release", release_id=release_id, **asdict(entry))
            case _:
                counts = notice.counts
                self._out.event(
                    "progress",
                    phase=notice.phase.value,
                    active_s=round(notice.active_s, 1),
                    promoted=notice.promoted,
                    candidate=notice.candidate,
                    **counts,
                )
