"""`outrider sync conformance`: the protocol's requirements, checked on any broker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.errors import CommandError, MisuseError
from outrider.options import Json, fleet_option
from outrider.output import Output

if TYPE_CHECKING:
    from sync.broker_address import BrokerUrl, MqttAddress, MqttProtocol
    from sync.conformance import Bench

_LOCAL = ("kit-device-1", "kit-device-2")
_MARKS = {"pass": "ok", "fail": "FAILED", "not_applicable": "-"}


class Versions(Enum):
    """Which versions of MQTT are checked."""

    V3_1_1 = "3.1.1"
    V5 = "5"
    BOTH = "both"


def check_conformance(
    *,
    broker: Annotated[
        str | None,
        typer.Option("--broker", help="mqtt://… or mqtts://…; the account of the cloud."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Check the running broker of this fleet's folder instead."),
    ] = None,
    user: Annotated[str, typer.Option("--user", help="Account of the cloud at the broker.")] = "",
    password_file: Annotated[
        Path | None, typer.Option("--password-file", help="File whose first line is its password.")
    ] = None,
    authority: Annotated[
        Path | None, typer.Option("--ca", help="Authority of the broker's certificate.")
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option("--certificate", help="Certificate of the cloud's account.")
    ] = None,
    key: Annotated[Path | None, typer.Option("--key", help="Its private key.")] = None,
    device: Annotated[
        list[str] | None,
        typer.Option(
            "--device",
            metavar="NAME=FILE",
            help="A device's account, twice: NAME=PASSWORD_FILE or NAME=CERTIFICATE:KEY.",
        ),
    ] = None,
    fleet: Annotated[str, fleet_option("The fleet whose topics are used.")] = "home",
    protocol: Annotated[
        Versions, typer.Option("--protocol", help="Versions of MQTT to check.")
    ] = Versions.V3_1_1,
    only: Annotated[
        str, typer.Option("--only", help="Requirements with commas between them: OR-BRK-1,…")
    ] = "",
    patience_s: Annotated[
        float,
        typer.Option("--patience", min=1.0, help="Seconds for what a broker may do by itself."),
    ] = 12.0,
    json: Json = False,
) -> None:
    """Check every requirement of the protocol on a broker, and our sessions through it.

    Use a fleet, or a broker, that no devices are connected to: the kit speaks as the cloud.
    """
    from sync.broker_address import MqttProtocol
    from sync.conformance import Bench, made_up_names

    out = Output(json_lines=json)
    wanted = _wanted(only)
    versions = list(MqttProtocol) if protocol is Versions.BOTH else [MqttProtocol(protocol.value)]
    if (broker is None) == (data is None):
        raise MisuseError("name one broker: --broker URL, or --data DIR of a running fleet")
    if data is not None:
        with _local_bench(data, fleet, patience_s) as bench:
            _check(bench, versions, wanted, out)
        return
    accounts = _Accounts(_url(broker or ""), authority)
    service = accounts.service(user, password_file, certificate, key)
    devices = [accounts.device(one) for one in device or ()]
    if len(devices) not in {0, 2} or len({one.client_id for one in devices}) != len(devices):
        raise MisuseError("give --device twice with two names, or not at all")
    bench = Bench(
        service=service,
        fleet=fleet,
        devices=(devices[0], devices[1]) if devices else None,
        patience_s=patience_s,
        names=(devices[0].client_id, devices[1].client_id) if devices else made_up_names(),
    )
    _check(bench, versions, wanted, out)


def _wanted(only: str) -> set[str]:
    from sync.requirements import BY_ID

    wanted = {one.strip() for one in only.split(",") if one.strip()}
    unknown = sorted(wanted - BY_ID.keys())
    if unknown:
        raise MisuseError(f"no requirement is called {', '.join(unknown)}: see docs/protocol.md")
    return wanted


def _check(bench: Bench, versions: list[MqttProtocol], only: set[str], out: Output) -> None:
    """Run the kit and tell each result.

    Raises: CommandError: a requirement is not met, or the broker cannot be checked at all.
    """
    from sync.conformance import Outcome, run
    from sync.requirements import BY_ID

    counts: Counter[str] = Counter()
    failed = []
    for version in versions:
        for one in run(bench, version, only=only):
            counts[one.outcome.value] += 1
            text = BY_ID[one.id].text
            if one.outcome is Outcome.FAIL:
                failed.append(f"{one.id} ({version})")
            if out.json_lines:
                out.event(
                    "requirement", id=one.id, protocol=version, outcome=one.outcome,
                    detail=one.detail, text=text,
                )  # fmt: skip
            else:
                line = f"{one.id:9} {version:5} {_MARKS[one.outcome]:6} {one.detail or text}"
                out.note(fill(line, 80, subsequent_indent=" " * 23))
    out.summary(**{outcome.value: counts[outcome.value] for outcome in Outcome}, failed=failed)
    if failed:
        raise CommandError(f"the broker does not meet {', '.join(failed)}")


class _Accounts:
    """Makes addresses at one broker from what the command line gives."""

    def __init__(self, url: BrokerUrl, authority: Path | None) -> None:
        if authority is not None and not url.tls:
            raise MisuseError("--ca is for mqtts:// brokers: write mqtts:// in --broker")
        self._url = url
        self._authority = authority

    def service(
        self, user: str, password_file: Path | None, certificate: Path | None, key: Path | None
    ) -> MqttAddress:
        """The cloud's account: from the options, or else from the URL."""
        password = self._url.password if password_file is None else _password(password_file)
        return self._made(user or self._url.username, password, certificate, key)

    def device(self, given: str) -> MqttAddress:
        """A device's account from NAME=FILE."""
        name, mark, files = given.partition("=")
        if not (name and mark and files):
            raise MisuseError("--device wants NAME=PASSWORD_FILE or NAME=CERTIFICATE:KEY")
        certificate, colon, key = files.partition(":")
        if colon:
            return self._made(name, "", Path(certificate), Path(key))
        return self._made(name, _password(Path(files)), None, None)

    def _made(
        self, user: str, password: str, certificate: Path | None, key: Path | None
    ) -> MqttAddress:
        from sync.broker_address import MqttAddress

        return MqttAddress(
            host=self._url.host,
            port=self._url.port,
            client_id=user,
            username=user,
            password=password,
            certificates=self._authority,
            certificate=certificate,
            key=key,
            tls=self._url.tls,
        )


def _url(broker: str) -> BrokerUrl:
    from sync.broker_address import parse_url

    try:
        return parse_url(broker)
    except ValueError as error:
        raise MisuseError(str(error)) from error


def _password(file: Path) -> str:
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise MisuseError(f"password file {file} cannot be read ({error})") from error
    return lines[0].strip() if lines else ""


@contextmanager
def _local_bench(data: Path, fleet: str, patience_s: float) -> Iterator[Bench]:
    """The running broker of a folder, with two devices of the kit's own while it is checked."""
    from sync.broker_accounts import SERVICE
    from sync.conformance import Bench
    from sync.kept_accounts import KeptAccounts, local_address

    if local_address(data / "broker", SERVICE) is None:
        raise CommandError(f"no broker of {data} is running: start it with outrider up")
    accounts = KeptAccounts(data / "broker", fleet=fleet)
    try:
        first, second = (accounts.add_device(name) for name in _LOCAL)
        yield Bench(
            service=accounts.address(),
            fleet=fleet,
            devices=(first, second),
            accounts=accounts,
            patience_s=patience_s,
            names=_LOCAL,
        )
    finally:
        for name in _LOCAL:
            accounts.remove_device(name)
