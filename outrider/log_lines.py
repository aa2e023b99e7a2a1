"""Where log lines go: stderr, because stdout belongs to what a command prints."""

from __future__ import annotations

import logging
import sys

import structlog
from structlog.typing import EventDict, WrappedLogger

from outrider.output import legible


def log_to_stderr() -> None:
    """Send every log line of this process to stderr, debug lines left out."""
    *steps, render = structlog.get_config()["processors"]
    structlog.configure(
        processors=[*(step for step in steps if step is not _legible), _legible, render],
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
    )


def _legible(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """What a phone said in a field commands no terminal."""
    return {
        name: legible(value) if isinstance(value, str) else value for name, value in event.items()
    }
