"""Regular expressions of the mock phone's tools, over bytes."""

from __future__ import annotations

import re
from typing import Final

from apps_mock.errors import CommandUsageError

CLASSES: Final = {
    "[:alnum:]": "0-9A-Za-z", "[:alpha:]": "A-Za-z", "[:digit:]": "0-9", "[:lower:]": "a-z",
    "[:upper:]": "A-Z", "[:space:]": " \\t\\n\\r\\v\\f", "[:blank:]": " \\t",
    "[:xdigit:]": "0-9A-Fa-f", "[:punct:]": "!-/:-@\\[-`{-~",
}  # fmt: skip
"""Classes of characters as the members of a set."""
_BASIC = re.compile(r"\\(.)|([+?|(){}])")


def basic(expression: str) -> str:
    """A basic regular expression as an extended one: bare `+ ? | ( ) { }` mean themselves."""

    def swapped(match: re.Match[str]) -> str:
        if match[2]:
            return f"\\{match[2]}"
        return match[1] if match[1] in "+?|(){}" else match[0]

    return _BASIC.sub(swapped, expression)


def compiled(expression: str, *, is_loose: bool = False) -> re.Pattern[bytes]:
    """An extended regular expression; `is_loose` takes upper and lower case for the same.

    Raises: CommandUsageError: it is none.
    """
    for name, members in CLASSES.items():
        expression = expression.replace(name, members)
    try:
        return re.compile(expression.encode(), re.IGNORECASE if is_loose else 0)
    except (re.error, OverflowError, RecursionError) as error:
        raise CommandUsageError(f"bad regular expression: {error}") from None
