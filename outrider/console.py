"""A rich console whose reader may leave."""

from __future__ import annotations

from typing import NoReturn

from rich.console import Console


class PipedConsole(Console):
    """A console that lets the command line decide what a reader who left means.

    Rich itself would end the process with exit code 1, as if the command had failed.
    """

    def on_broken_pipe(self) -> NoReturn:
        """Raise what rich caught."""
        raise BrokenPipeError
