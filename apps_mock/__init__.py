"""A phone that fits in a test: clones of apps, their tasks, verifiers and oracles, and a farm."""
