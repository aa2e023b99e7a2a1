"""Keep what the fleet's operator wants of devices, claim tokens, and tasks."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_KNOWN = """
INSERT INTO devices (device_id, public_key, labels, attributes, install_id, desired_version,
  desired, reported_version, reported, refused, control, control_heard, credentials,
  next_credentials, rotate_until_ms, enrolled_at_ms, revoked_at_ms, revoke_reason,
  exclude_from_training, doubled_at_ms, pending, revision)
SELECT device_id, '', '{}', '{}', '', 0, '{}', 0, '{}', '{}', '{}', true, 0, 0, 0, 0, 0, '', false,
  0, false, 0
FROM phones
"""


def upgrade() -> None:
    """Apply the change."""
    op.create_table(
        "devices",
        sa.Column("device_id", sa.String(length=64), nullable=False),
        sa.Column("public_key", sa.String(length=64), nullable=False),
        sa.Column("labels", sa.JSON(), nullable=False),
        sa.Column("attributes", sa.JSON(), nullable=False),
        sa.Column("install_id", sa.String(length=64), nullable=False),
        sa.Column("clock_offset_ms", sa.BigInteger(), nullable=True),
        sa.Column("desired_version", sa.BigInteger(), nullable=False),
        sa.Column("desired", sa.JSON(), nullable=False),
        sa.Column("reported_version", sa.BigInteger(), nullable=False),
        sa.Column("reported", sa.JSON(), nullable=False),
        sa.Column("refused", sa.JSON(), nullable=False),
        sa.Column("control", sa.JSON(), nullable=False),
        sa.Column("control_heard", sa.Boolean(), nullable=False),
        sa.Column("credentials", sa.BigInteger(), nullable=False),
        sa.Column("next_credentials", sa.BigInteger(), nullable=False),
        sa.Column("rotate_until_ms", sa.BigInteger(), nullable=False),
        sa.Column("enrolled_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("revoked_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("revoke_reason", sa.Text(), nullable=False),
        sa.Column("exclude_from_training", sa.Boolean(), nullable=False),
        sa.Column("doubled_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("pending", sa.Boolean(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("device_id", name=op.f("pk_devices")),
    )
    op.execute(_KNOWN)
    op.create_index("ix_devices_pending", "devices", ["pending"])
    op.create_index("ix_devices_revision", "devices", ["revision"])
    op.create_table(
        "claims",
        sa.Column("token_digest", sa.String(length=64), nullable=False),
        sa.Column("labels", sa.JSON(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("expires_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("public_key", sa.String(length=64), nullable=False),
        sa.Column("device_id", sa.String(length=64), nullable=False),
        sa.Column("used_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("token_digest", name=op.f("pk_claims")),
    )
    op.create_table(
        "fleet_tasks",
        sa.Column("assignment_id", sa.String(length=96), nullable=False),
        sa.Column("task_id", sa.String(length=96), nullable=False),
        sa.Column("device_id", sa.String(length=64), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("accepted_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("deadline_ms", sa.BigInteger(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("assignment_id", name=op.f("pk_fleet_tasks")),
    )
    op.create_index("ix_fleet_tasks_task_id", "fleet_tasks", ["task_id"])
    op.create_index("ix_fleet_tasks_device_id", "fleet_tasks", ["device_id"])


def downgrade() -> None:
    """Take the change back."""
    for name in ("fleet_tasks", "claims", "devices"):
        op.drop_table(name)
