-- Tables of the wire in a device's database, beside the trajectory log.
-- Sequence numbers are never used twice (AUTOINCREMENT), so the cloud can tell a row by
-- (device, install, sequence) for ever.
CREATE TABLE wire_meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE outbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    priority INTEGER NOT NULL,
    enc TEXT NOT NULL,
    body BLOB NOT NULL,
    created_at_ms INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    parked_reason TEXT
);

CREATE INDEX outbox_ready ON outbox (priority, seq) WHERE parked_reason IS NULL;

CREATE TABLE inbox (
    assignment_id TEXT PRIMARY KEY,
    position INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'finished', 'cancelled')),
    body BLOB,
    received_at_ms INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX inbox_pending ON inbox (position) WHERE state = 'pending';
