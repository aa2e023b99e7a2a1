"""Which device plays which open assignment. Pure.

A farm takes anything that it announced; a phone takes training episodes and what is reserved for
it, because evaluation and demonstrations would wait for it. A device that has not got a pinned
release fetches it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cloud_learner.settings import DispatchSettings
from sync.messages import Role
from sync.vocabulary import Purpose


@dataclass(frozen=True, slots=True)
class OpenAssignment:
    """What dispatching needs to know of an assignment."""

    id: str
    template: str
    purpose: Purpose
    reserved_for: str = ""


@dataclass(frozen=True, slots=True)
class Player:
    """A device that is online, and how much of what it can still take.

    Attributes:
        outstanding: assignments that it was sent and has not played.
    """

    device_id: str
    role: Role
    seats: int
    outstanding: int
    templates: frozenset[str]

    def capacity(self, settings: DispatchSettings) -> int:
        """How many more assignments it may be sent."""
        limit = (
            settings.farm_seats_factor * self.seats
            if self.role is Role.FARM
            else settings.phone_capacity
        )
        return max(0, limit - self.outstanding)

    def may_play(self, assignment: OpenAssignment) -> bool:
        """Whether this device can and should play `assignment`."""
        if assignment.template and assignment.template not in self.templates:
            return False
        if assignment.reserved_for:
            return assignment.reserved_for == self.device_id
        return self.role is Role.FARM or assignment.purpose is Purpose.TRAIN


def share_out(
    assignments: Iterable[OpenAssignment],
    players: Sequence[Player],
    settings: DispatchSettings,
) -> dict[str, list[str]]:
    """Assignment ids per device, in order, none beyond a device's capacity.

    Args:
        assignments: open ones, most urgent first; each goes to the device with most room.
    """
    room = {player.device_id: player.capacity(settings) for player in players}
    shares: dict[str, list[str]] = {}
    for assignment in assignments:
        if not any(room.values()):
            break
        able = [p.device_id for p in players if room[p.device_id] and p.may_play(assignment)]
        if not able:
            continue
        device_id = max(able, key=lambda name: room[name])
        room[device_id] -= 1
        shares.setdefault(device_id, []).append(assignment.id)
    return shares
