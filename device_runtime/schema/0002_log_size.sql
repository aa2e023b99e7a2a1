-- How much the bodies come to, so that the log can be bounded. A body that the cloud has committed
-- may be let go of: `enc` and `body` are empty then, and the line about the episode stays.
CREATE TABLE log_size (bytes INTEGER NOT NULL);
INSERT INTO log_size SELECT coalesce(sum(length(body)), 0) FROM episodes;
CREATE TRIGGER log_grew AFTER INSERT ON episodes BEGIN
    UPDATE log_size SET bytes = bytes + length(NEW.body);
END;
CREATE TRIGGER log_changed AFTER UPDATE OF body ON episodes BEGIN
    UPDATE log_size SET bytes = bytes + length(NEW.body) - length(OLD.body);
END;
CREATE TRIGGER log_shrank AFTER DELETE ON episodes BEGIN
    UPDATE log_size SET bytes = bytes - length(OLD.body);
END;
CREATE INDEX episodes_with_body ON episodes (seq) WHERE enc <> '';
