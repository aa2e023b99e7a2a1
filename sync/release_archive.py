"""Old releases, in metadata that phones read only when they are asked for one.

Every update makes every phone read the newest targets metadata, so that lists little: bases,
channels, what channels point at, and the newest releases. The others stand in the archive:
`archive-00` … `archive-1f`, delegated roles of which a path's hash names one. A phone that is asked
for an old release reads two of them; one that follows its channel reads none.
"""

from __future__ import annotations

from typing import Final

from securesystemslib.signer import Key
from tuf.api.metadata import Delegations, SuccinctRoles

PREFIX: Final = "archive"
LEAST_LISTED: Final = 16
"""So many of the newest releases are never archived."""
MOST_LISTED: Final = 32
"""Where the newest metadata lists more releases, all but `LEAST_LISTED` are archived at once."""
_BITS: Final = 5


def archive_delegations(key: Key) -> Delegations:
    """The delegation of all archive roles to whoever holds `key`."""
    return Delegations(keys={key.keyid: key}, succinct_roles=_roles(key.keyid))


def archive_roles() -> list[str]:
    """The names of all archive roles."""
    return list(_roles("").get_roles())


def archive_role_of(path: str) -> str:
    """The archive role in which a target of that path stands."""
    return _roles("").get_role_for_target(path)


def _roles(key_id: str) -> SuccinctRoles:
    return SuccinctRoles([key_id], 1, _BITS, PREFIX)
