"""Suites of task templates, one module per app."""
