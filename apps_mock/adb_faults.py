"""What goes wrong between a phone and its adb server, on demand and seeded, with a record of it.

`WireFaults` belongs to whoever owns the daemon: faults are put in and taken out while the daemon
runs, from any thread, and `injected` tells afterwards what really happened and where. Each kind
has its opportunities, such as every command that is opened or every screenshot; at each one it is
decided whether the fault strikes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from random import Random
from threading import RLock
from typing import Final


class FaultKind(StrEnum):
    """The faults by name; `amount` says how much, where a kind has a measure.

    Attributes:
        DROP: the link is cut after `amount` bytes of a command's answer.
        HANG: a command is taken and never run nor answered.
        MUTE: a command runs, and its answer never comes.
        OFFLINE: the link is cut, and the phone is offline for `amount` milliseconds.
        SLOW: a command's answer is late by `amount` milliseconds.
        TRUNCATED_PNG: a screenshot ends after `amount` bytes.
        WARNING_PREFIX: text about several displays stands before a screenshot.
        SECURE: a screenshot is black, as of a window that forbids it.
        NO_IDLE: the tree is refused: the screen never rests.
        NULL_ROOT: the tree is refused: there is no window.
        STALE_FILE: the dump of before is given as the new one.
        DUMP_KILLED: the dumper is killed, code 137.
        BAD_XML: noise around the dump, control characters and lone surrogates in it.
        CUT_XML: the dump ends in the middle.
        EMPTY_TREE: the dump holds a window without nodes.
        NO_FOCUS: no window has the focus.
        ANR: an app does not respond; its dialog shows.
        CRASH: an app has stopped; its dialog shows.
        PERMISSION: an app asks for a permission.
        POP_UP: a window of an app asks for attention.
        HEADS_UP: a notification comes and covers the screen's top.
        KEYGUARD: the screen is locked.
        SCREEN_OFF: the phone sleeps; touches and most keys do nothing until it is woken.
        INJECT_DENIED: the phone forbids injected touches and keys.
        LOST_TAP: a touch is taken and does nothing.
        LOST_TEXT: only the first `amount` characters of a typed text arrive.
        SWAPPED_TEXT: two characters of a typed text change places.
        IME_MISSING: no keyboard can be chosen but the phone's own.
    """

    DROP = "drop"
    HANG = "hang"
    MUTE = "mute"
    OFFLINE = "offline"
    SLOW = "slow"
    TRUNCATED_PNG = "truncated_png"
    WARNING_PREFIX = "warning_prefix"
    SECURE = "secure"
    NO_IDLE = "no_idle"
    NULL_ROOT = "null_root"
    STALE_FILE = "stale_file"
    DUMP_KILLED = "dump_killed"
    BAD_XML = "bad_xml"
    CUT_XML = "cut_xml"
    EMPTY_TREE = "empty_tree"
    NO_FOCUS = "no_focus"
    ANR = "anr"
    CRASH = "crash"
    PERMISSION = "permission"
    POP_UP = "pop_up"
    HEADS_UP = "heads_up"
    KEYGUARD = "keyguard"
    SCREEN_OFF = "screen_off"
    INJECT_DENIED = "inject_denied"
    LOST_TAP = "lost_tap"
    LOST_TEXT = "lost_text"
    SWAPPED_TEXT = "swapped_text"
    IME_MISSING = "ime_missing"


LINK_FAULTS: Final = (
    FaultKind.DROP,
    FaultKind.HANG,
    FaultKind.MUTE,
    FaultKind.OFFLINE,
    FaultKind.SLOW,
)
"""Kinds that befall the link; their opportunities are the commands that are opened."""

WINDOW_FAULTS: Final = (
    FaultKind.ANR,
    FaultKind.CRASH,
    FaultKind.PERMISSION,
    FaultKind.POP_UP,
    FaultKind.HEADS_UP,
    FaultKind.KEYGUARD,
    FaultKind.SCREEN_OFF,
)
"""Kinds that put something over the screen: before an `input`, a dump or a screenshot."""

STANDING_FAULTS: Final = frozenset(
    {
        FaultKind.WARNING_PREFIX,
        FaultKind.SECURE,
        FaultKind.NO_FOCUS,
        FaultKind.INJECT_DENIED,
        FaultKind.IME_MISSING,
    }
)
"""Kinds that are a phone's way to be: written as an option they stand until they are cleared."""

