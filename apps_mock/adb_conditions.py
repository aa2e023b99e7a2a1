"""Conditions of the mock phone's shell: `[[ … ]]`, `[ … ]` and `test`."""

from __future__ import annotations

import fnmatch
import operator
from collections.abc import Callable, Sequence
from typing import Final

from apps_mock.adb_expansion import Expander
from apps_mock.adb_files import Files
from apps_mock.adb_words import Literal, Token, Word
from apps_mock.errors import ShellSyntaxError

_NUMBERS: Final[dict[str, Callable[[int, int], bool]]] = {
    "-eq": operator.eq,
    "-ne": operator.ne,
    "-lt": operator.lt,
    "-le": operator.le,
    "-gt": operator.gt,
    "-ge": operator.ge,
}
_TEXTS: Final[dict[str, Callable[[str, str], bool]]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
_UNARY: Final = frozenset("-n -z -e -f -d -r -w -x -s -L -h".split())


def holds(words: Sequence[str], files: Files, folder: str) -> bool:
    """Whether the words of `test` hold.

    Raises: ShellSyntaxError: they are no condition.
    """
    match words:
        case []:
            return False
        case ["!", *rest]:
            return not holds(rest, files, folder)
        case [text]:
            return bool(text)
        case [kind, text] if kind in _UNARY:
            return _is(kind, text, files, folder)
        case [left, relation, right] if relation in _TEXTS or relation in _NUMBERS:
            return _compares(left, relation, right)
        case _:
            return _joined(words, files, folder)


def _joined(words: Sequence[str], files: Files, folder: str) -> bool:
    """Conditions with `-o` and `-a` between them."""
    for joiner, every in (("-o", any), ("-a", all)):
        if joiner in words:
            parts: list[list[str]] = [[]]
            for word in words:
                if word == joiner:
                    parts.append([])
                else:
                    parts[-1].append(word)
            return every([holds(part, files, folder) for part in parts])
    raise ShellSyntaxError(f"{' '.join(words)}: unexpected operator/operand")


def _is(kind: str, text: str, files: Files, folder: str) -> bool:
    if kind in {"-n", "-z"}:
        return bool(text) == (kind == "-n")
    if not text or kind in {"-L", "-h"}:
        return False
    path = text if text.startswith("/") else f"{folder.rstrip('/')}/{text}"
    found = files.stat(path)
    if found is None:
        return False
    mode, size, _ = found
    is_folder = files.is_folder(path)
    return {
        "-f": not is_folder,
        "-d": is_folder,
        "-s": size > 0,
        "-x": is_folder or bool(mode & 0o111),
        "-w": files.is_writable(path),
    }.get(kind, True)


def _compares(left: str, relation: str, right: str) -> bool:
    if relation in _TEXTS:
        return _TEXTS[relation](left, right)
    try:
        return _NUMBERS[relation](int(left), int(right))
    except ValueError:
        raise ShellSyntaxError(f"{left}: unexpected operator/operand") from None


class Conditions:
    """`[[ … ]]`, whose words never split and whose right sides are patterns."""

    def __init__(self, expander: Expander, files: Files, folder: Callable[[], str]) -> None:
        self._expander = expander
        self._files = files
        self._folder = folder

    async def holds(self, tokens: Sequence[Token]) -> bool:
        """Whether the condition holds.

        Raises: ShellSyntaxError: it is none.
        """
        return await _Reading(list(tokens), self).whole()

    async def single(self, words: list[Word]) -> bool:
        """Whether a condition without any operator between conditions holds."""
        relation = _bare(words[1]) if len(words) == 3 else ""
        if relation in {"=", "==", "!="}:
            text = await self._expander.joined(words[0])
            pattern = await self._expander.pattern(words[2])
            return fnmatch.fnmatchcase(text, pattern) != (relation == "!=")
        texts = [await self._expander.joined(word) for word in words]
        return holds(texts, self._files, self._folder())


class _Reading:
    """Recursive descent over the tokens of one `[[ … ]]`."""

    def __init__(self, tokens: list[Token], conditions: Conditions) -> None:
        self._tokens = tokens
        self._conditions = conditions

    async def whole(self) -> bool:
        """The value of everything."""
        value = await self._either()
        if self._tokens:
            raise ShellSyntaxError("syntax error: unexpected end of [[ ]]")
        return value

    async def _either(self) -> bool:
        value = await self._both()
        while self._tokens[:1] == ["||"]:
            del self._tokens[0]
            value = await self._both() or value
        return value

    async def _both(self) -> bool:
        value = await self._one()
        while self._tokens[:1] == ["&&"]:
            del self._tokens[0]
            value = await self._one() and value
        return value

    async def _one(self) -> bool:
        if self._tokens[:1] == ["("]:
            del self._tokens[0]
            value = await self._either()
            if self._tokens[:1] != [")"]:
                raise ShellSyntaxError("syntax error: no closing parenthesis")
            del self._tokens[0]
            return value
        if self._tokens and _bare(self._tokens[0]) == "!":
            del self._tokens[0]
            return not await self._one()
        words: list[Word] = []
        while self._tokens and self._tokens[0] not in {"&&", "||", "(", ")"}:
            token = self._tokens.pop(0)
            words.append((Literal(token),) if isinstance(token, str) else token)
        return await self._conditions.single(words)


def _bare(token: Token) -> str:
    if isinstance(token, tuple) and len(token) == 1 and isinstance(token[0], Literal):
        return "" if token[0].quoted else token[0].text
    return ""
