"""Keep which episodes each adapter learnt from; of earlier adapters nothing is known."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_ROW = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Apply the change."""
    op.create_table(
        "trained_on",
        sa.Column("first_row", _ROW, autoincrement=False, nullable=False),
        sa.Column("last_row", _ROW, nullable=False),
        sa.Column("adapter", sa.String(length=96), nullable=False),
        sa.Column("steps", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["adapter"], ["adapters.name"], name=op.f("fk_trained_on_adapter_adapters")
        ),
        sa.PrimaryKeyConstraint("first_row", name=op.f("pk_trained_on")),
    )
    op.create_index("ix_trained_on_adapter", "trained_on", ["adapter"])


def downgrade() -> None:
    """Take the change back."""
    op.drop_index("ix_trained_on_adapter", table_name="trained_on")
    op.drop_table("trained_on")
