"""`outrider up`: the whole loop on this machine, from phones to the learner and back.

Broker, cloud service, learner, a farm of mock phones and one phone over real ADB run as child
processes that know nothing of each other but addresses; this module only starts, watches and ends
them. What happens in the loop is the campaign's business (`cloud_learner.campaign`).
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Annotated

import typer

from outrider.children import ChildEvent
from outrider.cloud_database import (
    DATABASE_VARIABLE,
    cloud_database,
    has_database,
    named_database,
)
from outrider.errors import CommandError, MisuseError
from outrider.interrupts import interrupted_once
from outrider.learn import ControlCpu, Learner, WarmUp, learner_settings
from outrider.loop import Loop, Wanted
from outrider.options import Json
from outrider.output import Output
from outrider.phone_folders import PHONES

_POLL_S = 0.2
_ORPHANS_S = 30.0


def up(
    *,
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Folder of the fleet; the newest unfinished run if not set."),
    ] = None,
    app: Annotated[str, typer.Option("--app", help="The app that the fleet learns.")] = "tickets",
    env_steps: Annotated[
        int, typer.Option("--env-steps", min=0, help="Training steps to play.")
    ] = 30_000,
    minutes: Annotated[
        float, typer.Option("--minutes", min=0.1, help="Time for the whole campaign.")
    ] = 15.0,
    seed: Annotated[int, typer.Option("--seed", help="Seed of everything that is drawn.")] = 0,
    learner: Learner = "a_ride",
    learner_cpu_s: ControlCpu = None,
    warm_up_updates: WarmUp = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", help="TOML file with [campaign], [gate], [dispatch], [curriculum]."
        ),
    ] = None,
    base: Annotated[
        Path | None,
        typer.Option(
            "--base", help="Base network; a shipped one that does not know the app if not set."
        ),
    ] = None,
    seats: Annotated[int, typer.Option("--seats", min=1, help="Mock phones of the farm.")] = 32,
    port: Annotated[
        int,
        typer.Option("--port", min=0, max=65535, help="Port of the API; 0 takes a free one."),
    ] = 0,
    broker_port: Annotated[
        int,
        typer.Option(
            "--broker-port", min=0, max=65535, help="Port of the broker; 0 takes a free one."
        ),
    ] = 0,
    json: Json = False,
) -> None:
    """Run the whole loop on this machine until the campaign is finished or Ctrl-C."""
    from cloud_learner.learner_settings import group_size_of
    from outrider.device_wiring import stop_on_signals
    from outrider.up_view import view

    chosen = learner_settings(learner, learner_cpu_s, warm_up_updates)
    group_size = group_size_of(chosen)
    wanted = Wanted(app, env_steps, minutes, seed, config, base, port, broker_port, group_size)
    out = Output(json_lines=json)
    with ExitStack() as stack:
        stop = stack.enter_context(stop_on_signals())
        with interrupted_once(stop):
            source = check(wanted, data)
            _share_database(config)
            folder = data or newest_run(Path("data"))
            lock = stack.enter_context(_only_one(folder, stop))
            shown = stack.enter_context(view(out, folder=folder, env_steps=env_steps))
            shown.show(ChildEvent("up", {"event": "preparing", "data": str(folder)}))
            graphs = _exported(source, folder)
        recipe = ["--learner", learner]
        recipe += [] if learner_cpu_s is None else ["--learner-cpu-s", str(learner_cpu_s)]
        if warm_up_updates is not None:
            recipe += ["--warm-up-updates", str(warm_up_updates)]
        loop = Loop(folder, shown.show, lock=lock)
        with closing(loop):
            finished = loop.run(
                wanted, stop, graphs=graphs, base=source, recipe=recipe, seats=seats
            )
        shown.finish(campaign_summary(folder))
    if not finished:
        raise typer.Exit(_INTERRUPTED)


_INTERRUPTED = 130


def check(wanted: Wanted, data: Path | None) -> Path:
    """Refuse what cannot work before anything is made or started; the folder of the base.

    Raises:
        MisuseError: an app, a settings file, a base or a folder that cannot be used.
        PortInUseError: somebody else listens where a part is to listen.
    """
    from apps_mock.tasks import templates
    from cloud_learner.errors import SettingsError
    from cloud_learner.settings_file import read_settings
    from exporters.base import read_card
    from exporters.checkpoint_folder import is_checkpoint
    from exporters.errors import BaseFilesError
    from exporters.shipped import base_without
    from sync.local_ports import require_free

    apps = {template.info().app for template in templates()}
    if wanted.app not in apps:
        raise MisuseError(f"no app {wanted.app!r}; there are {', '.join(sorted(apps))}")
    if data is not None and data.exists() and not data.is_dir():
        raise MisuseError(f"{data} is a file: name a folder with --data")
    source = wanted.base or base_without(wanted.app)
    campaign = {name: getattr(wanted, name) for name in ("app", "env_steps", "minutes", "seed")}
    try:
        read_settings(wanted.config, data_dir=data or Path("data"), campaign=campaign)
        if not is_checkpoint(source):
            read_card(source)
    except (SettingsError, BaseFilesError) as error:
        raise MisuseError(str(error)) from error
    for port in (wanted.port, wanted.broker_port):
        if port:
            require_free(port)
    return source


def _share_database(config: Path | None) -> None:
    """Let every part use the database that the settings file names for the service."""
    from cloud_learner.settings_file import read_settings

    url = read_settings(config, data_dir=Path()).database_url
    if url and not named_database():
        os.environ[DATABASE_VARIABLE] = url


def _exported(source: Path, folder: Path) -> Path:
    """The base's graphs in the folder; made there if they are not."""
    from exporters.opened_base import exported_graphs

    return exported_graphs(source, folder / "base")


