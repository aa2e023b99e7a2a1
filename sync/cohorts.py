"""Which phones a staged release is offered to: a signed rule that phone and cloud both work out.

A channel points at one release, and may offer another to part of its phones. The offer stands in
the channel's signed pointer, so no message decides what a phone installs: the phone hashes its own
name, and the cloud, which has the same names, arrives at the same cohort.

    place(seed, phone) = sha256("seed|phone") mod 10000    offered where place < share_bps

A stage that widens only raises `share_bps`, so no phone ever leaves a cohort. Each release has a
seed of its own, so it is not always the same phones that come first. The hold-out is worked out
with a seed that never changes: those phones get a release only once it was promoted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from sync.messages import Birth
from sync.vocabulary import DeviceId, ReleaseId

PLACES: Final = 10_000
"""A share is told in basis points: 100 is one percent."""
HOLD_OUT_SEED: Final = "outrider-hold-out"
"""Never changes: whoever is held out today was held out yesterday."""
ATTRIBUTES: Final = ("role", "suite_version", "policy_io_version", "base_digest")
"""Fields of a birth that a cohort's rule may ask for; the cloud keeps them by the same names."""


@dataclass(frozen=True, slots=True)
class CohortPhone:
    """What a cohort is worked out from.

    Attributes:
        attributes: facts that a rule may ask for, by name, as the phone's birth tells them.
    """

    device_id: DeviceId | str
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StagedOffer:
    """A release that a channel offers to part of its phones, beside the one that it points at.

    Attributes:
        seed: of this release's cohort.
        share_bps, hold_out_bps: share of the phones that it is offered to, and held back from.
        allow: phones that it is offered to from the first stage on, wherever their place is.
        deny: phones that it is never offered to.
        where: values that an attribute must have one of; a phone without it is left out.
    """

    release_id: ReleaseId
    version: int
    seed: str
    share_bps: int
    hold_out_bps: int = 0
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    where: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("share_bps", "hold_out_bps"):
            if not 0 <= getattr(self, name) <= PLACES:
                raise ValueError(f"{name} is 0..{PLACES}, got {getattr(self, name)}")

    def may_ever_get(self, phone: CohortPhone) -> bool:
        """Whether a later stage of the same release could reach `phone`, before promotion."""
        if phone.device_id in self.deny or is_held_out(phone.device_id, self.hold_out_bps):
            return False
        if phone.device_id in self.allow:
            return True
        return all(phone.attributes.get(name) in wanted for name, wanted in self.where.items())

    def includes(self, phone: CohortPhone) -> bool:
        """Whether `phone` is in the cohort. Deny and hold-out come before allow."""
        if not self.may_ever_get(phone):
            return False
        return phone.device_id in self.allow or place(self.seed, phone.device_id) < self.share_bps


def place(seed: str, device_id: str) -> int:
    """Where a phone stands in the order of a seed, 0..9999, the same for ever."""
    digest = hashlib.sha256(f"{seed}|{device_id}".encode()).digest()
    return int.from_bytes(digest, "big") % PLACES


def is_held_out(device_id: str, hold_out_bps: int) -> bool:
    """Whether a phone is in the permanent hold-out; a larger hold-out holds the smaller one."""
    return place(HOLD_OUT_SEED, device_id) < hold_out_bps


def phone_of_birth(birth: Birth) -> CohortPhone:
    """The phone that said `birth`."""
    facts = {name: str(getattr(birth, name)) for name in ATTRIBUTES}
    return CohortPhone(birth.device_id, {**birth.attributes, **facts})
