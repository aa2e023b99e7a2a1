"""The grammar of the mock phone's shell: a command line becomes pipelines of words.

A small part of POSIX: quotes, `$NAME` and `$?`, `;`, `&&`, `||`, `|`, redirections, `NAME=value`,
comments. What is not here (substitutions, compound commands, jobs, brace and tilde expansion) is
refused loudly, never taken for something else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from apps_mock.errors import ShellSyntaxError

_RESERVED: Final = frozenset(
    "if then else elif fi for while until do done case esac function select time { } ! [[".split()
)
_OPERATOR = re.compile(r"&&|\|\||;;|[;\n|&()]|\d?>&\d?-?|&>|\d?>>|\d?>\||\d?>|<<<?|<&|<>|\d?<")
_REDIRECTION = re.compile(r"(\d?)(>>|>|<)")
_DUPLICATION = re.compile(r"(\d?)>&(\d)")
_VARIABLE = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*|[?#$0-9])|\{([A-Za-z_][A-Za-z0-9_]*|[?])\})")
_BLANKS: Final = " \t\r"
_ENDS_WORD: Final = " \t\r\n;&|<>()"


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a word: literal text, or the name of a variable; quoted pieces never split."""

    text: str
    is_variable: bool = False
    is_quoted: bool = False


Word = tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Redirection:
    """Where a descriptor goes: to a file (">" or ">>"), from one ("<"), or to another (">&")."""

    descriptor: int
    kind: str
    target: Word


