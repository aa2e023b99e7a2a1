-- Blobs (pictures of screens) that this device can send; their bytes lie in files by digest.
-- A row is written in the transaction that closes the first episode which names the blob: it is
-- offered once that episode's outbox row is gone, which is when the cloud has committed it.
CREATE TABLE blobs (
    digest BLOB PRIMARY KEY,
    bytes INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'stored')),
    upload_seq INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    offers INTEGER NOT NULL DEFAULT 0,
    offer_at_ms INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX blobs_in_order ON blobs (state, upload_seq);

INSERT INTO storage VALUES ('blobs', 0, 0);
CREATE TRIGGER blobs_grew AFTER INSERT ON blobs BEGIN
    UPDATE storage SET items = items + 1, bytes = bytes + NEW.bytes WHERE part = 'blobs';
END;
CREATE TRIGGER blobs_shrank AFTER DELETE ON blobs BEGIN
    UPDATE storage SET items = items - 1, bytes = bytes - OLD.bytes WHERE part = 'blobs';
END;
