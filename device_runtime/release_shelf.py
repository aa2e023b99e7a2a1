"""Which releases are loaded: the installed one, those that episodes use, and pinned ones.

Two threads meet here. The follower downloads, verifies and installs, and may wait for the network.
The playing thread calls `settle` between steps: it alone loads and unloads adapters, so a policy
never changes under a running decision, and an episode ends with the release it began with.
"""

from __future__ import annotations

import math
import queue
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Final, Protocol

import structlog

from device_runtime.errors import InstallError
from device_runtime.slots import InstalledRelease
from device_runtime.trial_start import InstallOutcome
from sync.adapter_file import AdapterFile, FloatArray
from sync.clock import Clock
from sync.errors import RejectedError, TransientError
from sync.vocabulary import FACTORY_RELEASE, ReleaseId

_log = structlog.get_logger()
RETRY_S: Final = 5.0
MOST_SPREAD_S: Final = 3600.0
"""However long an announcement wants to be spread over: what it says may be a mistake."""
KEPT_PINNED: Final = 4
"""How many pinned releases stay loaded after their last episode."""


class AdapterHost(Protocol):
    """The policy, as far as its adapters go."""

    def load_adapter(
        self, release_id: str, tensors: Mapping[str, FloatArray], *, base_digest: str = ""
    ) -> None:
        """Make a release ready to act on the base that it belongs to."""
        ...

    def unload(self, release_id: str) -> None:
        """Forget a release."""
        ...


class ReleaseSource(Protocol):
    """The installer, as far as the shelf needs it; called by the follower's thread only."""

    def begin_load(self) -> InstalledRelease:
        """What to load at the start; counts a trial's loads."""
        ...

    def refresh(self, channel: str, *, announced: bool = False) -> InstallOutcome | None:
        """Install what the channel points at; None where there is nothing new."""
        ...

    def adapter_for(self, release_id: str) -> AdapterFile | None:
        """The adapter of any published release."""
        ...

    def commit(self) -> InstalledRelease:
        """Keep the release that is on trial."""
        ...


@dataclass(frozen=True, slots=True)
class _Fetched:
    """What the follower brings: an adapter to load, and whether it is the installed release's."""

    release_id: ReleaseId
    adapter: AdapterFile | None
    installed: InstalledRelease | None = None


@dataclass(frozen=True, slots=True)
class Unavailable:
    """A pinned release that cannot be had, with its reason code."""

    release_id: ReleaseId
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class _Refresh:
    announced: bool = False
    within_s: float = 0.0


@dataclass(frozen=True, slots=True)
class _Pin:
    release_id: ReleaseId


@dataclass(frozen=True, slots=True)
class _Commit:
    pass


_Job = _Refresh | _Pin | _Commit | None


class _Plan:
    """What the follower does without being told: moments are its own, so no two phones keep step.

    Args:
        every_s: about how often the channel is looked at.
        retry_s: at least how long after a failure.
    """

    def __init__(self, clock: Clock, random: Random, every_s: float, retry_s: float) -> None:
        self._clock = clock
        self._random = random
        self._every_s = every_s
        self._retry_s = retry_s
        self._again: list[_Job] = []
        self._announced_at_s = math.inf
        self._due_s = self._next_s()

    def wait_s(self) -> float:
        """Seconds until something is due."""
        return max(0.0, min(self._due_s, self._announced_at_s) - self._clock.monotonic_s())

    def look_within(self, within_s: float) -> None:
        """Look at what was announced at any moment within so many seconds."""
        at_s = self._clock.monotonic_s() + self._random.uniform(0.0, within_s)
        self._announced_at_s = min(self._announced_at_s, at_s)

    def try_again(self, job: _Job) -> None:
        """Do `job` once more after a pause; of looks at the channel that failed one is enough."""
        if isinstance(job, _Refresh):
            looks = [job, *(one for one in self._again if isinstance(one, _Refresh))]
            job = _Refresh(announced=any(one.announced for one in looks))
            self._again = [one for one in self._again if not isinstance(one, _Refresh)]
        self._again.append(job)
        pause_s = self._retry_s * self._random.uniform(1.0, 2.0)
        self._due_s = self._clock.monotonic_s() + pause_s

    def take_due(self) -> list[_Job]:
        """The jobs whose time has come."""
        now_s = self._clock.monotonic_s()
        jobs: list[_Job] = []
        if now_s >= self._announced_at_s:
            self._announced_at_s = math.inf
            jobs.append(_Refresh(announced=True))
        if now_s >= self._due_s:
            looks = [one for one in self._again if isinstance(one, _Refresh)]
            others = [one for one in self._again if not isinstance(one, _Refresh)]
            jobs = [*(jobs or looks or [_Refresh()]), *others]
            self._again.clear()
            self._due_s = self._next_s()
        return jobs

    def _next_s(self) -> float:
        return self._clock.monotonic_s() + self._every_s * self._random.uniform(0.75, 1.25)


