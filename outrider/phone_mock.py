"""`outrider phone mock`: mock phones on the ADB wire: with a task, free, or of a recording."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from outrider.errors import MisuseError
from outrider.options import Json
from outrider.output import Output
from sync.vocabulary import Assignment, AssignmentId, Split

if TYPE_CHECKING:
    from apps_mock.adb_faults import WireFaults
    from apps_mock.adb_profile import PhoneProfile
    from apps_mock.adb_server import MockAdbDaemon
    from apps_mock.phone import MockPhone
    from sync.clock import Clock
    from sync.vocabulary import Verdict

LOOK_EVERY_S: Final = 0.05
MOST_PHONES: Final = 64
_FREE_GOAL: Final = "anything"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What kind of mock phone is asked for; `None` leaves it to the seed."""

    task: str | None
    seed: int
    split: Split
    look: int | None
    locale: str | None
    screen: tuple[int, int] | None


@dataclass(slots=True)
class Served:
    """One phone on the wire, and what was said of it so far."""

    daemon: MockAdbDaemon
    phone: MockPhone | None
    has_task: bool
    told: Verdict | None = None
    seen_generation: int = -1
    faults_told: int = field(default=0)


def mock_phone(
    *,
    task: Annotated[
        str | None,
        typer.Option("--task", help="Template (outrider clones list); else a free phone."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Which draw of the task or phone.")] = 0,
    split: Annotated[Split, typer.Option("--split", help="Which split it is drawn from.")] = (
        Split.TRAIN
    ),
    look: Annotated[int | None, typer.Option("--look", help="Which look; else the seed's.")] = None,
    locale: Annotated[
        str | None, typer.Option("--locale", help="Language of the phone, such as de.")
    ] = None,
    screen: Annotated[
        str | None, typer.Option("--screen", help="Size in pixels, such as 1080x2400.")
    ] = None,
    count: Annotated[
        int,
        typer.Option("--count", min=1, max=MOST_PHONES, help="So many phones, seeds ascending."),
    ] = 1,
    port: Annotated[
        int,
        typer.Option(
            "--port", min=0, max=65535, help="Where the first listens; 0 picks free ones."
        ),
    ] = 0,
    api: Annotated[int, typer.Option("--api", help="Android's API level: 23, 29 or 34.")] = 34,
    auth: Annotated[
        str, typer.Option("--auth", help="Keys: none, rsa-auto, rsa-deny or rsa-late.")
    ] = "none",
    display: Annotated[
        str, typer.Option("--display", help="Displays: single, override, rotated or two.")
    ] = "single",
    latency: Annotated[
        str, typer.Option("--latency", help="Speed: instant, emulator or phone.")
    ] = "instant",
    fault: Annotated[
        list[str] | None,
        typer.Option("--fault", help="KIND[:AMOUNT][@SHARE][xTIMES]; may be given several times."),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option("--replay", help="Answer as the phone of this recording (outrider doctor)."),
    ] = None,
    json: Json = False,
) -> None:
    """Put mock phones on the ADB wire until Ctrl-C: with a task, or free with every app."""
    from sync.clock import SystemClock

    if replay is not None and (task or locale or screen):
        raise MisuseError("a recording has its own screen; leave --task, --locale and --screen out")
    wanted = Wanted(task, seed, split, look, locale, _screen_of(screen))
    profile = _profile_of(api=api, auth=auth, display=display, latency=latency, seed=seed)
    out, clock = Output(json_lines=json), SystemClock()
    served = [
        _phone_at(
            index,
            wanted,
            port=port,
            profile=profile,
            faults=_faults_of(fault or [], seed + index),
            replay=replay,
            clock=clock,
        )
        for index in range(count)
    ]
    try:
        for each in served:
            each.daemon.start()
        _introduce(served, wanted, out)
        watch(served, out, clock=clock)
    except KeyboardInterrupt:
        out.summary(**_summary(served))
    finally:
        for each in served:
            each.daemon.stop()


def watch(served: list[Served], out: Output, *, clock: Clock) -> None:
    """Print verdicts whenever they change, and faults as they strike; ends by an exception."""
    while True:
        for each in served:
            _tell_verdict(each, out)
            _tell_faults(each, out)
        clock.sleep(LOOK_EVERY_S)


def _phone_at(
    index: int,
    wanted: Wanted,
    *,
    port: int,
    profile: PhoneProfile,
    faults: WireFaults,
    replay: Path | None,
    clock: Clock,
) -> Served:
    """One phone, not listening yet."""
    from apps_mock.adb_server import MockAdbDaemon

    where = port + index if port else 0
    if replay is not None:
        from apps_mock.recorded_phone import ReplayedPhone
        from device_runtime.recording import read_recording

        recorded = ReplayedPhone(read_recording(replay), clock=clock)
        daemon = MockAdbDaemon(recorded, port=where, profile=profile, faults=faults, clock=clock)
        return Served(daemon, phone=None, has_task=False)
    phone = _clone(replace(wanted, seed=wanted.seed + index), index)
    daemon = MockAdbDaemon(phone, port=where, profile=profile, faults=faults, clock=clock)
    return Served(daemon, phone=phone, has_task=wanted.task is not None)


def _clone(wanted: Wanted, index: int) -> MockPhone:
    """A clone with the task, or a free one.

    Raises: MisuseError: no such task or language.
    """
    from apps_mock.own_goals import OwnGoalPhone
    from device_runtime.errors import UnknownTaskError

    phone = OwnGoalPhone(serial=f"mock-{index}")
    assignment = Assignment(
        AssignmentId("by-hand"),
        template=wanted.task or "",
        goal="" if wanted.task else _FREE_GOAL,
        seed=wanted.seed,
        split=wanted.split,
        look=_look_of(wanted),
    )
    try:
        phone.reset(assignment)
    except UnknownTaskError as error:
        raise MisuseError(str(error)) from error
    if wanted.screen is not None:
        phone.resize(*wanted.screen)
    return phone


def _look_of(wanted: Wanted) -> int:
    from apps_mock.catalogue import LOCALES
    from apps_mock.look import look_number

    number = wanted.seed if wanted.look is None else wanted.look
    if wanted.locale is None:
        return number
    if wanted.locale not in LOCALES:
        raise MisuseError(f"no locale {wanted.locale!r}; there are {', '.join(LOCALES)}")
    return look_number(wanted.locale, number)


def _screen_of(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    match = re.fullmatch(r"(\d{3,4})x(\d{3,4})", text)
    if match is None or min(int(match[1]), int(match[2])) < 320:
        raise MisuseError(f"no screen size: {text!r}; write WIDTHxHEIGHT in pixels, 320 at least")
    return int(match[1]), int(match[2])


def _profile_of(*, api: int, auth: str, display: str, latency: str, seed: int) -> PhoneProfile:
    """The profile of these options.

    Raises: MisuseError: a word that there is not.
    """
    from apps_mock.adb_auth import AuthProfile
    from apps_mock.adb_profile import DisplayProfile, Latency, PhoneProfile

    try:
        return PhoneProfile(
            api, AuthProfile(auth), DisplayProfile(display), Latency(latency), seed=seed
        )
    except ValueError as error:
        raise MisuseError(f"{error}; outrider phone mock --help names what there is") from error


def _faults_of(written: list[str], seed: int) -> WireFaults:
    from apps_mock.adb_faults import WireFaults, fault_of

    try:
        return WireFaults([fault_of(text) for text in written], seed=seed)
    except ValueError as error:
        raise MisuseError(str(error)) from error


def _introduce(served: list[Served], wanted: Wanted, out: Output) -> None:
    for each in served:
        serial = each.daemon.serial
        out.line({"event": "started", "serial": serial, "port": each.daemon.port})
        out.note(f"adb connect {serial}    Ctrl-C ends it")
    for index, each in enumerate(served):
        if each.has_task and each.phone is not None:
            out.event(
                "task",
                serial=each.daemon.serial,
                template=wanted.task,
                seed=wanted.seed + index,
                split=wanted.split,
                goal=each.phone.task.goal,
            )


def _tell_verdict(each: Served, out: Output) -> None:
    if each.phone is None or not each.has_task:
        return
    with each.daemon.lock:
        generation = each.phone.generation
        if generation == each.seen_generation:
            return
        verdict = each.phone.current_verdict()
    each.seen_generation = generation
    if verdict == each.told:
        return
    each.told = verdict
    out.event(
        "verdict",
        serial=each.daemon.serial,
        score=verdict.score,
        success=verdict.success,
        progress=verdict.progress,
        failed=[check.name for check in verdict.checks if not check.passed],
        side_effects=verdict.side_effects,
    )


def _tell_faults(each: Served, out: Output) -> None:
    struck = each.daemon.faults.injected
    for one in struck[each.faults_told :]:
        out.event(
            "fault",
            serial=each.daemon.serial,
            kind=one.kind,
            amount=one.amount,
            where=one.where,
        )
    each.faults_told = len(struck)


def _summary(served: list[Served]) -> dict[str, object]:
    """What came of it: of one phone its verdict, of several each one's serial."""
    facts: dict[str, object] = {
        "faults": sum(len(each.daemon.faults.injected) for each in served),
        "unknown_commands": sorted({name for e in served for name in e.daemon.unknown_commands}),
    }
    if len(served) > 1:
        return {"phones": [each.daemon.serial for each in served], **facts}
    (only,) = served
    facts = {"serial": only.daemon.serial, **facts}
    if only.has_task and only.phone is not None:
        with only.daemon.lock:
            verdict = only.phone.current_verdict()
        facts |= {"success": verdict.success, "progress": verdict.progress}
    return facts
