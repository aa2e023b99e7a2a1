"""Releases as rows: what is to be signed, and what became of what was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, select, update

from cloud_learner.errors import UnknownRowError
from cloud_learner.figures import Figures
from cloud_learner.store import Database
from cloud_learner.tables import RELEASES


class ReleaseState(StrEnum):
    """How far a release has come."""

    DRAFT = "draft"
    CANARY = "canary"
    PROMOTED = "promoted"
    REVERTED = "reverted"


@dataclass(frozen=True, slots=True)
class ReleaseRow:
    """One release.

    Attributes:
        kind: "warm_up", "update" or "roll_back".
        env_steps: training steps that were stored when it was published: the curve's x.
        validation: what the gate judged it by; n is 0 before that.
        notes: what the gate said, in one line.
    """

    id: str
    version: int
    state: ReleaseState
    kind: str
    adapter: str
    digest: str
    parent: str
    watermark: int
    env_steps: int
    created_at_ms: int
    decided_at_ms: int
    validation: Figures
    notes: str


class ReleaseStore:
    """Reads releases, and says that one was signed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[ReleaseRow]:
        """Every release by version."""
        return self._select()

    def drafts(self) -> list[ReleaseRow]:
        """Releases that are not signed yet, by version."""
        return self._select(RELEASES.c.state == ReleaseState.DRAFT.value)

    def get(self, release_id: str) -> ReleaseRow:
        """One release.

        Raises: UnknownRowError: there is none of that id.
        """
        statement = select(RELEASES).where(RELEASES.c.id == release_id)
        with self._database.read() as connection:
            row = connection.execute(statement).mappings().first()
        if row is None:
            raise UnknownRowError("release", release_id)
        return _release(row)

    def mark_signed(self, release_id: str) -> ReleaseRow:
        """A draft is signed: a candidate is in canary, a roll-back needs no gate. Idempotent."""
        row = self.get(release_id)
        roll_back = row.kind == "roll_back"
        state = ReleaseState.PROMOTED if roll_back else ReleaseState.CANARY
        with self._database.write() as connection:
            connection.execute(
                update(RELEASES)
                .where(RELEASES.c.id == release_id, RELEASES.c.state == ReleaseState.DRAFT.value)
                .values(state=state.value)
            )
        return self.get(release_id)

    def _select(self, *conditions: ColumnElement[bool]) -> list[ReleaseRow]:
        statement = select(RELEASES).where(*conditions).order_by(RELEASES.c.version)
        with self._database.read() as connection:
            return [_release(row) for row in connection.execute(statement).mappings()]


def _release(row: Mapping[Any, Any]) -> ReleaseRow:  # a row has no static type
    return ReleaseRow(
        id=row["id"],
        version=row["version"],
        state=ReleaseState(row["state"]),
        kind=row["kind"],
        adapter=row["adapter"],
        digest=row["digest"],
        parent=row["parent"],
        watermark=row["watermark"],
        env_steps=row["env_steps"],
        created_at_ms=row["created_at_ms"],
        decided_at_ms=row["decided_at_ms"],
        validation=Figures(
            row["validation_n"], row["validation_successes"], row["validation_env_errors"]
        ),
        notes=row["notes"],
    )
