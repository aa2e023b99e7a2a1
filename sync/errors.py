"""The errors of the whole project: what went wrong, split by what the caller can do about it.

ProjectError
├── TransientError      try again, with back-off
├── RejectedError       drop or quarantine it, and tell the peer why (carries a reason code)
└── IntegrityError      stop, and go back to what is known to be good

SyncError               what only this package raises
├── LinkLostError          no connection to the broker (transient)
├── FetchInterruptedError  a file did not arrive whole (transient; carries the offset reached)
└── BrokerError            the broker's process
    └── PortInUseError

Each package derives its own leaves (`SyncError`, `DeviceError`, `ExportError`, `LearnerError`,
`MockAppError`). Misuse by the programmer is `ValueError` or `RuntimeError` and is never caught.
"""

from __future__ import annotations


class ProjectError(Exception):
    """Anything that Outrider raises on purpose; its text is one line that says what to do next."""


class TransientError(ProjectError):
    """The same call may succeed later: retry with back-off."""


class RejectedError(ProjectError):
    """The input will never be accepted: drop or quarantine it and tell the peer `reason`."""

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class IntegrityError(ProjectError):
    """Something that must hold does not: stop and go back to the last known good state."""


class SyncError(ProjectError):
    """Base of the errors that only this package raises."""


class LinkLostError(SyncError, TransientError):
    """There is no connection to the broker: the session connects again by itself."""


class FetchInterruptedError(SyncError, TransientError):
    """A file did not arrive whole: fetch again from `offset`."""

    def __init__(self, message: str, *, path: str, offset: int) -> None:
        super().__init__(message)
        self.path = path
        self.offset = offset


class BrokerError(SyncError):
    """The broker's process cannot be started, reached or told of a change."""


class PortInUseError(BrokerError):
    """Another program listens on the broker's port."""

    def __init__(self, message: str, *, port: int) -> None:
        super().__init__(message)
        self.port = port
