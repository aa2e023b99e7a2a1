"""The tables of the cloud database (SQLite by default, PostgreSQL by URL).

Ingest writes phones, episodes, verdicts, device events, dead letters and counters; the director
writes assignments, releases and the campaign; the learner writes its adapters, state and metrics.
Times are milliseconds since the Unix epoch. `cloud_learner.migrations` creates and changes the
tables; a test compares the two.

Invariants: `episodes.row` rises in the order of commits (one ingest writes), so a reader may go on
from the highest row that it has seen; (device_id, install_id, seq) and the episode's id are unique,
so a message that comes twice is stored once.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(column_0_label)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _words(length: int) -> String:
    """A short text. PostgreSQL is given no limit, as SQLite keeps none: phones' words are theirs.

    Args:
        length: letters that are expected at most.
    """
    return String(length).with_variant(Text(), "postgresql")


_ROW = BigInteger().with_variant(Integer, "sqlite")

PHONES = Table(
    "phones",
    METADATA,
    Column("device_id", _words(64), primary_key=True),
    Column("role", _words(16), nullable=False),
    Column("seats", Integer, nullable=False),
    Column("boot_id", _words(64), nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("online", Boolean, nullable=False),
    Column("suite_version", _words(80), nullable=False),
    Column("policy_io_version", _words(80), nullable=False),
    Column("base_digest", _words(64), nullable=False),
    Column("channel", _words(32), nullable=False),
    Column("release_id", _words(64), nullable=False),
    Column("templates", JSON, nullable=False),
    Column("health", JSON, nullable=False),
    Column("first_seen_ms", BigInteger, nullable=False),
    Column("last_seen_ms", BigInteger, nullable=False),
)

INSTALLATIONS = Table(
    "installations",
    METADATA,
    Column("device_id", _words(64), primary_key=True),
    Column("release_id", _words(64), primary_key=True),
    Column("digest", _words(64), nullable=False),
    Column("installed_at_ms", BigInteger, nullable=False),
)

EPISODES = Table(
    "episodes",
    METADATA,
    Column("row", _ROW, primary_key=True, autoincrement=True),
    Column("id", _words(64), nullable=False, unique=True),
    Column("device_id", _words(64), nullable=False),
    Column("install_id", _words(64), nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("assignment_id", _words(96), nullable=False),
    Column("batch", _words(96), nullable=False),
    Column("purpose", _words(16), nullable=False),
    Column("actor", _words(64), nullable=False),
    Column("template", _words(96), nullable=False),
    Column("app", _words(64), nullable=False),
    Column("suite", _words(64), nullable=False),
    Column("suite_version", _words(80), nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("split", _words(16), nullable=False),
    Column("look", BigInteger, nullable=False),
    Column("temperature", Float, nullable=False),
    Column("release_id", _words(64), nullable=False),
    Column("seat", Integer, nullable=False),
    Column("end_reason", _words(16), nullable=False),
    Column("n_steps", Integer, nullable=False),
    Column("success", Boolean, nullable=True),
    Column("score", Float, nullable=True),
    Column("progress", Float, nullable=False),
    Column("goal_reached", Boolean, nullable=False),
    Column("false_finish", Boolean, nullable=False),
    Column("duplicate", Boolean, nullable=False),
    Column("started_at_ms", BigInteger, nullable=False),
    Column("ended_at_ms", BigInteger, nullable=False),
    Column("received_at_ms", BigInteger, nullable=False),
    Column("invalid_steps", Integer, nullable=False, server_default="0"),
    Column("decide_ms_p95", Float, nullable=False, server_default="0"),
    UniqueConstraint("device_id", "install_id", "seq"),
    Index("ix_episodes_assignment_id", "assignment_id"),
    Index("ix_episodes_received", "received_at_ms", "actor"),
    # These two hold all that the director counts at each look, so that it reads no rows.
    Index("ix_episodes_batch", "batch", "duplicate", "end_reason", "success"),
    Index("ix_episodes_purpose", "purpose", "duplicate", "end_reason", "n_steps"),
)

# Apart, so that counting episodes does not read their steps.
EPISODE_BODIES = Table(
    "episode_bodies",
    METADATA,
    Column("row", ForeignKey("episodes.row"), primary_key=True),
    Column("body", LargeBinary, nullable=False),
)

BLOBS = Table(
    "blobs",
    METADATA,
    Column("digest", _words(64), primary_key=True),
    Column("bytes", BigInteger, nullable=False),
    Column("media_type", _words(64), nullable=False),
    Column("state", _words(16), nullable=False),
    Column("reason", _words(32), nullable=False),
    Column("received", LargeBinary, nullable=False),
    Column("sender", _words(64), nullable=False),
    Column("named_at_ms", BigInteger, nullable=False),
    Column("stored_at_ms", BigInteger, nullable=False),
    Index("ix_blobs_state", "state", "bytes"),
)
"""Blobs that stored episodes name; `received` holds the bits of the chunks that are on disk."""

EPISODE_SCREENS = Table(
    "episode_screens",
    METADATA,
    Column("episode_row", _ROW, ForeignKey("episodes.row"), primary_key=True),
    Column("screen", _words(64), primary_key=True),
    Column("blob", _words(64), ForeignKey("blobs.digest"), nullable=False),
    Index("ix_episode_screens_blob", "blob"),
    Index("ix_episode_screens_screen", "screen"),
)
"""Which blob holds the picture of a screen that an episode's steps name."""

