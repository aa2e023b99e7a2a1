"""What can go wrong in the clones, split by what the caller can do about it.

ProjectError
├── RejectedError
│   └── UnknownTaskError (device_runtime)   a template, suite or app that does not exist
└── MockAppError                            base of the errors that only this package raises
    ├── TaskDrawError                       the entities of a split cannot fill a template
    ├── BrokenTemplateError                 a template's own code broke, or a mutator's
    ├── SetUpError                          a template's `set_up` gave what no task is made of
    ├── MutatorError                        a mutator file gave what are no near misses
    ├── UpdateError                         an app's `update` gave what is no state
    ├── WordingError                        a look was asked for a wording that there is not
    ├── AppCrashError                       a clone's app broke: the episode becomes an env_error
    ├── FaultInjectedError                  a phone was broken by plan: as above
    ├── ActionsFileError                    a file of actions that holds something else
    ├── AppNameError                        a new app cannot be called that
    ├── AdbProtocolError                    an adb server broke the protocol: its link ends
    ├── DaemonError                         the mock adb daemon cannot listen
    ├── FontMissingError                    a font's package is not installed
    ├── MockFileError                       a path on the mock phone cannot be used that way
    ├── ShellSyntaxError                    a command line that the mock's shell does not have
    ├── CommandUsageError                   a command of the mock's shell is used in an unknown way
    ├── ShellLimitError                     a command of the mock's shell wants too much memory
    └── ViewError                           a view gave what cannot be laid out
"""

from __future__ import annotations

from apps_mock.blame import with_advice
from device_runtime.errors import PhoneFaultError
from sync.errors import ProjectError


class MockAppError(ProjectError):
    """Base of the errors that only this package raises."""


class TaskDrawError(MockAppError):
    """A task's parameters cannot be drawn: the split has too few entities of a kind."""


class BrokenTemplateError(MockAppError):
    """The code of a template (its draw, its plan), or of a mutator file, raised an error."""

    def __init__(self, where: str, cause: Exception) -> None:
        super().__init__(f"{where}: {with_advice(cause)}")


class SetUpError(MockAppError):
    """A template's `set_up` gave what no task can be made of."""


class MutatorError(MockAppError):
    """A mutator file gave what are no near misses."""


class UpdateError(MockAppError):
    """An app's `update` gave what is no state."""


class WordingError(MockAppError):
    """A look was asked for a wording that there is not."""


class AppCrashError(MockAppError, PhoneFaultError):
    """An app of a clone raised an error; the phone shows its crash dialog.

    Attributes:
        app: the app's name.
    """

    def __init__(self, app: str, where: str, cause: Exception) -> None:
        super().__init__(f"the app {app} broke in {where}: {with_advice(cause)}")
        self.app = app


class FaultInjectedError(MockAppError, PhoneFaultError):
    """Faults were put into an episode on purpose: it must not count.

    Attributes:
        faults: their names, in order.
    """

    def __init__(self, faults: tuple[str, ...]) -> None:
        super().__init__(f"fault {', '.join(dict.fromkeys(faults))}: injected by plan")
        self.faults = faults


class ActionsFileError(MockAppError):
    """A file of actions to play holds something that is no action."""


class AppNameError(MockAppError):
    """A new app cannot have that name, or there is a file of that name."""


class ViewError(MockAppError):
    """An app's view gave what cannot be laid out; the text names the widget and its field."""


class AdbProtocolError(MockAppError):
    """The peer broke the ADB protocol; its connection is closed."""


class DaemonError(MockAppError):
    """The mock adb daemon cannot listen where it was told to."""


class FontMissingError(MockAppError):
    """The package of one of the clones' fonts is not installed."""


class MockFileError(MockAppError):
    """A file operation that the mock phone refuses; `reason` is the platform's text."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class ShellSyntaxError(MockAppError):
    """A command line that is not one, or uses what the mock's shell does not have."""


class ShellLimitError(MockAppError):
    """A command line of the mock's shell wants more memory than it gets."""


class CommandUsageError(MockAppError):
    """A command of the mock's shell was given what it does not have; it ends with `code`."""

    def __init__(self, text: str, code: int = 2) -> None:
        super().__init__(text)
        self.code = code
