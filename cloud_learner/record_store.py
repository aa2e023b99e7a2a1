"""What came of each template in training, read from the database for the curriculum."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from cloud_learner.batches import DEMONSTRATE, SHOW_AGAIN
from cloud_learner.curriculum import Record
from cloud_learner.tables import ASSIGNMENTS, EPISODES
from sync.vocabulary import EndReason, Purpose

_LATEST_EPISODES = 2000
"""Training episodes that are looked at: the window of a template, for as many as a campaign has."""


def template_records(connection: Connection) -> dict[str, Record]:
    """The record of every template that was demonstrated or trained; env_errors count nowhere."""
    shown, waiting = _shown(connection)
    last_shown = _last_shown(connection)
    outcomes: dict[str, list[tuple[int, bool]]] = {}
    latest = connection.execute(
        select(EPISODES.c.template, EPISODES.c.row, EPISODES.c.success)
        .where(
            EPISODES.c.purpose == Purpose.TRAIN.value,
            EPISODES.c.duplicate.is_(False),
            EPISODES.c.end_reason != EndReason.ENV_ERROR.value,
        )
        .order_by(EPISODES.c.row.desc())
        .limit(_LATEST_EPISODES)
    )
    for template, row, success in latest:
        outcomes.setdefault(template, []).append((row, bool(success)))
    return {
        name: Record(
            outcomes=tuple(success for _, success in reversed(outcomes.get(name, []))),
            shown=shown.get(name, 0),
            played_since_shown=0
            if name in waiting
            else sum(row > last_shown.get(name, 0) for row, _ in outcomes.get(name, [])),
        )
        for name in sorted({*shown, *outcomes})
    }


def _shown(connection: Connection) -> tuple[dict[str, int], set[str]]:
    """Demonstrations asked for by template, and the templates that still wait for one."""
    asked = connection.execute(
        select(ASSIGNMENTS.c.template, ASSIGNMENTS.c.state, func.count())
        .where(ASSIGNMENTS.c.batch.in_([DEMONSTRATE, SHOW_AGAIN]))
        .group_by(ASSIGNMENTS.c.template, ASSIGNMENTS.c.state)
    ).all()
    shown: dict[str, int] = {}
    for template, _state, count in asked:
        shown[template] = shown.get(template, 0) + count
    return shown, {template for template, state, _ in asked if state in {"open", "sent"}}


def _last_shown(connection: Connection) -> dict[str, int]:
    """Row of each template's latest demonstration."""
    rows = connection.execute(
        select(EPISODES.c.template, func.max(EPISODES.c.row))
        .where(EPISODES.c.purpose == Purpose.DEMONSTRATE.value)
        .group_by(EPISODES.c.template)
    )
    return {template: row for template, row in rows}  # noqa: C416 - rows are no pairs to mypy
