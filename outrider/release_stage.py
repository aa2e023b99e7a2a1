"""`outrider release stage|status|approve|pause|resume|abort|audit-log`: releases by stages."""

from __future__ import annotations

import getpass
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from outrider.cloud_database import cloud_database
from outrider.errors import CommandError, MisuseError
from outrider.fleet_access import Api, Authority, Database, LocalApi, Token, Url, fleet_api, named
from outrider.options import Json
from outrider.output import Output
from outrider.runs import Data, data_folder

if TYPE_CHECKING:
    from cloud_learner.staged_desk import StagedDesk

PATH = "/v1/staged-releases"
Release = Annotated[str, typer.Argument(metavar="ID", help="Id of a signed release.")]
Staged = Annotated[str, typer.Argument(metavar="ID", help="Id of a staged release.")]
Who = Annotated[
    str | None, typer.Option("--who", help="Your name in the audit log; your account's if not set.")
]
Reason = Annotated[str, typer.Option("--reason", help="Why; it goes into the audit log.")]


_STAGE = (
    "stage", "share_percent", "phones", "margin", "soak_days", "days", "least_margin", "least_harm"
)  # fmt: skip
"""What a person sees of each stage in 80 columns."""
_SAID = (
    "release_id", "replaces", "channel", "phones", "phones_gone", "held_out",
    "tasks_per_phone_and_day", "days", "falls_short",
)  # fmt: skip


def stage_release(
    release: Release,
    *,
    channel: Annotated[str, typer.Option("--channel", help="Whose phones get it.")] = "stable",
    stages: Annotated[
        str, typer.Option("--stages", help="Shares in percent: 1,10,50,100. By the fleet's size.")
    ] = "",
    margin: Annotated[
        float | None, typer.Option("--margin", help="Points that success may be worse by, as 0.05.")
    ] = None,
    soak_hours: Annotated[
        float | None, typer.Option("--soak-hours", help="Least time of each stage.")
    ] = None,
    give_up_days: Annotated[
        float | None, typer.Option("--give-up-days", help="Most time of each stage.")
    ] = None,
    least_phones: Annotated[
        int | None, typer.Option("--least-phones", min=2, help="New phones of each stage.")
    ] = None,
    least_tasks: Annotated[
        int | None, typer.Option("--least-tasks", min=1, help="Judged episodes, in all.")
    ] = None,
    hold_out: Annotated[
        float, typer.Option("--hold-out", min=0.0, max=50.0, help="Percent that get it last.")
    ] = 5.0,
    alpha_worse: Annotated[
        float, typer.Option("--alpha-worse", help="Chance that one worse by the margin passes.")
    ] = 0.025,
    alpha_harm: Annotated[
        float, typer.Option("--alpha-harm", help="Chance that an equal one is taken back.")
    ] = 0.01,
    seed: Annotated[str, typer.Option("--seed", help="Seed of its cohorts; a new one.")] = "",
    allow: Annotated[
        list[str] | None, typer.Option("--allow", help="Phone of the first stage; repeatable.")
    ] = None,
    deny: Annotated[
        list[str] | None, typer.Option("--deny", help="Phone that never gets it; repeatable.")
    ] = None,
    where: Annotated[
        list[str] | None, typer.Option("--where", help="Attribute NAME=VALUE[,VALUE]; repeatable.")
    ] = None,
    draft: Annotated[bool, typer.Option("--draft", help="Leave the approval to another.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show cohorts, days and what can be told; no change.")
    ] = False,
    who: Who = None,
    reason: Annotated[str, typer.Option("--reason", help="Why; for the audit log.")] = "",
    data: Data = None,
    database: Database = None,
    url: Url = None,
    token: Token = None,
    authority: Authority = None,
    json: Json = False,
) -> None:
    """Give a signed release to a channel's phones by stages, each once the one before did well."""
    out = Output(json_lines=json)
    order: dict[str, Any] = {
        "who": _name(who),
        "reason": reason,
        "channel": channel,
        "shares_percent": _shares(stages),
        "margin": margin,
        "soak_hours": soak_hours,
        "give_up_days": give_up_days,
        "least_phones": least_phones,
        "least_tasks": least_tasks,
        "hold_out_percent": hold_out,
        "alpha_worse": alpha_worse,
        "alpha_harm": alpha_harm,
        "seed": seed,
        "allow": list(allow or ()),
        "deny": list(deny or ()),
        "where": dict(map(_attribute, where or ())),
        "approve": not draft,
    }
    with _api(data, database, url, token, authority) as api:
        preview = api.post(f"{PATH}/{named(release)}/preview", order)
        rows = preview["stages"]
        shown = rows if json else [{name: row[name] for name in _STAGE} for row in rows]
        out.rows("stage", shown, title=f"Stages of {release}")
        for line in preview["falls_short"]:
            out.note(line)
        if not dry_run:
            order["seed"] = preview["plan"]["seed"]
            made = api.post(f"{PATH}/{named(release)}", order)
    phase = "dry_run" if dry_run else made["phase"]
    out.summary(**{name: preview[name] for name in _SAID}, phase=phase)


