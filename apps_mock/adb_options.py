"""Options of the mock phone's commands: what is not known is refused, never skipped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from apps_mock.errors import CommandUsageError


@dataclass(frozen=True, slots=True)
class Options:
    """A command's arguments, sorted.

    Attributes:
        flags: single letters and long names without a value.
        values: the last value of each option that takes one; `every` has all of them.
        rest: everything else, in order.
    """

    flags: frozenset[str]
    values: dict[str, str]
    rest: list[str]
    every: dict[str, list[str]] = field(default_factory=dict)

    def number(self, name: str, usual: int) -> int:
        """The value of an option that is a number.

        Raises: CommandUsageError: it is none.
        """
        text = self.values.get(name)
        if text is None:
            return usual
        if not text.lstrip("+-").isdigit() or len(text) > 12:
            raise CommandUsageError(f"bad number {text!r}")
        return int(text)


def options_of(
    arguments: Sequence[str],
    *,
    flags: str = "",
    valued: str = "",
    long_flags: Sequence[str] = (),
    long_valued: Sequence[str] = (),
    in_order: bool = False,
) -> Options:
    """The options among arguments.

    Args:
        flags, valued: single letters; a value stands behind its letter or in the next argument.
        long_flags, long_valued: names with their dashes, also `--name=value`.
        in_order: whether options end at the first argument that is none.
    Raises: CommandUsageError: an option that there is not, or one without its value.
    """
    reader = _Reader(list(arguments), frozenset(flags), frozenset(valued))
    reader.long_flags, reader.long_valued = frozenset(long_flags), frozenset(long_valued)
    while reader.arguments:
        argument = reader.arguments.pop(0)
        if argument == "--":
            reader.rest += reader.arguments
            break
        if argument.startswith("--") or argument in reader.long_flags | reader.long_valued:
            reader.take_long(argument)
        elif argument.startswith("-") and len(argument) > 1:
            reader.take_letters(argument[1:])
        else:
            reader.rest.append(argument)
            if in_order:
                reader.rest += reader.arguments
                break
    values = {name: given[-1] for name, given in reader.every.items()}
    return Options(frozenset(reader.found), values, reader.rest, reader.every)


class _Reader:
    def __init__(self, arguments: list[str], flags: frozenset[str], valued: frozenset[str]) -> None:
        self.arguments = arguments
        self.long_flags: frozenset[str] = frozenset()
        self.long_valued: frozenset[str] = frozenset()
        self.found: set[str] = set()
        self.every: dict[str, list[str]] = {}
        self.rest: list[str] = []
        self._flags = flags
        self._valued = valued

    def take_long(self, argument: str) -> None:
        name, equals, value = argument.partition("=")
        if name in self.long_valued:
            self._keep(name, value if equals else self._next(name))
        elif argument in self.long_flags:
            self.found.add(argument)
        else:
            raise CommandUsageError(f"Unknown option '{argument}'")

    def take_letters(self, letters: str) -> None:
        for position, letter in enumerate(letters):
            if letter in self._valued:
                rest = letters[position + 1 :]
                self._keep(letter, rest or self._next(f"-{letter}"))
                return
            if letter not in self._flags:
                raise CommandUsageError(f"Unknown option '{letter}'")
            self.found.add(letter)

    def _keep(self, name: str, value: str) -> None:
        self.every.setdefault(name, []).append(value)

    def _next(self, name: str) -> str:
        if not self.arguments:
            raise CommandUsageError(f"Missing argument to {name}")
        return self.arguments.pop(0)
