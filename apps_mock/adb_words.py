"""Words and operators of the mock phone's shell: how a line falls apart before it is parsed.

Everything here is a stranger's text: it becomes tokens, or it is refused in whole.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from apps_mock.errors import ShellSyntaxError

DEEPEST: Final = 40
"""How far substitutions and quotes may lie in each other."""
LONGEST: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Literal:
    """Text as it stands; quoted text never splits and never matches files."""

    text: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable's value, and what `${NAME OPERATOR argument}` makes of it; "#" alone is length."""

    name: str
    quoted: bool = False
    operator: str = ""
    argument: Word = ()


@dataclass(frozen=True, slots=True)
class Substitution:
    """The output of a command line; `tokens` are what stands inside."""

    tokens: tuple[Token, ...]
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """The value of an expression."""

    expression: Word
    quoted: bool = False


Part = Literal | Variable | Substitution | Arithmetic
Word = tuple[Part, ...]
Token = str | Word
"""An operator, or a word."""

_OPERATOR = re.compile(r"&&|\|\||;;|[;\n|&()]|\d?>&\d?-?|&>|\d?>>|\d?>\||\d?>|<<<?|<&|<>|\d?<")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[?#$!*@0-9-]")
_MODIFIER = re.compile(r":?[-+=?]|##?|%%?|")
_PLAIN = re.compile(r"[\w./:=,+@%-]+")
"""Text that means itself wherever it stands in a word."""
_BLANKS: Final = " \t\r"
_ENDS_WORD: Final = frozenset(" \t\r\n;&|<>()")
_BRACES = re.compile(r"\{[^{}]*(,|\.\.)[^{}]*\}")


def tokens_of(line: str) -> list[Token]:
    """The operators and words of a line.

    Raises: ShellSyntaxError: a quote is open, or it uses what this shell does not have.
    """
    if len(line) > LONGEST:
        raise ShellSyntaxError("syntax error: the line is too long")
    return _Lexer(line, 0).tokens()


class _Lexer:
    """Reads tokens from a position on; a substitution is read by one more of these."""

    def __init__(self, line: str, position: int, depth: int = 0) -> None:
        if depth > DEEPEST:
            raise ShellSyntaxError("syntax error: too deeply nested")
        self._line = line
        self._depth = depth
        self.position = position

    def tokens(self, *, inside: bool = False) -> list[Token]:
        """All tokens to the end of the line; `inside` a substitution up to its parenthesis."""
        found: list[Token] = []
        open_parentheses = 0
        while self._skip_to_token():
            operator = _OPERATOR.match(self._line, self.position)
            if operator is None:
                found.append(self._word())
                continue
            if inside and operator[0] in {"(", ")"}:
                open_parentheses += 1 if operator[0] == "(" else -1
                if open_parentheses < 0:
                    self.position += 1
                    return found
            found.append(operator[0])
            self.position = operator.end()
        if inside:
            raise ShellSyntaxError("syntax error: no closing parenthesis")
        return found

    def _skip_to_token(self) -> bool:
        """Pass blanks, joined lines and comments; False at the end."""
        while self.position < len(self._line):
            if self._peek() in _BLANKS:
                self.position += 1
            elif self._line.startswith("\\\n", self.position):
                self.position += 2
            elif self._peek() == "#":
                end = self._line.find("\n", self.position)
                self.position = len(self._line) if end < 0 else end
            else:
                return True
        return False

    def _peek(self) -> str:
        return self._line[self.position : self.position + 1]

    def _word(self) -> Word:
        parts: list[Part] = []
        start = self.position
        while (character := self._peek()) and character not in _ENDS_WORD:
            if character == "~" and self.position == start:
                raise ShellSyntaxError("syntax error: '~' is not supported")
            self._part(character, parts)
        bare = "".join(
            part.text if isinstance(part, Literal) and not part.quoted else "\0" for part in parts
        )
        if _BRACES.search(bare):
            raise ShellSyntaxError("syntax error: brace expansion is not supported")
        return _merged(parts)

    def _part(self, character: str, parts: list[Part]) -> None:
        """One more part of an unquoted word."""
        if character == "'":
            end = self._line.find("'", self.position + 1)
            if end < 0:
                raise ShellSyntaxError("syntax error: no closing quote")
            parts.append(Literal(self._line[self.position + 1 : end], quoted=True))
            self.position = end + 1
        elif character == '"':
            self.position += 1
            parts.append(Literal("", quoted=True))
            self.quoted('"', parts)
        elif character == "\\":
            parts.append(Literal(self._line[self.position + 1 : self.position + 2], quoted=True))
            self.position += 2
        elif character in "$`":
            self._expansion(parts, quoted=False)
        else:
            run = _PLAIN.match(self._line, self.position)
            text = run[0] if run else character
            parts.append(Literal(text))
            self.position += len(text)

    def quoted(self, end: str, parts: list[Part]) -> None:
        """The parts up to a closing quote, which is passed."""
        while (character := self._peek()) != end:
            if not character:
                raise ShellSyntaxError("syntax error: no closing quote")
            following = self._line[self.position + 1 : self.position + 2]
            if character == "\\" and following and following in f'$`"\\\n{end}':
                parts.append(Literal("" if following == "\n" else following, quoted=True))
                self.position += 2
            elif character in "$`":
                self._expansion(parts, quoted=True)
            else:
                parts.append(Literal(character, quoted=True))
                self.position += 1
        self.position += 1

    def _expansion(self, parts: list[Part], *, quoted: bool) -> None:
        """What a dollar sign or a backquote begins."""
        line, position = self._line, self.position
        if line[position] == "`":
            parts.append(self._backquoted(quoted=quoted))
        elif line.startswith("$((", position):
            parts.append(self._arithmetic(quoted=quoted))
        elif line.startswith("$(", position):
            inner = self._nested(position + 2)
            parts.append(Substitution(tuple(inner.tokens(inside=True)), quoted))
            self.position = inner.position
        elif line.startswith("${", position):
            parts.append(self._braced(quoted=quoted))
        elif match := _NAME.match(line, position + 1):
            parts.append(Variable(match[0], quoted))
            self.position = match.end()
        elif line.startswith("$'", position) and not quoted:
            raise ShellSyntaxError('syntax error: "$\'" is not supported')
        else:
            parts.append(Literal("$", quoted))
            self.position += 1

    def _nested(self, position: int, line: str | None = None) -> _Lexer:
        return _Lexer(self._line if line is None else line, position, self._depth + 1)

    def _backquoted(self, *, quoted: bool) -> Substitution:
        end = self.position + 1
        while end < len(self._line) and self._line[end] != "`":
            end += 2 if self._line[end] == "\\" else 1
        if end >= len(self._line):
            raise ShellSyntaxError("syntax error: no closing quote")
        inside = re.sub(r"\\([\\`$])", r"\1", self._line[self.position + 1 : end])
        self.position = end + 1
        return Substitution(tuple(self._nested(0, inside).tokens()), quoted)

    def _arithmetic(self, *, quoted: bool) -> Arithmetic:
        start, depth = self.position + 3, 0
        for end in range(start, len(self._line)):
            if self._line[end] == "(":
                depth += 1
            elif self._line[end] == ")" and depth:
                depth -= 1
            elif self._line.startswith("))", end):
                inner = self._nested(0, self._line[start:end] + '"')
                parts: list[Part] = []
                inner.quoted('"', parts)
                self.position = end + 2
                return Arithmetic(_merged(parts), quoted)
        raise ShellSyntaxError("syntax error: no closing parenthesis")

    def _braced(self, *, quoted: bool) -> Variable:
        """`${NAME}`, `${#NAME}` and `${NAME operator argument}`."""
        position = self.position + 2
        is_length = bool(re.match(r"#[A-Za-z_]", self._line[position : position + 2]))
        match = _NAME.match(self._line, position + is_length)
        if match is None:
            raise ShellSyntaxError("syntax error: bad substitution")
        modifier = _MODIFIER.match(self._line, match.end())
        operator = modifier[0] if modifier and not is_length else "#len" if is_length else ""
        end = match.end() + (0 if is_length else len(operator))
        inner = self._nested(end)
        if not operator or is_length:
            if self._line[end : end + 1] != "}":
                raise ShellSyntaxError("syntax error: bad substitution")
            self.position = end + 1
            return Variable(match[0], quoted, operator)
        parts: list[Part] = []
        inner.until_brace(parts, quoted=quoted)
        self.position = inner.position
        return Variable(match[0], quoted, operator, _merged(parts))

    def until_brace(self, parts: list[Part], *, quoted: bool) -> None:
        """The argument of a braced variable, up to its brace, which is passed."""
        if quoted:
            self.quoted("}", parts)
            return
        while (character := self._peek()) != "}":
            if not character:
                raise ShellSyntaxError("syntax error: no closing brace")
            self._part(character, parts)
        self.position += 1


def _merged(parts: list[Part]) -> Word:
    """The same word with neighbouring literals of one kind joined."""
    merged: list[Part] = []
    for part in parts:
        last = merged[-1] if merged else None
        if isinstance(last, Literal) and isinstance(part, Literal) and last.quoted == part.quoted:
            merged[-1] = Literal(last.text + part.text, quoted=part.quoted)
        else:
            merged.append(part)
    return tuple(merged)
