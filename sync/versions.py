"""Which versions of the wire there are, and what a peer of an earlier one can be sent.

Three numbers, from rare to frequent change: the major version stands in every topic and changes
when nothing is understood any more; `schema_version` stands in a body and says which reader it
needs; the minor version stands in the envelope and says what its sender knows. An addition (a field
with a default, a message, an encoding) raises only the last one: readers of before ignore fields
that they do not know, and are not sent messages that they do not know.
"""

from __future__ import annotations

from typing import Final

MINOR: Final = 2
"""The minor version that this code speaks; it also speaks the one before."""
OLDEST_MINOR: Final = 1
"""The minor version of a peer that says none, or was not heard yet."""

_OF_MINOR_1: Final = frozenset(
    "birth offline episode_upload event health file_request assignments_accepted acknowledgement "
    "assignment_batch cancel file_chunk release_announcement owner_question owner_answer stop "
    "start desired_settings reported_settings".split()
)


def since(kind: str) -> int:
    """The first minor version that knows the message `kind`."""
    return 1 if kind in _OF_MINOR_1 else 2


def understands(minor: int, kind: str) -> bool:
    """Whether a peer of a minor version knows the message `kind`."""
    return minor >= since(kind)
