"""The child's side of `workers`: plays the seats of one table, and watches itself.

A second thread looks at how long the first one has been working with one phone. Past the lease it
says which assignment hangs and where in the code, and ends the process: a thread cannot be stopped.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Final, Protocol, assert_never

from device_runtime.collection import collect_rarely
from device_runtime.errors import UnknownTaskError
from device_runtime.seats import Played, Seats
from sync.adapter_file import FloatArray
from sync.clock import Clock, SystemClock
from sync.vocabulary import Assignment, ReleaseId

if TYPE_CHECKING:
    from device_runtime.release_shelf import AdapterHost  # which loads all of an installer

IDLE_S: Final = 0.2
WATCH_S: Final = 0.1
LAST_WORDS_S: Final = 5.0
STUCK_EXIT: Final = 3
_PLACES: Final = 4
"""Innermost calls of a stuck thread that are told."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Which seats a child has: `seats` of them from number `first`; a step's lease in seconds."""

    first: int
    seats: int
    lease_s: float


@dataclass(frozen=True, slots=True)
class Start:
    """Play an assignment."""

    assignment: Assignment
    release_id: ReleaseId
    arm: str


@dataclass(frozen=True, slots=True)
class Load:
    """Make a release ready to act; tensors as `OnnxPolicy.load_adapter` takes them."""

    release_id: str
    tensors: dict[str, FloatArray]
    base_digest: str


@dataclass(frozen=True, slots=True)
class Unload:
    """Forget a release."""

    release_id: str


@dataclass(frozen=True, slots=True)
class Stop:
    """End."""


Request = Start | Load | Unload | Stop


@dataclass(frozen=True, slots=True)
class Started:
    """The child has its table."""


@dataclass(frozen=True, slots=True)
class Ended:
    """Episodes that ended, and the steps that were played so far."""

    played: list[Played]
    env_steps: int


@dataclass(frozen=True, slots=True)
class Refused:
    """An assignment that cannot be played here."""

    assignment: Assignment
    detail: str
    reason: str


@dataclass(frozen=True, slots=True)
class Stuck:
    """A phone that did not come back within its lease; the child ends after it said so."""

    assignment_id: str
    detail: str


Message = Started | Ended | Refused | Stuck


class Recipe(Protocol):
    """Makes a child's table; picklable, and run in the child."""

    def __call__(self, plan: Plan) -> tuple[Seats, AdapterHost | None]:
        """The seats of the plan, and who acts with releases; None where only scripts act."""
        ...


def work(recipe: Recipe, plan: Plan, pipe: Connection) -> None:
    """Play until told to stop, or until the parent is gone."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the parent decides; its end closes the pipe
    seats, holder = recipe(plan)
    collect_rarely()
    mouth = _Mouth(pipe)
    try:
        pipe.send(Started())  # at once: whoever dies right after it was ready all the same
        watch = _Watchdog(seats, plan.lease_s, mouth, clock=SystemClock())
        threading.Thread(target=watch.run, daemon=True).start()
        _play(seats, holder, pipe, mouth.say)
        mouth.empty()
    except (EOFError, BrokenPipeError):
        pass  # nobody is left to play for
    finally:
        seats.close()


class _Mouth:
    """Sends from a thread of its own, so that a child always listens, however much it has to say.

    Were both sides to send more than a pipe holds, each would wait for the other.
    """

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._waiting: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._send_all, daemon=True)
        self._thread.start()

    def say(self, message: Message) -> None:
        """Send it as soon as the pipe takes it."""
        self._waiting.put(message)

    def empty(self) -> None:
        """Wait until all is sent; nothing can be said after it."""
        self._waiting.put(None)
        self._thread.join(LAST_WORDS_S)

    def _send_all(self) -> None:
        with contextlib.suppress(OSError):  # nobody is left to hear it
            while (message := self._waiting.get()) is not None:
                self._pipe.send(message)


def _play(
    seats: Seats,
    holder: AdapterHost | None,
    pipe: Connection,
    say: Callable[[Message], None],
) -> None:
    while True:
        wait_s = 0.0 if seats.busy else IDLE_S
        while pipe.poll(wait_s):
            request: Request = pipe.recv()
            if isinstance(request, Stop):
                return
            _obey(request, seats, holder, say)
            wait_s = 0.0
        if seats.busy:
            ended = seats.turn()
            if ended:
                say(Ended(ended, seats.env_steps))


def _obey(
    request: Start | Load | Unload,
    seats: Seats,
    holder: AdapterHost | None,
    say: Callable[[Message], None],
) -> None:
    match request:
        case Start(assignment, release_id, arm):
            try:
                seats.start(assignment, release_id=release_id, arm=arm)
            except UnknownTaskError as error:
                say(Refused(assignment, str(error), str(error.reason)))
        case Load(release_id, tensors, base_digest):
            if holder is not None:
                holder.load_adapter(release_id, tensors, base_digest=base_digest)
        case Unload(release_id):
            if holder is not None:
                holder.unload(release_id)
        case _:
            assert_never(request)


class _Watchdog:
    """Looks how long the seats have been at one phone, from a thread of its own."""

    def __init__(self, seats: Seats, lease_s: float, mouth: _Mouth, *, clock: Clock) -> None:
        self._seats = seats
        self._lease_s = lease_s
        self._mouth = mouth
        self._clock = clock
        self._thread = threading.get_ident()

    def run(self) -> None:
        """Watch until the process ends, or end it."""
        seen: Assignment | None = None
        steps, since_s = -1, 0.0
        while True:
            self._clock.sleep(WATCH_S)
            at_work = self._seats.at_work
            if at_work is None or at_work is not seen or steps != self._seats.env_steps:
                seen, steps, since_s = at_work, self._seats.env_steps, self._clock.monotonic_s()
            elif self._clock.monotonic_s() - since_s > self._lease_s:
                self._mouth.say(Stuck(at_work.id, self._where()))
                self._mouth.empty()
                os._exit(STUCK_EXIT)

    def _where(self) -> str:
        frame = sys._current_frames().get(self._thread)  # noqa: SLF001 - the documented way
        calls = traceback.extract_stack(frame)[-_PLACES:]
        places = " > ".join(f"{call.name} ({os.path.basename(call.filename)})" for call in calls)  # noqa: PTH119 - a name is all that is told
        return f"a phone did not come back within {self._lease_s:g} s: {places}"
