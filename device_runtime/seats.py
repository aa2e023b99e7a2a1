"""Seats: many phones played turn by turn, with one batched decision per policy and turn.

A turn looks at every busy seat, asks each policy once for all seats that it acts on, and carries
the actions out. What an episode becomes depends on its assignment alone: an episode has its own
generator and a policy answers request by request, so neither the batch nor the number of seats can
be seen in the record. A single phone is the same loop with one seat.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import structlog

from device_runtime.agent import EpisodeMachine, EpisodeOrigin, judge_end
from device_runtime.errors import DeviceError, PhoneFaultError, PhoneLostError, UnknownTaskError
from device_runtime.painting import glance
from device_runtime.picture_keeper import PictureKeeper
from device_runtime.ports import Decided, Phone, Policy, PolicyRequest, Verifier
from device_runtime.safety import Safety, leave_home
from device_runtime.screen_keeper import ScreenKeeper
from sync.clock import Clock
from sync.messages import ScreenPicture
from sync.vocabulary import FACTORY_RELEASE, Assignment, DeviceId, Episode, ReleaseId, Step, Verdict

_log = structlog.get_logger()
_Result = TypeVar("_Result")

PolicyFor = Callable[[Assignment, Phone], Policy]
"""Who acts in an assignment, on a seat's phone; seats that get the same object share batches."""


