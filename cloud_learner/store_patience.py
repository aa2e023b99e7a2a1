"""Calls that wait while the database is away, for those who can do nothing else meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

import structlog

from cloud_learner.errors import StoreUnavailableError

Wait = Callable[[float], bool]
"""Waits so many seconds; True where the call is to be given up, which `Event.wait` says."""

_log = structlog.get_logger()
_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 10.0


class Patient(Protocol):
    """Whose methods can be made patient."""

    _wait: Wait


Owner = TypeVar("Owner", bound=Patient)
Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def give_up(_pause_s: float) -> bool:
    """The `Wait` of who waits for nothing."""
    return True


def patiently(
    method: Callable[Concatenate[Owner, Given], Answer],
) -> Callable[Concatenate[Owner, Given], Answer]:
    """A method that is called again until the database answers, or its owner's wait says enough.

    The method must bear to be called twice: what it committed may be what failed to be said.
    """

    @wraps(method)
    def call(self: Owner, /, *args: Given.args, **kwargs: Given.kwargs) -> Answer:
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                return method(self, *args, **kwargs)
            except StoreUnavailableError as error:
                _log.warning("store_awaited", call=method.__name__, error=str(error))
                if self._wait(pause_s):
                    raise
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    return call
