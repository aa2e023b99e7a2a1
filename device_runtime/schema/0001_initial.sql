-- The trajectory log: what was played on this device, kept after the cloud has acknowledged it.
-- `body` is the upload exactly as it was queued (sync.codec); the other columns are for finding it.
CREATE TABLE episodes (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    assignment_id TEXT NOT NULL,
    template TEXT NOT NULL,
    purpose TEXT NOT NULL,
    split TEXT NOT NULL,
    actor TEXT NOT NULL,
    release_id TEXT NOT NULL,
    end_reason TEXT NOT NULL,
    steps INTEGER NOT NULL,
    score REAL,
    started_at_ms INTEGER NOT NULL,
    ended_at_ms INTEGER NOT NULL,
    upload_seq INTEGER NOT NULL,
    enc TEXT NOT NULL,
    body BLOB NOT NULL
);

CREATE INDEX episodes_by_release ON episodes (release_id, seq);

-- Verdicts are rows of their own, so that an episode can be judged later and again.
CREATE TABLE verdicts (
    episode_id TEXT NOT NULL,
    verifier TEXT NOT NULL,
    verifier_version TEXT NOT NULL,
    source TEXT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (episode_id, verifier, verifier_version, source)
) WITHOUT ROWID;