_WRITTEN = re.compile(
    r"(?P<kind>[a-z_]+)(?::(?P<amount>\d{1,9}))?(?:@(?P<share>[01](?:\.\d+)?))?(?:x(?P<times>\d{1,6}))?"
)


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault that may strike.

    Attributes:
        amount: how much, in the kind's own measure; None leaves it to the kind and the seed.
        times: how often it strikes; None until it is cleared.
        share: probability (0..1) that it strikes at an opportunity.
        only: it strikes only where the command or service contains this text.
    """

    kind: FaultKind
    amount: int | None = None
    times: int | None = 1
    share: float = 1.0
    only: str = ""

    def __post_init__(self) -> None:
        if not 0.0 <= self.share <= 1.0:
            raise ValueError(f"a fault's share is a probability in 0..1, got {self.share}")


@dataclass(frozen=True, slots=True)
class Injected:
    """A fault that struck: its kind and amount, and the command that met it."""

    kind: FaultKind
    amount: int | None
    where: str


class WireFaults:
    """The faults of one daemon; empty unless some are put in.

    Args:
        faults: what is armed from the start.
        seed: decides shares and amounts that are left open.
    """

    def __init__(self, faults: Iterable[Fault] = (), *, seed: int = 0) -> None:
        self._lock = RLock()
        self._armed: list[Fault] = list(faults)
        self._random = Random(f"wire faults|{seed}")
        self._injected: list[Injected] = []

    def inject(
        self,
        kind: FaultKind,
        *,
        amount: int | None = None,
        times: int | None = 1,
        share: float = 1.0,
        only: str = "",
    ) -> None:
        """Arm one fault (see `Fault`); several of a kind strike one after the other."""
        with self._lock:
            self._armed.append(Fault(kind, amount, times, share, only))

    def clear(self, kind: FaultKind | None = None) -> None:
        """Disarm the faults of a kind, or all; what struck stays on record."""
        with self._lock:
            self._armed = [fault for fault in self._armed if kind not in {None, fault.kind}]

    @property
    def armed(self) -> tuple[Fault, ...]:
        """What may still strike."""
        with self._lock:
            return tuple(self._armed)

    @property
    def injected(self) -> tuple[Injected, ...]:
        """What struck so far, in order: the ground truth."""
        with self._lock:
            return tuple(self._injected)

    def is_armed(self, kind: FaultKind) -> bool:
        """Whether a fault of that kind may still strike; decides and records nothing."""
        return any(fault.kind is kind for fault in self.armed)

    def strikes(self, kind: FaultKind, where: str) -> Injected | None:
        """Decide at an opportunity of `kind`; what strikes is recorded and counted down."""
        fault = self.take(kind, where)
        return None if fault is None else self.record(fault, where)

    def take(self, kind: FaultKind, where: str) -> Fault | None:
        """Decide as `strikes` does, for a fault whose effect is not certain yet.

        The caller goes on with `record` once it struck, or with `put_back` where it did not.
        """
        with self._lock:
            for index, fault in enumerate(self._armed):
                if fault.kind is not kind or fault.only not in where:
                    continue
                if fault.share < 1.0 and self._random.random() >= fault.share:
                    continue
                self._count_down(index, fault)
                return fault
        return None

    def record(self, fault: Fault, where: str, *, amount: int | None = None) -> Injected:
        """Put on record that a fault struck; `amount` where it was open until now."""
        struck = Injected(fault.kind, fault.amount if amount is None else amount, where)
        with self._lock:
            self._injected.append(struck)
        return struck

    def put_back(self, fault: Fault) -> None:
        """Arm a fault again that was taken and found no occasion."""
        if fault.times is not None:
            with self._lock:
                self._armed.insert(0, replace(fault, times=1))

    def number(self, low: int, high: int) -> int:
        """A seeded number from `low` to `high`, both included."""
        with self._lock:
            return self._random.randint(low, high)

    def _count_down(self, index: int, fault: Fault) -> None:
        if fault.times is None:
            return
        if fault.times <= 1:
            del self._armed[index]
        else:
            self._armed[index] = replace(fault, times=fault.times - 1)


def fault_of(text: str) -> Fault:
    """The fault that is written `KIND[:AMOUNT][@SHARE][xTIMES]`, such as `drop:4096` or `anr@0.02`.

    Without TIMES it strikes once; with a share, and for the kinds of `STANDING_FAULTS`, for ever.

    Raises: ValueError: no such kind, or no such form.
    """
    match = _WRITTEN.fullmatch(text)
    kinds = {kind.value: kind for kind in FaultKind}
    if match is None or match["kind"] not in kinds:
        raise ValueError(
            f"no fault is written {text!r}; write KIND[:AMOUNT][@SHARE][xTIMES] with a KIND of "
            + ", ".join(kinds)
        )
    kind = kinds[match["kind"]]
    is_standing = match["share"] is not None or kind in STANDING_FAULTS
    times = int(match["times"]) if match["times"] else None if is_standing else 1
    amount = int(match["amount"]) if match["amount"] else None
    return Fault(kind, amount, times, float(match["share"] or 1.0))
