"""Where log lines go: stderr, because stdout belongs to what a command prints."""

from __future__ import annotations

import logging
import sys

import structlog


def log_to_stderr() -> None:
    """Send every log line of this process to stderr, debug lines left out."""
    structlog.configure(
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
    )