@dataclass(frozen=True, slots=True)
class Played:
    """An ended episode and what its verifier said; None where it was not judged here.

    Attributes:
        screens: pictures of its screens that may be sent.
    """

    episode: Episode
    verdict: Verdict | None
    screens: tuple[ScreenPicture, ...] = ()

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdict as the log takes it: none or one."""
        return () if self.verdict is None else (self.verdict,)


@dataclass(frozen=True, slots=True)
class SeatPhone:
    """A phone, and who judges what happened on it."""

    phone: Phone
    verifier: Verifier | None = None


@dataclass(slots=True)
class _Seat:
    """One phone and the episode that is being played on it."""

    index: int
    phone: Phone
    verifier: Verifier | None
    machine: EpisodeMachine | None = None
    policy: Policy | None = field(default=None)

    def reset(self, machine: EpisodeMachine) -> None:
        prepared = _or_fail(machine, partial(self.phone.reset, machine.assignment))
        if prepared is not None:
            machine.begin(prepared)

    def look(self, machine: EpisodeMachine, policy: Policy) -> PolicyRequest | None:
        seen = _or_fail(machine, partial(glance, self.phone, policy))
        return None if seen is None else machine.see(*seen)

    def carry_out(self, machine: EpisodeMachine, decided: Decided) -> None:
        action = machine.choose(decided)
        if action is None:
            return
        outcome = _or_fail(machine, partial(self.phone.act, action))
        if outcome is not None:
            machine.acted(outcome)

    def close(self, machine: EpisodeMachine) -> Played:
        if machine.was_stopped:
            leave_home(self.phone)
        verdict = _or_fail(machine, partial(judge_end, self.verifier, machine.close()))
        self.machine = self.policy = None
        return Played(machine.close(), verdict)


def _or_fail(machine: EpisodeMachine, work: Callable[[], _Result]) -> _Result | None:
    """What `work` returns; where the phone breaks, None, and the episode is an env_error.

    A phone in process can break in any way: a defect of one clone must not end a whole farm, and
    its assignment must not wait for the next start to break that one too. Where an error has a
    cause, the log gets the traceback.
    """
    try:
        return work()
    except UnknownTaskError:
        raise
    except (PhoneLostError, PhoneFaultError) as error:
        if error.__cause__ is not None:
            _log.warning("phone_broke", template=machine.assignment.template, exc_info=error)
        machine.fail(str(error))
    except Exception as error:  # noqa: BLE001 - see above
        _log.exception("phone_broke", template=machine.assignment.template)
        machine.fail(f"{type(error).__name__}: {error}")
    return None


class Seats:
    """Phones that play assignments side by side in one thread.

    Args:
        phones: one per seat.
        policy_for: chooses the policy of an assignment.
        on_step: called after each recorded step, to show it live.
        first_seat: number of the first seat, where several tables share a device.
        screens: keeps pictures of screens for sending; None takes none but for policies.

    Attributes:
        at_work: the assignment whose phone is being worked with right now, for a watchdog.
    """

    def __init__(
        self,
        phones: Sequence[SeatPhone],
        policy_for: PolicyFor,
        *,
        device_id: DeviceId,
        clock: Clock,
        new_id: Callable[[], str],
        safety: Safety | None = None,
        on_step: Callable[[Assignment, Step], None] | None = None,
        first_seat: int = 0,
        screens: ScreenKeeper | None = None,
    ) -> None:
        if not phones:
            raise ValueError("there must be at least one seat")
        self._seats = [
            _Seat(index, item.phone, item.verifier)
            for index, item in enumerate(phones, start=first_seat)
        ]
        self._policy_for = policy_for
        self._device_id = device_id
        self._clock = clock
        self._new_id = new_id
        self._safety = safety
        self._on_step = on_step
        self._screens = screens
        self._env_steps = 0
        self.at_work: Assignment | None = None

    @property
    def env_steps(self) -> int:
        """Steps that were played so far."""
        return self._env_steps

    @property
    def free(self) -> int:
        """How many seats could start an episode now."""
        return sum(seat.machine is None for seat in self._seats)

    @property
    def busy(self) -> int:
        """How many episodes are being played."""
        return len(self._seats) - self.free

    @property
    def releases_in_use(self) -> frozenset[ReleaseId]:
        """The releases that unfinished episodes began with."""
        return frozenset(
            seat.machine.origin.release_id for seat in self._seats if seat.machine is not None
        )

    def start(
        self,
        assignment: Assignment,
        *,
        release_id: ReleaseId = FACTORY_RELEASE,
        arm: str = "stable",
    ) -> None:
        """Begin `assignment` on a free seat with `release_id`.

        Raises:
            UnknownTaskError: no phone here can play it, or nobody here is such an actor.
            RuntimeError: no seat is free.
        """
        self.at_work = None
        seat = next((seat for seat in self._seats if seat.machine is None), None)
        if seat is None:
            raise RuntimeError("no seat is free: call turn() until one is")
        policy = self._watched(self._policy_for(assignment, seat.phone))
        machine = EpisodeMachine(
            assignment,
            EpisodeOrigin(self._device_id, seat.index, release_id, arm),
            clock=self._clock,
            new_id=self._new_id,
            encodes=policy.wants_encoding,
            safety=self._safety,
        )
        self.at_work = assignment
        seat.reset(machine)
        self.at_work = None
        seat.machine, seat.policy = machine, policy

    def turn(self) -> list[Played]:
        """Play one step on every busy seat; the episodes that ended with it, in seat order."""
        for policy, asked in self._ask():
            decided = policy.decide([request for _, _, request in asked])
            if len(decided) != len(asked):
                raise DeviceError(
                    f"the policy answered {len(decided)} of {len(asked)} requests: repair it"
                )
            self._env_steps += len(asked)
            for (seat, machine, _), choice in zip(asked, decided, strict=True):
                self.at_work = machine.assignment
                seat.carry_out(machine, choice)
                if self._on_step is not None:
                    self._on_step(machine.assignment, machine.steps[-1])
            self.at_work = None
        return self._close_ended()

    def refused(self) -> list[tuple[Assignment, UnknownTaskError]]:
        """None: `start` refuses at once."""
        return []

    def close(self) -> None:
        """Let go of the phones; unfinished episodes leave no record. Idempotent."""
        for seat in self._seats:
            seat.machine = seat.policy = None
            seat.phone.close()
        if self._screens is not None:
            self._screens.close()

    def _ask(self) -> list[tuple[Policy, list[tuple[_Seat, EpisodeMachine, PolicyRequest]]]]:
        """Every policy that is to act, with the requests of its seats."""
        groups: dict[int, tuple[Policy, list[tuple[_Seat, EpisodeMachine, PolicyRequest]]]] = {}
        for seat in self._seats:
            machine, policy = seat.machine, seat.policy
            if machine is None or policy is None or machine.end_reason is not None:
                continue
            self.at_work = machine.assignment
            request = seat.look(machine, policy)
            self.at_work = None
            if request is not None:
                groups.setdefault(id(policy), (policy, []))[1].append((seat, machine, request))
        return list(groups.values())

    def _close_ended(self) -> list[Played]:
        ended = []
        for seat in self._seats:
            machine = seat.machine
            if machine is not None and machine.end_reason is not None:
                self.at_work = machine.assignment
                ended.append(self._with_screens(seat.close(machine)))
        self.at_work = None
        return ended

    def _watched(self, policy: Policy) -> Policy:
        """The policy, shown every screen's picture where pictures are kept for sending.

        Seats of one policy get one and the same wrapping, so that they still share batches.
        """
        if self._screens is None or not self._screens.is_on():
            return policy
        for seat in self._seats:
            if isinstance(seat.policy, PictureKeeper) and seat.policy.policy is policy:
                return seat.policy
        return PictureKeeper(policy, self._screens)

    def _with_screens(self, played: Played) -> Played:
        if self._screens is None:
            return played
        return replace(played, screens=self._screens.collect(played.episode))
