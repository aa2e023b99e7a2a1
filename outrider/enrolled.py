"""How a device process finds what enrolment gave the phone: who it is, and how it connects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from device_runtime.log_rescue import open_log
from device_runtime.settings import Settings
from outrider.errors import MisuseError
from sync.clock import Clock
from sync.credentials import CA_FILE, CredentialStore, EnrolledTransport
from sync.database import read_meta
from sync.device_link import SERVER_TIME
from sync.mqtt import MqttAddress, PahoTransport
from sync.server_clock import ServerClock
from sync.vocabulary import new_uuid7

if TYPE_CHECKING:
    from sync.ports import Transport

PHONES = "phones"


def enrolment_settings(
    phone: Path | None, *, data: Path | None, device: str, over: Mapping[str, object]
) -> dict[str, object]:
    """The settings that a phone's enrolment gives.

    Args:
        phone: the phone's folder, where it is named; it must be enrolled.
        data, device: the fleet's folder and the phone's name there, otherwise.
        over: what the command line says in their place; None values count as not given.

    Raises: MisuseError: neither folder is named, or the named one was never enrolled.
    """
    if phone is None and data is None:
        raise MisuseError("name the phone's folder with --phone, or the fleet's with --data")
    folder = phone if phone is not None else (data or Path()) / PHONES / device
    store = CredentialStore(folder)
    if not store.is_enrolled:
        if phone is not None:
            raise MisuseError(
                f"{phone} was never enrolled: outrider phone enroll --phone {phone} --url … "
                "--token …, or name it with --data and --id"
            )
        return dict(over)
    stored = store.read()
    authority = folder / CA_FILE
    given: dict[str, object] = {
        "device_id": stored.device_id,
        "data_dir": data or _data_of(folder),
        "phone_folder": folder,
        "broker_url": stored.broker_url,
        "fleet": stored.fleet,
        "channel": stored.channel,
    }
    if authority.is_file():
        given["broker_ca_file"] = authority
    return {**given, **{name: value for name, value in over.items() if value is not None}}


def credentials_of(settings: Settings) -> CredentialStore | None:
    """The credentials of an enrolled phone; None for one that connects as its settings say."""
    store = CredentialStore(settings.phone_dir)
    return store if settings.credentials_file is None and store.is_enrolled else None


def transport_of(
    address: Callable[[], MqttAddress], credentials: CredentialStore | None
) -> Transport:
    """A connection to the broker: with the phone's own credentials, or as its settings say."""
    if credentials is None:
        return PahoTransport(address())
    return EnrolledTransport(credentials, PahoTransport)


def server_clock_of(settings: Settings, clock: Clock) -> ServerClock:
    """The cloud's time, from what an earlier process of the phone heard on.

    It is the first to read the phone's database: a damaged one is rescued here.

    Raises: TrajectoryLogError: the database cannot be opened.
    """
    said = ""
    if settings.database.is_file():
        with closing(open_log(settings.database, clock=clock, new_id=new_uuid7)) as log:
            said = read_meta(log.connection, SERVER_TIME) or ""
    return ServerClock(clock, floor_ms=int(said) if said.isdecimal() else 0)


def _data_of(folder: Path) -> Path:
    """The fleet's folder that a phone's lies in, or the phone's own."""
    return folder.parent.parent if folder.parent.name == PHONES else folder
