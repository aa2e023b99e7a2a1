"""Stage releases: plans, what phones answered, an audit log; and two figures of each episode."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_ROW = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Apply the change."""
    with op.batch_alter_table("episodes", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column("invalid_steps", sa.Integer(), nullable=False, server_default="0")
        )
        batch_op.add_column(
            sa.Column("decide_ms_p95", sa.Float(), nullable=False, server_default="0")
        )
        batch_op.create_index("ix_episodes_received", ["received_at_ms", "actor"], unique=False)
    op.create_table(
        "staged_releases",
        sa.Column("release_id", sa.String(length=64), nullable=False),
        sa.Column("replaces", sa.String(length=64), nullable=False),
        sa.Column("channel", sa.String(length=32), nullable=False),
        sa.Column("phase", sa.String(length=16), nullable=False),
        sa.Column("plan", sa.JSON(), nullable=False),
        sa.Column("state", sa.JSON(), nullable=False),
        sa.Column("stages_began_ms", sa.JSON(), nullable=False),
        sa.Column("events_row", sa.BigInteger(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("release_id", name=op.f("pk_staged_releases")),
    )
    op.create_table(
        "staged_phones",
        sa.Column("release_id", sa.String(length=64), nullable=False),
        sa.Column("device_id", sa.String(length=64), nullable=False),
        sa.Column("stage", sa.Integer(), nullable=False),
        sa.Column("told_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("installed_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("outcome", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.String(length=32), nullable=False),
        sa.Column("left_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("release_id", "device_id", name=op.f("pk_staged_phones")),
    )
    op.create_table(
        "staged_log",
        sa.Column("row", _ROW, autoincrement=True, nullable=False),
        sa.Column("release_id", sa.String(length=64), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("who", sa.String(length=64), nullable=False),
        sa.Column("was", sa.String(length=16), nullable=False),
        sa.Column("now", sa.String(length=16), nullable=False),
        sa.Column("stage", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("figures", sa.JSON(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("row", name=op.f("pk_staged_log")),
    )
    with op.batch_alter_table("staged_log", schema=None) as batch_op:
        batch_op.create_index("ix_staged_log_release_id", ["release_id", "row"], unique=False)


def downgrade() -> None:
    """Take the change back."""
    for name in ("staged_log", "staged_phones", "staged_releases"):
        op.drop_table(name)
    with op.batch_alter_table("episodes", schema=None) as batch_op:
        batch_op.drop_index("ix_episodes_received")
        batch_op.drop_column("decide_ms_p95")
        batch_op.drop_column("invalid_steps")