VERDICTS = Table(
    "verdicts",
    METADATA,
    Column("episode_id", ForeignKey("episodes.id"), primary_key=True),
    Column("verifier", _words(96), primary_key=True),
    Column("verifier_version", _words(80), primary_key=True),
    Column("source", _words(16), primary_key=True),
    Column("score", Float, nullable=True),
    Column("progress", Float, nullable=False),
    Column("goal_reached", Boolean, nullable=False),
    Column("checks", JSON, nullable=False),
    Column("side_effects", JSON, nullable=False),
)

LATE_VERDICTS = Table(
    "late_verdicts",
    METADATA,
    Column("row", _ROW, primary_key=True, autoincrement=True),
    Column("episode_row", _ROW, ForeignKey("episodes.row"), nullable=False),
)
"""Stored episodes that a later verdict decided anew, in the order in which that happened."""

JUDGE_SPENT = Table(
    "judge_spent",
    METADATA,
    Column("judge", _words(96), primary_key=True),
    Column("tokens_read", BigInteger, nullable=False),
    Column("tokens_written", BigInteger, nullable=False),
    Column("requests", BigInteger, nullable=False),
)

JUDGE_HOLDS = Table(
    "judge_holds",
    METADATA,
    Column("judge", _words(96), primary_key=True),
    Column("worker", _words(64), primary_key=True),
    Column("tokens_read", BigInteger, nullable=False),
    Column("tokens_written", BigInteger, nullable=False),
    Column("requests", BigInteger, nullable=False),
    Column("until_ms", BigInteger, nullable=False),
)
"""The most that each judging worker's requests under way can cost, and until when they may take."""