def show_status(
    release: Annotated[
        str | None, typer.Argument(metavar="ID", help="A staged release; all if not named.")
    ] = None,
    *,
    data: Data = None,
    database: Database = None,
    url: Url = None,
    token: Token = None,
    authority: Authority = None,
    json: Json = False,
) -> None:
    """Show where a staged release stands: stage, phones, figures and what it waits for."""
    out = Output(json_lines=json)
    with _api(data, database, url, token, authority) as api:
        if release is None:
            rows = api.get(PATH)
            shown = rows if json else [_short(row) for row in rows]
            out.rows("staged_release", shown, title="Staged releases")
            out.summary(staged_releases=len(rows))
            return
        status = api.get(f"{PATH}/{named(release)}")
        entries = api.get(f"{PATH}/{named(release)}/audit-log")["entries"]
    shown = {name: value for name, value in status.items() if name not in {"plan", "stages"}}
    if json:
        shown |= {"plan": status["plan"]}
    out.summary(**shown, latest=entries[-1]["reason"] if entries else "")


def show_audit_log(
    release: Staged,
    *,
    data: Data = None,
    database: Database = None,
    url: Url = None,
    token: Token = None,
    authority: Authority = None,
    json: Json = False,
) -> None:
    """Show who did what to a staged release, when and why; and check that nobody changed that."""
    out = Output(json_lines=json)
    with _api(data, database, url, token, authority) as api:
        log = api.get(f"{PATH}/{named(release)}/audit-log")
    entries = log["entries"]
    out.rows(
        "entry",
        entries if json else [_entry(one) for one in entries],
        title=f"Audit log of {release}",
    )
    out.summary(release_id=release, entries=len(entries), whole=log["whole"])
    if not log["whole"]:
        raise CommandError(f"the audit log of {release} is not as it was written")


def approve_release(
    release: Staged,
    *,
    reason: Reason,
    who: Who = None,
    data: Data = None,
    database: Database = None,
    url: Url = None,
    token: Token = None,
    authority: Authority = None,
    json: Json = False,
) -> None:
    """Agree to a draft: it begins once its channel is free."""
    with _api(data, database, url, token, authority) as api:
        _say(api, release, "approve", {"who": _name(who), "reason": reason}, json=json)


def pause_release(
    release: Staged,
    *,
    reason: Reason,
    who: Who = None,
    data: Data = None,
    database: Database = None,
    url: Url = None,
    token: Token = None,
    authority: Authority = None,
    json: Json = False,
) -> None:
    """Stop a staged release from widening; phones that have it keep it, and harm takes it back."""
    with _api(data, database, url, token, authority) as api:
        _say(api, release, "pause", {"who": _name(who), "reason": reason}, json=json)


