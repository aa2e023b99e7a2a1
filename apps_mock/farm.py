"""The farm: many mock phones, played under one device's identity by one or more workers.

`play` is the farm without a broker: evaluation, tests and experiments play their assignments with
the very loop that serves a fleet (`device_runtime.seats`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from apps_mock.actors import Actors, read_policy_file
from apps_mock.faults import FaultPlan, faulty_phones
from apps_mock.phone import MockPhone
from device_runtime.gate import Gate
from device_runtime.guard_rules import PERMISSIVE
from device_runtime.held_bases import HeldBases
from device_runtime.policies import Policies
from device_runtime.safety import Safety
from device_runtime.screen_keeper import ScreenKeeper, ScreenPlan
from device_runtime.seats import Played, PolicyFor, SeatPhone, Seats
from device_runtime.stop import StopSwitch
from device_runtime.worker_process import Plan
from sync.clock import Clock, SystemClock
from sync.vocabulary import (
    FACTORY_RELEASE,
    Assignment,
    DeviceId,
    ReleaseId,
    new_uuid7,
)

DEFAULT_SEATS = 32


def mock_phone() -> SeatPhone:
    """A mock phone that judges itself."""
    phone = MockPhone()
    return SeatPhone(phone, phone)


@dataclass(frozen=True, slots=True)
class FarmRecipe:
    """How a farm's worker makes its seats; a value, so that it can be sent to its process.

    Attributes:
        graphs_dir: the exported base network; None where no release ever acts.
        files: policy files that assignments may name as actor.
        demonstration_noise: probability that a step of the oracle's demonstrations is random.
        faults: what breaks, and how often; None for nothing.
        folder: where the device's owner can stop it, and where bases that came with releases are;
            None for a farm that nobody stops and that has its own base only.
        screens: where pictures of screens go that are sent; None sends none.
    """

    device_id: DeviceId
    graphs_dir: Path | None = None
    files: tuple[Path, ...] = ()
    demonstration_noise: float = 0.0
    faults: FaultPlan | None = None
    folder: Path | None = None
    screens: ScreenPlan | None = None

    def __call__(self, plan: Plan) -> tuple[Seats, Policies | None]:
        """The seats of one worker, and the policy that loads its releases."""
        bases = None if self.folder is None else HeldBases(self.folder).directory
        policy = None if self.graphs_dir is None else Policies(self.graphs_dir, bases_dir=bases)
        actors = Actors(
            policy,
            files={str(path): read_policy_file(path) for path in self.files},
            demonstration_noise=self.demonstration_noise,
        )
        make = mock_phone if self.faults is None else faulty_phones(self.faults)
        seats = Seats(
            [make() for _ in range(plan.seats)],
            actors.policy_for,
            device_id=self.device_id,
            clock=SystemClock(),
            new_id=new_uuid7,
            safety=None if self.folder is None else _stoppable(self.folder),
            first_seat=plan.first,
            screens=None if self.screens is None else self.screens.keeper(),
        )
        return seats, policy


def _stoppable(folder: Path) -> Safety:
    """A clone's rules, and the switch that the farm's owner throws, whichever process hears it."""
    clock = SystemClock()
    return Safety(gate=Gate(PERMISSIVE, StopSwitch(folder, clock=clock), clock=clock))


def play(
    assignments: Iterable[Assignment],
    policy_for: PolicyFor,
    *,
    phone_factory: Callable[[], SeatPhone] = mock_phone,
    seats: int = DEFAULT_SEATS,
    device_id: DeviceId = DeviceId("local"),
    release_id: ReleaseId = FACTORY_RELEASE,
    clock: Clock | None = None,
    new_id: Callable[[], str] = new_uuid7,
    safety: Safety | None = None,
    screens: ScreenKeeper | None = None,
) -> Iterator[Played]:
    """Play assignments on `seats` phones side by side; yields episodes in the order they end.

    Args:
        release_id: what acts where an assignment pins nothing.
        screens: keeps pictures of screens, as a phone does that sends them; closed at the end.
    Raises: UnknownTaskError: an assignment that nobody here can play.
    """
    table = Seats(
        [phone_factory() for _ in range(seats)],
        policy_for,
        device_id=device_id,
        clock=clock or SystemClock(),
        new_id=new_id,
        safety=safety,
        screens=screens,
    )
    waiting = iter(assignments)
    try:
        while _fill(table, waiting, release_id) or table.busy:
            yield from table.turn()
    finally:
        table.close()


def _fill(table: Seats, waiting: Iterator[Assignment], release_id: ReleaseId) -> bool:
    """Start assignments on the free seats; whether any was started."""
    started = False
    while table.free and (assignment := next(waiting, None)) is not None:
        table.start(assignment, release_id=ReleaseId(assignment.release_id) or release_id)
        started = True
    return started
