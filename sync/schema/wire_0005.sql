-- Under which installation's name a row is sent: two devices with one copied database number their
-- rows alike, so a device gives rows whose numbers are another's a name of their own.
ALTER TABLE outbox ADD COLUMN install TEXT NOT NULL DEFAULT '';
UPDATE outbox
SET install = coalesce((SELECT value FROM wire_meta WHERE key = 'install_id'), '');
-- Such rows were given up on before; now they can be sent.
UPDATE outbox SET parked_reason = NULL WHERE parked_reason = 'sequence_taken';
