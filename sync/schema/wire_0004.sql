-- How much was given up by each rule: a total beside the sizes, kept by whoever notes a drop.
INSERT INTO storage SELECT 'drop:' || rule, count(*), sum(bytes) FROM drops GROUP BY rule;
CREATE TRIGGER drops_counted AFTER INSERT ON drops BEGIN
    INSERT OR IGNORE INTO storage VALUES ('drop:' || NEW.rule, 0, 0);
    UPDATE storage SET items = items + 1, bytes = bytes + NEW.bytes
    WHERE part = 'drop:' || NEW.rule;
END;
