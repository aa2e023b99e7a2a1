"""`outrider phone stop|start|answer`: the owner's word, through files and over MQTT."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from outrider.errors import CommandError, MisuseError
from outrider.options import Json, fleet_option
from outrider.output import Output

if TYPE_CHECKING:
    from sync.mqtt import MqttAddress
    from sync.owner_client import OwnerClient

PHONES = "phones"
BROKER = "broker"
LISTEN_S = 1.0
"""How long the broker has to tell what it keeps."""
HOUR_S = 3600.0

DataDir = Annotated[Path | None, typer.Option("--data", help="Folder of a fleet on this machine.")]
DeviceName = Annotated[str | None, typer.Option("--id", help="The phone's name in the fleet.")]
Everyone = Annotated[
    bool, typer.Option("--all", help="Every phone and farm of the folder, and of its broker.")
]
Broker = Annotated[
    str | None, typer.Option("--broker", help="Over MQTT: mqtt://host:port, as the owner.")
]
Credentials = Annotated[
    Path | None, typer.Option("--credentials", help="File with the owner's password there.")
]
Fleet = Annotated[str, fleet_option("Name of the fleet in the topics.")]


def stop_phone(
    *,
    data: DataDir = None,
    device: DeviceName = None,
    everyone: Everyone = False,
    reason: Annotated[str, typer.Option("--reason", help="Why; the phone logs it.")] = "",
    broker: Broker = None,
    credentials: Credentials = None,
    fleet: Fleet = "home",
    json: Json = False,
) -> None:
    """Stop a phone within one step, and keep it stopped until `outrider phone start`.

    On this machine a file does it, so it works without a network and while a process hangs; a
    message over MQTT reaches phones elsewhere, and those that are away when they come back.
    """
    from device_runtime.stop import write_stop
    from sync.clock import SystemClock

    out = Output(json_lines=json)
    folders = _folders(data, device=device, everyone=everyone, has_broker=broker is not None)
    for folder in folders:
        write_stop(folder, reason, at_ms=SystemClock().wall_ms())
    told = _tell(
        lambda owner, name: owner.stop(name, reason),
        data=data, device=device, broker=broker, credentials=credentials, fleet=fleet,
    )  # fmt: skip
    _require_effect(folders, told, data=data, device=device, broker=broker)
    out.summary(
        stopped=device or "all", by_file=bool(folders), by_message=bool(told), told=list(told)
    )


def start_phone(
    *,
    data: DataDir = None,
    device: DeviceName = None,
    everyone: Everyone = False,
    hours: Annotated[
        float | None, typer.Option("--for", min=0.0, help="Hours until it stops by itself.")
    ] = None,
    broker: Broker = None,
    credentials: Credentials = None,
    fleet: Fleet = "home",
    json: Json = False,
) -> None:
    """Let a stopped phone act again, for good or for some hours."""
    from device_runtime.stop import StopSwitch, remove_stop
    from sync.clock import SystemClock

    out = Output(json_lines=json)
    clock = SystemClock()
    until_ms = 0 if hours is None else clock.wall_ms() + round(hours * HOUR_S * 1000)
    folders = _folders(data, device=device, everyone=everyone, has_broker=broker is not None)
    for folder in folders:
        remove_stop(folder)
        phones = (
            sorted(path for path in folder.iterdir() if path.is_dir()) if everyone else [folder]
        )
        for phone in phones:
            StopSwitch(phone, clock=clock).start(until_ms=until_ms)
    told = _tell(
        lambda owner, name: owner.start(name, until_ms=until_ms),
        data=data, device=device, broker=broker, credentials=credentials, fleet=fleet,
    )  # fmt: skip
    _require_effect(folders, told, data=data, device=device, broker=broker)
    _require_unstopped(data, everyone=everyone)
    out.summary(
        started=device or "all", until_ms=until_ms or None, by_message=bool(told), told=list(told)
    )


def answer_phone(
    question: Annotated[
        str | None, typer.Argument(metavar="[QUESTION]", help="Its id; without one, list them.")
    ] = None,
    word: Annotated[str | None, typer.Argument(metavar="[yes|no]", help="Your answer.")] = None,
    *,
    data: DataDir = None,
    broker: Broker = None,
    credentials: Credentials = None,
    fleet: Fleet = "home",
    json: Json = False,
) -> None:
    """Answer what a phone asks before a sensitive action; without arguments, list what is asked."""
    out = Output(json_lines=json)
    if question is not None and word not in {"yes", "no"}:
        raise MisuseError(f"answer {question} yes, or answer {question} no")
    if data is None and broker is None:
        raise MisuseError("name the fleet's folder with --data, or its --broker")
    asked = _asked_here(data)
    with owner_connection(owner_address(data, broker, credentials), fleet) as owner:
        if owner is not None:
            asked = {**_asked_there(owner), **asked}
        if question is None:
            out.summary(questions=out.rows("question", list(asked.values()), title="Questions"))
            return
        if question not in asked:
            known = ", ".join(asked) or "none"
            raise CommandError(f"nobody waits for an answer to {question!r}; open: {known}")
        _give(asked[question], agreed=word == "yes", data=data, owner=owner)
    out.summary(question=question, agreed=word == "yes", phone=asked[question]["phone"])


def _folders(
    data: Path | None, *, device: str | None, everyone: bool, has_broker: bool
) -> list[Path]:
    """Where a file says stop: one phone's folder, or that of all phones.

    Raises: MisuseError: no phone is named, or there is no such phone.
    """
    if everyone == (device is not None):
        raise MisuseError("name one phone with --id, or all of a folder with --all")
    if data is None:
        if has_broker:
            return []
        raise MisuseError("name the fleet's folder with --data, or its --broker")
    phones = data / PHONES
    if everyone:
        if not data.is_dir():
            raise MisuseError(f"{data} is no folder: name the fleet's with --data")
        phones.mkdir(exist_ok=True)
        return [phones]
    return [phones / (device or "")] if (phones / (device or "")).is_dir() else []


def _require_effect(
    folders: list[Path],
    told: Sequence[str],
    *,
    data: Path | None,
    device: str | None,
    broker: str | None,
) -> None:
    if folders or told:
        return
    if device is None:
        raise CommandError(f"no device ever announced itself at {broker}: name one with --id")
    raise MisuseError(f"{data} holds no phone {device!r}: outrider phone list --data {data}")


def _require_unstopped(data: Path | None, *, everyone: bool) -> None:
    """Nothing where no stop for all phones keeps the one stopped that was just started."""
    from device_runtime.stop import STOP_FILE

    if data is not None and not everyone and (data / PHONES / STOP_FILE).exists():
        raise CommandError(
            f"every phone of {data} is stopped: outrider phone start --all --data {data}"
        )


def owner_address(
    data: Path | None, broker: str | None, credentials: Path | None
) -> MqttAddress | None:
    """Where the owner speaks MQTT: the named broker, or the folder's own; None for neither."""
    from device_runtime.settings import Settings
    from outrider.device_wiring import broker_address, settings_as_misuse
    from sync.broker import OWNER, local_address
    from sync.vocabulary import DeviceId

    if broker is not None:
        with settings_as_misuse():
            return broker_address(
                Settings(
                    device_id=DeviceId(OWNER),
                    data_dir=data or Path(),
                    broker_url=broker,
                    credentials_file=credentials,
                )
            )
    return None if data is None else local_address(data / BROKER, OWNER)


