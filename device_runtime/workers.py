"""Workers: seats that are played in child processes, watched so that one that hangs costs little.

    parent: log, outbox, session, releases          child: seats, one ONNX session, one core
    start, load, unload ───────────── pipe ─────────────► plays turns
    ended episodes ◄───────────────── pipe ───────────── sends what ended

A child that works with one phone for longer than its lease says so and ends; a child that dies
says nothing. Either way its other assignments are played again by a new child: what an episode
becomes depends on its assignment alone, so nothing is lost and nothing is counted twice. The
assignment that hung, or that saw two children die, becomes an env_error.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Final

import structlog

from device_runtime.agent import EpisodeMachine, EpisodeOrigin
from device_runtime.errors import DeviceError, UnknownTaskError
from device_runtime.seats import Played
from device_runtime.worker_process import (
    STUCK_EXIT,
    Ended,
    Load,
    Plan,
    Recipe,
    Refused,
    Request,
    Start,
    Started,
    Stop,
    Stuck,
    Unload,
    work,
)
from sync.adapter_file import FloatArray
from sync.clock import Clock
from sync.vocabulary import FACTORY_RELEASE, Assignment, DeviceId, ReleaseId

TURN_WAIT_S: Final = 0.2
STOP_S: Final = 5.0
START_S: Final = 120.0
DEATHS: Final = 2
"""After so many dead children an assignment is given up."""

_log = structlog.get_logger()


@dataclass(slots=True)
class _Given:
    """An assignment that a child plays."""

    assignment: Assignment
    release_id: ReleaseId
    arm: str
    deaths: int = 0


@dataclass(slots=True)
class _Worker:
    """One child and what it was given, by assignment id."""

    plan: Plan
    process: BaseProcess
    pipe: Connection
    given: dict[str, _Given] = field(default_factory=dict)
    env_steps: int = 0
    ready: bool = False

    @property
    def free(self) -> int:
        return self.plan.seats - len(self.given)


class Workers:
    """Seats in child processes, with the face of one table (`seats.Seats`).

    Args:
        recipe: makes a child's table there; it has to be picklable.
        seats: of all workers together.
        lease_s: how long one step with one phone may take.
    """

    def __init__(
        self,
        recipe: Recipe,
        *,
        workers: int,
        seats: int,
        device_id: DeviceId,
        clock: Clock,
        new_id: Callable[[], str],
        lease_s: float,
    ) -> None:
        if not 1 <= workers <= seats:
            raise ValueError("there must be at least one worker, and a seat for each")
        self._recipe = recipe
        self._device_id = device_id
        self._clock = clock
        self._new_id = new_id
        self._loaded: dict[str, Load] = {}
        self._refused: list[tuple[Assignment, UnknownTaskError]] = []
        self._given_up: list[Played] = []
        self._ended_steps = 0
        self._context = multiprocessing.get_context("spawn")
        share, left = divmod(seats, workers)
        self._workers: list[_Worker] = []
        first = 0
        for number in range(workers):
            count = share + (number < left)
            self._workers.append(self._spawn(Plan(first, count, lease_s)))
            first += count

    @property
    def free(self) -> int:
        """How many seats could start an episode now."""
        return sum(worker.free for worker in self._workers)

    @property
    def busy(self) -> int:
        """How many episodes are being played."""
        return sum(len(worker.given) for worker in self._workers)

    @property
    def env_steps(self) -> int:
        """Steps that were played so far."""
        return self._ended_steps + sum(worker.env_steps for worker in self._workers)

    @property
    def releases_in_use(self) -> frozenset[ReleaseId]:
        """The releases that unfinished episodes began with."""
        return frozenset(
            given.release_id for worker in self._workers for given in worker.given.values()
        )

    @property
    def pids(self) -> tuple[int, ...]:
        """The children's process ids."""
        return tuple(worker.process.pid or 0 for worker in self._workers)

    def load_adapter(
        self, release_id: str, tensors: Mapping[str, FloatArray], *, base_digest: str = ""
    ) -> None:
        """Make a release ready to act in every child."""
        request = Load(release_id, dict(tensors), base_digest)
        self._loaded[release_id] = request
        for worker in self._workers:
            self._send(worker, request)

    def unload(self, release_id: str) -> None:
        """Forget a release in every child."""
        self._loaded.pop(release_id, None)
        for worker in self._workers:
            self._send(worker, Unload(release_id))

    def start(
        self,
        assignment: Assignment,
        *,
        release_id: ReleaseId = FACTORY_RELEASE,
        arm: str = "stable",
    ) -> None:
        """Begin `assignment` on a free seat with `release_id`; see `refused` for what cannot be.

        Raises: RuntimeError: no seat is free.
        """
        worker = max(self._workers, key=lambda each: each.free)
        if not worker.free:
            raise RuntimeError("no seat is free: call turn() until one is")
        self._give(worker, _Given(assignment, release_id, arm))

    def refused(self) -> list[tuple[Assignment, UnknownTaskError]]:
        """The assignments that a child could not play, with the reason; each is told once."""
        refused, self._refused = self._refused, []
        return refused

    def turn(self) -> list[Played]:
        """The episodes that ended since the last turn; waits a moment where none has."""
        waiting: list[Connection | int] = []
        for worker in self._workers:
            waiting += [worker.pipe, worker.process.sentinel]
        multiprocessing.connection.wait(waiting, 0.0 if self._given_up else TURN_WAIT_S)
        ended: list[Played] = []
        for place, worker in enumerate(self._workers):
            ended.extend(self._hear(worker))
            if not worker.process.is_alive():
                ended.extend(self._hear(worker))
                self._workers[place] = self._replace(worker)
        given_up, self._given_up = self._given_up, []
        return [*ended, *given_up]

    def close(self) -> None:
        """Stop the children; unfinished episodes leave no record. Idempotent."""
        for worker in self._workers:
            self._send(worker, Stop())
        for worker in self._workers:
            worker.process.join(STOP_S)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
            worker.pipe.close()
            self._ended_steps += worker.env_steps
        self._workers = []

    def wait_ready(self) -> None:
        """Wait until every child has its table.

        Raises: DeviceError: one did not come up; its own message stands on stderr.
        """
        for worker in self._workers:
            if not worker.ready and worker.pipe.poll(START_S):
                self._given_up.extend(self._hear(worker))
            if not worker.ready:
                raise DeviceError(
                    "a worker of the farm did not start: its message stands above; "
                    "try --workers 1 and fewer --seats"
                )

    def _spawn(self, plan: Plan) -> _Worker:
        own, theirs = self._context.Pipe()
        process = self._context.Process(
            target=work, args=(self._recipe, plan, theirs), name=f"seats-{plan.first}", daemon=True
        )
        process.start()
        theirs.close()
        return _Worker(plan, process, own)

    def _replace(self, dead: _Worker) -> _Worker:
        """A new child that goes on with what the dead one had."""
        dead.pipe.close()
        dead.process.join()
        _log.warning(
            "worker_replaced",
            exit_code=dead.process.exitcode,
            assignments=len(dead.given),
        )
        if not dead.ready:
            raise DeviceError(
                f"a worker of the farm ended with code {dead.process.exitcode} before it was "
                "ready: its message stands above"
            )
        self._ended_steps += dead.env_steps
        fresh = self._spawn(dead.plan)
        for request in self._loaded.values():
            self._send(fresh, request)
        for given in dead.given.values():
            given.deaths += dead.process.exitcode != STUCK_EXIT
            if given.deaths >= DEATHS:
                detail = f"{given.deaths} workers died while they played it"
                self._given_up.append(self._env_error(given, detail))
            else:
                self._give(fresh, given)
        return fresh

    def _give(self, worker: _Worker, given: _Given) -> None:
        worker.given[given.assignment.id] = given
        self._send(worker, Start(given.assignment, given.release_id, given.arm))

    def _hear(self, worker: _Worker) -> list[Played]:
        """Everything that a child has said."""
        ended: list[Played] = []
        try:
            while worker.pipe.poll():
                match worker.pipe.recv():
                    case Started():
                        worker.ready = True
                    case Ended(played, env_steps):
                        worker.env_steps = env_steps
                        ended.extend(
                            one
                            for one in played
                            if worker.given.pop(one.episode.assignment.id, None) is not None
                        )
                    case Refused(assignment, detail, reason):
                        worker.given.pop(assignment.id, None)
                        error = UnknownTaskError(detail, reason=reason)
                        self._refused.append((assignment, error))
                    case Stuck(assignment_id, detail):
                        given = worker.given.pop(assignment_id, None)
                        _log.warning("seat_stuck", assignment_id=assignment_id, detail=detail)
                        if given is not None:
                            ended.append(self._env_error(given, detail))
        except (EOFError, OSError):
            pass  # the child is gone: the caller sees its process
        return ended

    def _env_error(self, given: _Given, detail: str) -> Played:
        machine = EpisodeMachine(
            given.assignment,
            EpisodeOrigin(self._device_id, 0, given.release_id, given.arm),
            clock=self._clock,
            new_id=self._new_id,
        )
        machine.fail(detail)
        return Played(machine.close(), None)

    @staticmethod
    def _send(worker: _Worker, request: Request) -> None:
        # A child that is gone is replaced in the next turn, and given what it needs.
        with contextlib.suppress(OSError):
            worker.pipe.send(request)
