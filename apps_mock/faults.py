"""Faults: what goes wrong on real phones, on purpose and seeded, so that nobody learns from it.

`FaultyPhone` is a clone that breaks by plan. An episode in which something was broken ends as an
env_error with the fault's name, at once where the phone is gone and at its verdict otherwise: it is
kept in the log, it has no reward, and no figure counts it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final, Literal, get_args

from apps_mock.errors import FaultInjectedError
from apps_mock.phone import MockPhone
from apps_mock.phone_state import Overlay, PhoneState, installed
from device_runtime.errors import PhoneLostError
from device_runtime.ports import ActOutcome, PhoneInfo, ResetOutcome
from device_runtime.seats import SeatPhone
from sync.vocabulary import Action, Assignment, Episode, Observation, Verdict

Fault = Literal[
    "dropped_tap",
    "slow_screen",
    "stale_tree",
    "pop_up",
    "permission_dialog",
    "app_crash",
    "not_responding",
    "phone_lost",
]
FAULTS: Final[tuple[Fault, ...]] = get_args(Fault)
POP_UPS: Final = (
    "Rate this app\nDo you like it?",
    "An update is ready\nInstall it now?",
    "Storage is nearly full\nFree some space",
)


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """Which faults befall an episode; it follows from the plan and the assignment alone.

    Attributes:
        rate: probability (0..1) that an action meets a fault.
        kinds: the faults that are drawn from.
    """

    seed: int
    rate: float
    kinds: tuple[Fault, ...] = FAULTS

    def __post_init__(self) -> None:
        if not 0.0 <= self.rate <= 1.0:
            raise ValueError(f"a fault rate is a probability in 0..1, got {self.rate}")
        if not self.kinds:
            raise ValueError("a fault plan needs at least one kind of fault")

    def random_of(self, assignment: Assignment) -> Random:
        """The generator of an episode's faults."""
        key = (self.seed, assignment.id, assignment.template, assignment.split, assignment.seed)
        return Random(f"faults|{'|'.join(map(str, key))}")


def draw_faults(seed: int, rate: float) -> FaultPlan:
    """Faults of all kinds, each action meeting one with probability `rate`."""
    return FaultPlan(seed, rate)


def faulty_phones(plan: FaultPlan) -> Callable[[], SeatPhone]:
    """Makes clones that break by plan, for `farm.play` and the farm."""

    def make() -> SeatPhone:
        phone = FaultyPhone(MockPhone(), plan)
        return SeatPhone(phone, phone)

    return make


class FaultyPhone:
    """A clone that breaks by plan; implements the ports `Phone` and `Verifier`.

    Attributes:
        phone: the clone itself.
        injected: the faults of this episode so far, in order.
    """

    def __init__(self, phone: MockPhone, plan: FaultPlan) -> None:
        self.phone = phone
        self.injected: tuple[Fault, ...] = ()
        self._plan = plan
        self._random = Random(0)
        self._late: Action | None = None
        self._stale: Observation | None = None
        self._is_lost = False

    def reset(self, assignment: Assignment) -> ResetOutcome:
        """Set the assignment's task up on a phone that is whole again."""
        self.injected, self._late, self._stale, self._is_lost = (), None, None, False
        self._random = self._plan.random_of(assignment)
        return self.phone.reset(assignment)

    def observe(self) -> Observation:
        """What is on the screen, or what was there before where the tree is stale.

        Raises: PhoneLostError: the plan lost the phone.
        """
        self._check_lost()
        stale, self._stale = self._stale, None
        return self.phone.observe() if stale is None else stale

    def act(self, action: Action) -> ActOutcome:
        """Carry out an action, unless a fault befalls it.

        Raises: PhoneLostError: the plan lost the phone.
        """
        self._check_lost()
        late, self._late = self._late, None
        if late is not None:
            self.phone.act(late)
        if self._random.random() >= self._plan.rate:
            return self.phone.act(action)
        fault = self._random.choice(self._plan.kinds)
        self.injected = (*self.injected, fault)
        return self._act_with(fault, action)

    def screenshot(self) -> bytes:
        """The screen as PNG bytes.

        Raises: PhoneLostError: the plan lost the phone.
        """
        self._check_lost()
        return self.phone.screenshot()

    def info(self) -> PhoneInfo:
        """What phone this is."""
        return self.phone.info()

    def close(self) -> None:
        """Let go of the task."""
        self.phone.close()

    def judge(self, episode: Episode) -> Verdict | None:
        """The clone's verdict where nothing was broken.

        Raises: FaultInjectedError: something was: the episode is an env_error.
        """
        if self.injected:
            raise FaultInjectedError(self.injected)
        return self.phone.judge(episode)

    def _check_lost(self) -> None:
        if self._is_lost:
            raise PhoneLostError("fault phone_lost: the phone was unplugged by plan")

    def _act_with(self, fault: Fault, action: Action) -> ActOutcome:
        match fault:
            case "dropped_tap":
                return ActOutcome()
            case "slow_screen":
                self._late = action
                return ActOutcome()
            case "stale_tree":
                self._stale = self.phone.observe()
                return self.phone.act(action)
            case "phone_lost":
                self._is_lost = True
                self._check_lost()
        outcome = self.phone.act(action)
        self.phone.show(_overlay_of(fault, self.phone.state, self._random))
        return outcome


def _overlay_of(fault: Fault, state: PhoneState, random: Random) -> Overlay:
    """What a fault puts over the screen."""
    app = state.foreground if state.front is not None else random.choice(installed(state)).name
    match fault:
        case "app_crash":
            return Overlay("crash", app)
        case "not_responding":
            return Overlay("hung", app)
        case "permission_dialog":
            return Overlay("permission", f"{app}/notifications")
        case _:
            return Overlay("popup", text=random.choice(POP_UPS))