@contextmanager
def owner_connection(address: MqttAddress | None, fleet: str) -> Iterator[OwnerClient | None]:
    """The owner, connected; None where there is no broker, or none of ours runs."""
    from dataclasses import replace

    from sync.mqtt import PahoTransport
    from sync.owner_client import OwnerClient

    if address is None:
        yield None
        return
    mine = replace(address, client_id=f"owner-{os.getpid()}")
    client = OwnerClient(PahoTransport(mine), fleet=fleet)
    try:
        client.connect()
        yield client
    finally:
        client.close()


def _tell(
    what: Callable[[OwnerClient, str], None],
    *,
    data: Path | None,
    device: str | None,
    broker: str | None,
    credentials: Path | None,
    fleet: str,
) -> tuple[str, ...]:
    """Tell one device, or all that the broker knows, over MQTT; the devices that were told.

    A broker that was not named is only a second way beside the file: where it is down, so be it.
    Raises: LinkLostError: the named broker does not answer.
    """
    from sync.errors import LinkLostError

    try:
        with owner_connection(owner_address(data, broker, credentials), fleet) as owner:
            if owner is None:
                return ()
            names = owner.devices(LISTEN_S) if device is None else (device,)
            for name in names:
                what(owner, name)
            return names
    except LinkLostError:
        if broker is not None:
            raise
        return ()


def _asked_here(data: Path | None) -> dict[str, dict[str, Any]]:  # Any: JSON
    """The open questions of the phones in a folder, by id."""
    from device_runtime.owner import open_question
    from sync.clock import SystemClock

    now_ms = SystemClock().wall_ms()
    folders = [] if data is None else sorted((data / PHONES).glob("*/"))
    found = {folder: open_question(folder, now_ms=now_ms) for folder in folders}
    return {
        said["question_id"]: {
            "id": said["question_id"],
            "phone": folder.name,
            "text": said["text"],
            "left_s": round((said["expires_at_ms"] - now_ms) / 1000),
        }
        for folder, said in found.items()
        if said is not None
    }


def _asked_there(owner: OwnerClient) -> dict[str, dict[str, Any]]:  # Any: as above
    """The open questions of the fleet's devices, by id."""
    from sync.clock import SystemClock
    from sync.messages import QuestionState

    now_ms = SystemClock().wall_ms()
    return {
        said.question_id: {
            "id": said.question_id,
            "phone": name,
            "text": said.text,
            "left_s": round((said.expires_at_ms - now_ms) / 1000),
        }
        for name, said in owner.questions(LISTEN_S).items()
        if said.state is QuestionState.ASKED and said.expires_at_ms > now_ms
    }


def _give(
    asked: dict[str, Any], *, agreed: bool, data: Path | None, owner: OwnerClient | None
) -> None:
    """Answer a question by every way that leads to its phone."""
    from device_runtime.owner import write_answer

    folder = None if data is None else data / PHONES / asked["phone"]
    if folder is not None and folder.is_dir():
        write_answer(folder, asked["id"], agreed=agreed)
    if owner is not None:
        owner.answer(asked["phone"], asked["id"], agreed=agreed)
