-- The quota of what waits to be sent: how much each part holds, and what was given up.

-- By which rule a row is given up when there is no room (sync.drop_rules).
ALTER TABLE outbox ADD COLUMN drop_rule TEXT NOT NULL DEFAULT 'episode_oldest';
UPDATE outbox SET drop_rule = 'event_oldest' WHERE kind = 'event';
CREATE INDEX outbox_droppable ON outbox (drop_rule, seq);

-- Sizes are kept by triggers, so that they are exact whoever writes, in the writer's transaction.
CREATE TABLE storage (
    part TEXT PRIMARY KEY,
    items INTEGER NOT NULL,
    bytes INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO storage SELECT 'outbox', count(*), coalesce(sum(length(body)), 0) FROM outbox;
CREATE TRIGGER outbox_grew AFTER INSERT ON outbox BEGIN
    UPDATE storage SET items = items + 1, bytes = bytes + length(NEW.body) WHERE part = 'outbox';
END;
CREATE TRIGGER outbox_shrank AFTER DELETE ON outbox BEGIN
    UPDATE storage SET items = items - 1, bytes = bytes - length(OLD.body) WHERE part = 'outbox';
END;

-- What was given up, each thing once: the audit tells a declared drop from a loss by it.
-- `subject` is the outbox row's sequence number, or the name of what else was dropped.
CREATE TABLE drops (
    rule TEXT NOT NULL,
    subject TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (rule, subject)
) WITHOUT ROWID;
