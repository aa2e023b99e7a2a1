"""What can go wrong between a network and the files that a phone runs.

ProjectError
├── RejectedError
│   └── AdapterMismatchError   tensors that do not belong to this network, with a reason code
├── IntegrityError
│   ├── BaseFilesError         a base's weights and card are damaged or do not belong together
│   ├── GraphError             the exporter made a graph that phones could not use
│   └── ParityError            torch and ONNX disagree: nothing may be published
└── ExportError                base of all of them
"""

from __future__ import annotations

from sync.errors import IntegrityError, ProjectError, RejectedError


class ExportError(ProjectError):
    """Base of the errors that only this package raises."""


class AdapterMismatchError(ExportError, RejectedError):
    """LoRA tensors that do not fit the network; `reason` says how."""


class BaseFilesError(ExportError, IntegrityError):
    """A base's files are damaged, incomplete, or of another version."""


class GraphError(ExportError, IntegrityError):
    """An exported graph lacks a symbolic axis or a LoRA slot."""


class ParityError(ExportError, IntegrityError):
    """The phone's graphs do not act as the network does."""
