"""Names that one device's databases and processes go by."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from sync import outbox
from sync.database import create_schema
from sync.installation import NAME_CHARACTERS, Renaming, install_id, short_name
from sync.messages import Event
from sync.vocabulary import new_uuid7


def test_names_made_in_one_millisecond_differ() -> None:
    one, other = (new_uuid7(1_800_000_000_000, entropy=bytes([k] * 10)) for k in (1, 2))

    assert short_name(one) != short_name(other)


def test_renamed_rows_go_by_a_short_name_that_is_new() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as conn:
        create_schema(conn, install_id="before")
        seq = outbox.enqueue(conn, Event(kind="update_reverted"), created_at_ms=1)

        Renaming(conn, new_id=new_uuid7).rename([seq], under="before")

        name = install_id(conn)
        assert name != "before"
        assert len(name) == NAME_CHARACTERS
        assert conn.execute("SELECT install FROM outbox").fetchall() == [(name,)]
