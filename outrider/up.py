"""`outrider up`: the whole loop on this machine, from phones to the learner and back.

Broker, cloud service, learner, a farm of mock phones and one phone over real ADB run as child
processes that know nothing of each other but addresses; this module only starts, watches and ends
them. What happens in the loop is the campaign's business (`cloud_learner.campaign`).
"""

from __future__ import annotations

import fcntl
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.children import Child, ChildEvent
from outrider.errors import CommandError, MisuseError
from outrider.learn import ControlCpu, Learner, LearnerChoice, WarmUp
from outrider.options import Json
from outrider.output import Output

if TYPE_CHECKING:
    from sync.broker import BrokerProcess

FARM, PHONE = "farm-1", "phone-1"
_POLL_S = 0.2
_START_S = 120.0
_FORWARDED = {"release", "gate", "phase", "progress", "assignment_rejected"}


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
    learner: Learner = LearnerChoice.A_RIDE,
    learner_cpu_s: ControlCpu = None,
    warm_up_updates: WarmUp = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", help="TOML file with [campaign], [gate], [dispatch]."),
    ] = None,
    base: Annotated[
        Path | None, typer.Option("--base", help="Base network; the shipped one if not set.")
    ] = None,
    seats: Annotated[int, typer.Option("--seats", min=1, help="Mock phones of the farm.")] = 32,
    port: Annotated[int, typer.Option("--port", help="Port of the API; 0 takes a free one.")] = 0,
    broker_port: Annotated[
        int, typer.Option("--broker-port", help="Port of the broker; 0 takes a free one.")
    ] = 0,
    json: Json = False,
) -> None:
    """Run the whole loop on this machine until the campaign is finished or Ctrl-C."""
    from apps_mock.tasks import templates
    from cloud_learner.settings_file import read_settings
    from exporters.base import DEFAULT_BASE_DIR, ensure_exported, read_card
    from outrider.device_wiring import stop_on_signals
    from outrider.up_view import view

    apps = {template.info().app for template in templates()}
    if app not in apps:
        raise MisuseError(f"no app {app!r}; there are {', '.join(sorted(apps))}")
    folder = data or newest_run(Path("data"))
    source = base or DEFAULT_BASE_DIR
    read_card(source)
    read_settings(config, data_dir=folder, campaign={"env_steps": env_steps, "minutes": minutes})
    out = Output(json_lines=json)
    with ExitStack() as stack:
        stack.enter_context(_only_one(folder))
        stop = stack.enter_context(stop_on_signals())
        show = stack.enter_context(view(out, folder=folder))
        show(ChildEvent("up", {"event": "preparing", "data": str(folder)}))
        graphs = ensure_exported(source, folder / "base")
        loop = _Loop(folder, show)
        stack.callback(loop.close)
        loop.open_broker(broker_port)
        loop.enrol(graphs)
        common = ["--data", str(folder), "--json"]
        campaign = ["--app", app, "--env-steps", str(env_steps), "--minutes", str(minutes)]
        campaign += ["--seed", str(seed), "--port", str(port), "--until-finished"]
        campaign += [] if config is None else ["--config", str(config)]
        loop.start("cloud", ["cloud", "serve", *common, *campaign], stop)
        recipe = [] if learner_cpu_s is None else ["--learner-cpu-s", str(learner_cpu_s)]
        if warm_up_updates is not None:
            recipe += ["--warm-up-updates", str(warm_up_updates)]
        loop.start(
            "learner",
            ["cloud", "learn", *common, "--learner", learner.value, "--base", str(source), *recipe],
            stop,
        )
        device = [*common, "--base", str(graphs)]
        loop.start(
            "farm",
            ["farm", *device, "--id", FARM, "--channel", "canary", "--seats", str(seats)],
            stop,
        )
        loop.start("phone", ["phone", "run", *device, "--id", PHONE, "--mock-adb"], stop)
        finished = loop.watch(stop)
    summary = campaign_summary(folder)
    if summary is not None:
        out.summary(**summary)
    if not finished:
        raise typer.Exit(_INTERRUPTED)


_INTERRUPTED = 130


def newest_run(runs: Path) -> Path:
    """The newest run below `runs` that is not finished, or a new one."""
    found = sorted(runs.glob("run-*"))
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
    from cloud_learner.settings import ServiceSettings
    from cloud_learner.store import Database, sqlite_url
    from cloud_learner.summary import summarise

    settings = ServiceSettings(data_dir=folder)
    file = settings.cloud_dir / "cloud.db"
    if not file.is_file():
        return None
    database = Database(sqlite_url(file), migrate=False)
    try:
        reports = ReportStore(database)
        campaign = reports.campaign()
        if campaign is None:
            return None
        return summarise(
            reports,
            campaign=campaign,
            releases=ReleaseStore(database).all(),
            logs=[read_index(path) for path in find_logs(settings.phones_dir)],
        )
    finally:
        database.close()


@contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    """Hold `folder` for this process.

    Raises:
        CommandError: another process runs the loop there.
        MisuseError: it cannot be a folder.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MisuseError(f"{folder} cannot hold a fleet ({error.strerror}): use --data") from error
    with (folder / "up.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise CommandError(f"{folder} is in use by another `outrider up`") from error
        yield


class _Loop:
    """The parts of the loop as child processes."""

    def __init__(self, folder: Path, show: Callable[[ChildEvent], None]) -> None:
        self._folder = folder
        self._show = show
        self._events: queue.Queue[ChildEvent] = queue.Queue()
        self._children: list[Child] = []
        self._broker: BrokerProcess | None = None

    def open_broker(self, port: int) -> None:
        """Start the broker, and keep it running."""
        from sync.broker import BrokerProcess

        broker = BrokerProcess(self._folder / "broker", fleet="home", port=port)
        broker.start()
        self._broker = broker
        broker.watch(self._broker_restarted)
        self._show_started("broker", broker.pid, broker.port)

    def enrol(self, graphs: Path) -> None:
        """Give every device its account at the broker and the root that it trusts."""
        import json

        from device_runtime.installer import enrol
        from device_runtime.slots import PhoneBase
        from sync.clock import SystemClock
        from sync.policy_io import POLICY_IO_VERSION
        from sync.repository import Repository

        assert self._broker is not None
        self._broker.add_devices([FARM, PHONE])
        repository = Repository.create(
            self._folder / "tuf", self._folder / "keys", clock=SystemClock()
        )
        base = PhoneBase(
            json.loads((graphs / "base.json").read_text())["digest"], POLICY_IO_VERSION
        )
        for device_id in (FARM, PHONE):
            enrol(self._folder / "phones" / device_id, repository.root_bytes, base)
        for name in ("cloud", FARM, PHONE):
            address = self._broker.address(name)
            path = self._credentials(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
            path.write_text(f"{address.password}\n")

    def start(self, role: str, arguments: list[str], stop: threading.Event) -> None:
        """Start one part and wait until it says that it runs.

        Raises: CommandError: it ended instead; the text is its own last line.
        """
        assert self._broker is not None
        name = {"farm": FARM, "phone": PHONE}.get(role, role)
        if role != "learner":
            address = f"mqtt://127.0.0.1:{self._broker.port}"
            arguments = [*arguments, "--broker", address]
            arguments += ["--credentials", str(self._credentials(name))]
        log = self._folder / "logs" / f"{role}.log"
        child = Child(role, arguments, log=log, events=self._events)
        self._children.append(child)
        child.start()
        for _ in range(int(_START_S / _POLL_S)):
            event = self._next()
            if event is not None:
                self._handle(event)
            if stop.is_set() or (event and event.role == role and event.name == "started"):
                return
            if event and event.role == role and event.name == "exited":
                raise CommandError(f"{role} did not start: {child.last_words()}")
        raise CommandError(f"{role} did not start within {_START_S:.0f} s; see {log}")

    def watch(self, stop: threading.Event) -> bool:
        """Show what happens until the campaign is finished (True) or `stop` is set (False)."""
        cloud = self._children[0]
        while not stop.is_set():
            event = self._next()
            if event is None:
                continue
            self._handle(event)
            if event.name != "exited":
                continue
            if event.role == "cloud" and cloud.exit_code == 0:
                return True
            if event.role == "learner" and event.fields["code"] == 0:
                continue
            self._revive(event.role)
        return False

    def close(self) -> None:
        """End every part, phones first, so that what they hold still reaches the cloud."""
        for role in ("phone", "farm", "learner", "cloud"):
            for child in self._children:
                if child.role == role:
                    child.ask_to_stop()
        for child in reversed(self._children):
            child.wait_stopped()
        if self._broker is not None:
            self._broker.stop()

    def _next(self) -> ChildEvent | None:
        try:
            return self._events.get(timeout=_POLL_S)
        except queue.Empty:
            return None

    def _handle(self, event: ChildEvent) -> None:
        if event.name == "started":
            self._show_started(event.role, event.fields.get("pid"), event.fields.get("port"))
        elif event.name != "summary":
            self._show(event)

    def _revive(self, role: str) -> None:
        """Start a part again that ended by itself."""
        child = next(one for one in self._children if one.role == role)
        words = child.last_words()
        if not child.restart():
            raise CommandError(f"{role} keeps ending ({words}); see {self._folder / 'logs'}")
        self._show(ChildEvent(role, {"event": "restarted", "reason": words}))

    def _broker_restarted(self, pid: int) -> None:
        assert self._broker is not None
        port = self._broker.port
        self._events.put(ChildEvent("broker", {"event": "started", "pid": pid, "port": port}))

    def _show_started(self, role: str, pid: object, port: object) -> None:
        self._show(ChildEvent(role, {"event": "started", "role": role, "pid": pid, "port": port}))

    def _credentials(self, name: str) -> Path:
        return self._folder / "keys" / "broker" / f"{name}.txt"
