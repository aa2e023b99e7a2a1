"""Keep what devices gave up for want of room."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    op.create_table(
        "device_drops",
        sa.Column("device_id", sa.String(length=64), nullable=False),
        sa.Column("install_id", sa.String(length=64), nullable=False),
        sa.Column("rule", sa.String(length=64), nullable=False),
        sa.Column("items", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("said_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("device_id", "install_id", "rule", name=op.f("pk_device_drops")),
    )


def downgrade() -> None:
    """Take the change back."""
    op.drop_table("device_drops")
