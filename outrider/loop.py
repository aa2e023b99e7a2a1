"""The parts of `outrider up` as child processes: started, watched, started again, ended."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from outrider.children import Child, ChildEvent
from outrider.errors import CommandError
from outrider.parent import Guard

if TYPE_CHECKING:
    from sync.broker import BrokerProcess

FARM, PHONE = "farm-1", "phone-1"
_POLL_S = 0.2
_START_S = 300.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line says about the campaign and where its parts listen."""

    app: str
    env_steps: int
    minutes: float
    seed: int
    config: Path | None
    base: Path | None
    port: int
    broker_port: int
    group_size: int = 1

    @property
    def service_arguments(self) -> list[str]:
        """Words for `cloud serve`."""
        words = ["--app", self.app, "--env-steps", str(self.env_steps)]
        words += ["--minutes", str(self.minutes), "--seed", str(self.seed)]
        words += ["--group-size", str(self.group_size)]
        words += ["--port", str(self.port), "--until-finished"]
        return words + ([] if self.config is None else ["--config", str(self.config)])


class Loop:
    """The parts of the loop as child processes.

    Args:
        show: takes every event that somebody may want to see.
        lock: descriptor that the children keep open, so that nobody else starts in their folder.
    """

    def __init__(self, folder: Path, show: Callable[[ChildEvent], None], *, lock: int) -> None:
        self._folder = folder
        self._show = show
        self._lock = lock
        self._events: queue.Queue[ChildEvent] = queue.Queue()
        self._children: dict[str, Child] = {}
        self._started: set[str] = set()
        self._phase = ""
        self._broker: BrokerProcess | None = None
        self._guard: Guard | None = None

    def run(
        self,
        wanted: Wanted,
        stop: threading.Event,
        *,
        graphs: Path,
        base: Path,
        recipe: list[str],
        seats: int,
    ) -> bool:
        """Start every part and watch until the campaign is finished; False where `stop` ended it.

        Raises: CommandError: a part does not start, or does not stay.
        """
        self.open_broker(wanted.broker_port)
        self.enrol(graphs)
        common = ["--data", str(self._folder), "--json"]
        device = [*common, "--base", str(graphs)]
        self.launch("cloud", ["cloud", "serve", *common, *wanted.service_arguments])
        self.wait_started(stop)
        if stop.is_set():
            return False
        self.launch(
            "farm",
            ["farm", *device, "--id", FARM, "--channel", "canary", "--seats", str(seats)],
        )
        self.launch("learner", ["cloud", "learn", *common, "--base", str(base), *recipe])
        self.launch("phone", ["phone", "run", *device, "--id", PHONE, "--mock-adb"])
        self.wait_started(stop)
        return self.watch(stop)

    def open_broker(self, port: int) -> None:
        """Start the broker, and keep it running."""
        from sync.broker import BrokerProcess

        broker = BrokerProcess(self._folder / "broker", fleet="home", port=port)
        broker.start()
        self._broker = broker
        self._guard = Guard(self._folder / "broker" / "nats.pid")
        broker.watch(self._broker_restarted)
        self._show_started("broker", broker.pid, broker.port)

    def enrol(self, graphs: Path) -> None:
        """Give every device its account at the broker and the root that it trusts."""
        import json

        from device_runtime.installer import enrol
        from device_runtime.slots import PhoneBase
        from sync.clock import SystemClock
        from sync.repository import Repository

        assert self._broker is not None
        self._broker.add_devices([FARM, PHONE])
        repository = Repository.create(
            self._folder / "tuf", self._folder / "keys", clock=SystemClock()
        )
        described = json.loads((graphs / "base.json").read_text())
        base = PhoneBase(described["digest"], described["policy_io_version"])
        history = repository.root_history()
        for device_id in (FARM, PHONE):
            enrol(self._folder / "phones" / device_id, repository.root_bytes, base, history)
        for name in ("cloud", FARM, PHONE):
            address = self._broker.address(name)
            path = self._credentials(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
            path.write_text(f"{address.password}\n")

    def launch(self, role: str, arguments: list[str]) -> None:
        """Start one part; `wait_started` waits."""
        assert self._broker is not None
        if role != "learner":
            name = {"farm": FARM, "phone": PHONE}.get(role, role)
            address = f"mqtt://127.0.0.1:{self._broker.port}"
            arguments = [*arguments, "--broker", address]
            arguments += ["--credentials", str(self._credentials(name))]
        log = self._folder / "logs" / f"{role}.log"
        child = Child(role, arguments, log=log, events=self._events, holds=(self._lock,))
        self._children[role] = child
        child.start()

    def wait_started(self, stop: threading.Event) -> None:
        """Wait until every part says that it runs, or `stop` is set.

        Raises: CommandError: one ended instead; the text is its own last line.
        """
        deadline_s = time.monotonic() + _START_S
        while not stop.is_set() and (waiting := self._children.keys() - self._started):
            if time.monotonic() > deadline_s:
                role = min(waiting)
                raise CommandError(
                    f"{role} did not start within {_START_S:.0f} s; "
                    f"see {self._folder / 'logs' / f'{role}.log'}"
                )
            event = self._next()
            if event is None:
                continue
            self._handle(event)
            if event.name == "exited" and event.role in waiting:
                words = self._children[event.role].last_words().removeprefix("error: ")
                raise CommandError(f"{event.role} did not start: {words}")
            if event.name == "exited":
                self._revive(event.role)

    def watch(self, stop: threading.Event) -> bool:
        """Show what happens until the campaign is finished (True) or `stop` is set (False)."""
        while not stop.is_set():
            event = self._next()
            if event is None:
                continue
            self._handle(event)
            if event.name != "exited":
                continue
            if event.role == "cloud" and event.fields["code"] == 0 and self._phase == "finished":
                return True
            if event.role == "learner" and self._phase in {"show", "finished"}:
                continue
            self._revive(event.role)
        return False

    def close(self) -> None:
        """End every part, the cloud after all others, so that what they hold still reaches it."""
        self._show(ChildEvent("up", {"event": "ending"}))
        for roles in (("phone", "farm", "learner"), ("cloud",)):
            ending = [self._children[role] for role in roles if role in self._children]
            for child in ending:
                child.ask_to_stop()
            for child in ending:
                child.wait_stopped()
        if self._broker is not None:
            self._broker.stop()
        if self._guard is not None:
            self._guard.close()

    def _next(self) -> ChildEvent | None:
        try:
            return self._events.get(timeout=_POLL_S)
        except queue.Empty:
            return None

    def _handle(self, event: ChildEvent) -> None:
        match event.name:
            case "started":
                self._started.add(event.role)
                self._show_started(event.role, event.fields.get("pid"), event.fields.get("port"))
                return
            case "phase" | "progress" | "summary" if event.role == "cloud":
                self._phase = str(event.fields.get("phase", self._phase))
        if event.name != "summary":
            self._show(event)

    def _revive(self, role: str) -> None:
        """Start a part again that ended by itself."""
        child = self._children[role]
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
