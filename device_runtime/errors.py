"""What can go wrong on the phone side, split by what the caller can do about it.

ProjectError
├── TransientError
│   ├── PhoneLostError          the phone cannot be reached: the episode becomes an env_error
│   └── ShadowPostponedError    a candidate is scored later: the phone is too weak or too hot now
├── RejectedError
│   ├── UnknownTaskError        this phone cannot play the assignment: tell the cloud
│   ├── InvalidActionError      the action cannot be carried out on this screen: the step is invalid
│   ├── HierarchyError          the view hierarchy that came is not one
│   ├── InstallError            a release that this phone must not install, with its reason code
│   ├── RecordingError          a file that is no recording of a phone, or cannot be written
│   ├── ReaderError             screens cannot be read here: something is not installed
│   └── SettingsError           the settings or a path that they name cannot be used
├── IntegrityError
│   ├── PhoneFaultError         the phone answers nonsense: the episode becomes an env_error
│   │   ├── TreeUnavailableError   it gives no view hierarchy, with the reason
│   │   ├── InputDeniedError       it lets nobody inject touches: its owner must allow it
│   │   └── PhoneLockedError       its lock screen needs its owner
│   ├── PolicyFilesError        the base's graphs and its card do not belong together
│   ├── InstalledFilesError     an installed release is not whole on disk: go back to the one before
│   └── TrajectoryLogError      the log is damaged, or newer than this program
└── DeviceError                 base of all of them
"""

from __future__ import annotations

from sync.errors import IntegrityError, ProjectError, RejectedError, TransientError


class DeviceError(ProjectError):
    """Base of the errors that only this package raises."""


class PhoneLostError(DeviceError, TransientError):
    """The phone cannot be reached.

    Attributes:
        state: what is known of it: "no_server", "unauthorized", "offline", "not listed", "silent"
            (no answer in time), "cut" (the link ended in the middle) or "refused".
        may_have_arrived: whether the phone may have got the command, so that only a command that
            may be carried out twice can be sent again.
    """

    def __init__(self, message: str, *, state: str = "cut", may_have_arrived: bool = True) -> None:
        super().__init__(message)
        self.state = state
        self.may_have_arrived = may_have_arrived


class PhoneFaultError(DeviceError, IntegrityError):
    """The phone answered, but what it answered cannot be true or complete."""


class ShadowPostponedError(DeviceError, TransientError):
    """A candidate release cannot be scored now; what acts goes on."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the new release is scored later: {reason}")


class TreeUnavailableError(PhoneFaultError):
    """The phone gives no view hierarchy.

    Attributes:
        reason: "not_idle", "null_root", "killed", "busy", "damaged", "empty" or "crashed".
    """

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class InputDeniedError(PhoneFaultError):
    """The phone lets nobody inject touches and keys until its owner allows it."""


class PhoneLockedError(PhoneFaultError):
    """The phone's lock screen cannot be dismissed without its owner."""


class UnknownTaskError(DeviceError, RejectedError):
    """This phone cannot play the assignment."""

    def __init__(self, message: str, *, reason: str = "unknown_task") -> None:
        super().__init__(message, reason=reason)


class InvalidActionError(DeviceError, RejectedError):
    """The action cannot be carried out on the screen that is shown."""

    def __init__(self, message: str, *, reason: str = "invalid_action") -> None:
        super().__init__(message, reason=reason)


class HierarchyError(DeviceError, RejectedError):
    """Bytes that were to be a view hierarchy are none, or are incomplete."""

    def __init__(self, message: str, *, reason: str = "malformed") -> None:
        super().__init__(message, reason=reason)


class InstallError(DeviceError, RejectedError):
    """A release that this phone must not install; `reason` is the code that the cloud is told."""


class RecordingError(DeviceError, RejectedError):
    """A file is no recording of a phone that this program reads, or cannot be written."""

    def __init__(self, message: str, *, reason: str = "recording") -> None:
        super().__init__(message, reason=reason)


class SettingsError(DeviceError, RejectedError):
    """A setting, or a path that it names, cannot be used."""

    def __init__(self, message: str, *, reason: str = "settings") -> None:
        super().__init__(message, reason=reason)


class ReaderError(DeviceError, RejectedError):
    """Pictures of screens cannot be read on this machine; the text says what to install."""

    def __init__(self, message: str, *, reason: str = "reader") -> None:
        super().__init__(message, reason=reason)


class PolicyFilesError(DeviceError, IntegrityError):
    """The exported base is incomplete, or its parts do not belong together."""


class InstalledFilesError(DeviceError, IntegrityError):
    """An installed release, or the record of what is installed, is not whole on disk."""


class TrajectoryLogError(DeviceError, IntegrityError):
    """The phone's log is damaged, or was written by a newer program."""
