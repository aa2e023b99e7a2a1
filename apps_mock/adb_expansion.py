"""Words become fields: variables, substitutions, arithmetic, splitting, patterns of file names."""

from __future__ import annotations

import fnmatch
import glob
import re
from collections.abc import Awaitable, Callable
from typing import Final

from apps_mock.adb_arithmetic import value_of
from apps_mock.adb_files import Files
from apps_mock.adb_words import Arithmetic, Literal, Part, Substitution, Token, Variable, Word
from apps_mock.errors import ShellLimitError, ShellSyntaxError

LONGEST_FIELD: Final = 1 << 20
_MAGIC = re.compile(r"[*?\[]")


class Expander:
    """Expands the words of one shell.

    Args:
        variables: the shell's, which `${NAME:=word}` changes; special ones are in `special`.
        special: value of `?`, `$` and such.
        substitute: runs tokens and returns what they printed.
        folder: the shell's current folder.
    """

    def __init__(
        self,
        files: Files,
        variables: dict[str, str],
        *,
        special: Callable[[str], str],
        substitute: Callable[[tuple[Token, ...]], Awaitable[str]],
        folder: Callable[[], str],
    ) -> None:
        self._files = files
        self._variables = variables
        self._special = special
        self._substitute = substitute
        self._folder = folder

    async def fields(self, word: Word) -> list[str]:
        """The word's fields: bare expansions split at blanks, bare patterns match files."""
        if any(isinstance(part, Variable) and part.name == "@" for part in word):
            word = tuple(part for part in word if part != Literal("", quoted=True))
            if len(word) == 1:  # "$@" alone is no field: this shell has no arguments
                return []
        fields: list[list[tuple[str, bool]]] = []
        is_open = False
        for part in word:
            text = await self._text(part)
            splits = not part.quoted and not isinstance(part, Literal)
            pieces = re.split(r"[ \t\n]+", text) if splits else [text]
            for position, piece in enumerate(pieces):
                if position:
                    is_open = False
                if not piece and splits:
                    continue
                if not is_open:
                    fields.append([])
                    is_open = True
                fields[-1].append((piece, part.quoted))
        return [path for field in fields for path in self._matched(field)]

    async def joined(self, word: Word) -> str:
        """The word as one string, as for assignments and file names."""
        text = "".join([await self._text(part) for part in word])
        if len(text) > LONGEST_FIELD:
            raise ShellLimitError("a word is too long")
        return text

    async def pattern(self, word: Word) -> str:
        """The word as a pattern: what is quoted means itself."""
        return "".join(
            [
                glob.escape(await self._text(part)) if part.quoted else await self._text(part)
                for part in word
            ]
        )

    def _matched(self, field: list[tuple[str, bool]]) -> list[str]:
        text = "".join(piece for piece, _ in field)
        if len(text) > LONGEST_FIELD:
            raise ShellLimitError("a word is too long")
        if not any(_MAGIC.search(piece) for piece, quoted in field if not quoted):
            return [text]
        pattern = "".join(glob.escape(piece) if quoted else piece for piece, quoted in field)
        return list(self._files.matches(pattern, self._folder())) or [text]

    async def _text(self, part: Part) -> str:
        match part:
            case Literal(text):
                return text
            case Variable():
                return await self._value(part)
            case Arithmetic(expression):
                return str(value_of(await self.joined(expression), self._variables))
            case Substitution(tokens):
                return await self._substitute(tokens)

    async def _value(self, part: Variable) -> str:
        name, operator = part.name, part.operator
        if not re.match(r"[A-Za-z_]", name):
            return self._special(name)
        known = self._variables.get(name)
        if operator == "#len":
            return str(len(known or ""))
        if operator in {"#", "##", "%", "%%"}:
            return _trimmed(known or "", operator, await self.pattern(part.argument))
        is_set = known is not None and (bool(known) or not operator.startswith(":"))
        match operator.removeprefix(":"):
            case "+":
                return await self.joined(part.argument) if is_set else ""
            case "-" if not is_set:
                return await self.joined(part.argument)
            case "=" if not is_set:
                self._variables[name] = value = await self.joined(part.argument)
                return value
            case "?" if not is_set:
                raise ShellSyntaxError(f"{name}: {await self.joined(part.argument)}")
        return known or ""


def _trimmed(text: str, operator: str, pattern: str) -> str:
    """The text without the shortest or longest match at its start (`#`) or end (`%`)."""
    lengths = range(len(text) + 1)
    is_start = operator.startswith("#")
    for length in lengths if len(operator) == 1 else reversed(lengths):
        piece = text[:length] if is_start else text[len(text) - length :]
        if fnmatch.fnmatchcase(piece, pattern):
            return text[length:] if is_start else text[: len(text) - length]
    return text
