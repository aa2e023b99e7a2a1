"""Scoring one candidate: screens from the phone's log, limits of time and battery, rows on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec

from device_runtime.candidate import CandidateFolder
from device_runtime.conditions import Conditions, ReadsConditions
from device_runtime.errors import (
    InstallError,
    PhoneFaultError,
    PhoneLostError,
    ShadowPostponedError,
)
from device_runtime.shadow import (
    Screen,
    ShadowFigures,
    ShadowLimits,
    ShadowOutcome,
    ShadowRow,
    figures_of,
    judged,
    scored,
)
from device_runtime.shadow_sides import ShownIn, Sides
from device_runtime.trajectory_log import TrajectoryLog
from sync.adapter_file import AdapterFile
from sync.clock import Clock
from sync.durable_file import write_durably
from sync.releases import Reason
from sync.vocabulary import EpisodeId, new_uuid7

_KEEP_EVERY: Final = 4
"""Screens between two writes of the rows."""


class Shadow:
    """Scores a candidate beside what acts; used by the thread that installs.

    Args:
        folder: counts attempts, and keeps the rows while a candidate is being scored.
        screens: at most so many logged screens, newest first.
        read_conditions: what is true of the phone now.
    """

    def __init__(
        self,
        folder: CandidateFolder,
        screens: Callable[[int], Iterator[Screen]],
        sides: Sides,
        *,
        limits: ShadowLimits,
        clock: Clock,
        read_conditions: ReadsConditions | None = None,
    ) -> None:
        self._folder = folder
        self._screens = screens
        self._sides = sides
        self._limits = limits
        self._clock = clock
        self._read_conditions = read_conditions

    def __call__(self, candidate: AdapterFile, active: AdapterFile | None) -> ShadowOutcome:
        """Score what is left to be scored, and judge all of it; see `Shadows`."""
        self._require_strength()
        if not self._folder.begin_attempt():
            detail = "the process died with it again and again while it was scored"
            return ShadowOutcome(ShadowFigures(), Reason.CRASH_LOOP, detail)
        rows: dict[str, ShadowRow] = {}
        try:
            rows = self._rows(candidate, active)
        except InstallError as error:
            known = {str(reason): reason for reason in Reason}
            reason = known.get(error.reason, Reason.PROBE_FAILED)
            return ShadowOutcome(ShadowFigures(), reason, str(error))
        finally:
            self._folder.end_attempt()
        return judged(figures_of(list(rows.values())), self._limits)

    def _rows(self, candidate: AdapterFile, active: AdapterFile | None) -> dict[str, ShadowRow]:
        pair = f"{candidate.digest} {'factory' if active is None else active.digest}"
        rows = self._kept(pair)
        wanted = self._limits.screens - len(rows)
        left = [one for one in self._screens(self._limits.screens) if one.id not in rows][:wanted]
        until_s = self._clock.monotonic_s() + self._limits.seconds
        with self._sides(candidate, active) as (tried, acting):
            for row in scored(left, tried, acting, clock=self._clock):
                rows[row.screen] = row
                if len(rows) % _KEEP_EVERY == 0:
                    self._keep(pair, rows)
                if not row.is_finite or self._clock.monotonic_s() >= until_s:
                    break
        return rows

    def _require_strength(self) -> None:
        if self._read_conditions is None:
            return
        try:
            reason = weakness(self._read_conditions(), self._limits)
        except (PhoneLostError, PhoneFaultError) as error:
            reason = f"the phone does not answer ({error})"
        if reason:
            raise ShadowPostponedError(reason)

    def _kept(self, pair: str) -> dict[str, ShadowRow]:
        """The rows of an earlier process, where they are of the same two policies."""
        try:
            kept = msgspec.json.decode(self._folder.rows_file.read_bytes(), type=_Kept)
        except (OSError, msgspec.DecodeError):
            return {}
        return {row.screen: row for row in kept.rows} if kept.pair == pair else {}

    def _keep(self, pair: str, rows: dict[str, ShadowRow]) -> None:
        content = _Kept(pair=pair, rows=tuple(rows.values()))
        write_durably(self._folder.rows_file, msgspec.json.encode(content))


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    """Rows on disk, and the digests of the two policies that they compare."""

    pair: str
    rows: tuple[ShadowRow, ...]


def weakness(conditions: Conditions, limits: ShadowLimits) -> str:
    """Why scoring waits; empty where it need not. What the phone does not say is no reason."""
    percent, celsius = conditions.battery_percent, conditions.temperature_c
    if percent is not None and percent < limits.battery_percent and not conditions.charging:
        return f"the battery has {percent:.0f} %, {limits.battery_percent:.0f} % are needed"
    if celsius is not None and celsius > limits.temperature_c:
        return f"the battery has {celsius:.1f} °C, {limits.temperature_c:.1f} °C are allowed"
    return ""


def logged_screens(
    database: Path, clock: Clock, shown_in: ShownIn
) -> Callable[[int], Iterator[Screen]]:
    """Reads screens from a phone's log, newest episodes first; a screen comes once.

    Args:
        shown_in: how a policy is shown them (`shadow_sides.shown_in`).
    """

    def read(count: int) -> Iterator[Screen]:
        if not database.is_file():
            return
        seen: set[str] = set()
        log = TrajectoryLog.open(database, clock=clock, new_id=new_uuid7)
        with closing(log):
            for summary in log.summaries(limit=count):
                found = log.read(EpisodeId(summary.id))
                for index, (digest, shown) in enumerate(shown_in(found[0]) if found else ()):
                    if digest not in seen and len(seen) < count:
                        seen.add(digest)
                        yield Screen(f"{summary.id}:{index}", shown)

    return read