def newest_run(runs: Path) -> Path:
    """The newest run below `runs` that is not finished, or a new one."""
    found = sorted(path for path in runs.glob("run-*") if path.name[4:].isdecimal())
    if found:
        summary = campaign_summary(found[-1])
        if summary is None or summary["phase"] != "finished":
            return found[-1]
    number = int(found[-1].name.removeprefix("run-")) + 1 if found else 1
    return runs / f"run-{number:03d}"


def campaign_summary(folder: Path) -> dict[str, object] | None:
    """The figures of the campaign in `folder`, from its store and its phones' logs."""
    from cloud_learner.phone_logs import find_logs, read_index
    from cloud_learner.release_store import ReleaseStore
    from cloud_learner.report_store import ReportStore
    from cloud_learner.summary import summarise

    database = named_database()
    if not has_database(folder, database):
        return None
    with cloud_database(folder, database) as opened:
        reports = ReportStore(opened)
        campaign = reports.campaign()
        if campaign is None:
            return None
        return summarise(
            reports,
            campaign=campaign,
            releases=ReleaseStore(opened).all(),
            logs=[read_index(path) for path in find_logs(folder / PHONES)],
        )


@contextmanager
def _only_one(folder: Path, stop: threading.Event) -> Iterator[int]:
    """Hold `folder` for this process and its children; gives the descriptor that holds it.

    Children of a run that was killed hold it, too, until they have ended by themselves.

    Raises:
        CommandError: another process runs the loop there.
        MisuseError: it cannot be a folder.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "up.lock").open("a+")
    except OSError as error:
        raise MisuseError(f"{folder} cannot hold a fleet ({error.strerror}): use --data") from error
    with lock:
        for _ in range(int(_ORPHANS_S / _POLL_S)):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                lock.seek(0)
                if _is_alive(lock.read().strip()):
                    raise CommandError(f"{folder} is in use by another `outrider up`") from error
            stop.wait(_POLL_S)
        else:
            raise CommandError(f"{folder} is still in use by parts of a run that was killed")
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield lock.fileno()


def _is_alive(pid: str) -> bool:
    return pid.isdecimal() and Path(f"/proc/{pid}").exists()
