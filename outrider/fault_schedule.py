"""What goes wrong in one run of the fault bench, and when: a pure function of a seed.

Consecutive seeds begin with consecutive faults, so that as many schedules as there are faults do
each of them at least once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from random import Random
from typing import Final

from outrider.wire_faults import FRAME_FAULTS, FrameChances


class Fault(StrEnum):
    """What is done to processes, disks, clocks and databases."""

    BROKER_KILLED = "broker_killed"
    CLOUD_KILLED = "cloud_killed"
    PHONE_KILLED = "phone_killed"
    LEARNER_KILLED = "learner_killed"
    BROKER_EMPTIED = "broker_emptied"
    NETWORK_CUT = "network_cut"
    CLOUD_STOPPED = "cloud_stopped"
    PHONE_DISK_FULL = "phone_disk_full"
    CLOUD_DISK_FULL = "cloud_disk_full"
    PHONE_DISK_READ_ONLY = "phone_disk_read_only"
    PHONE_DATABASE_CORRUPT = "phone_database_corrupt"
    CLOCK_OFF = "clock_off"
    DOUBLE = "double"
    COPIED = "copied"
    POISON = "poison"
    OVERSIZE = "oversize"
    INTRUDER = "intruder"


MEANING: Final = {
    Fault.BROKER_KILLED: "SIGKILL to the broker, and the same one again after a moment",
    Fault.CLOUD_KILLED: "SIGKILL to the service that ingests and hands out",
    Fault.PHONE_KILLED: "SIGKILL to a phone's process",
    Fault.LEARNER_KILLED: "SIGKILL to the learner's process",
    Fault.BROKER_EMPTIED: "the broker killed, and one without any of its messages in its place",
    Fault.NETWORK_CUT: "every connection reset at once",
    Fault.CLOUD_STOPPED: "the service stopped for seconds: a slow consumer",
    Fault.PHONE_DISK_FULL: "a phone's files may not grow for a while",
    Fault.CLOUD_DISK_FULL: "the service's files may not grow for a while",
    Fault.PHONE_DISK_READ_ONLY: "a phone started on a disk that is mounted read-only",
    Fault.PHONE_DATABASE_CORRUPT: "pages of a phone's database overwritten while it is off",
    Fault.CLOCK_OFF: "a phone started again with its clock a year off",
    Fault.DOUBLE: "a second phone with the name and password of a first",
    Fault.COPIED: "a second phone with the name, password and database of a first",
    Fault.POISON: "messages that cannot be read, name another device or are refused",
    Fault.OVERSIZE: "an episode that never fits, and a message over the broker's limit",
    Fault.INTRUDER: "a phone that publishes on and subscribes to another's topics",
}
"""One line for each fault, as docs/faults.md has it."""

YEAR_MS: Final = 365 * 24 * 3600 * 1000
HARM_S: Final = 6.0
"""How long things go wrong; then the fleet has time to come to rest."""
_CALM_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class Deed:
    """One fault.

    Attributes:
        at_s: when, counted from the moment at which the fleet plays.
        phone: index of the phone that it hits, where it hits one.
        lasts_s: until what was killed starts again, or what was taken away comes back.
        number: makes what is random about it.
    """

    at_s: float
    fault: Fault
    phone: int
    lasts_s: float
    number: int


@dataclass(frozen=True, slots=True)
class Schedule:
    """Everything that goes wrong in one run.

    Attributes:
        phones: how many there are.
        chances: what happens to packets while things go wrong.
        clock_offsets_ms: by how much each phone's clock is off from the start.
        harm_s: how long things go wrong.
    """

    seed: int
    phones: int
    chances: FrameChances
    clock_offsets_ms: tuple[int, ...]
    deeds: tuple[Deed, ...]
    harm_s: float = HARM_S

    @property
    def learns(self) -> bool:
        """Whether the fleet has a learner: it costs more than all else, so only where needed."""
        return any(deed.fault is Fault.LEARNER_KILLED for deed in self.deeds)


def schedule_of(seed: int) -> Schedule:
    """The schedule of a seed; the same for ever."""
    random = Random(f"faults:{seed}")
    phones = random.randint(2, 3)
    kinds = list(Fault)
    chosen = [kinds[seed % len(kinds)], *random.choices(kinds, k=random.randint(2, 4))]
    deeds = [_deed(fault, phones, random) for fault in chosen]
    return Schedule(
        seed=seed,
        phones=phones,
        chances=_chances(seed, random),
        clock_offsets_ms=tuple(random.choice((0, 0, 0, YEAR_MS, -YEAR_MS)) for _ in range(phones)),
        deeds=tuple(sorted(deeds, key=lambda deed: deed.at_s)),
    )


def _deed(fault: Fault, phones: int, random: Random) -> Deed:
    return Deed(
        at_s=round(random.uniform(_CALM_S, HARM_S - 2.0), 2),
        fault=fault,
        phone=random.randrange(phones),
        lasts_s=round(random.uniform(0.1, 1.5), 2),
        number=random.randrange(2**31),
    )


def _chances(seed: int, random: Random) -> FrameChances:
    """Every packet fault at a low chance in turn, and now and then a slow link."""
    names = {FRAME_FAULTS[seed % len(FRAME_FAULTS)], random.choice(FRAME_FAULTS)}
    most = {"cut": 0.01, "stall": 0.01, "corrupt": 0.05}
    chances = {name: round(random.uniform(0.2, 1.0) * most.get(name, 0.15), 4) for name in names}
    made = replace(FrameChances(), **chances)
    return replace(made, bytes_per_s=random.choice((0.0, 0.0, 0.0, 40_000.0)))