class ReleaseShelf:
    """The loaded releases of one device.

    Args:
        source: the installer; None where nothing is ever installed (factory policy only).
        host: loads adapters; None where no release policy plays.
        refresh_every_s: about how often the channel is looked at without an announcement.
        trial_episodes: ended episodes after which a release on trial is kept.
        retry_s: least pause after the network failed.
        brought: told, on the follower's thread, that there is something to `settle`.
    """

    def __init__(
        self,
        source: ReleaseSource | None,
        host: AdapterHost | None,
        *,
        channel: str,
        clock: Clock,
        refresh_every_s: float = 60.0,
        trial_episodes: int = 3,
        retry_s: float = RETRY_S,
        brought: Callable[[], None] = lambda: None,
        random: Random | None = None,
    ) -> None:
        self._source = source
        self._host = host
        self._channel = channel
        self._clock = clock
        self._refresh_every_s = refresh_every_s
        self._trial_episodes = trial_episodes
        self._retry_s = retry_s
        self._brought = brought
        self._random = random or Random()
        self._trial_left = 0
        self._loaded: OrderedDict[ReleaseId, None] = OrderedDict({FACTORY_RELEASE: None})
        self._asked: set[ReleaseId] = set()
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[_Fetched | Unavailable] = queue.SimpleQueue()
        self._failure: BaseException | None = None
        self._thread: threading.Thread | None = None
        self.installed = InstalledRelease()

    @property
    def current(self) -> ReleaseId:
        """The release that acts where an assignment pins nothing."""
        return self.installed.release_id

    def start(self) -> None:
        """Load what is installed, then follow the channel in the background."""
        if self._source is None:
            return
        self._take(_fetched(self._source.begin_load()))
        self._jobs.put(_Refresh())
        self._thread = threading.Thread(
            target=self._follow, args=(self._source,), name="release-follower", daemon=True
        )
        self._thread.start()

    def look(self, *, within_s: float = 0.0) -> None:
        """Look at the channel: something was announced.

        Args:
            within_s: look at any moment within so many seconds; 0: now.
        """
        self._jobs.put(_Refresh(announced=True, within_s=min(max(within_s, 0.0), MOST_SPREAD_S)))

    def is_ready(self, release_id: ReleaseId) -> bool:
        """Whether `release_id` can act now; if not, it is fetched in the background."""
        if release_id in self._loaded:
            return True
        if release_id not in self._asked:
            self._asked.add(release_id)
            self._jobs.put(_Pin(release_id))
        return False

    def settle(self, in_use: frozenset[ReleaseId]) -> tuple[bool, list[Unavailable]]:
        """Load what was fetched and unload what nobody needs any more; between steps only.

        Args:
            in_use: releases of unfinished episodes.
        Returns: whether another release acts now, and the pinned ones that cannot be had.
        Raises: RuntimeError: the follower's thread ended by an error.
        """
        if self._failure is not None:
            raise RuntimeError("the release follower ended by an error") from self._failure
        before, unavailable = self.current, []
        while True:
            try:
                result = self._results.get_nowait()
            except queue.Empty:
                break
            if isinstance(result, Unavailable):
                self._asked.discard(result.release_id)
                unavailable.append(result)
            elif (refused := self._try_to_take(result)) is not None:
                unavailable.append(refused)
        self._unload_unused(in_use)
        return self.current != before, unavailable

    def episode_ended(self, release_id: ReleaseId) -> None:
        """Count an episode for the release's trial; the last one keeps the release."""
        if self._trial_left and release_id == self.current:
            self._trial_left -= 1
            if self._trial_left == 0:
                self._jobs.put(_Commit())

    def close(self, timeout_s: float = 5.0) -> None:
        """Stop following; a download under way is given up. Idempotent."""
        self._jobs.put(None)
        if self._thread is not None:
            self._thread.join(timeout_s)

    def _try_to_take(self, fetched: _Fetched) -> Unavailable | None:
        """Load what was fetched; a pinned adapter that cannot act is as good as none.

        An installed one was probed before; if it fails now, the process ends, and its trial counts.
        """
        try:
            self._take(fetched)
        except InstallError as error:
            if fetched.installed is not None:
                raise
            return Unavailable(fetched.release_id, str(error.reason), str(error))
        return None

    def _take(self, fetched: _Fetched) -> None:
        release_id = fetched.release_id
        self._asked.discard(release_id)
        is_new = release_id not in self._loaded
        if self._host is not None and fetched.adapter is not None and is_new:
            adapter = fetched.adapter
            self._host.load_adapter(release_id, adapter.tensors, base_digest=adapter.base_digest)
        self._loaded[release_id] = None
        self._loaded.move_to_end(release_id)
        if fetched.installed is not None:
            self.installed = fetched.installed
            on_trial = fetched.installed.state == "trial"
            self._trial_left = self._trial_episodes if on_trial else 0

    def _unload_unused(self, in_use: frozenset[ReleaseId]) -> None:
        needed = {FACTORY_RELEASE, self.current} | in_use
        idle = [release_id for release_id in self._loaded if release_id not in needed]
        for release_id in idle[: max(0, len(idle) - KEPT_PINNED)]:
            del self._loaded[release_id]
            if self._host is not None:
                self._host.unload(release_id)

    def _follow(self, source: ReleaseSource) -> None:
        """The follower's thread: one job after the other, and a look at the channel in between."""
        plan = _Plan(self._clock, self._random, self._refresh_every_s, self._retry_s)
        try:
            while True:
                try:
                    job = self._jobs.get(timeout=plan.wait_s())
                except queue.Empty:
                    for due in plan.take_due():
                        self._jobs.put(due)
                    continue
                if job is None:
                    return
                if isinstance(job, _Refresh) and job.within_s > 0:
                    plan.look_within(job.within_s)
                elif not self._work(source, job):
                    plan.try_again(job)
        except Exception as error:  # noqa: BLE001 - told to the playing thread, which raises it
            self._failure = error

    def _work(self, source: ReleaseSource, job: _Refresh | _Pin | _Commit) -> bool:
        """Do one job; False where the network failed and it is worth trying again."""
        try:
            match job:
                case _Refresh(announced):
                    outcome = source.refresh(self._channel, announced=announced)
                    if outcome is not None and outcome.applied:
                        self._bring(_fetched(outcome.installed, outcome.adapter))
                case _Pin(release_id):
                    self._bring(_Fetched(release_id, source.adapter_for(release_id)))
                case _Commit():
                    source.commit()
        except TransientError as error:
            _log.info("release_lookup_failed", error=str(error))
            return False
        except RejectedError as error:
            if isinstance(job, _Pin):
                self._bring(Unavailable(job.release_id, str(error.reason), str(error)))
        return True

    def _bring(self, result: _Fetched | Unavailable) -> None:
        self._results.put(result)
        self._brought()


def _fetched(installed: InstalledRelease, opened: AdapterFile | None = None) -> _Fetched:
    """What acts; an adapter that was `opened` just now is not read from the disk once more."""
    adapter = installed.read() if opened is None else opened
    return _Fetched(installed.release_id, adapter, installed)
