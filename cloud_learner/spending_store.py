"""What judging workers have spent together, in the cloud database: one budget for all of them.

    worker → hold (does it still fit?) → request → settle (what it cost)

The most that a worker's requests can cost is a row of its own while they are under way. A worker
that died leaves that row behind: once its time is over, it counts as spent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from sqlalchemy import Connection, delete, select

from cloud_learner.judge_answer import NO_USAGE, Usage
from cloud_learner.store import Database, insert_new, upsert
from cloud_learner.tables import JUDGE_HOLDS, JUDGE_SPENT
from sync.clock import Clock

LEASE_S = 3600.0
"""How long a worker's requests may take before they count as paid in full."""
_COLUMNS = ("tokens_read", "tokens_written", "requests")


class SharedSpending:
    """One judge's spending as one of its workers sees it; safe to use from several threads.

    Args:
        worker: names this worker; no two at work have the same.
        already: what was spent before the database knew of this judge.
    """

    def __init__(
        self,
        database: Database,
        judge: str,
        *,
        worker: str,
        clock: Clock,
        already: Usage = NO_USAGE,
    ) -> None:
        self._database = database
        self._judge = judge
        self._worker = worker
        self._clock = clock
        with database.write() as connection:
            insert_new(connection, JUDGE_SPENT, {"judge": judge, **_row(already)})

    def spent(self) -> Usage:
        """What all workers have spent, without what is under way."""
        with self._database.read() as connection:
            return _sum(connection.execute(self._select_spent()).all())

    def hold(self, most: Usage, fits: Callable[[Usage], bool]) -> bool:
        """Set aside the most that a request can cost; False where that does not fit any more.

        Args:
            fits: whether what was spent and set aside, this included, is still allowed.
        """
        with self._database.write() as connection:
            spent = self._settled(connection)
            held = _sum(connection.execute(self._select_holds()).all())
            if not fits(spent.plus(held).plus(most)):
                return False
            self._keep(connection, self._mine(connection).plus(most))
            return True

    def settle(self, most: Usage, used: Usage) -> None:
        """Count what a request cost instead of what was set aside for it."""
        with self._database.write() as connection:
            spent = self._settled(connection)
            self._keep(connection, _less(self._mine(connection), most))
            self._count(connection, spent.plus(used))

    def _settled(self, connection: Connection) -> Usage:
        """What was spent, the rows of dead workers included; locks the judge's row."""
        spent = _sum(connection.execute(self._select_spent().with_for_update()).all())
        is_dead = (JUDGE_HOLDS.c.judge == self._judge) & (
            JUDGE_HOLDS.c.until_ms < self._clock.wall_ms()
        )
        lost = connection.execute(self._select_holds().where(is_dead)).all()
        if lost:
            connection.execute(delete(JUDGE_HOLDS).where(is_dead))
            spent = spent.plus(_sum(lost))
            self._count(connection, spent)
        return spent

    def _mine(self, connection: Connection) -> Usage:
        mine = self._select_holds().where(JUDGE_HOLDS.c.worker == self._worker)
        return _sum(connection.execute(mine).all())

    def _keep(self, connection: Connection, held: Usage) -> None:
        until_ms = self._clock.wall_ms() + round(LEASE_S * 1000)
        key = {"judge": self._judge, "worker": self._worker}
        upsert(connection, JUDGE_HOLDS, {**key, **_row(held), "until_ms": until_ms})

    def _count(self, connection: Connection, spent: Usage) -> None:
        upsert(connection, JUDGE_SPENT, {"judge": self._judge, **_row(spent)})

    def _select_spent(self) -> Any:  # Any: a statement over columns of any type
        columns = [JUDGE_SPENT.c[name] for name in _COLUMNS]
        return select(*columns).where(JUDGE_SPENT.c.judge == self._judge)

    def _select_holds(self) -> Any:  # Any: as above
        columns = [JUDGE_HOLDS.c[name] for name in _COLUMNS]
        return select(*columns).where(JUDGE_HOLDS.c.judge == self._judge)


def _row(usage: Usage) -> dict[str, int]:
    return dict(zip(_COLUMNS, (usage.read, usage.written, usage.requests), strict=True))


def _sum(rows: Iterable[Any]) -> Usage:  # Any: rows of a result
    total = NO_USAGE
    for row in rows:
        total = total.plus(Usage(*row))
    return total


def _less(held: Usage, most: Usage) -> Usage:
    """What is left of a hold; nothing where its time was over and it counts as spent already."""
    return Usage(
        max(held.read - most.read, 0),
        max(held.written - most.written, 0),
        max(held.requests - most.requests, 0),
    )
