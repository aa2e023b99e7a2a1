"""Create the tables of the first release."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    op.create_table(
        "adapters",
        sa.Column("name", sa.String(length=96), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("parent", sa.String(length=96), nullable=False),
        sa.Column("watermark", sa.BigInteger(), nullable=False),
        sa.Column("delivered_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_adapters")),
    )
    op.create_table(
        "assignments",
        sa.Column("id", sa.String(length=96), nullable=False),
        sa.Column("batch", sa.String(length=96), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("reserved_for", sa.String(length=64), nullable=False),
        sa.Column("device_id", sa.String(length=64), nullable=False),
        sa.Column("sent_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("expiries", sa.Integer(), nullable=False),
        sa.Column("template", sa.String(length=96), nullable=False),
        sa.Column("app", sa.String(length=64), nullable=False),
        sa.Column("purpose", sa.String(length=16), nullable=False),
        sa.Column("release_id", sa.String(length=64), nullable=False),
        sa.Column("episode_id", sa.String(length=64), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_assignments")),
    )
    with op.batch_alter_table("assignments", schema=None) as batch_op:
        batch_op.create_index("ix_assignments_batch", ["batch", "state"], unique=False)
        batch_op.create_index(
            "ix_assignments_state", ["state", "priority", "ordinal"], unique=False
        )

    op.create_table(
        "campaign",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("state", sa.JSON(), nullable=False),
        sa.Column("phase", sa.String(length=32), nullable=False),
        sa.Column("active_s", sa.Float(), nullable=False),
        sa.Column("started_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_campaign")),
    )
    op.create_table(
        "counters",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_counters")),
    )
    op.create_table(
        "dead_letters",
        sa.Column(
            "row",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("device_id", sa.String(length=64), nullable=False),
        sa.Column("reason", sa.String(length=64), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("received_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("row", name=op.f("pk_dead_letters")),
    )
    op.create_table(
        "device_events",
        sa.Column(
            "row",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("device_id", sa.String(length=64), nullable=False),
        sa.Column("install_id", sa.String(length=64), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("fields", sa.JSON(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("received_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("row", name=op.f("pk_device_events")),
        sa.UniqueConstraint(
            "device_id", "install_id", "seq", name=op.f("uq_device_events_device_id")
        ),
    )
    op.create_table(
        "episodes",
        sa.Column(
            "row",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("device_id", sa.String(length=64), nullable=False),
        sa.Column("install_id", sa.String(length=64), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("assignment_id", sa.String(length=96), nullable=False),
        sa.Column("batch", sa.String(length=96), nullable=False),
        sa.Column("purpose", sa.String(length=16), nullable=False),
        sa.Column("actor", sa.String(length=64), nullable=False),
        sa.Column("template", sa.String(length=96), nullable=False),
        sa.Column("app", sa.String(length=64), nullable=False),
        sa.Column("suite", sa.String(length=64), nullable=False),
        sa.Column("suite_version", sa.String(length=80), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("split", sa.String(length=16), nullable=False),
        sa.Column("look", sa.BigInteger(), nullable=False),
        sa.Column("temperature", sa.Float(), nullable=False),
        sa.Column("release_id", sa.String(length=64), nullable=False),
        sa.Column("seat", sa.Integer(), nullable=False),
        sa.Column("end_reason", sa.String(length=16), nullable=False),
        sa.Column("n_steps", sa.Integer(), nullable=False),
        sa.Column("success", sa.Boolean(), nullable=True),
        sa.Column("score", sa.Float(), nullable=True),
        sa.Column("progress", sa.Float(), nullable=False),
        sa.Column("goal_reached", sa.Boolean(), nullable=False),
        sa.Column("false_finish", sa.Boolean(), nullable=False),
        sa.Column("duplicate", sa.Boolean(), nullable=False),
        sa.Column("started_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("ended_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("received_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("row", name=op.f("pk_episodes")),
        sa.UniqueConstraint("device_id", "install_id", "seq", name=op.f("uq_episodes_device_id")),
        sa.UniqueConstraint("id", name=op.f("uq_episodes_id")),
    )
    with op.batch_alter_table("episodes", schema=None) as batch_op:
        batch_op.create_index("ix_episodes_assignment_id", ["assignment_id"], unique=False)
        batch_op.create_index(
            "ix_episodes_batch", ["batch", "duplicate", "end_reason", "success"], unique=False
        )
        batch_op.create_index(
            "ix_episodes_purpose", ["purpose", "duplicate", "end_reason", "n_steps"], unique=False
        )

    op.create_table(
        "installations",
        sa.Column("device_id", sa.String(length=64), nullable=False),
        sa.Column("release_id", sa.String(length=64), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("installed_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("device_id", "release_id", name=op.f("pk_installations")),
    )
    op.create_table(
        "learner_metrics",
        sa.Column(
            "row",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("metrics", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("row", name=op.f("pk_learner_metrics")),
    )
    op.create_table(
        "learner_state",
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_learner_state")),
    )
    op.create_table(
        "phones",
        sa.Column("device_id", sa.String(length=64), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("seats", sa.Integer(), nullable=False),
        sa.Column("boot_id", sa.String(length=64), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("online", sa.Boolean(), nullable=False),
        sa.Column("suite_version", sa.String(length=80), nullable=False),
        sa.Column("policy_io_version", sa.String(length=80), nullable=False),
        sa.Column("base_digest", sa.String(length=64), nullable=False),
        sa.Column("channel", sa.String(length=32), nullable=False),
        sa.Column("release_id", sa.String(length=64), nullable=False),
        sa.Column("templates", sa.JSON(), nullable=False),
        sa.Column("health", sa.JSON(), nullable=False),
        sa.Column("first_seen_ms", sa.BigInteger(), nullable=False),
        sa.Column("last_seen_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("device_id", name=op.f("pk_phones")),
    )
    op.create_table(
        "episode_bodies",
        sa.Column("row", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["row"], ["episodes.row"], name=op.f("fk_episode_bodies_row_episodes")
        ),
        sa.PrimaryKeyConstraint("row", name=op.f("pk_episode_bodies")),
    )
    op.create_table(
        "releases",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("adapter", sa.String(length=96), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("parent", sa.String(length=64), nullable=False),
        sa.Column("watermark", sa.BigInteger(), nullable=False),
        sa.Column("env_steps", sa.BigInteger(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("decided_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("validation_n", sa.Integer(), nullable=False),
        sa.Column("validation_successes", sa.Integer(), nullable=False),
        sa.Column("validation_env_errors", sa.Integer(), nullable=False),
        sa.Column("notes", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["adapter"], ["adapters.name"], name=op.f("fk_releases_adapter_adapters")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_releases")),
        sa.UniqueConstraint("version", name=op.f("uq_releases_version")),
    )
    op.create_table(
        "verdicts",
        sa.Column("episode_id", sa.String(length=64), nullable=False),
        sa.Column("verifier", sa.String(length=96), nullable=False),
        sa.Column("verifier_version", sa.String(length=80), nullable=False),
        sa.Column("source", sa.String(length=16), nullable=False),
        sa.Column("score", sa.Float(), nullable=True),
        sa.Column("progress", sa.Float(), nullable=False),
        sa.Column("goal_reached", sa.Boolean(), nullable=False),
        sa.Column("checks", sa.JSON(), nullable=False),
        sa.Column("side_effects", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["episode_id"], ["episodes.id"], name=op.f("fk_verdicts_episode_id_episodes")
        ),
        sa.PrimaryKeyConstraint(
            "episode_id", "verifier", "verifier_version", "source", name=op.f("pk_verdicts")
        ),
    )


def downgrade() -> None:
    """Take the change back."""
    op.drop_table("verdicts")
    op.drop_table("releases")
    op.drop_table("episode_bodies")
    op.drop_table("phones")
    op.drop_table("learner_state")
    op.drop_table("learner_metrics")
    op.drop_table("installations")
    with op.batch_alter_table("episodes", schema=None) as batch_op:
        batch_op.drop_index("ix_episodes_purpose")
        batch_op.drop_index("ix_episodes_batch")
        batch_op.drop_index("ix_episodes_assignment_id")

    op.drop_table("episodes")
    op.drop_table("device_events")
    op.drop_table("dead_letters")
    op.drop_table("counters")
    op.drop_table("campaign")
    with op.batch_alter_table("assignments", schema=None) as batch_op:
        batch_op.drop_index("ix_assignments_state")
        batch_op.drop_index("ix_assignments_batch")

    op.drop_table("assignments")
    op.drop_table("adapters")
