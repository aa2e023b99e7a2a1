"""The part of sed that clients of phones write; anything else is refused.

`s/…/…/` with flags, `p`, `d` and `q`, each after a line number, `$`, a pattern, or a range of line
numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from apps_mock.adb_patterns import basic, compiled
from apps_mock.errors import CommandUsageError

_COMMAND = re.compile(
    r"\s*(?:(?P<first>\d{1,9}|\$)(?:,(?P<last>\d{1,9}|\$))?|/(?P<pattern>(?:\\.|[^/\\])*)/)?"
    r"\s*(?P<negated>!?)\s*(?P<name>[spdq])"
)
_ALWAYS: Final = (1, 1 << 31)
_FLAGS = re.compile(r"[gipI]*")


@dataclass(frozen=True, slots=True)
class _Where:
    """Which lines a command is for; a number below 0 is the last line."""

    first: int
    last: int
    pattern: re.Pattern[bytes] | None
    is_negated: bool

    def holds(self, number: int, count: int, line: bytes) -> bool:
        if self.pattern is not None:
            found = bool(self.pattern.search(line))
        else:
            first, last = (count if end < 0 else end for end in (self.first, self.last))
            found = first <= number <= last
        return found != self.is_negated


@dataclass(frozen=True, slots=True)
class _Edit:
    """One command of a script."""

    name: str
    where: _Where
    wanted: re.Pattern[bytes] | None = None
    replacement: bytes = b""
    flags: str = ""


class Sed:
    """A script, ready to run.

    Raises: CommandUsageError: it uses what this sed does not have.
    """

    def __init__(self, script: str, *, is_quiet: bool, is_extended: bool) -> None:
        self._is_quiet = is_quiet
        self._is_extended = is_extended
        self._edits: list[_Edit] = []
        position = 0
        while position < len(script.rstrip()):
            if script[position] in "; \n\t":
                position += 1
            else:
                position = self._read(script, position)

    def edited(self, lines: list[bytes]) -> bytes:
        """The lines after the script."""
        output: list[bytes] = []
        for number, given in enumerate(lines, 1):
            line, printed, is_last = self._apply(given, number, len(lines))
            output += printed
            if line is not None and not self._is_quiet:
                output.append(line)
            if is_last:
                break
        return b"".join(line + b"\n" for line in output)

    def _apply(
        self, line: bytes, number: int, count: int
    ) -> tuple[bytes | None, list[bytes], bool]:
        """The line or None where it is deleted, what was printed, and whether this is the end."""
        printed: list[bytes] = []
        for edit in self._edits:
            if not edit.where.holds(number, count, line):
                continue
            if edit.name == "d":
                return None, printed, False
            if edit.name == "q":
                return line, printed, True
            is_printed = edit.name == "p"
            if edit.wanted is not None:
                times = 0 if "g" in edit.flags else 1
                line, changes = edit.wanted.subn(edit.replacement, line, count=times)
                is_printed = changes > 0 and "p" in edit.flags
            if is_printed:
                printed.append(line)
        return line, printed, False

    def _read(self, script: str, position: int) -> int:
        """Take one command in; returns where the next one begins."""
        match = _COMMAND.match(script, position)
        if match is None:
            raise CommandUsageError(f"bad pattern '{script}'@{position}", 1)
        where = self._where(match)
        if match["name"] != "s":
            self._edits.append(_Edit(match["name"], where))
            return match.end()
        delimiter = script[match.end() : match.end() + 1]
        if not delimiter or delimiter in "\\\n":
            raise CommandUsageError(f"bad pattern '{script}'@{match.end()}", 1)
        wanted, end = _up_to(delimiter, script, match.end() + 1)
        replacement, end = _up_to(delimiter, script, end)
        flags = _FLAGS.match(script, end)
        written = flags[0] if flags else ""
        pattern = self._compiled(wanted, is_loose=bool({"i", "I"} & set(written)))
        self._edits.append(_Edit("s", where, pattern, _replacement(replacement), written))
        return end + len(written)

    def _where(self, match: re.Match[str]) -> _Where:
        first = _line_number(match["first"], _ALWAYS[0])
        usual = first if match["first"] else _ALWAYS[1]
        pattern = None if match["pattern"] is None else self._compiled(match["pattern"])
        return _Where(first, _line_number(match["last"], usual), pattern, bool(match["negated"]))

    def _compiled(self, expression: str, *, is_loose: bool = False) -> re.Pattern[bytes]:
        text = expression if self._is_extended else basic(expression)
        return compiled(text, is_loose=is_loose)


def _line_number(text: str | None, usual: int) -> int:
    if not text:
        return usual
    return -1 if text == "$" else int(text)


def _up_to(delimiter: str, script: str, position: int) -> tuple[str, int]:
    """The text up to a delimiter that no backslash escapes, and what comes after it."""
    text: list[str] = []
    while position < len(script):
        character, following = script[position], script[position + 1 : position + 2]
        if character == delimiter:
            return "".join(text), position + 1
        if character == "\\" and following:
            text.append(following if following == delimiter else character + following)
            position += 2
        else:
            text.append(character)
            position += 1
    raise CommandUsageError(f"unfinished s command in '{script}'", 1)


def _replacement(text: str) -> bytes:
    """A replacement as Python writes it; an ampersand is the whole match."""

    def character(match: re.Match[str]) -> str:
        written = match[0]
        if written == "&":
            return r"\g<0>"
        if written == "\\":
            return r"\\"
        following = written[1]
        if following.isdigit():
            return rf"\g<{following}>"
        return {"n": "\n", "t": "\t"}.get(following, "\\\\" if following == "\\" else following)

    return re.sub(r"\\.|&|\\", character, text, flags=re.DOTALL).encode()