DEVICE_EVENTS = Table(
    "device_events",
    METADATA,
    Column("row", _ROW, primary_key=True, autoincrement=True),
    Column("device_id", _words(64), nullable=False),
    Column("install_id", _words(64), nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("kind", _words(64), nullable=False),
    Column("fields", JSON, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("received_at_ms", BigInteger, nullable=False),
    UniqueConstraint("device_id", "install_id", "seq"),
)

DEVICE_DROPS = Table(
    "device_drops",
    METADATA,
    Column("device_id", _words(64), primary_key=True),
    Column("install_id", _words(64), primary_key=True),
    Column("rule", _words(64), primary_key=True),
    Column("items", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("said_at_ms", BigInteger, nullable=False),
)
"""What devices gave up for want of room, as they say: totals since their database was made."""

DEAD_LETTERS = Table(
    "dead_letters",
    METADATA,
    Column("row", _ROW, primary_key=True, autoincrement=True),
    Column("device_id", _words(64), nullable=False),
    Column("reason", _words(64), nullable=False),
    Column("detail", Text, nullable=False),
    Column("received_at_ms", BigInteger, nullable=False),
)

COUNTERS = Table(
    "counters",
    METADATA,
    Column("name", _words(64), primary_key=True),
    Column("value", BigInteger, nullable=False),
)

ASSIGNMENTS = Table(
    "assignments",
    METADATA,
    Column("id", _words(96), primary_key=True),
    Column("batch", _words(96), nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("state", _words(16), nullable=False),
    Column("reserved_for", _words(64), nullable=False),
    Column("device_id", _words(64), nullable=False),
    Column("sent_at_ms", BigInteger, nullable=False),
    Column("expiries", Integer, nullable=False),
    Column("template", _words(96), nullable=False),
    Column("app", _words(64), nullable=False),
    Column("purpose", _words(16), nullable=False),
    Column("release_id", _words(64), nullable=False),
    Column("episode_id", _words(64), nullable=False),
    Column("body", JSON, nullable=False),
    Index("ix_assignments_state", "state", "priority", "ordinal"),
    Index("ix_assignments_batch", "batch", "state"),
)

ADAPTERS = Table(
    "adapters",
    METADATA,
    Column("name", _words(96), primary_key=True),
    Column("ordinal", Integer, nullable=False),
    Column("kind", _words(16), nullable=False),
    Column("state", _words(16), nullable=False),
    Column("digest", _words(64), nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("round", Integer, nullable=False),
    Column("parent", _words(96), nullable=False),
    Column("watermark", BigInteger, nullable=False),
    Column("delivered_at_ms", BigInteger, nullable=False),
)

TRAINED_ON = Table(
    "trained_on",
    METADATA,
    Column("first_row", _ROW, primary_key=True, autoincrement=False),
    Column("last_row", _ROW, nullable=False),
    Column("adapter", ForeignKey("adapters.name"), nullable=False),
    Column("steps", BigInteger, nullable=False),
    Index("ix_trained_on_adapter", "adapter"),
)
"""Rows of `episodes` by the adapter that was the first to learn from them; ranges without gaps."""

RELEASES = Table(
    "releases",
    METADATA,
    Column("id", _words(64), primary_key=True),
    Column("version", Integer, nullable=False, unique=True),
    Column("state", _words(16), nullable=False),
    Column("kind", _words(16), nullable=False),
    Column("adapter", ForeignKey("adapters.name"), nullable=False),
    Column("digest", _words(64), nullable=False),
    Column("parent", _words(64), nullable=False),
    Column("watermark", BigInteger, nullable=False),
    Column("env_steps", BigInteger, nullable=False),
    Column("created_at_ms", BigInteger, nullable=False),
    Column("decided_at_ms", BigInteger, nullable=False),
    Column("validation_n", Integer, nullable=False),
    Column("validation_successes", Integer, nullable=False),
    Column("validation_env_errors", Integer, nullable=False),
    Column("notes", Text, nullable=False),
)

STAGED_RELEASES = Table(
    "staged_releases",
    METADATA,
    Column("release_id", _words(64), primary_key=True),
    Column("replaces", _words(64), nullable=False),
    Column("channel", _words(32), nullable=False),
    Column("phase", _words(16), nullable=False),
    Column("plan", JSON, nullable=False),
    Column("state", JSON, nullable=False),
    Column("stages_began_ms", JSON, nullable=False),
    Column("events_row", BigInteger, nullable=False),
    Column("created_at_ms", BigInteger, nullable=False),
    Column("updated_at_ms", BigInteger, nullable=False),
)

STAGED_PHONES = Table(
    "staged_phones",
    METADATA,
    Column("release_id", _words(64), primary_key=True),
    Column("device_id", _words(64), primary_key=True),
    Column("stage", Integer, nullable=False),
    Column("told_at_ms", BigInteger, nullable=False),
    Column("installed_at_ms", BigInteger, nullable=False),
    Column("outcome", _words(16), nullable=False),
    Column("reason", _words(32), nullable=False),
    Column("left_at_ms", BigInteger, nullable=False),
)
"""The phones that a staged release was offered to, and what came of it; none is ever removed."""

STAGED_LOG = Table(
    "staged_log",
    METADATA,
    Column("row", _ROW, primary_key=True, autoincrement=True),
    Column("release_id", _words(64), nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("who", _words(64), nullable=False),
    Column("was", _words(16), nullable=False),
    Column("now", _words(16), nullable=False),
    Column("stage", Integer, nullable=False),
    Column("reason", Text, nullable=False),
    Column("figures", JSON, nullable=False),
    Column("digest", _words(64), nullable=False),
    Index("ix_staged_log_release_id", "release_id", "row"),
)
"""Who did what to a staged release, when and why. Rows are only ever added; each row's digest
covers the row before it, so that a changed or missing row shows."""

CAMPAIGN = Table(
    "campaign",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("settings", JSON, nullable=False),
    Column("state", JSON, nullable=False),
    Column("phase", _words(32), nullable=False),
    Column("active_s", Float, nullable=False),
    Column("started_at_ms", BigInteger, nullable=False),
    Column("updated_at_ms", BigInteger, nullable=False),
)

LEARNER_STATE = Table(
    "learner_state",
    METADATA,
    Column("key", _words(64), primary_key=True),
    Column("value", JSON, nullable=False),
    Column("updated_at_ms", BigInteger, nullable=False),
)

LEARNER_METRICS = Table(
    "learner_metrics",
    METADATA,
    Column("row", _ROW, primary_key=True, autoincrement=True),
    Column("round", Integer, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("metrics", JSON, nullable=False),
)

DEVICES = Table(
    "devices",
    METADATA,
    Column("device_id", _words(64), primary_key=True),
    Column("public_key", _words(64), nullable=False),
    Column("labels", JSON, nullable=False),
    Column("attributes", JSON, nullable=False),
    Column("install_id", _words(64), nullable=False),
    Column("clock_offset_ms", BigInteger, nullable=True),
    Column("desired_version", BigInteger, nullable=False),
    Column("desired", JSON, nullable=False),
    Column("reported_version", BigInteger, nullable=False),
    Column("reported", JSON, nullable=False),
    Column("refused", JSON, nullable=False),
    Column("control", JSON, nullable=False),
    Column("control_heard", Boolean, nullable=False),
    Column("credentials", BigInteger, nullable=False),
    Column("next_credentials", BigInteger, nullable=False),
    Column("rotate_until_ms", BigInteger, nullable=False),
    Column("enrolled_at_ms", BigInteger, nullable=False),
    Column("revoked_at_ms", BigInteger, nullable=False),
    Column("revoke_reason", Text, nullable=False),
    Column("exclude_from_training", Boolean, nullable=False),
    Column("doubled_at_ms", BigInteger, nullable=False),
    Column("pending", Boolean, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Index("ix_devices_pending", "pending"),
    Index("ix_devices_revision", "revision"),
)
"""What the fleet's operator wants of each device and what it says to that; see device_store.

A `pending` row holds something that its device, or the broker's accounts, have yet to be told;
`revision` rises with every change that somebody who watches wants to see.
"""

CLAIMS = Table(
    "claims",
    METADATA,
    Column("token_digest", _words(64), primary_key=True),
    Column("labels", JSON, nullable=False),
    Column("created_at_ms", BigInteger, nullable=False),
    Column("expires_at_ms", BigInteger, nullable=False),
    Column("public_key", _words(64), nullable=False),
    Column("device_id", _words(64), nullable=False),
    Column("used_at_ms", BigInteger, nullable=False),
)
"""Claim tokens by their SHA-256, and the key that used each."""

FLEET_TASKS = Table(
    "fleet_tasks",
    METADATA,
    Column("assignment_id", _words(96), primary_key=True),
    Column("task_id", _words(96), nullable=False),
    Column("device_id", _words(64), nullable=False),
    Column("created_at_ms", BigInteger, nullable=False),
    Column("accepted_at_ms", BigInteger, nullable=False),
    Column("deadline_ms", BigInteger, nullable=False),
    Column("detail", Text, nullable=False),
    Index("ix_fleet_tasks_task_id", "task_id"),
    Index("ix_fleet_tasks_device_id", "device_id"),
)
"""What an operator gave devices to do; how far each is stands in `assignments`."""
