"""What can go wrong in the clones and in the phone around them.

ProjectError
└── MockAppError                base of all of them
    ├── AdbProtocolError        an adb server sent what the protocol does not allow: the link ends
    ├── MockFileError           a path on the mock phone cannot be used that way
    └── ShellSyntaxError        a command line that the mock's shell cannot, or must not, understand
"""

from __future__ import annotations

from sync.errors import ProjectError


class MockAppError(ProjectError):
    """Base of the errors that only the mock phones raise."""


class AdbProtocolError(MockAppError):
    """The peer broke the ADB protocol; its connection is closed."""


class MockFileError(MockAppError):
    """A file operation that the mock phone refuses; `reason` is the platform's text."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class ShellSyntaxError(MockAppError):
    """A command line that is not one, or uses what the mock's shell does not have."""
