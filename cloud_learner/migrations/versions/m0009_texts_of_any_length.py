"""Let PostgreSQL keep texts of any length, as SQLite does."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    connection = op.get_bind()
    if connection.dialect.name != "postgresql":
        return
    inspector = sa.inspect(connection)
    for table in inspector.get_table_names():
        for column in inspector.get_columns(table):
            if isinstance(column["type"], sa.VARCHAR) and table != "alembic_version":
                op.alter_column(table, column["name"], type_=sa.Text())


def downgrade() -> None:
    """Leave it: what is longer now would be cut off."""
