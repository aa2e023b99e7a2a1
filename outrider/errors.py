"""What can go wrong in a command itself, beside what its parts raise.

ProjectError
└── CommandError            the command cannot go on: one line, exit code 1
    └── MisuseError         the command was called wrongly: one line, exit code 2
"""

from __future__ import annotations

from sync.errors import ProjectError


class CommandError(ProjectError):
    """The command cannot go on; the text says what to do next."""


class MisuseError(CommandError):
    """The command was asked for something that does not exist or makes no sense."""
