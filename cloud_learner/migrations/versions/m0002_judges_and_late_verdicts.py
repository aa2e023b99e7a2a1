"""Let judging workers share a budget, and tell the learner of verdicts that come late."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_ROW = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Apply the change."""
    op.create_table(
        "judge_spent",
        sa.Column("judge", sa.String(length=96), nullable=False),
        sa.Column("tokens_read", sa.BigInteger(), nullable=False),
        sa.Column("tokens_written", sa.BigInteger(), nullable=False),
        sa.Column("requests", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("judge", name=op.f("pk_judge_spent")),
    )
    op.create_table(
        "judge_holds",
        sa.Column("judge", sa.String(length=96), nullable=False),
        sa.Column("worker", sa.String(length=64), nullable=False),
        sa.Column("tokens_read", sa.BigInteger(), nullable=False),
        sa.Column("tokens_written", sa.BigInteger(), nullable=False),
        sa.Column("requests", sa.BigInteger(), nullable=False),
        sa.Column("until_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("judge", "worker", name=op.f("pk_judge_holds")),
    )
    op.create_table(
        "late_verdicts",
        sa.Column("row", _ROW, autoincrement=True, nullable=False),
        sa.Column("episode_row", _ROW, nullable=False),
        sa.ForeignKeyConstraint(
            ["episode_row"], ["episodes.row"], name=op.f("fk_late_verdicts_episode_row_episodes")
        ),
        sa.PrimaryKeyConstraint("row", name=op.f("pk_late_verdicts")),
    )


def downgrade() -> None:
    """Take the change back."""
    for name in ("late_verdicts", "judge_holds", "judge_spent"):
        op.drop_table(name)