def resume_release(
    release: Staged,
    *,
    reason: Reason,
    who: Who = None,
    data: Data = None,
    database: Database = None,
    url: Url = None,
    token: Token = None,
    authority: Authority = None,
    json: Json = False,
) -> None:
    """Let a paused staged release go on; its stage soaks anew."""
    with _api(data, database, url, token, authority) as api:
        _say(api, release, "resume", {"who": _name(who), "reason": reason}, json=json)


def abort_release(
    release: Staged,
    *,
    reason: Reason,
    who: Who = None,
    data: Data = None,
    database: Database = None,
    url: Url = None,
    token: Token = None,
    authority: Authority = None,
    json: Json = False,
) -> None:
    """Take a staged release back: its phones get the old adapter as a new, higher version."""
    with _api(data, database, url, token, authority) as api:
        _say(api, release, "abort", {"who": _name(who), "reason": reason}, json=json)


def _say(api: Api, release: str, word: str, said: dict[str, str], *, json: bool) -> None:
    if not said["reason"].strip():
        raise MisuseError("say why with --reason TEXT: the audit log keeps it")
    status = api.post(f"{PATH}/{named(release)}/{word}", said)
    shown = ("release_id", "phase", "stage", "of_stages", "share_percent")
    Output(json_lines=json).summary(**{name: status[name] for name in shown}, **said)


@contextmanager
def _api(
    data: Path | None,
    database: str | None,
    url: str | None,
    token: str | None,
    authority: Path | None,
) -> Iterator[Api]:
    """The cloud's API over HTTP, or the same on the database in a fleet's folder."""
    if url is not None:
        with fleet_api(data=None, url=url, token=token, authority=authority) as api:
            yield api
        return
    folder = data_folder(data)
    from cloud_learner.api import build_staged_api
    from cloud_learner.staged_census import Census
    from cloud_learner.staged_desk import StagedDesk
    from cloud_learner.staged_store import StagedStore
    from sync.clock import SystemClock

    with cloud_database(folder, database) as opened:
        if not (folder / "tuf").is_dir():
            raise MisuseError(
                f"{folder} holds no signed releases: name a fleet's folder with --data"
            )
        clock = SystemClock()
        desk: StagedDesk = StagedDesk(
            StagedStore(opened, clock=clock), Census(opened, clock=clock), tuf_dir=folder / "tuf"
        )
        yield LocalApi(build_staged_api(desk))


def _short(row: dict[str, Any]) -> dict[str, object]:
    """A staged release for a terminal of 80 columns."""
    return {
        "release": row["release_id"],
        "channel": row["channel"],
        "phase": row["phase"],
        "stage": f"{row['stage']} of {row['of_stages']}",
        "share": f"{row['share_percent']:g}%",
    }


def _entry(line: dict[str, Any]) -> dict[str, object]:
    """A line of an audit log, the same way."""
    at = time.localtime(line["at_ms"] / 1000)
    return {
        "when": time.strftime("%Y-%m-%d %H:%M:%S", at),
        "who": line["who"],
        "was": line["was"],
        "now": line["now"],
        "stage": line["stage"],
        "reason": line["reason"],
    }


def _name(who: str | None) -> str:
    """Who asks, for the audit log.

    Raises: MisuseError: nobody is named, and this account has no name.
    """
    try:
        name = who or getpass.getuser()
    except (KeyError, OSError) as error:
        raise MisuseError("say who you are with --who NAME: the audit log keeps it") from error
    return name[:64]


def _shares(text: str) -> list[float]:
    try:
        return [float(part.strip().removesuffix("%")) for part in text.split(",") if part.strip()]
    except ValueError:
        raise MisuseError(f"--stages {text!r} is no list of percents such as 1,10,50,100") from None


def _attribute(text: str) -> tuple[str, list[str]]:
    name, equals, values = text.partition("=")
    if not equals or not name or not values:
        raise MisuseError(f"--where {text!r} asks for nothing: write NAME=VALUE[,VALUE]")
    return name, values.split(",")
