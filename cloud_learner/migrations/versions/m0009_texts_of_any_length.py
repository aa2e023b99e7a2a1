"""Let PostgreSQL keep texts of any length, as SQLite does."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_TABLES = (
    *("adapters", "assignments", "blobs", "campaign", "claims", "counters", "dead_letters"),
    *("device_drops", "device_events", "devices", "episode_bodies", "episode_screens", "episodes"),
    *("fleet_tasks", "installations", "judge_holds", "judge_spent", "late_verdicts"),
    *("learner_metrics", "learner_state", "phones", "releases", "staged_log", "staged_phones"),
    *("staged_releases", "trained_on", "verdicts"),
)
"""Ours at revision 0008; others may lie beside them."""


def upgrade() -> None:
    """Apply the change."""
    connection = op.get_bind()
    if connection.dialect.name != "postgresql":
        return
    inspector = sa.inspect(connection)
    for table in _TABLES:
        for column in inspector.get_columns(table):
            if isinstance(column["type"], sa.VARCHAR):
                op.alter_column(table, column["name"], type_=sa.Text())


def downgrade() -> None:
    """Leave it: what is longer now would be cut off."""
