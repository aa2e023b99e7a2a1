"""Lets a judge judge many episodes: some at a time, none twice, and no further than the budget.

    episodes → ledger (said before?) → judge → ledger → whoever listens

Every judgement is kept before it is told, so a run that is stopped or killed loses none that it
has paid for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from threading import Event

from cloud_learner.judge import Judge
from cloud_learner.judge_answer import NO_USAGE, Judgement
from cloud_learner.judge_ledger import JudgeLedger
from sync.clock import Clock
from sync.vocabulary import Episode


@dataclass(frozen=True, slots=True)
class Judged:
    """One episode and what the judge says of it.

    Attributes:
        judgement: None where the judge was not asked: its budget is used up, or it was stopped.
        is_cached: it was said in an earlier run, and costs nothing now.
    """

    episode: Episode
    judgement: Judgement | None
    is_cached: bool = False


class JudgeRun:
    """One judge at work.

    Args:
        concurrency: episodes at a time.
        stop: set from outside, it ends the run after the requests under way.

    A run is used once.
    """

    def __init__(
        self,
        judge: Judge,
        ledger: JudgeLedger | None,
        *,
        clock: Clock,
        concurrency: int = 1,
        stop: Event | None = None,
    ) -> None:
        self._judge = judge
        self._ledger = ledger
        self._clock = clock
        self._concurrency = concurrency
        self._stop = stop or Event()
        self._has_ended = Event()

    def over(self, episodes: Iterable[Episode]) -> Iterator[Judged]:
        """What the judge says of each episode, in the order in which it is said.

        Ends early where the budget is used up or the run is stopped: the episodes under way then
        come without a judgement, the others not at all.

        Raises: JudgeUnusableError: the judge can say nothing of any episode.
        """
        waiting = iter(episodes)
        with ThreadPoolExecutor(self._concurrency, thread_name_prefix="judge") as pool:
            running: set[Future[Judged]] = set()
            try:
                while True:
                    room = 0 if self._stopped() else self._concurrency - len(running)
                    running |= {pool.submit(self._one, each) for each in islice(waiting, room)}
                    if not running:
                        return
                    ended, running = wait(running, return_when=FIRST_COMPLETED)
                    for future in ended:
                        judged = future.result()
                        if judged.judgement is None:
                            self._has_ended.set()
                        yield judged
            finally:
                self._has_ended.set()

    def _stopped(self) -> bool:
        return self._stop.is_set() or self._has_ended.is_set()

    def _one(self, episode: Episode) -> Judged:
        judge, ledger = self._judge, self._ledger
        if ledger is not None:
            known = ledger.find(episode.id, judge.name, judge.version)
            if known is not None:
                return Judged(episode, known, is_cached=True)
        judged = judge.judge(episode, stopped=self._stopped)
        if judged is not None and ledger is not None:
            now_ms = self._clock.wall_ms()
            ledger.keep(episode.id, judge.name, judge.version, judged, at_ms=now_ms)
        return Judged(episode, judged)


@dataclass(slots=True)
class RunTotals:
    """What a run came to.

    Attributes:
        unreached: of the undecidable, those that may be decided when they are asked again.
        not_asked: episodes under way when the budget was used up or the run was stopped.
    """

    judged: int = 0
    success: int = 0
    failure: int = 0
    undecidable: int = 0
    unreached: int = 0
    cached: int = 0
    not_asked: int = 0
    tokens_read: int = 0
    tokens_written: int = 0
    requests: int = 0

    def add(self, one: Judged) -> None:
        """Count one episode."""
        judged = one.judgement
        if judged is None:
            self.not_asked += 1
            return
        self.judged += 1
        self.cached += one.is_cached
        self.success += judged.outcome is True
        self.failure += judged.outcome is False
        self.undecidable += judged.outcome is None
        self.unreached += judged.outcome is None and not judged.is_final
        usage = NO_USAGE if one.is_cached else judged.usage
        self.tokens_read += usage.read
        self.tokens_written += usage.written
        self.requests += usage.requests
