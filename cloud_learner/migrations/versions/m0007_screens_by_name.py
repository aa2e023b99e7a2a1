"""Find the picture of a screen by the name that steps have for it."""

from __future__ import annotations

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    op.create_index("ix_episode_screens_screen", "episode_screens", ["screen"])


def downgrade() -> None:
    """Take the change back."""
    op.drop_index("ix_episode_screens_screen", "episode_screens")
