"""Keep blobs (pictures of screens) by content, and which episode names them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_ROW = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Apply the change."""
    op.create_table(
        "blobs",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("media_type", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.String(length=32), nullable=False),
        sa.Column("received", sa.LargeBinary(), nullable=False),
        sa.Column("sender", sa.String(length=64), nullable=False),
        sa.Column("named_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("stored_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_blobs")),
    )
    op.create_index("ix_blobs_state", "blobs", ["state", "bytes"])
    op.create_table(
        "episode_screens",
        sa.Column("episode_row", _ROW, nullable=False),
        sa.Column("screen", sa.String(length=64), nullable=False),
        sa.Column("blob", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(
            ["episode_row"],
            ["episodes.row"],
            name=op.f("fk_episode_screens_episode_row_episodes"),
        ),
        sa.ForeignKeyConstraint(
            ["blob"], ["blobs.digest"], name=op.f("fk_episode_screens_blob_blobs")
        ),
        sa.PrimaryKeyConstraint("episode_row", "screen", name=op.f("pk_episode_screens")),
    )
    op.create_index("ix_episode_screens_blob", "episode_screens", ["blob"])


def downgrade() -> None:
    """Take the change back."""
    for name in ("episode_screens", "blobs"):
        op.drop_table(name)
