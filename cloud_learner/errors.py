"""The errors of the cloud service and the learner.

ProjectError
├── LearnerError                     base of this package's own errors
│   ├── StoreUnavailableError        TransientError: the database is locked or away; retry
│   ├── UnknownRowError              RejectedError: no such phone, episode, step or release
│   ├── AdapterRejectedError         RejectedError: a delivered adapter cannot be published
│   ├── CheckpointError              IntegrityError: the learner's checkpoint is not usable
│   ├── ProcessGroupError            TransientError: the learner's processes lost each other
│   ├── ApiAddressInUseError         RejectedError: the API's address is taken
│   ├── StagedReleaseError           RejectedError: a staged release cannot do what is asked
│   ├── SettingsError                RejectedError: a settings file or value cannot be used
│   ├── JudgeUnusableError           RejectedError: a judge that refuses every request alike
│   ├── JudgeLedgerError             IntegrityError: what judges said cannot be read or kept
│   ├── PhoneLogError                IntegrityError: a phone's log cannot be read
│   ├── StoreDamagedError            IntegrityError: the database's file is broken
│   ├── StoreInUseError              RejectedError: the database has another service
│   ├── StoreMismatchError           IntegrityError: the database is of another version
│   └── StoreRefusedError            IntegrityError: the database does not let us do that
└── (a message that ingest refuses is a `RejectedError` of `sync`, with its reason code)
"""

from __future__ import annotations

from pathlib import Path

from sync.errors import IntegrityError, ProjectError, RejectedError, TransientError


class LearnerError(ProjectError):
    """Base of the errors that only this package raises."""


class StoreUnavailableError(LearnerError, TransientError):
    """The database is locked or cannot be reached; the same call may succeed later."""


class UnknownRowError(LearnerError, RejectedError):
    """Nothing is stored under that id."""

    def __init__(self, what: str, row_id: str) -> None:
        super().__init__(f"no {what} {row_id!r}; list them first", reason="unknown")
        self.what = what
        self.row_id = row_id


class AdapterRejectedError(LearnerError, RejectedError):
    """A delivered adapter cannot be published; `reason` says why."""


class ApiAddressInUseError(LearnerError, RejectedError):
    """The API's address is taken by somebody else."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(
            f"{host}:{port} is in use; choose another with --port (0 takes a free one)",
            reason="port_in_use",
        )
        self.host = host
        self.port = port


class StagedReleaseError(LearnerError, RejectedError):
    """A staged release cannot do what somebody asks of it in the state that it is in."""

    def __init__(self, message: str) -> None:
        super().__init__(message, reason="not_possible")


class SettingsError(LearnerError, RejectedError):
    """A settings file, key or value cannot be used."""

    def __init__(self, message: str) -> None:
        super().__init__(message, reason="settings")


class JudgeUnusableError(LearnerError, RejectedError):
    """A judge's endpoint refuses the key, or is none."""

    def __init__(self, message: str) -> None:
        super().__init__(message, reason="judge")


class JudgeLedgerError(LearnerError, IntegrityError):
    """The file that keeps what judges said cannot be used."""

    def __init__(self, path: Path, detail: str) -> None:
        super().__init__(f"{path} is no usable judge ledger ({detail}); move it away")
        self.path = path


class PhoneLogError(LearnerError, IntegrityError):
    """A phone's log on this machine cannot be read."""

    def __init__(self, path: Path, detail: str) -> None:
        super().__init__(f"{path} is no readable phone log ({detail}); move it away")
        self.path = path


class StoreMismatchError(LearnerError, IntegrityError):
    """The database was written by another version of the service."""


class StoreDamagedError(LearnerError, IntegrityError):
    """The database's file is broken: nothing more is stored, and nothing acknowledged."""


class StoreInUseError(LearnerError, RejectedError):
    """Another service uses the database."""

    def __init__(self) -> None:
        super().__init__(
            "another cloud service uses this database: stop it first, or give this one another "
            "with --database",
            reason="in_use",
        )


class StoreRefusedError(LearnerError, IntegrityError):
    """The database does not let its user do what is needed, or its tables were changed."""


class CheckpointError(LearnerError, IntegrityError):
    """The learner's checkpoint is damaged or belongs to another base."""


class ProcessGroupError(LearnerError, TransientError):
    """The learner's processes do not find each other, or one is gone: start all of them anew."""

    def __init__(self, detail: str) -> None:
        lines = detail.strip().splitlines() or ["no reason was given"]
        super().__init__(
            f"the learner's processes cannot work together ({lines[0]}); "
            "start all of them anew with torchrun"
        )