@dataclass(frozen=True, slots=True)
class Simple:
    """One command: assignments before it, its words, its redirections in order."""

    assignments: tuple[tuple[str, Word], ...]
    words: tuple[Word, ...]
    redirections: tuple[Redirection, ...]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands joined by `|`; `joiner` says when: ";" always, "&&" and "||" by the last code."""

    joiner: str
    commands: tuple[Simple, ...]


Token = str | Word
"""An operator, or a word."""


def parse(line: str) -> tuple[Pipeline, ...]:
    """The pipelines of a command line, in order.

    Raises: ShellSyntaxError: it ends too early, or uses what this shell does not have.
    """
    return _Parser(_tokens(line)).pipelines()


def _tokens(line: str) -> list[Token]:
    tokens: list[Token] = []
    position = 0
    while position < len(line):
        character = line[position]
        operator = _OPERATOR.match(line, position)
        if character in _BLANKS:
            position += 1
        elif line.startswith("\\\n", position):
            position += 2
        elif character == "#":
            end = line.find("\n", position)
            position = len(line) if end < 0 else end
        elif operator:
            tokens.append(operator[0])
            position = operator.end()
        else:
            word, position = _word(line, position)
            tokens.append(word)
    return tokens


def _word(line: str, position: int) -> tuple[Word, int]:
    parts: list[Part] = []
    start = position
    while position < len(line) and line[position] not in _ENDS_WORD:
        character = line[position]
        if character == "'":
            end = line.find("'", position + 1)
            if end < 0:
                raise ShellSyntaxError("syntax error: no closing quote")
            parts.append(Part(line[position + 1 : end], is_quoted=True))
            position = end + 1
        elif character == '"':
            position = _double_quoted(line, position + 1, parts)
        elif character == "\\":
            parts.append(Part(line[position + 1 : position + 2], is_quoted=True))
            position += 2
        elif character in "$`":
            position = _variable(line, position, parts, is_quoted=False)
        elif character == "~" and position == start:
            raise ShellSyntaxError("syntax error: '~' is not supported")
        else:
            parts.append(Part(character))
            position += 1
    _refuse_braces(parts)
    return _merged(parts), position


def _double_quoted(line: str, position: int, parts: list[Part]) -> int:
    parts.append(Part("", is_quoted=True))
    while position < len(line) and line[position] != '"':
        character = line[position]
        if character == "\\" and line[position + 1 : position + 2] in {"$", "`", '"', "\\", "\n"}:
            escaped = line[position + 1]
            parts.append(Part("" if escaped == "\n" else escaped, is_quoted=True))
            position += 2
        elif character in "$`":
            position = _variable(line, position, parts, is_quoted=True)
        else:
            parts.append(Part(character, is_quoted=True))
            position += 1
    if position >= len(line):
        raise ShellSyntaxError("syntax error: no closing quote")
    return position + 1


def _variable(line: str, position: int, parts: list[Part], *, is_quoted: bool) -> int:
    match = _VARIABLE.match(line, position)
    if match:
        parts.append(Part(match[1] or match[2], is_variable=True, is_quoted=is_quoted))
        return match.end()
    if line[position] == "`" or line[position + 1 : position + 2] in {
        "(",
        "{",
        "'",
        "@",
        "*",
        "!",
        "-",
    }:
        raise ShellSyntaxError(f"syntax error: {line[position : position + 2]!r} is not supported")
    parts.append(Part("$", is_quoted=is_quoted))
    return position + 1


def _refuse_braces(parts: list[Part]) -> None:
    bare = "".join("\0" if part.is_quoted else part.text for part in parts)
    if re.search(r"\{[^{}]*(,|\.\.)[^{}]*\}", bare):
        raise ShellSyntaxError("syntax error: brace expansion is not supported")


def _merged(parts: list[Part]) -> Word:
    """The same word with neighbouring literals of one kind joined."""
    merged: list[Part] = []
    for part in parts:
        last = merged[-1] if merged else None
        if (
            last
            and not last.is_variable
            and not part.is_variable
            and last.is_quoted == part.is_quoted
        ):
            merged[-1] = Part(last.text + part.text, is_quoted=part.is_quoted)
        else:
            merged.append(part)
    return tuple(merged)


class _Parser:
    """Recursive descent over the tokens; there is nothing to recurse into."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._position = 0

    def pipelines(self) -> tuple[Pipeline, ...]:
        found: list[Pipeline] = []
        joiner = ";"
        while (operator := self._peek()) is not None:
            if operator in {";", "\n"}:
                if operator == ";" and (joiner != ";" or not found):
                    raise _unexpected(operator)
                self._position += 1
                continue
            found.append(Pipeline(joiner, self._pipeline()))
            joiner = self._joiner()
        if joiner != ";":
            raise ShellSyntaxError("syntax error: unexpected end of the line")
        return tuple(found)

    def _peek(self) -> Token | None:
        return self._tokens[self._position] if self._position < len(self._tokens) else None

    def _joiner(self) -> str:
        token = self._peek()
        self._position += 1
        if token in {"&&", "||"}:
            return str(token)
        if token not in {None, ";", "\n"}:
            raise _unexpected(token)
        return ";"

    def _pipeline(self) -> tuple[Simple, ...]:
        commands = [self._simple()]
        while self._peek() == "|":
            self._position += 1
            while self._peek() == "\n":
                self._position += 1
            commands.append(self._simple())
        return tuple(commands)

    def _simple(self) -> Simple:
        assignments: list[tuple[str, Word]] = []
        words: list[Word] = []
        redirections: list[Redirection] = []
        while (token := self._peek()) is not None:
            if isinstance(token, str):
                redirection = self._redirection(token)
                if redirection is None:
                    break
                redirections.append(redirection)
                continue
            self._position += 1
            name = _assigned_name(token) if not words else None
            if name is not None:
                assignments.append((name, _after(token, len(name) + 1)))
            else:
                words.append(token)
        if not (assignments or words or redirections):
            raise _unexpected(self._peek())
        if words and words[0] in {(Part(name),) for name in _RESERVED}:
            raise ShellSyntaxError(f"syntax error: {words[0][0].text!r} is not supported")
        return Simple(tuple(assignments), tuple(words), tuple(redirections))

    def _redirection(self, operator: str) -> Redirection | None:
        """The redirection that starts here; None where the operator is none."""
        duplication = _DUPLICATION.fullmatch(operator)
        if duplication:
            self._position += 1
            return Redirection(int(duplication[1] or 1), ">&", (Part(duplication[2]),))
        match = _REDIRECTION.fullmatch(operator)
        if match is None:
            return None
        self._position += 1
        target = self._peek()
        if not isinstance(target, tuple):
            raise _unexpected(target)
        self._position += 1
        usual = 0 if match[2] == "<" else 1
        return Redirection(int(match[1] or usual), match[2], target)


def _unexpected(token: Token | None) -> ShellSyntaxError:
    shown = (
        "the end of the line"
        if token is None
        else repr(token if isinstance(token, str) else "word")
    )
    return ShellSyntaxError(f"syntax error: unexpected {shown}")


def _assigned_name(word: Word) -> str | None:
    first = word[0] if word else Part("")
    match = re.match(r"([A-Za-z_][A-Za-z0-9_]*)=", first.text)
    return match[1] if match and not first.is_variable and not first.is_quoted else None


def _after(word: Word, length: int) -> Word:
    """The word without its first `length` characters, which lie in its first part."""
    rest = Part(word[0].text[length:])
    return (rest, *word[1:]) if rest.text else word[1:]
