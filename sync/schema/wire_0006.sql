-- What the cloud refused is found without a look at every body that waits.
CREATE INDEX outbox_parked ON outbox (seq) WHERE parked_reason IS NOT NULL;
